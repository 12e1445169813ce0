"""Taking stretches out of a document, so that what is left still knows its sections and its pages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from redraft.document import Document, Section, Span, content_id
from redraft.text.passages import joined

_BETWEEN = "\n\n"


def without(document: Document, stretches: Iterable[Span]) -> Document:
    """The document without some stretches."""
    kept: list[Span] = []
    at = 0
    for start, end in joined(stretches):
        kept.append(Span(at, start))
        at = end
    return only(document, [*kept, Span(at, len(document.text))])


def only(document: Document, stretches: Iterable[Span]) -> Document:
    """The document that some stretches of it are, one behind the other."""
    pieces = [one for span in joined(stretches) if (one := _bare(document.text, span)).end > one.start]
    cut = _Cut(pieces)
    text = _BETWEEN.join(document.text[start:end] for start, end in pieces)
    sections = (Section(one.title, one.level, span) for one in document.sections if (span := cut.span(one.span)))
    marks = (
        one._replace(start=span.start, end=span.end)
        for one in document.marks
        if (span := cut.span(Span(one.start, one.end)))
    )
    return replace(document, id=content_id(text), text=text, sections=tuple(sections), marks=tuple(marks))


def _bare(text: str, span: Span) -> Span:
    """A stretch without the white space around it."""
    part = text[span.start : span.end]
    return Span(span.start + len(part) - len(part.lstrip()), span.start + len(part.rstrip()))


class _Cut:
    """Where what is kept of a text stands once the rest is gone."""

    def __init__(self, pieces: Sequence[Span]) -> None:
        self._pieces = pieces
        self._moved: list[int] = []
        length = 0
        for start, end in pieces:
            self._moved.append(length)
            length += end - start + len(_BETWEEN)

    def span(self, span: Span) -> Span | None:
        """The new place of a stretch, or of what is left of it."""
        first = bisect_right(self._pieces, span.start, key=lambda piece: piece.end)
        last = bisect_right(self._pieces, span.end - 1, key=lambda piece: piece.start) - 1
        if first > last:
            return None
        start = max(span.start, self._pieces[first].start) - self._pieces[first].start + self._moved[first]
        end = min(span.end, self._pieces[last].end) - self._pieces[last].start + self._moved[last]
        return Span(start, end) if end > start else None
