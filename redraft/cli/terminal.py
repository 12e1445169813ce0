"""The terminal: its width and colors, interrupts, and hints after an error."""

from __future__ import annotations

import codecs
import json
import os
import re
import shlex
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO, cast

import click
from click.core import ParameterSource

from redraft.sources import STDIN, is_no_path
from redraft.store.database import shown
from redraft.text.cleaning import clean
from redraft.text.columns import columns, lines_of

if TYPE_CHECKING:
    from redraft.settings import Limits


_WIDEST, _NARROWEST = 100, 40
_HARD_SPACE = "\xa0"
_margin: ContextVar[str] = ContextVar("margin", default="")
# What JSON need not escape, and terminals and readers obey all the same: DEL and C1, marks of direction, line ends.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
# They turn what stands beside them, and are nothing to see themselves.
_MARKS = re.compile("[\u061c\u200e\u200f]")


class _Harmless:
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
        """Write them all."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            # Whoever writes bytes would go past us.
            raise AttributeError(name)
        return getattr(self.stream, name)


class _Unmarked(_Harmless):
    """A stream for whoever rewrites lines by escape sequences, and needs no marks of direction for it."""

    def write(self, text: str) -> int:
        self.stream.write(_MARKS.sub("", text))
        return len(text)


def make_harmless() -> None:
    """From here on, whatever is printed to stdout and stderr is cleaned, whoever prints it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _Harmless):
            continue
        if codecs.lookup(stream.encoding or "ascii").name == "ascii" and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8")
        setattr(sys, name, _Harmless(stream))


def bare_stderr() -> TextIO:
    """The stream behind stderr, for lines that are rewritten. Whoever writes there cleans what comes from outside."""
    stream: Any = sys.stderr
    return cast(TextIO, _Unmarked(stream.stream if isinstance(stream, _Harmless) else stream))


def json_text(content: object, indent: int | None = 2) -> str:
    """What programs read, with everything escaped that a terminal might obey."""
    text = json.dumps(content, ensure_ascii=False, indent=indent)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
    click.echo(_folded(line) if sys.stderr.isatty() and "redraft " not in line else line, err=True)


def reading(*sources: str, quiet: bool) -> None:
    """Say what is about to be read, before anything is imported or read that takes its time."""
    if not quiet:
        names = ["stdin" if one == STDIN else "a text" if is_no_path(one) else one for one in sources]
        say(f"reading {', '.join(names)}")


def _folded(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(wrapped(line.strip(), indent, indent)) if columns(line) > width() else line


_OF_A_RUN = re.compile(r"\bredraft (resume|show|trace|diff|fork) ([0-9a-f]{8})\b(?! --?\w)")


def about(verb: str, run: str, *more: str) -> str:
    """The command that does something with a run, in the database that the user named."""
    return " ".join(["redraft", verb, run, *more, *_given(verb)])


def resuming(run: str, limits: Limits, said: str = "") -> str:
    """The command that goes on with a run: with twice the limit that `said` names, where one was used up."""
    if "--max-calls" in said and limits.max_calls is not None:
        return about("resume", run, "--max-calls", str(2 * limits.max_calls))
    if "--max-cost" in said and limits.max_cost is not None:
        return about("resume", run, "--max-cost", f"{2 * limits.max_cost:g}")
    return about("resume", run)


def completed(text: str) -> str:
    """A hint of the library, which knows nothing of the command line, with its commands completed."""
    return _OF_A_RUN.sub(lambda found: about(found[1], found[2]), text)


def _given(verb: str) -> list[str]:
    """What was on the command line and must be there again; the environment and the settings file still hold."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    form = context.params.get("form") if verb == "resume" else None
    again = ["--format", form] if form else []
    if context.get_parameter_source("db") is ParameterSource.COMMANDLINE:
        again += ["--db", shlex.quote(shown(context.params["db"]))]
    return again


INTERRUPTED = 130
_PATIENCE = 0.4
# The display of progress hides it while it lasts.
_CURSOR = "\r\x1b[K\x1b[?25h"


def end_at_the_second() -> None:
    """From now on a second Ctrl-C ends the process if it has not ended by itself a moment later.

    Python hears of a signal when the main thread has a turn, which it has not while it waits for a database or for a
    thread that reads. So another thread listens. What was stored by then is kept, as if the process had been killed.
    """
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(ear,), daemon=True, name="interrupts").start()


@contextmanager
def told_of_termination(stop: Callable[[], object]) -> Iterator[None]:
    """Within, SIGTERM calls `stop` instead of ending the process."""

    def stopped(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  (as handlers are called)
        stop()

    # The handler of an event loop would take the place of whoever listens for the second Ctrl-C.
    before = signal.signal(signal.SIGTERM, stopped)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _listen(ear: int) -> None:
    heard = 0
    while heard < 2:
        heard += os.read(ear, 16).count(signal.SIGINT)
    time.sleep(_PATIENCE)
    shown = _CURSOR if is_lively() else ""
    with suppress(OSError):  # there may be no stderr any more
        os.write(2, f"{shown}\nredraft: stopped at once; what was stored is kept\n".encode())
    os._exit(INTERRUPTED)
