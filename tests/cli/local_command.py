"""The command within this process, for tests of what it prints: starting a process takes longer than most of them."""

from __future__ import annotations

import io
import os
import pty
import select
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

import pytest

from redraft.cli.main import main
from tests import warm
from tests.chatserver import ChatServer
from tests.command import Command, Completed
from tests.judges import PerfectModel, Script, island, scripted_replies, summary_of

MODEL = "openai:m"


def facts(markdown: str) -> str:
    """The words of a view on one line, without the bars of tables and the marks of items."""
    words = (word for word in markdown.replace("|", " ").split() if set(word) - set("-:#"))
    return " ".join(words)


@contextmanager
def judging_folder(folder: Path, script: Script | None = None, **environment: str) -> Iterator[LocalCommand]:
    """A directory with a document about keepers and a poor summary of it, and a judge who knows all about keepers.

    Of the six keepers that are asked about, the summary names three rightly and one wrongly.
    """
    (folder / "book.md").write_text(island().text, "utf-8")
    (folder / "poor.md").write_text(summary_of(1, 3, 4, wrong={2: "Bob"}), "utf-8")
    with ChatServer(scripted_replies(script or PerfectModel())) as server:
        yield LocalCommand(folder, server.base_url, REDRAFT_MODEL=MODEL, COLUMNS="100", **environment)


class LocalCommand(Command):
    """Runs to its end here, in the directory, environment and standard streams that a process would have."""

    def _done(self, arguments: Sequence[str], stdin: bytes) -> Completed:
        """Run it, as `Command` does."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        given = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
        with (
            patch.dict(os.environ, self.environment, clear=True),
            patch("sys.stdin", given),
            chdir(self.folder),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            main(arguments)
        assert isinstance(end.value.code, int)
        return Completed(end.value.code, _text(out), _text(err))


def plan(command: LocalCommand, *arguments: str) -> Any:
    """What a command says beforehand of what it comes to."""
    done = command.run(*arguments, "--dry-run", "--json", code=0)
    return done.json


class BackgroundCommand:
    """A command at work in a process of its own that began with the libraries loaded; it is ended with the block."""

    def __init__(self, command: Command, *arguments: str, **streams: Path) -> None:
        """Streams are files that stand for `stdin`, `stdout` and `stderr`."""
        self._made = tempfile.TemporaryDirectory()
        paths = [streams.get(name) or Path(self._made.name, name) for name in ("stdin", "stdout", "stderr")]
        for path in paths:
            path.touch()
        self._out, self._err = paths[1:]
        given = (list(arguments), str(command.folder), dict(command.environment), paths)
        self._process = warm._FORKING.Process(target=warm._redraft, args=given)
        self._process.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        self._made.cleanup()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def err(self) -> str:
        """What it has said on stderr so far."""
        return self._err.read_text("utf-8")

    def poll(self) -> int | None:
        """Its exit code, where it has ended."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        self._process.kill()
        self._process.join()

    def end(self, timeout: float = 60) -> Completed:
        """Wait until it has ended by itself."""
        self._process.join(timeout)
        code = self.poll()
        assert code is not None, "it is still at work"
        return Completed(code, self._out.read_text("utf-8"), self.err)


class Terminal:
    """A terminal to put streams of a command on, and what has been shown there."""

    def __init__(self) -> None:
        self._ours, self._theirs = pty.openpty()
        self.path = Path(os.ttyname(self._theirs))
        self.shown = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._ours)
        os.close(self._theirs)

    @property
    def text(self) -> str:
        return self.shown.decode().replace("\r\n", "\n")

    def type(self, text: bytes) -> None:
        os.write(self._ours, text)

    def look(self, seconds: float = 0.02) -> bool:
        """Whether something was shown within that time."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        self.shown += os.read(self._ours, 65_536)
        return True


def on_terminal(command: Command, *arguments: str, term: str = "xterm", typed: bytes = b"") -> Completed:
    """Run it to its end with stdout and stderr on terminals of 80 columns; what is typed comes from that of stderr."""
    own = Command(command.folder)
    own.environment = {**command.environment, "TERM": term, "COLUMNS": "80"}
    with ExitStack() as stack:
        out, err = (stack.enter_context(Terminal()) for _ in range(2))
        streams = {"stdout": out.path, "stderr": err.path} | ({"stdin": err.path} if typed else {})
        err.type(typed)
        process = stack.enter_context(BackgroundCommand(own, *arguments, **streams))
        running = True
        # What is written just before the end is read after it.
        while [one for one in (out, err) if one.look()] or running:
            running = process.poll() is None
        code = process.poll()
        assert code is not None
        return Completed(code, out.text, err.text)


def _text(stream: io.TextIOWrapper) -> str:
    written = stream.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode()
