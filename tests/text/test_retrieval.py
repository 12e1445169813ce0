"""Windows of a document, and which of them are found for a query."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from redraft.document import Mark
from redraft.domain import Document, Span
from redraft.text.retrieval import OVERLAP, WINDOW, Ranker, Windows, terms
from redraft.text.tokens import EstimatingTokenizer
from redraft.text.vectors import Embeddings

ESTIMATE = EstimatingTokenizer()
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
def test_windows_hold_the_whole_text_and_no_more_than_they_may(text: str) -> None:
    found = windows(text).spans
    assert is_covered(text, found)
    meter = ESTIMATE.measure(text)
    assert [span for span in found if meter.tokens(*span) > WINDOW] == []
    assert [one.start for one in found] == sorted({one.start for one in found})


def test_each_window_shares_half_with_the_one_before_it() -> None:
    found, meter = windows(KEEPERS).spans, ESTIMATE.measure(KEEPERS)
    shared = [meter.tokens(other.start, one.end) for one, other in pairwise(found)]
    assert min(shared) > OVERLAP / 2
    assert max(shared) <= OVERLAP
    assert all(KEEPERS[span.start : span.start + 3] == "The" and KEEPERS[span.end - 1] == "." for span in found)


def test_no_window_crosses_from_one_document_into_another() -> None:
    at = KEEPERS.index("The keeper of lamp 100 ")
    found = windows(KEEPERS, 0, at).spans
    assert [span for span in found if span.start < at < span.end] == []
    assert at in {span.start for span in found}


@pytest.mark.parametrize("room", [40, 700, 2000])
@pytest.mark.parametrize("text", [KEEPERS, CHINESE, "word " * 5000], ids=["prose", "chinese", "endless"])
def test_parts_have_every_character_and_overlap(text: str, room: int) -> None:
    found, meter = windows(text).parts(room), ESTIMATE.measure(text)
    assert found[0].start == 0
    assert found[-1].end == len(text)
    assert all(other.start < one.end < other.end for one, other in pairwise(found))
    assert [span for span in found if meter.tokens(*span) > room] == []
    assert sum(meter.tokens(*span) for span in found) < 3 * meter.tokens(0, len(text))


def test_what_fits_is_one_part() -> None:
    assert windows(KEEPERS).parts(100_000) == [Span(0, len(KEEPERS))]
    assert windows(KEEPERS).parts(100_000, Span(5, 90)) == [Span(5, 90)]


def test_the_window_of_a_sentence_is_among_the_first_in_other_forms_of_its_words() -> None:
    found = windows(KEEPERS)
    place = KEEPERS.index("Port217")
    nearest = found.nearest("Who keeps the lamps and sails to the harbours of Port217?", 2)
    assert any(span.start <= place < span.end for span in nearest)
    assert found.nearest("zygote", 3) == found.nearest(" ", 3) == []


def test_without_spaces_pairs_of_letters_find_a_window() -> None:
    text = CHINESE + "老船长把账本藏在钟楼里。" + CHINESE
    (nearest, *_) = windows(text).nearest("账本藏在哪里？钟楼", 3)
    assert nearest.start <= text.index("账本") < nearest.end
    assert terms("钟楼里 x", "zh") == ["钟楼", "楼里", "x"]


def test_words_of_an_unknown_language_are_left_as_they_are() -> None:
    assert terms("Sailing ships", "en") == ["sail", "ship"]
    assert terms("Sailing ships", "xx") == ["sailing", "ships"]


class Harbours:
    """Sees nothing but whether a text is about Port5."""

    name = weights = "harbours"

    def encode(self, texts: Sequence[str]) -> Embeddings:
        rows = [[1.0, 0.0] if "Port5 " in text or "fifth" in text else [0.0, 1.0] for text in texts]
        return np.array(rows, dtype=np.float32)


def test_meanings_are_fused_with_words() -> None:
    query = "the fifth harbour, or lamp 290"
    by_words = Windows(document(KEEPERS), ESTIMATE)
    fused = Windows(document(KEEPERS), ESTIMATE, Harbours())
    place = KEEPERS.index("Port5 ")
    assert not any(span.start <= place < span.end for span in by_words.nearest(query, 2))
    assert any(span.start <= place < span.end for span in fused.nearest(query, 2))
    assert fused.name != by_words.name


def test_a_place_is_held_by_the_first_window_that_has_all_of_it() -> None:
    found = windows(KEEPERS)
    for n in (0, 7, 150, 299):
        start = KEEPERS.index(f"lamp {n} ")
        (held,) = found.holding(Span(start, start + 8))
        assert held.start <= start
        assert start + 8 <= held.end
    every = found.holding(Span(0, len(KEEPERS)))
    assert is_covered(KEEPERS[:4000], every)
    assert len(every) < len(found.spans)


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert windows("").nearest("lamp", 3) == []
    assert windows("").holding(Span(0, 0)) == []
    assert list(Ranker(["", ". ."], ["en", "en"]).scores("lamp")) == [0, 0]
