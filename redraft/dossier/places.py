"""Stretches of the document, with what people want to know of them."""

from __future__ import annotations

from redraft.domain import Document, Span
from redraft.dossier.contents import Place
from redraft.text.cleaning import one_line
from redraft.text.places import chapter_of, document_of, pages_of, percent_of


class Places:
    """Names stretches of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def at(self, span: Span | None) -> Place | None:
        """A stretch with its chapter, how far into the document it is, and its words; None for none."""
        return None if span is None else self.known(span)

    def known(self, span: Span) -> Place:
        """The same of a stretch that there is."""
        return self._named(span, one_line(self._document.text[span.start : span.end]))

    def wide(self, span: Span) -> Place:
        """A stretch without its words, since these are many."""
        return self._named(span, "")

    def _named(self, span: Span, words: str) -> Place:
        document = self._document
        return Place(
            start=span.start,
            end=span.end,
            document=one_line(document_of(document, span)),
            chapter=one_line(chapter_of(document, span)),
            pages=one_line(pages_of(document, span)),
            percent=percent_of(document, span.start),
            text=words,
        )
