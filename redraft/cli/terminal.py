"""The terminal: its width and colors, output to it, and interruption by Ctrl-C."""

from __future__ import annotations

import codecs
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

import click

from redraft.sources import STDIN, is_inline_text
from redraft.text.sanitizer import clean

DONE, FAILED, WRONG_USAGE, SHORT, INTERRUPTED = 0, 1, 2, 3, 130
_WIDEST, _NARROWEST = 100, 40
# Characters that JSON need not escape but terminals interpret: DEL and C1, direction marks, line separators.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
# Invisible marks that change the direction of neighboring text.
_MARKS = re.compile("[\u061c\u200e\u200f]")


class OutputError(Exception):
    """Stdout cannot be written. It is no `OSError`, because click ends the process for some of these."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror)
        self.reader_left = isinstance(error, BrokenPipeError)


class _CleanStream:
    """A stream whose output cannot move the cursor, set a title or change the text direction; a `raw` one allows escape
    sequences for rewriting lines.

    It receives all untrusted text: provider messages, names of files and models, stored texts, warnings and tracebacks.
    Where a message on stderr cannot be written, the command goes on.
    """

    def __init__(self, stream: TextIO, *, holds_results: bool = False, raw: bool = False) -> None:
        self.stream, self.holds_results, self._raw = stream, holds_results, raw

    def write(self, text: str) -> int:
        """Write sanitized text. A leading carriage return is kept, for progress bars of other packages."""
        start = "\r" if text[:1] == "\r" and text[:2] != "\r\n" else ""
        safe = text if self._raw else start + clean(text[len(start) :])
        self._checked(self.stream.write, _MARKS.sub("", safe))
        return len(text)

    def flush(self) -> None:
        """Flush what was written."""
        self._checked(self.stream.flush)

    def _checked(self, write: Callable[..., object], *texts: str) -> None:
        try:
            write(*texts)
        except OSError as error:
            if self.holds_results:
                raise OutputError(error) from error
            if isinstance(error, BrokenPipeError):
                raise

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":
            # Writing bytes would bypass the sanitizing.
            raise AttributeError(name)
        return getattr(self.stream, name)


def clean_streams() -> None:
    """Sanitize everything that is printed to stdout and stderr from now on."""
    for name in ("stdout", "stderr"):
        # A closed stream is None. No file that is opened later must get its number.
        stream = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        if isinstance(stream, _CleanStream):
            continue
        encoding = codecs.lookup(stream.encoding or "ascii").name
        if encoding != "utf-8" and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8" if encoding == "ascii" else None, errors="backslashreplace")
        setattr(sys, name, _CleanStream(stream, holds_results=name == "stdout"))


def raw_stream(stream: Any) -> TextIO:
    """Return the stream behind stdout or stderr, for escape sequences. The caller sanitizes untrusted text."""
    return cast("TextIO", _CleanStream(getattr(stream, "stream", stream), raw=True))


def json_text(content: object, indent: int | None = 2) -> str:
    """Return JSON with all characters escaped that a terminal might interpret."""
    text = json.dumps(content, ensure_ascii=False, indent=indent)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def echo_json(content: object) -> None:
    """Print content as JSON to stdout."""
    click.echo(json_text(content))


def show_record(content: object, markdown: str, *, as_json: bool, empty: str = "") -> None:
    """Print a record as JSON or as Markdown; if there is nothing to show, print `empty` to stderr."""
    if as_json:
        echo_json(content)
    elif markdown.strip():
        show_markdown(markdown)
    else:
        say(empty)


def show_markdown(markdown: str) -> None:
    """Print Markdown to stdout: rendered on a terminal, and elsewhere its source without escapes, which tools can
    search."""
    if not sys.stdout.isatty():
        from redraft.report.markdown.evaluation import plain

        click.echo(plain(markdown), nl=False)
        return
    from redraft.cli.views.markdown import print_markdown

    print_markdown(markdown, raw_stream(sys.stdout), terminal_width(sys.stdout))


def say_markdown(markdown: str) -> None:
    """Print Markdown to stderr, line by line."""
    from redraft.report.markdown.evaluation import plain

    for line in plain(markdown).rstrip().split("\n"):
        say(line)


def terminal_width(stream: TextIO) -> int:
    """Return the width of a stream's terminal. COLUMNS overrides it; other streams get the maximum."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDEST
    except (OSError, ValueError, AttributeError):
        return _WIDEST


def is_interactive() -> bool:
    """Return whether stderr is a terminal that can rewrite lines."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def prose(text: str) -> str:
    """Return a text for stdout: wrapped at words on a terminal, unchanged otherwise."""
    return "\n".join(_folded(line, sys.stdout) for line in text.split("\n"))


def say(line: str) -> None:
    """Print a line to stderr. On a terminal it is wrapped, unless it contains a command, which is to be copied."""
    click.echo(line if "redraft " in line else _folded(line, sys.stderr), err=True)


def lines_of(text: str, width: int, first: str = "", later: str = "") -> list[str]:
    """Return a text in lines of at most this many columns, with a prefix for the first line and one for later lines."""
    from rich.cells import cell_len

    lines: list[str] = []
    line, is_empty = first, True
    for word in text.split():
        # A script without spaces may go on in the next line after any letter.
        for at, piece in enumerate(word if cell_len(word) > width - cell_len(later) else [word]):
            space = " " * (not is_empty and at == 0)
            if not is_empty and cell_len(line + space + piece) > width:
                lines.append(line)
                line, space = later, ""
            line, is_empty = line + space + piece, False
    return lines if is_empty else [*lines, line]


def _folded(line: str, stream: TextIO) -> str:
    """Return a line for a stream: on a terminal wrapped to its width, within bounds, with the indent of the line."""
    if not stream.isatty():
        return line
    from rich.cells import cell_len

    width = max(_NARROWEST, min(_WIDEST, terminal_width(stream)))
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(lines_of(line.strip(), width, indent, indent)) if width < cell_len(line) else line


def say_reading(*sources: str, quiet: bool) -> None:
    """Say what is about to be read, before slow imports and reading begin."""
    if not quiet:
        names = ["stdin" if source == STDIN else "a text" if is_inline_text(source) else source for source in sources]
        say(f"reading {', '.join(names)}")


_PATIENCE = 0.4
# The progress display hides the cursor.
_CURSOR = "\r\x1b[K\x1b[?25h"


def exit_at_second_interrupt() -> None:
    """Let a second Ctrl-C end the process unless it ends by itself within a moment.

    Python handles signals only when the main thread runs, which it does not while it waits for a database or for a
    reading thread, so another thread listens. What was stored by then is kept, as if the process had been killed.
    """
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(ear,), daemon=True, name="interrupts").start()


@contextmanager
def on_termination(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` on SIGTERM instead of ending the process while the context is active."""
    # A signal handler of the event loop would replace the one for the second Ctrl-C.
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _listen(ear: int) -> None:
    heard = 0
    while heard < 2:
        heard += os.read(ear, 16).count(signal.SIGINT)
    time.sleep(_PATIENCE)
    cursor = _CURSOR if is_interactive() else ""
    with suppress(OSError):  # stderr may be closed
        end = "redraft: stopped; finished work is kept: `redraft resume`, or the same command again"
        os.write(2, f"{cursor}\n{end}\n".encode())
    os._exit(INTERRUPTED)
