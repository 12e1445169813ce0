"""Where in a document something stands, for people and for models that read it."""

from __future__ import annotations

from redraft.domain import Document, Span


def place_of(document: Document, span: Span) -> str:
    """Where in a document something stands, for people: its chapter, and how far into the document that is."""
    chapter, where = chapter_of(document, span), f"at {percent_of(document, span.start)} % of the document"
    return f"{chapter}, {where}" if chapter else where


def chapter_of(document: Document, span: Span) -> str:
    """The title of the innermost section that something stands in; empty where there is none but the document."""
    within = [one for one in document.sections if one.span.start <= span.start < one.span.end]
    titles = [one.title for one in within if one.title != document.title]
    return titles[-1] if titles else ""


def percent_of(document: Document, offset: int) -> int:
    """How far into a document something stands, in whole hundredths of it."""
    return 100 * offset // max(1, len(document.text))
