"""The output formats by file name: text, Markdown, bullets, HTML and DOCX."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Literal, get_args

from redraft.report.outputs import formats
from redraft.report.outputs.docx import docx
from redraft.report.outputs.html import html
from redraft.report.outputs.paper import Block, Paper, PaperPart
from redraft.text.cleaning import one_line
from redraft.text.sentences import sentences

# What makes links, images, notes and HTML of a text that may have been written for other readers. Everything else of
# Markdown is the summary's own.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"(\\*)\](?=[(\[:])")


def text(paper: Paper) -> str:
    """The texts as they are, each under its heading."""
    return _joined(paper, lambda part: part.text.strip(), lambda part: one_line(part.heading))


def markdown(paper: Paper) -> str:
    """The same as Markdown, in which nothing leads anywhere."""
    return _joined(paper, lambda part: harmless(part.text.strip()), _headed)


def bullets(paper: Paper) -> str:
    """One sentence a bullet; headings stay where they are."""
    return "\n".join(_lines(paper)) + "\n"


def harmless(said: str) -> str:
    """Markdown without links, images, notes and HTML: what would make them stands there as it is written."""
    return _LINK.sub(_escaped, _TAG.sub(r"\\<", said))


def _escaped(found: re.Match[str]) -> str:
    # After an odd number of backslashes it is escaped already.
    return found[0] if len(found[1]) % 2 else f"{found[1]}\\]"


def _joined(paper: Paper, said: Callable[[PaperPart], str], headed: Callable[[PaperPart], str]) -> str:
    title = [headed(PaperPart("", paper.title))] if paper.is_titled else []
    stretches = [*title] + [
        one for part in paper.parts for one in ((headed(part) if part.heading else ""), said(part)) if one
    ]
    return "\n\n".join(stretches) + "\n"


def _headed(part: PaperPart) -> str:
    return f"{'#' * part.level} {harmless(one_line(part.heading))}"


def _lines(paper: Paper) -> list[str]:
    lines: list[str] = [f"# {harmless(one_line(paper.title))}"] if paper.is_titled else []
    for block in paper.blocks:
        if block.kind == "heading":
            lines += [*([""] if lines else []), f"{'#' * block.level} {harmless(block.text)}", ""]
        else:
            lines += [f"- {harmless(one)}" for one in _sentences(block, paper.language or None)]
    return lines


def _sentences(block: Block, language: str | None) -> list[str]:
    said = block.text
    return [said[one.start : one.end] for one in sentences(said, language=language)]


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
    "text": formats.text,
    "markdown": formats.markdown,
    "bullets": formats.bullets,
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
