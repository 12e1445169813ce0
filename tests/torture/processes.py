"""The `redraft` command as a process that can be killed, throttled and broken, and is there in a tenth of a second.

It is forked from a server that has everything imported already. All the rest is as a user has it: an environment, a
directory and streams of its own, its own process id, and `redraft.cli.main` from its first line to its exit code.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from redraft.cli.main import main
from redraft.llm import budget

PATIENCE = 90.0
"""Seconds after which a process is taken to hang."""

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    [
        __name__,
        "redraft.cli.main",
        "redraft.cli.runner",
        "redraft.cli.views.outcome",
        "redraft.cli.views.progress",
        "redraft.evaluators.catalog",
        "redraft.graphs.assembly",
        "redraft.llm.providers",
        "redraft.llm.providers",
        "redraft.runs.session",
        "redraft.text.vectors",
    ]
)


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to a process besides what it was told to do."""

    dies_after: int = 0
    """It kills itself after so many writes to the checkpoints."""
    largest_file: int = 0
    """No file may become larger, in bytes: its disk is full."""


@dataclass(frozen=True, slots=True)
class WorkerExit:
    """What a process left behind. Its code is None where it hung, and negative where it was killed."""

    code: int | None
    out: str
    err: str

    @property
    def trouble(self) -> str:
        """A traceback or a hang; nothing where it ended as a command should."""
        if self.code is None:
            return "it hung"
        return f"a traceback: {self.err[-700:]}" if "Traceback (most recent call last)" in self.err else ""


@dataclass(slots=True)
class Running:
    """A process that was started."""

    process: Any
    out: Path
    err: Path
    pid: int = field(init=False)

    def __post_init__(self) -> None:
        self.pid = self.process.pid

    @property
    def alive(self) -> bool:
        return bool(self.process.is_alive())

    def kill(self) -> None:
        """SIGKILL, if it is still there."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def end(self, patience: float = PATIENCE) -> WorkerExit:
        """Wait until it is over; one that is not by then is killed."""
        self.process.join(patience)
        hung = self.process.is_alive()
        if hung:
            self.kill()
            self.process.join()
        code = None if hung else self.process.exitcode
        out, err = (_text(path) for path in (self.out, self.err))
        return WorkerExit(code, out, err)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape") if path.is_file() else ""


def start(
    arguments: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    streams: tuple[str, Path, Path],
    fate: Fate = Fate(),
) -> Running:
    """Start the command in a directory, with these paths as stdin, stdout and stderr."""
    values = (arguments, str(folder), dict(environment), tuple(map(str, streams)), fate)
    process = _PROCESSES.Process(target=_live, args=values)
    process.start()
    return Running(process, *streams[1:])


def _live(
    arguments: tuple[str, ...], folder: str, environment: dict[str, str], streams: tuple[str, ...], fate: Fate
) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(streams):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY
        os.dup2(os.open(path, flags, 0o600), number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", errors=errors, closefd=False, buffering=1)  # noqa: SIM115
        for number, (mode, errors) in enumerate((("r", "strict"), ("w", "strict"), ("w", "backslashreplace")))
    )
    _arrange(fate)
    main(arguments)


def _arrange(fate: Fate) -> None:
    # Pauses after failures are for providers that are far away.
    budget.FIRST_PAUSE = 0.01
    if fate.largest_file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fate.largest_file, fate.largest_file))
    _count_writes(fate.dies_after)


def _count_writes(dies_after: int) -> None:
    """Note every write to the checkpoints in the file `writes`, and die after the one that was named."""
    count, log = 0, os.open("writes", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def counted(name: str) -> None:
        write = getattr(AsyncSqliteSaver, name)

        async def writing(*values: Any, **options: Any) -> Any:
            nonlocal count
            done = await write(*values, **options)
            count += 1
            os.write(log, b".")
            if count == dies_after:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        setattr(AsyncSqliteSaver, name, writing)

    counted("aput")
    counted("aput_writes")
