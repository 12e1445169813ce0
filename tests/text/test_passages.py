from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from redraft.domain import Chunk, Document, DocumentSection, Span
from redraft.readers.documents import load, parse
from redraft.text.retrieval import LONGEST, PASSAGE, Passages
from redraft.text.sentences import sentences
from redraft.text.tokens import EstimatingTokenizer, Tokenizer
from redraft.text.vectors import Embeddings
from tests.text.hostile import raw_texts

ESTIMATE = EstimatingTokenizer()
SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "the-salt-ledger.md"


def document(text: str, *starts: int) -> Document:
    ends = [*starts[1:], len(text)]
    return Document(
        "id", "title", text, tuple(DocumentSection("", 1, Span(*span)) for span in zip(starts, ends, strict=False))
    )


def all_of(passages: Passages) -> list[Chunk]:
    return passages._passages


def said(text: str, *starts: int) -> list[str]:
    passages = Passages(document(text, *starts), ESTIMATE)
    return [passages.text(passage) for passage in all_of(passages)]


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
    passages = Passages(document(text), ESTIMATE)
    every_passage = all_of(passages)
    assert [passage.index for passage in every_passage] == list(range(len(every_passage)))
    assert all(0 < passage.tokens <= LONGEST for passage in every_passage)
    assert all(a.span.start < b.span.start and a.span.end < b.span.end for a, b in pairwise(every_passage))
    assert all(passages.text(passage) == passages.text(passage).strip() != "" for passage in every_passage)
    covered = bytearray(len(text))
    for passage in every_passage:
        covered[passage.span.start : passage.span.end] = b"1" * (passage.span.end - passage.span.start)
    assert not "".join(text[at] for at in range(len(text)) if not covered[at]).strip()


@pytest.mark.slow
def test_passages_overlap_by_a_sentence(tokenizer: Tokenizer) -> None:
    source = load(str(SAMPLE))
    every_passage = all_of(Passages(source, tokenizer))
    spans = sentences(source.text)
    starts, ends = {span.start for span in spans}, {span.end for span in spans}
    assert all(passage.span.start in starts and passage.span.end in ends for passage in every_passage)
    overlaps = [
        [span for span in spans if b.span.start <= span.start and span.end <= a.span.end]
        for a, b in pairwise(every_passage)
    ]
    assert all(len(shared) <= 1 for shared in overlaps)
    assert sum(len(shared) == 1 for shared in overlaps) > 0.85 * len(overlaps)
    assert np.mean([passage.tokens for passage in every_passage]) > 0.7 * PASSAGE


def test_no_passage_crosses_into_another_section() -> None:
    source = load(str(SAMPLE))
    starts = [section.span.start for section in source.sections]
    assert len(starts) > 5
    passages = Passages(source, ESTIMATE)
    for passage in all_of(passages):
        inside = [at for at in starts if passage.span.start < at < passage.span.end]
        assert all(not source.text[passage.span.start : at].strip("# \n").count("\n") for at in inside)


def test_a_heading_stands_with_what_follows_it() -> None:
    text = "# One\n\n## Two\n\nIt rained. It stopped.\n\n## Three\n\nThe sun came out."
    starts = (0, text.index("## Two"), text.index("## Three"))
    assert said(text, *starts) == ["# One\n\n## Two\n\nIt rained. It stopped.", "## Three\n\nThe sun came out."]


def test_long_sentence_is_its_own_passage() -> None:
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
    assert "Tobias Wren drove Hester Vane and Ruth Crane down to Gannet Point" in passages.text(passages_found[0])
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
    passages = Passages(document(text, at), ESTIMATE)
    assert passages.nearest(query, 5)[0].span.start == at


def test_what_shares_nothing_is_not_found() -> None:
    passages = Passages(document("The lamp went out. The keeper slept."), ESTIMATE)
    assert passages.nearest("schooner", 3) == []
    assert passages.nearest("Who was it?", 3) == []
    assert passages.nearest("lamp", 0) == []
    assert passages.nearest("lamp", -1) == []
    assert len(passages.nearest("lamp", 3)) == 1


def test_partial_matches_within_a_place() -> None:
    text = " ".join(f"The lamp of keeper {n} went out in the night, and nobody came to light it." for n in range(60))
    passages = Passages(document(text), ESTIMATE)
    every_passage = all_of(passages)
    middle = Span(every_passage[3].span.start + 9, every_passage[6].span.start + 9)
    near = passages.nearest("the lamp of keeper 1", 99, middle)
    # The third begins before the place, and the sixth ends behind it. Overlapping, the second may end within it.
    reaching = [
        passage.index
        for passage in every_passage
        if passage.span.end > middle.start and passage.span.start < middle.end
    ]
    assert sorted(passage.index for passage in near) == reaching
    assert {3, 4, 5, 6} <= set(reaching)
    assert len(reaching) <= 5
    assert passages.nearest("the lamp", 2, middle) == near[:2] or len(near) > 2
    assert passages.nearest("the lamp", 9, Span(len(text), len(text) + 9)) == []
    assert passages.nearest("schooner", 9, middle) == []


def test_an_encoder_finds_what_shares_no_word() -> None:
    text = "# a\n\nzzz yyy.\n\n# b\n\nabba cab."
    encoder = Letters()
    passages = Passages(document(text, 0, text.index("# b")), ESTIMATE, encoder)
    assert encoder.encoded == [], "nothing is encoded before it is needed"
    assert [passage.index for passage in passages.nearest("bacca", 1)] == [1]
    assert passages.nearest(" ", 1) == []
    assert encoder.encoded == ["# a\n\nzzz yyy.", "# b\n\nabba cab.", "bacca"]


def test_name_says_what_the_order_depends_on() -> None:
    assert Passages(document("x"), ESTIMATE).name == "bm25 120-240 estimate"
    letters = Letters()
    letters.name = "as the user calls it, which another model may be called tomorrow"
    assert Passages(document("x"), ESTIMATE, letters).name == "bm25 and letters 120-240 estimate"


@pytest.mark.slow
def test_a_long_text_is_indexed_in_seconds() -> None:
    sample = SAMPLE.read_text("utf-8")
    text = (sample * (300_000 // len(sample) + 1))[:300_000]
    passages = Passages(parse(text.encode(), name="big.md"), ESTIMATE)
    started = time.process_time()
    passages.nearest("Who drove Hester Vane to Gannet Point?", 3)
    indexed = time.process_time()
    for _ in range(5):
        passages.nearest("Who drove Hester Vane to Gannet Point?", 3)
    assert indexed - started < 5
    assert (time.process_time() - indexed) / 5 < 0.1
