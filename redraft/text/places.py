"""Where in a document something stands, for people and for models that read it."""

from __future__ import annotations

from redraft.document import Document, Span
from redraft.text.sanitizer import one_line

_LONGEST_TITLE = 120


def place_of(document: Document, span: Span) -> str:
    """Where in a document something stands, for people: its chapter, its page, and how far in it is.

    Of several documents that are read as one the first is which of them it is.
    """
    where = chapter_of(document, span), on_pages(pages_of(document, span))
    return place_said(document_of(document, span), *where, percent_of(document, span.start))


def place_said(document: str, chapter: str, pages: str, percent: int) -> str:
    """A place for people: which document of several, its chapter, `on_pages`, and how far in all that is read it is."""
    where = f"at {percent} % of {'all documents' if document else 'the document'}"
    return ", ".join(one for one in (document, chapter, pages, where) if one)


def document_of(document: Document, span: Span) -> str:
    """Which of several documents that are read as one something stands in; empty where there is one alone."""
    before = (mark.label for mark in document.marks if mark.kind == "document" and mark.start <= span.start)
    return next(reversed([*before]), "")


def chapter_of(document: Document, span: Span) -> str:
    """The title of the innermost section that something stands in; empty where there is none but the document."""
    within = [one for one in document.sections if one.span.start <= span.start < one.span.end]
    titles = [one.title for one in within if one.title != document.title]
    return titles[-1] if titles else ""


def path_of(document: Document, span: Span) -> str:
    """The titles of the sections that something begins in, the outermost first; empty where there are none but the
    document."""
    within = [one for one in document.sections if one.span.start <= span.start < one.span.end]
    within = within or [one for one in document.sections if span.start <= one.span.start < span.end][:1]
    return " › ".join(one_line(one.title, _LONGEST_TITLE) for one in within if one.title != document.title)


def part_of(document: Document, span: Span, number: int, of: int) -> str:
    """Where a part of a document stands, for a model that reads it alone: title, sections, and which part it is."""
    titled = one_line(document_of(document, span) or document.title, _LONGEST_TITLE)
    numbered = f"part {number} of {of}" if of > 1 else ""
    return "\n".join(one for one in (titled, path_of(document, span), numbered) if one)


def pages_of(document: Document, span: Span) -> str:
    """The page that something stands on, as printed, or the first and the last of several; empty without pages."""
    end = max(span.end, span.start + 1)
    labels = [
        mark.label for mark in document.marks if mark.kind == "page" and mark.start < end and span.start < mark.end
    ]
    return "-".join(dict.fromkeys((labels[0], labels[-1]))) if labels else ""


def on_pages(pages: str) -> str:
    """Pages as `pages_of` gives them, for people."""
    return f"{'pages' if '-' in pages else 'page'} {pages}" if pages else ""


def percent_of(document: Document, offset: int) -> int:
    """How far into a document something stands, in whole hundredths of it."""
    return 100 * offset // max(1, len(document.text))


def starts_of(document: Document) -> list[int]:
    """Where each of several documents that are read as one begins; nothing where there is one alone."""
    return [mark.start for mark in document.marks if mark.kind == "document"]
