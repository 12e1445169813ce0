"""The terminal: its width and colors, and what is written to it."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast

import click

from redraft.sources import STDIN, is_no_path
from redraft.text.columns import columns, lines_of
from redraft.text.sanitizer import clean

DONE, FAILED, WRONG_USAGE, SHORT, INTERRUPTED = 0, 1, 2, 3, 130
_WIDEST, _NARROWEST = 100, 40
_HARD_SPACE = "\xa0"
_margin: ContextVar[str] = ContextVar("margin", default="")
_to_stderr: ContextVar[bool] = ContextVar("to_stderr", default=False)
# What JSON need not escape, and terminals and readers obey all the same: DEL and C1, marks of direction, line ends.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
# They turn what stands beside them, and are nothing to see themselves.
_MARKS = re.compile("[\u061c\u200e\u200f]")


class _CleanStream:
    """A stream on which nothing that is printed moves the cursor, sets a title, or turns a line around.

    Messages of providers, names of files and models, what a database holds, warnings, tracebacks: all of it goes here.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write it, harmless. A bar that somebody else draws may go back to the beginning of its own line."""
        start = "\r" if text[:1] == "\r" and text[:2] != "\r\n" else ""
        self.stream.write(start + _MARKS.sub("", clean(text[len(start) :])))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            # Whoever writes bytes would go past us.
            raise AttributeError(name)
        return getattr(self.stream, name)


class _UnmarkedStream(_CleanStream):
    """A stream for whoever rewrites lines by escape sequences, and needs no marks of direction for it."""

    def write(self, text: str) -> int:
        self.stream.write(_MARKS.sub("", text))
        return len(text)


def clean_streams() -> None:
    """From here on, whatever is printed to stdout and stderr is cleaned, whoever prints it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _CleanStream):
            continue
        if codecs.lookup(stream.encoding or "ascii").name == "ascii" and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")
        setattr(sys, name, _CleanStream(stream))


def bare_stderr() -> TextIO:
    """The stream behind stderr, for lines that are rewritten. Whoever writes there cleans what comes from outside."""
    stream: Any = sys.stderr
    return cast(TextIO, _UnmarkedStream(stream.stream if isinstance(stream, _CleanStream) else stream))


def json_text(content: object, indent: int | None = 2) -> str:
    """What programs read, with everything escaped that a terminal might obey."""
    text = json.dumps(content, ensure_ascii=False, indent=indent)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def columns_of(stream: TextIO) -> int:
    """How wide the terminal behind a stream is; COLUMNS overrides it, and what is no terminal has the widest lines."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDEST
    except (OSError, ValueError, AttributeError):
        return _WIDEST


def width() -> int:
    """How wide lines may be: as the terminal is, within reason, less the margin that they are put behind."""
    stream = sys.stderr if _to_stderr.get() else sys.stdout
    return max(_NARROWEST, min(_WIDEST, columns_of(stream))) - len(_margin.get())


@contextmanager
def on_stderr() -> Iterator[None]:
    """Within, lines are wrapped for stderr, and not for stdout."""
    token = _to_stderr.set(True)
    try:
        yield
    finally:
        _to_stderr.reset(token)


def indented(lines: Iterable[str], margin: str = "  ") -> list[str]:
    """The lines behind a margin; those that are wrapped while they are made make room for it."""
    before = _margin.set(_margin.get() + margin)
    try:
        return [margin + line for line in lines]
    finally:
        _margin.reset(before)


def is_interactive() -> bool:
    """Whether stderr is a terminal that can rewrite its lines."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def wrapped(text: str, first: str = "", later: str | None = None) -> list[str]:
    """Return a text in lines, the first of them behind a mark, and the others behind `later`, or else indented."""
    later = " " * len(first) if later is None else later
    # A number stays with its unit.
    text = text.replace(" %", f"{_HARD_SPACE}%")
    lines = lines_of(text, width(), first, later)
    return [line.replace(f"{_HARD_SPACE}%", " %") for line in lines]


def prose(text: str) -> str:
    """A text for stdout: wrapped at words on a terminal, and to the byte as it is anywhere else."""
    if not sys.stdout.isatty():
        return text
    lines = (_folded(line) for line in text.split("\n"))
    return "\n".join(lines)


def say(line: str) -> None:
    """Narration goes to stderr. On a terminal it is wrapped, but for a command, which is there to be copied."""
    with on_stderr():
        click.echo(_folded(line) if sys.stderr.isatty() and "redraft " not in line else line, err=True)


def reading(*sources: str, quiet: bool) -> None:
    """Say what is about to be read, before anything is imported or read that takes its time."""
    if not quiet:
        names = ["stdin" if one == STDIN else "a text" if is_no_path(one) else one for one in sources]
        say(f"reading {', '.join(names)}")


def _folded(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(wrapped(line.strip(), indent, indent)) if columns(line) > width() else line
