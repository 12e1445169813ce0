"""Describes places of a document, for people and for models."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redraft.document import Document, PassageLocation, Span
from redraft.text.sanitizer import one_line

_LONGEST_TITLE = 120


def place_of(document: Document, span: Span) -> str:
    """Return a place in words: the document if there are several, its chapter, its page, and how far into it the place
    is."""
    where = chapter_of(document, span), on_pages(pages_of(document, span))
    percent = percent_of(document, span.start)
    return place_said(document_of(document, span), *where, percent, part_read(document.notes))


def place_in(document: Document, span: Span) -> PassageLocation:
    """Return the place of a passage. The document may be without its text."""
    names = document_of(document, span), chapter_of(document, span), pages_of(document, span)
    return PassageLocation(*map(one_line, names))


def place_said(document: str, chapter: str, pages: str, percent: int, part: str = "") -> str:
    """Return a place in words from its parts. `part` is what was read of the document; empty if all of it was."""
    where = f"at {percent}% of {'all documents' if document else part or 'the document'}"
    return ", ".join(name for name in (document, chapter, pages, where) if name)


def part_read(notes: Sequence[str]) -> str:
    """Return which chapters and pages were read of a document with these notes; empty if all were."""
    matches = (re.fullmatch(r"reading ((?:chapter|page)s? .*) only", note) for note in notes)
    return ", ".join(match[1] for match in matches if match)


def document_of(document: Document, span: Span) -> str:
    """Return the name of the document that a place is in; empty if there is only one."""
    before = (mark.label for mark in document.members if mark.start <= span.start)
    return next(reversed([*before]), "")


def chapter_of(document: Document, span: Span) -> str:
    """Return the title of the innermost section at a place; empty if there is none."""
    within = [section for section in document.sections if section.span.start <= span.start < section.span.end]
    titles = [section.title for section in within if section.title != document.title]
    return titles[-1] if titles else ""


def part_of(document: Document, span: Span, number: int, of: int) -> str:
    """Return the position of a part of a document, for a model that reads nothing else: title, sections in which it
    begins, the outermost first, and the part's number."""
    titled = one_line(document_of(document, span) or document.title, _LONGEST_TITLE)
    within = [section for section in document.sections if section.span.start <= span.start < section.span.end]
    within = within or [section for section in document.sections if span.start <= section.span.start < span.end][:1]
    titles = [one_line(section.title, _LONGEST_TITLE) for section in within if section.title != document.title]
    numbered = f"part {number} of {of}" if of > 1 else ""
    return "\n".join(line for line in (titled, " › ".join(titles), numbered) if line)


def pages_of(document: Document, span: Span) -> str:
    """Return the printed page of a place or its time, or the first and the last; empty if it has neither."""
    end = max(span.end, span.start + 1)
    labels = [
        mark.label
        for mark in document.marks
        if mark.kind in ("page", "time") and mark.start < end and span.start < mark.end
    ]
    return "-".join(dict.fromkeys((labels[0], labels[-1]))) if labels else ""


def on_pages(pages: str) -> str:
    """Return pages in words; times, such as 00:12:40, need none."""
    if ":" in pages:
        return pages
    return f"{'pages' if '-' in pages else 'page'} {pages}" if pages else ""


def percent_of(document: Document, offset: int) -> int:
    """Return how far into a document a place is, in whole per cent."""
    return 100 * offset // max(1, len(document.text))
