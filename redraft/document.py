"""Documents, their parts and places in them. Plain values without pydantic, since a separate process reads files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from redraft.errors import UsageError

MarkKind = Literal[
    "document", "page", "time", "note", "table", "caption", "front", "contents", "notes", "index", "gutenberg"
]
"""The kind of a part: one of several documents read as one, a page, a time in a recording, a note, and so on. The last
five surround the main text: front matter, table of contents, endnotes, index, and Project Gutenberg's additions."""


class Mark(NamedTuple):
    """A part of a document, such as a page, note or table: its printed label and its place. One of several documents
    also has its language, if known."""

    start: int
    end: int
    kind: MarkKind
    label: str = ""
    href: str = ""
    language: str = ""


# A long text is not to be in memory once more.
_BLOCK = 1_000_000


def content_id(text: str) -> str:
    """Return the id of a text: the SHA-256 of its UTF-8 encoding."""
    digest = hashlib.sha256()
    for start in range(0, len(text), _BLOCK):
        digest.update(text[start : start + _BLOCK].encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


_ID = re.compile(r"[0-9a-f]{64}")


def is_content_id(text: str) -> bool:
    """Return whether this may be the id of a text."""
    return bool(_ID.fullmatch(text))


class Span(NamedTuple):
    """A half-open range of character offsets in a document."""

    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        """Return whether the two have a character in common."""
        return self.start < other.end and other.start < self.end


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans in document order, with overlapping ones joined."""
    merged: list[Span] = []
    for span in sorted(set(spans)):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


@dataclass(frozen=True, slots=True)
class PassageLocation:
    """Where a passage is, in the words of its document; each is empty if the document has no such thing."""

    document: str
    """Which of several documents read as one it is in."""
    chapter: str
    pages: str
    """The printed page, or the first and the last."""


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A titled section of a document, such as a chapter. `level` 1 is the outermost."""

    title: str
    level: int
    span: Span


@dataclass(frozen=True, slots=True)
class Document:
    """A source text. All spans are offsets in `text`."""

    id: str
    title: str
    text: str
    sections: tuple[DocumentSection, ...] = ()
    source: str = ""
    encoding: str = "utf-8"
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What was removed from it or could not be read, as sentences for the user."""
    marks: tuple[Mark, ...] = ()
    """Its pages, notes, tables and captions in order."""
    language: str = ""
    own_language: str | None = field(default=None, compare=False)
    """Its detected language, such as `de-AT`, or empty; kept where the user specifies another."""

    @classmethod
    def from_text(cls, text: str, title: str = "") -> Document:
        """Return a document for a text. Sections, and a title if it has none, are detected when needed."""
        if not isinstance(text, str):
            raise UsageError(f"the text of a document is of the type {type(text).__name__}", hint="pass a str")
        return cls(content_id(text), title, text)

    @property
    def members(self) -> tuple[Mark, ...]:
        """Return the marks of the documents that this one was combined from; empty if it is only one."""
        return tuple(mark for mark in self.marks if mark.kind == "document")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document that fits a token budget."""

    index: int
    span: Span
    tokens: int
