"""The terminal: how wide it is, lines that fit it, and what is said on stderr. Imports next to nothing."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from contextvars import ContextVar

import click

_WIDEST, _NARROWEST = 100, 40
_HARD_SPACE = "\xa0"
_margin: ContextVar[str] = ContextVar("margin", default="")


def width() -> int:
    """How wide lines may be: as the terminal is, within reason, less the margin that they are put behind."""
    columns = shutil.get_terminal_size((_WIDEST, 24)).columns
    return max(_NARROWEST, min(_WIDEST, columns)) - len(_margin.get())


def indented(lines: Iterable[str], margin: str = "  ") -> list[str]:
    """The lines behind a margin; those that are wrapped while they are made make room for it."""
    before = _margin.set(_margin.get() + margin)
    try:
        return [margin + line for line in lines]
    finally:
        _margin.reset(before)


def is_lively() -> bool:
    """Whether stderr is a terminal that can rewrite its lines."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def wrapped(text: str, first: str, later: str) -> list[str]:
    """A text in lines, the first of them behind one mark, the others behind another."""
    # A number stays with its unit.
    text = text.replace(" %", f"{_HARD_SPACE}%")
    lines = textwrap.wrap(text, width(), initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return [line.replace(f"{_HARD_SPACE}%", " %") for line in lines]


def prose(text: str) -> str:
    """A text for stdout: wrapped at words on a terminal, and to the byte as it is anywhere else."""
    if not sys.stdout.isatty():
        return text
    lines = (_folded(line) for line in text.split("\n"))
    return "\n".join(lines)


def say(line: str) -> None:
    """Narration goes to stderr. On a terminal it is wrapped, but for a command, which is there to be copied."""
    click.echo(_folded(line) if sys.stderr.isatty() and "redraft " not in line else line, err=True)


def reading(*sources: str, quiet: bool) -> None:
    """Say what is about to be read, before anything is imported or read that takes its time."""
    if not quiet:
        names = ["stdin" if source == "-" else source for source in sources]
        say(f"reading {', '.join(names)}")


def _folded(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(wrapped(line.strip(), indent, indent)) if len(line) > width() else line
