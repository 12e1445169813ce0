"""The parts of a document other than its chapters."""

from __future__ import annotations

from typing import Literal, NamedTuple

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
