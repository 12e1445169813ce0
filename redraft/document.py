"""Documents and where things stand in them. Plain values that need no pydantic: a process of its own reads files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

from redraft.marks import Mark

# A long text is not to be in memory once more.
_BLOCK = 1_000_000


def content_id(text: str) -> str:
    """The id under which a text is stored: the SHA-256 of its UTF-8 form."""
    found = hashlib.sha256()
    for start in range(0, len(text), _BLOCK):
        found.update(text[start : start + _BLOCK].encode("utf-8", "surrogatepass"))
    return found.hexdigest()


class Span(NamedTuple):
    """A half-open range of character offsets into a document."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A titled stretch of a document: a chapter, a part. `level` 1 is the outermost."""

    title: str
    level: int
    span: Span


@dataclass(frozen=True, slots=True)
class Document:
    """A source text. `text` is what the offsets of every span refer to."""

    id: str
    title: str
    text: str
    sections: tuple[DocumentSection, ...] = ()
    source: str = ""
    encoding: str = "utf-8"
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What was taken out of it or could not be read, in sentences. They are said when it is read, and later on."""
    marks: tuple[Mark, ...] = ()
    """Its pages, notes, tables and captions, in their order."""
    language: str = ""
    own_language: str | None = field(default=None, compare=False)
    """The language that it is in, as `de-AT`, empty where nothing tells; and what that is where a user says another."""

    @classmethod
    def from_text(cls, text: str, title: str = "") -> Document:
        """A document out of a text at hand. Its sections, and its title if it has none, are found when it is used."""
        return cls(content_id(text), title, text)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document that fits a token budget."""

    index: int
    span: Span
    tokens: int
