"""Windows of a document, which of them are found for a query, and which sentences are central."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.document import Mark
from redraft.domain import Document, DocumentSection, Span
from redraft.readers.documents import load
from redraft.text.retrieval import LONGEST, PASSAGE, WINDOW, Passages, Ranker, Windows
from redraft.text.tokens import Tokenizer
from redraft.text.vectors import DUPLICATE, Embeddings, SentenceVectors, choose, rank
from redraft.text.words import count_words
from tests.text.hostile import raw_texts

ESTIMATE = Tokenizer()
KEEPERS = " ".join(f"The keeper of lamp {n} sailed to the harbour of Port{n} in the grey morning." for n in range(300))
CHINESE = "".join(f"第{n}座灯塔的看守人在清晨驶向港口。" for n in range(200))


def document(text: str, *starts: int) -> Document:
    ends = [*starts[1:], len(text)] if starts else []
    marks = [Mark(start, end, "document", f"d{start}") for start, end in zip(starts, ends, strict=True)]
    return Document("id", "title", text, marks=tuple(marks))


def windows(text: str, *starts: int) -> Windows:
    return Windows(document(text, *starts), ESTIMATE)


def is_covered(text: str, spans: Sequence[Span]) -> bool:
    """Whether every character that is no space is in one of them."""
    return all(
        character.isspace() or any(span.start <= at < span.end for span in spans) for at, character in enumerate(text)
    )


@pytest.mark.parametrize(
    "text",
    [KEEPERS[:9000], CHINESE, "word " * 3000, "x" * 9000, "😀🏽 " * 900, "short.", "", " \n\n ", "é\u0301a\r\n" * 400],
    ids=["prose", "chinese", "endless", "one word", "emoji", "short", "empty", "blank", "combining"],
)
def test_windows_hold_the_whole_text(text: str) -> None:
    parts = windows(text).spans
    assert is_covered(text, parts)
    meter = ESTIMATE.measure(text)
    assert [span for span in parts if meter.tokens(*span) > WINDOW] == []
    assert [part.start for part in parts] == sorted({part.start for part in parts})


def test_windows_are_found_by_words() -> None:
    at = KEEPERS.index("The keeper of lamp 100 ")
    parts = windows(KEEPERS, 0, at).spans
    assert [span for span in parts if span.start < at < span.end] == []
    assert at in {span.start for span in parts}
    search = windows(KEEPERS)
    place = KEEPERS.index("Port217")
    nearest = search.nearest("Who keeps the lamps and sails to the harbours of Port217?", 2)
    assert any(span.start <= place < span.end for span in nearest)
    assert search.nearest("zygote", 3) == search.nearest(" ", 3) == []
    assert windows("").nearest("lamp", 3) == []
    assert windows("").around(Span(0, 0)) == []
    assert list(Ranker(["", ". ."], ["en", "en"]).scores("lamp")) == [0, 0]


@pytest.mark.parametrize("room", [40, 700, 2000])
@pytest.mark.parametrize("text", [KEEPERS, CHINESE, "word " * 5000], ids=["prose", "chinese", "endless"])
def test_parts_have_every_character_and_overlap(text: str, room: int) -> None:
    parts, meter = windows(text).parts(room), ESTIMATE.measure(text)
    assert parts[0].start == 0
    assert parts[-1].end == len(text)
    assert all(following.start < part.end < following.end for part, following in pairwise(parts))
    assert [span for span in parts if meter.tokens(*span) > room] == []
    assert sum(meter.tokens(*span) for span in parts) < 3 * meter.tokens(0, len(text))


STORY = [
    "The keeper of the lighthouse lit the lamp.",
    "Gulls slept on the rail.",
    "The lighthouse keeper wrote in the lamp book.",
    "A schooner ran for the lighthouse when the keeper lit the lamp.",
    "Bread was dear that winter.",
]
WORDS = ["keeper", "lamp", "reef", "storm", "mate", "the", "of", "bread"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=20)


def picked(texts: list[str], limit: int, shares: list[float] | None = None, **columns: list[float]) -> list[int]:
    worth = np.array(columns.get("worth", [1.0] * len(texts)), dtype=np.float64)
    words = np.array([count_words(text) for text in texts], dtype=np.int64)
    parts = np.array(columns.get("part", [0] * len(texts)), dtype=np.int64)
    return choose(SentenceVectors(texts), worth, words, parts, limit, np.array(shares or [float(limit)]))


def test_rank_is_page_rank_and_follows_a_query() -> None:
    vectors = SentenceVectors(STORY)
    graph = np.stack([vectors.similarity_to(text) for text in STORY])
    np.fill_diagonal(graph, 0.0)
    degree = graph.sum(axis=0)
    ranks = np.full(len(STORY), 1 / len(STORY))
    for _ in range(100):
        moved = graph @ np.divide(ranks, degree, out=np.zeros_like(ranks), where=degree > 0)
        ranks = 0.85 * (moved + ranks[degree == 0].sum() / len(STORY)) + 0.15 / len(STORY)
    assert rank(vectors) == pytest.approx(ranks, abs=1e-4)
    assert int(np.argmax(rank(vectors, "What did bread cost?"))) == 4
    assert rank(vectors, "zeppelin") == pytest.approx(rank(vectors))


def test_equal_sentences_are_chosen_once() -> None:
    texts = ["The keeper lit the lamp.", "The keeper lit the lamps.", "Gulls slept on rails."]
    assert picked(texts, 100) == [0, 2]
    texts = ["Keeper trimmed lamps.", "Schooner struck reefs.", "Gulls slept aloft.", "Bread grew dear."]
    assert picked(texts, 6, [3.0, 3.0], worth=[1.0, 0.9, 0.8, 0.5], part=[0, 0, 0, 1]) == [0, 3]
    short = "The old keeper lit the lamp"
    vectors = SentenceVectors([short, f"{short} while rain fell on Gannet Point"])
    near, same = vectors.neighbours(0)
    assert near.tolist() == [0, 1]
    assert same == pytest.approx([1.0, 1.0])


@pytest.mark.slow
@settings(max_examples=40)
@given(TEXTS, st.integers(1, 40))
def test_chosen_sentences_fit_ordered_without_repeats(texts: list[str], limit: int) -> None:
    chosen = picked(texts, limit)
    vectors = SentenceVectors(texts)
    assert chosen == sorted(set(chosen))
    assert sum(count_words(texts[at]) for at in chosen) <= limit
    assert all(vectors.similarity_to(texts[a])[b] < DUPLICATE for a in chosen for b in chosen if a < b)


@pytest.mark.parametrize("texts", [[], [""], ["", "the of"], ["!!!", "—"]])
def test_texts_without_terms_have_no_similarity(texts: list[str]) -> None:
    vectors = SentenceVectors(texts)
    assert len(vectors) == len(texts)
    assert not vectors.spread(np.ones(len(texts))).any()
    assert not vectors.similarity_to("a keeper").any()
    assert all(not len(vectors.neighbours(at)[0]) for at in range(len(texts)))


SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "the-salt-ledger.md"


def sectioned(text: str, *starts: int) -> Document:
    ends = [*starts[1:], len(text)]
    return Document(
        "id", "title", text, tuple(DocumentSection("", 1, Span(*span)) for span in zip(starts, ends, strict=False))
    )


def said(text: str, *starts: int) -> list[str]:
    return [text[passage.start : passage.end] for passage in Passages(sectioned(text, *starts), ESTIMATE).spans]


class Letters:
    """An encoder for which texts are alike that have the same letters."""

    name = weights = "letters"

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> Embeddings:
        self.encoded += texts
        rows = np.array([[text.lower().count(chr(ord("a") + at)) for at in range(26)] for text in texts], np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.divide(rows, lengths, out=rows, where=lengths > 0), np.float32)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(raw_texts)
def test_sentence_is_in_a_short_passage(text: str) -> None:
    passages = Passages(sectioned(text), ESTIMATE)
    every_passage, meter = passages.spans, ESTIMATE.measure(text)
    assert all(0 < meter.tokens(*passage) <= LONGEST for passage in every_passage)
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(every_passage))
    assert all(text[slice(*passage)] == text[slice(*passage)].strip() != "" for passage in every_passage)
    covered = bytearray(len(text))
    for passage in every_passage:
        covered[slice(*passage)] = b"1" * (passage.end - passage.start)
    assert not "".join(text[at] for at in range(len(text)) if not covered[at]).strip()


def test_passages_keep_sections_and_sentences() -> None:
    source = load(str(SAMPLE))
    starts = [section.span.start for section in source.sections]
    assert len(starts) > 5
    passages = Passages(source, ESTIMATE)
    for passage in passages.spans:
        inside = [at for at in starts if passage.start < at < passage.end]
        assert all(not source.text[passage.start : at].strip("# \n").count("\n") for at in inside)
    text = "# One\n\n## Two\n\nIt rained. It stopped.\n\n## Three\n\nThe sun came out."
    starts = (0, text.index("## Two"), text.index("## Three"))
    assert said(text, *starts) == ["# One\n\n## Two\n\nIt rained. It stopped.", "## Three\n\nThe sun came out."]
    long, endless = "The keeper said " + "that he knew " * 50 + "the way.", "word " * 2_000 + "end."
    assert PASSAGE < ESTIMATE.count(long) <= LONGEST
    assert said(f"It rained. {long} It stopped.") == ["It rained.", long, "It stopped."]
    parts = said(endless)
    assert len(parts) > 10
    assert " ".join(parts) == endless


def test_the_passage_that_answers_comes_first() -> None:
    passages = Passages(load(str(SAMPLE)), ESTIMATE)
    question = "Who drove Hester Vane and Ruth Crane down to Gannet Point behind the mare Duchess?"
    passages_found = passages.nearest(question, 3)
    assert len(passages_found) == 3
    assert (
        "Tobias Wren drove Hester Vane and Ruth Crane down to Gannet Point"
        in passages._document.text[slice(*passages_found[0])]
    )
    assert passages_found == passages.nearest(question, 9)[:3]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Маяк погас ночью.\n\n# x\n\nКапитан потерял корабль.", "Кто потерял корабль?"),
        ("灯塔在夜里熄灭了。\n\n# x\n\n船长失去了他的船。", "谁失去了船?"),
        ("해가 졌다.\n\n# x\n\n선장은 배를 잃었다.", "배를"),
    ],
)
def test_any_script_is_searched(text: str, query: str) -> None:
    at = text.index("# x")
    passages = Passages(sectioned(text, at), ESTIMATE)
    assert passages.nearest(query, 5)[0].start == at


def test_an_encoder_finds_what_shares_no_word() -> None:
    text = "# a\n\nzzz yyy.\n\n# b\n\nabba cab."
    encoder = Letters()
    passages = Passages(sectioned(text, 0, text.index("# b")), ESTIMATE, encoder)
    assert encoder.encoded == [], "nothing is encoded before it is needed"
    assert passages.nearest("bacca", 1) == passages.spans[1:2]
    assert passages.nearest(" ", 1) == []
    assert encoder.encoded == ["# a\n\nzzz yyy.", "# b\n\nabba cab.", "bacca"]
