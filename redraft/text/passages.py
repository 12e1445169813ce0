"""Finds the passages of a document that are related to a question."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from redraft.document import Span
from redraft.text.chunks import pieces, windows
from redraft.text.languages import language_spans_of
from redraft.text.origin_chains import Stretches
from redraft.text.origins import indexed
from redraft.text.places import starts_of
from redraft.text.retrieval import DocumentSearch, Windows
from redraft.text.tokens import Meter

WINDOW = 120
"""The usual most tokens of a passage."""
LONGEST = 240
"""A single sentence that exceeds a window is one passage up to this many tokens, and is cut beyond them."""
_LAST_SECTIONS, _AN_END = 3, 4
"""The last sections whose ends are shown of a document, and the number of passages of an end."""


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in document order, with overlapping ones joined."""
    whole: list[Span] = []
    for span in sorted(set(spans)):
        if whole and span.start <= whole[-1].end:
            whole[-1] = Span(whole[-1].start, max(whole[-1].end, span.end))
        else:
            whole.append(span)
    return whole


@dataclass(frozen=True, slots=True)
class Passage:
    """A window of consecutive whole sentences."""

    index: int
    span: Span
    tokens: int


class Passages(DocumentSearch):
    """The passages of one document, overlapping by a sentence, and a search by shared words, and by meaning with an
    encoder. They are cut at the first search, in linear time."""

    method, sizes = "words", (WINDOW, LONGEST)

    def nearest(self, query: str, count: int, within: Span | None = None) -> list[Passage]:
        """Return up to `count` passages that best cover `query`, later ones covering what earlier ones do not;
        unrelated passages and those outside `within` are left out."""
        if not query.strip() or not self._passages:
            return []
        return [self._passages[at] for at in self._index.nearest(query, count, within)]

    @cached_property
    def windows(self) -> Windows:
        """Return the larger windows of the same document, which judges read."""
        return Windows(self._document, self._tokenizer, self._encoder)

    def holding(self, span: Span) -> list[Passage]:
        """Return the fewest passages that together contain a place."""
        first = max(0, bisect_right(self._passages, span.start, key=lambda passage: passage.span.start) - 1)
        held = []
        for passage in self._passages[first:]:
            if passage.span.start >= span.end:
                break
            held.append(passage)
            if passage.span.end >= span.end:
                break
        return held

    def around(self, span: Span, beside: int) -> list[Passage]:
        """Return the passages that contain a place, and this many on either side."""
        held = self.holding(span)
        return self._passages[max(0, held[0].index - beside) : held[-1].index + beside + 1] if held else []

    def across(self) -> Iterator[Passage]:
        """Yield passages from all over the document: the ends of its last sections, its beginning, then evenly."""
        if not self._passages:
            return
        ends = [section.span.end for section in self._document.sections[-_LAST_SECTIONS:]]
        for end in (*reversed(ends), len(self._document.text)):
            after = bisect_right(self._passages, max(0, end - 1), key=lambda passage: passage.span.start)
            yield from reversed(self._passages[max(0, after - _AN_END) : after])
        yield from self._passages[:_AN_END]
        parts = 2
        while parts <= len(self._passages):
            for odd in range(1, parts, 2):
                yield self._passages[odd * len(self._passages) // parts]
            parts *= 2

    def text(self, passage: Passage) -> str:
        """Return the passage's text."""
        return self._document.text[passage.span.start : passage.span.end]

    @cached_property
    def _passages(self) -> list[Passage]:
        text = self._document.text
        meter = self._tokenizer.measure(text)
        bounds = starts_of(self._document)
        starts = sorted({*(section.span.start for section in self._document.sections), *bounds})
        spans = (
            span
            for block in _blocks(indexed(text, language_spans_of(self._document)).sentences, starts, frozenset(bounds))
            for window in _windows(block, meter)
            for span in pieces(text, window, meter, LONGEST, WINDOW)
        )
        return [Passage(index, span, meter.tokens(*span)) for index, span in enumerate(spans)]

    @cached_property
    def _index(self) -> Stretches:
        return Stretches(self._document.text, [passage.span for passage in self._passages], self._encoder)


def _blocks(found: list[Span], section_starts: list[int], bounds: frozenset[int]) -> Iterator[list[Span]]:
    """Return groups of sentences that may share a passage: those of one section, with headings joined to the text after
    them, within a document's `bounds`."""
    block: list[Span] = []
    passed, after_heading = 0, False
    for sentence in found:
        first = passed
        while passed < len(section_starts) and section_starts[passed] <= sentence.start:
            passed += 1
        opens = passed > first
        if opens and block and (not after_heading or not bounds.isdisjoint(section_starts[first:passed])):
            yield block
            block = []
        block.append(sentence)
        after_heading = opens
    if block:
        yield block


def _windows(block: list[Span], meter: Meter) -> Iterator[Span]:
    """Yield windows that overlap by a sentence if it fits."""

    def following(_: int, after: int) -> int:
        fits = meter.tokens(block[after - 1].start, block[after].end) <= WINDOW
        return after - 1 if fits else after

    return windows(block, meter, WINDOW, following)
