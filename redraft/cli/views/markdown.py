"""Markdown on a terminal: rendered by rich, with headings at the left and whole ids."""

from __future__ import annotations

from typing import ClassVar, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, TableElement
from rich.table import Table
from rich.text import Text

from redraft.text.sanitizer import clean

_WIDEST = 120


class _LeftHeading(Heading):
    """A heading at the left, without a frame."""

    def __rich_console__(self, *_: object):  # type: ignore[no-untyped-def]
        self.text.justify = "left"
        yield Text("") if self.tag != "h1" else Text("", end="")
        yield self.text


class _TableWithWholeIds(TableElement):
    """A table whose first column is not shortened where it holds ids, which are copied."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table) and table.columns and str(table.columns[0].header) in ("run", "batch", "pack"):
                table.columns[0].no_wrap = True
            yield table


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _LeftHeading, "table_open": _TableWithWholeIds}


def print_markdown(markdown: str, stream: TextIO, width: int) -> None:
    """Print Markdown to a terminal of this width."""
    # rich does not sanitize, and its own escape sequences must not be sanitized.
    console = Console(file=stream, width=min(_WIDEST, width), highlight=False)
    console.print(_Markdown(clean(markdown), hyperlinks=False))
