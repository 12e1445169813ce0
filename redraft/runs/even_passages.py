"""Passages of a document without a search, for dry runs: which passages are found does not change the count."""

from __future__ import annotations

from functools import cached_property
from math import ceil
from zlib import crc32

from redraft.domain import Document, Span
from redraft.text import retrieval
from redraft.text.retrieval import OVERLAP, Passage, Passages, Windows
from redraft.text.tokens import Tokenizer

# Passages and windows end between sentences, so they are not quite full.
_FILLED = 0.85


class EvenPassages(Passages):
    """Passages of equal length, chosen by a hash of the query rather than by content."""

    def __init__(self, document: Document, tokenizer: Tokenizer, tokens: int) -> None:
        """`tokens` is the length of the document."""
        super().__init__(document, tokenizer)
        self._tokens = tokens

    def nearest(self, query: str, count: int, within: Span | None = None) -> list[Passage]:
        """Return so many passages, `within` a part of the document if one is given."""
        found = self.holding(within) if within else self._passages
        return [found[at] for at in _drawn(query, count, len(found))]

    @cached_property
    def windows(self) -> Windows:
        """Return the larger windows of the same document."""
        return _EvenWindows(self._document, self._tokenizer, self._tokens)

    @cached_property
    def _passages(self) -> list[Passage]:
        length = len(self._document.text)
        count = max(1, round(self._tokens / (_FILLED * retrieval.WINDOW)))
        tokens = self._tokens // count
        return [Passage(at, Span(at * length // count, (at + 1) * length // count), tokens) for at in range(count)]


class _EvenWindows(Windows):
    """Windows of equal length that overlap by half."""

    def __init__(self, document: Document, tokenizer: Tokenizer, tokens: int) -> None:
        super().__init__(document, tokenizer)
        self._tokens = tokens

    @cached_property
    def spans(self) -> list[Span]:
        """Return all windows in document order."""
        return self._cut(Span(0, len(self._document.text)), int(_FILLED * retrieval.WINDOW), OVERLAP)

    def nearest(self, query: str, count: int) -> list[Span]:
        """Return so many windows."""
        return [self.spans[at] for at in _drawn(query, count, len(self.spans))]

    def parts(self, room: int, within: Span | None = None) -> list[Span]:
        """Return a document, or a part of it, in pieces of at most `room` tokens that overlap by half a window."""
        return self._cut(within or Span(0, len(self._document.text)), room, min(OVERLAP, room // 4))

    def _cut(self, place: Span, room: int, overlap: int) -> list[Span]:
        length = place.end - place.start
        tokens = max(1, self._tokens * length // len(self._document.text))
        if tokens <= room:
            return [place]
        count = ceil((tokens - overlap) / (room - overlap))
        step, size = (length - length * overlap // tokens) / count, length * overlap // tokens
        starts = [place.start + int(at * step) for at in range(count)]
        return [Span(start, min(place.end, int(start + step) + size)) for start in starts]


def _drawn(query: str, count: int, of: int) -> list[int]:
    """Return so many items of a list, mostly in adjacent pairs at equal distances, starting at a hash of the query."""
    count = min(count, of)
    first = crc32(query.encode("utf-8", "replace"))
    return list(dict.fromkeys((first + at // 2 * 2 * of // count + at % 2) % of for at in range(count)))
