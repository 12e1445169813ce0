"""Views of documents: sections, pages and omitted parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from redraft.cli.terminal import wrapped
from redraft.cli.views.render import count
from redraft.domain import Document, DocumentSection
from redraft.readers.parts import MATTER, chapters
from redraft.text.places import pages_of
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

_TITLE = 60
_MARGIN = "           "


def lines(document: Document) -> Iterator[str]:
    """Yield a document's view for people."""
    language = f", language {one_line(document.language)}" if document.language else ""
    words = f"{count(count_words(document.text), 'word')}, {len(document.text):,} characters"
    yield from _row("title", one_line(document.title))
    yield from _row("file", f"{one_line(document.source)}, {document.encoding}{language}")
    yield from _row("text", words)
    several = document.members
    for mark in several:
        its = f", language {one_line(mark.language)}" if mark.language and not document.language else ""
        words = count(_words(document, (mark.start, mark.end)), "word")
        yield from _row("document", f"{one_line(mark.label)}: {words}{its}")
    pages = [] if several else [mark.label for mark in document.marks if mark.kind == "page"]
    if pages:
        number = len(dict.fromkeys(pages))
        yield from _row("pages", f"{number:,}, from {one_line(pages[0])} to {one_line(pages[-1])}")
    if times := [mark.label for mark in document.marks if mark.kind == "time"]:
        yield from _row("times", f"from {times[0]} to {times[-1]}")
    kinds = Counter(mark.kind for mark in document.marks)
    if inner := [count(kinds[kind], kind) for kind in ("table", "caption", "note") if kinds[kind]]:
        yield from _row("besides", ", ".join(inner))
    if kept := [f"{what} (--skip {kind})" for kind, what in MATTER.items() if kinds[kind]]:
        yield from _row("kept", ", ".join(kept))
    for note in document.notes:
        yield from _row("note", note)
    yield from _sections(document)


def document_json(document: Document) -> dict[str, object]:
    """Return a document as JSON; fields may be added, never changed."""
    numbers = _numbers(document)
    return {
        "id": document.id,
        "title": document.title,
        "file": document.source,
        "encoding": document.encoding,
        "language": document.language,
        "words": count_words(document.text),
        "characters": len(document.text),
        "sections": [
            {
                "title": section.title,
                "level": section.level,
                "chapter": numbers.get(section),
                "span": list(section.span),
                "words": _words(document, section.span),
                "pages": pages_of(document, section.span),
            }
            for section in document.sections
        ],
        "marks": [
            {"kind": mark.kind, "label": mark.label, "href": mark.href, "span": [mark.start, mark.end]}
            | ({"language": mark.language} if mark.kind == "document" else {})
            for mark in document.marks
        ],
        "notes": list(document.notes),
    }


def _sections(document: Document) -> Iterator[str]:
    """Yield the sections, each with its number for `--chapters`."""
    numbers = _numbers(document)
    if document.sections:
        yield ""
        yield "chapter    words  pages      section"
    for section in document.sections:
        title = "  " * min(section.level - 1, 6) + one_line(section.title, _TITLE)
        pages = one_line(pages_of(document, section.span), 10)
        yield f"{numbers.get(section, ''):>7} {_words(document, section.span):>8,}  {pages:<10} {title}".rstrip()


def _numbers(document: Document) -> dict[DocumentSection, int]:
    """Return the chapter number of each section; empty if several documents are read as one."""
    return {} if document.members else {section.section: section.number for section in chapters(document)}


def _words(document: Document, span: tuple[int, int]) -> int:
    return count_words(document.text[slice(*span)])


def _row(name: str, text: str) -> list[str]:
    return wrapped(text, f"{name:<{len(_MARGIN)}}", _MARGIN)
