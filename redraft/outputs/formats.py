"""The formats in which a paper is written: which a file's name means, and how each is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Literal, get_args

from redraft.outputs import plain
from redraft.outputs.docx import docx
from redraft.outputs.html import html
from redraft.outputs.paper import Paper

Format = Literal["text", "markdown", "bullets", "json", "html", "docx"]
FORMATS: tuple[Format, ...] = get_args(Format)
WITH_NOTES: tuple[Format, ...] = ("html", "docx")
"""Those whose sentences cite the document."""
_ENDINGS: dict[str, Format] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".docx": "docx",
}
_WRITERS: dict[Format, Callable[[Paper], str | bytes]] = {
    "text": plain.text,
    "markdown": plain.markdown,
    "bullets": plain.bullets,
    "html": html,
    "docx": docx,
}
"""All but JSON, which has more in it than a paper."""


def format_of(name: str) -> Format:
    """What the ending of a file's name means; text where it means nothing."""
    return _ENDINGS.get(PurePath(name).suffix.lower(), "text")


def written(paper: Paper, form: Format) -> str | bytes:
    """A paper in one of the formats but JSON."""
    return _WRITERS[form](paper)
