"""What stands where in a document, besides its chapters."""

from __future__ import annotations

from typing import Literal, NamedTuple

MarkKind = Literal[
    "document", "page", "time", "note", "table", "caption", "front", "contents", "notes", "index", "gutenberg"
]
"""What a stretch of a document is, besides a chapter: one of several documents that are read as one, a page, what is
said at a time, a note ...
The last five are what surrounds a text: the matter before its first chapter, a list of what is in it, its notes at the
end, its index, and what Project Gutenberg puts around it."""


class Mark(NamedTuple):
    """A stretch of a document that is a page, a note, a table and the like: its label as printed, and its address.

    One of several documents has its language as well, where it is known.
    """

    start: int
    end: int
    kind: MarkKind
    label: str = ""
    href: str = ""
    language: str = ""
