from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from redraft.domain import Chunk, Document, DocumentSection, Span
from redraft.readers.documents import load
from redraft.text.retrieval import LONGEST, PASSAGE, Passages
from redraft.text.tokens import EstimatingTokenizer
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


def test_passages_keep_sections_and_sentences() -> None:
    source = load(str(SAMPLE))
    starts = [section.span.start for section in source.sections]
    assert len(starts) > 5
    passages = Passages(source, ESTIMATE)
    for passage in all_of(passages):
        inside = [at for at in starts if passage.span.start < at < passage.span.end]
        assert all(not source.text[passage.span.start : at].strip("# \n").count("\n") for at in inside)
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


def test_an_encoder_finds_what_shares_no_word() -> None:
    text = "# a\n\nzzz yyy.\n\n# b\n\nabba cab."
    encoder = Letters()
    passages = Passages(document(text, 0, text.index("# b")), ESTIMATE, encoder)
    assert encoder.encoded == [], "nothing is encoded before it is needed"
    assert [passage.index for passage in passages.nearest("bacca", 1)] == [1]
    assert passages.nearest(" ", 1) == []
    assert encoder.encoded == ["# a\n\nzzz yyy.", "# b\n\nabba cab.", "bacca"]
