from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.domain import Chunk, Document, Span
from redraft.errors import UsageError
from redraft.text.chunks import LONGEST_REST, MIN_BUDGET, chunk
from redraft.text.sentences import paragraph_seams, sentences
from redraft.text.tokens import EstimatingTokenizer, Tokenizer
from tests.text.hostile import EXTREMES, texts

relaxed = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
budgets = st.sampled_from([16, 17, 20, 33, 64, 200, 1_000])

STORY = (
    "The lamp went out at nine. Hester waited on the stairs, and nobody came.\n\n"
    "“Who is there?” she asked. The wind answered. “It is only me,” said J. R. Harrow, who had climbed "
    "all forty-eight steps.\nHe was out of breath... and afraid.\n\n"
) * 12


def document(text: str) -> Document:
    return Document("id", "title", text)


def boundaries(chunks: list[Chunk]) -> list[int]:
    return [piece.span.end for piece in chunks[:-1]]


def check_cover(text: str, chunks: list[Chunk]) -> None:
    edges = [0, *(piece.span.end for piece in chunks)]
    assert [piece.span for piece in chunks] == [Span(a, b) for a, b in pairwise(edges)]
    assert edges[-1] == len(text)
    assert all(piece.span.end > piece.span.start for piece in chunks)
    assert [piece.index for piece in chunks] == list(range(len(chunks)))


def check_counts(text: str, chunks: list[Chunk], tokenizer: Tokenizer, budget: int) -> None:
    for piece in chunks:
        part = text[piece.span.start : piece.span.end]
        assert piece.tokens == tokenizer.count(part)
        assert piece.tokens <= budget or len(part) == 1


def natural_seams(text: str) -> set[int]:
    """Where a chunk may end of right: before a paragraph, after the line end or before the space behind a sentence."""
    gaps = [(a.end, text.rfind("\n", a.end, b.start) + 1) for a, b in pairwise(sentences(text))]
    return {after_line or after_sentence for after_sentence, after_line in gaps} | set(paragraph_seams(text))


def check_ends(text: str, chunks: list[Chunk], tokenizer: Tokenizer, budget: int) -> None:
    """A chunk ends elsewhere only when no seam lies within it, and the way to the next seam is too long."""
    seams = sorted(natural_seams(text))
    dearest = 14 if tokenizer.name == "estimate" else 4  # what one piece of text can cost
    for piece in chunks[:-1]:
        if piece.span.end in seams:
            continue
        at = bisect_right(seams, piece.span.start)
        ahead = seams[at] if at < len(seams) else len(text)
        assert ahead > piece.span.end, "a sentence was cut although the chunk could have ended before it"
        assert tokenizer.count(text[piece.span.start : ahead]) > budget - dearest, "a sentence was cut although it fits"


@pytest.mark.slow
@relaxed
@given(text=texts, budget=budgets)
def test_chunks_cover_the_text_and_fit(tokenizer: Tokenizer, text: str, budget: int) -> None:
    chunks = chunk(document(text), tokenizer, budget)
    check_cover(text, chunks)
    check_counts(text, chunks, tokenizer, budget)
    check_ends(text, chunks, tokenizer, budget)


@pytest.mark.parametrize("budget", [16, 40, 100, 250, 1_000, 5_000])
def test_chunks_of_stories_end_with_sentences(tokenizer: Tokenizer, budget: int) -> None:
    chunks = chunk(document(STORY), tokenizer, budget)
    check_cover(STORY, chunks)
    check_counts(STORY, chunks, tokenizer, budget)
    check_ends(STORY, chunks, tokenizer, budget)
    if budget >= 100:
        assert set(boundaries(chunks)) <= natural_seams(STORY)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(tokenizer: Tokenizer, name: str) -> None:
    text = EXTREMES[name]
    chunks = chunk(document(text), tokenizer, 2_000)
    check_cover(text, chunks)
    check_counts(text, chunks, tokenizer, 2_000)
    assert len(chunks) <= 2 + 3 * tokenizer.count(text) // 2_000


def test_long_sentence_ends_at_a_clause() -> None:
    tokenizer = EstimatingTokenizer()
    clauses = "the wind that came over the marsh was cold, " * 30
    for end in boundaries(chunk(document(clauses), tokenizer, 40)):
        assert clauses[end - 1] == ","
    words = "the wind that came over the marsh was cold " * 30
    for end in boundaries(chunk(document(words), tokenizer, 40)):
        assert words[end] == " "
    letters = "thewindthatcameoverthemarshwascold" * 30
    assert len(chunk(document(letters), tokenizer, 40)) > 3


def test_unspaced_sentences_are_counted_apart(vocabulary: Tokenizer) -> None:
    text = "今日は雨です。明日は晴れるでしょう。" * 200
    chunks = chunk(document(text), vocabulary, 100)
    check_counts(text, chunks, vocabulary, 100)
    assert all(text[end - 1] == "。" for end in boundaries(chunks))


def test_small_texts_and_budgets() -> None:
    assert chunk(document(""), EstimatingTokenizer(), 100) == []
    assert [each.span for each in chunk(document("One."), EstimatingTokenizer(), 100)] == [Span(0, 4)]
    with pytest.raises(UsageError, match="too small") as caught:
        chunk(document("One."), EstimatingTokenizer(), MIN_BUDGET - 1)
    assert str(MIN_BUDGET) in caught.value.hint


@pytest.mark.slow
@relaxed
@given(text=texts, budget=budgets)
def test_chunk_of_n_plus_completes_its_sentence(tokenizer: Tokenizer, text: str, budget: int) -> None:
    chunks = chunk(document(text), tokenizer, budget, onward=True)
    check_cover(text, chunks)
    check_counts(text, chunks, tokenizer, budget + LONGEST_REST)
    seams = natural_seams(text)
    for piece in chunks[:-1]:
        if piece.tokens > budget:
            assert piece.span.end in seams
            assert not any(
                seam
                for seam in seams
                if piece.span.start < seam < piece.span.end and tokenizer.count(text[piece.span.start : seam]) > budget
            )
