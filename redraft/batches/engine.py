"""Engines start the workers of a batch (`local`: processes on this machine); a pool watches and replaces them."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from pkgutil import resolve_name
from threading import Thread
from types import TracebackType
from typing import Self

from redraft import plugins
from redraft.batches.queue import Batches
from redraft.batches.worker import FAILED_FOR_GOOD, Tell, WorkerExit, WorkerTerms
from redraft.errors import RedraftError, RunCommand, Set, StoreError, UsageError
from redraft.store.store import Store


class Worker(ABC):
    """A worker, wherever it runs."""

    def __init__(self, terms: WorkerTerms) -> None:
        self.terms, self.since = terms, time.monotonic()
        self.start: float | None = None
        """When it was first seen working; None while it waits for resources."""

    @property
    @abstractmethod
    def pid(self) -> int | None:
        """Its process id; None before it has started, which may have to wait for resources."""

    @abstractmethod
    def ended(self) -> WorkerExit | None:
        """Return how it ended; None while it runs or waits to start."""

    @abstractmethod
    def stop(self, *, at_once: bool = False) -> None:
        """Tell it to release its unfinished items, and to end; or kill it, so that it has stopped when this returns."""


@dataclass(frozen=True, slots=True)
class Engine:
    """What starts the workers of a batch. None of them outlives the process that opened it."""

    start: Callable[[WorkerTerms, Tell], Worker]
    """Starts a worker as soon as resources are available, with what receives its messages for users."""
    room: int
    """The default number of workers."""
    is_elsewhere: bool = False
    """Whether workers may run on machines without access to this one's files."""


ENGINES = ("local", "ray")
_RAY = "redraft.batches.ray_engine:ray_engine"
"""Imports Ray, an extra, only where it is asked for."""
_MIN = 2


def engine_named(name: str, address: str | None, db: str) -> AbstractContextManager[Engine]:
    """Return the engine of this name for an address, whose workers use a database; it starts as its context begins. An
    address or a database that does not suit it is refused at once."""
    if name not in ENGINES:
        raise UsageError(f"there is no engine {name!r}; choose from {' and '.join(ENGINES)}")
    if name == "ray":
        plugins.require("the engine ray", "ray", "ray")
        opening: AbstractContextManager[Engine] = resolve_name(_RAY)(address, db)
        return opening
    if address is not None:
        raise UsageError(
            "local workers have no address", fix=("leave ", Set("address"), " out, or name another ", Set("engine"))
        )
    return nullcontext(Engine(WorkerProcess, max(_MIN, os.cpu_count() or 1)))


_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1])\nfrom redraft.batches.worker import main; main()"
_LAST_WORDS = 1.0


class WorkerProcess(Worker):
    """A worker process. It stops when its standard input closes, so that none outlives a killed command."""

    def __init__(self, terms: WorkerTerms, tell: Tell) -> None:
        super().__init__(terms)
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-I", "-c", _START, json.dumps([os.path.abspath(folder) for folder in sys.path])],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            # glibc would reserve some memory for each short-lived thread.
            env={"MALLOC_ARENA_MAX": "2", **os.environ},
        )
        self._last_line = ""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(asdict(terms)) + "\n")
            self.process.stdin.flush()
        self._listening = Thread(target=self._listen, args=(tell,), daemon=True)
        self._listening.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def ended(self) -> WorkerExit | None:
        """Return how it ended, from its exit code and last message."""
        code = self.process.poll()
        if code is None:
            return None
        self.stop()
        self._listening.join(_LAST_WORDS)
        if code < 0:
            names = {number.value: number.name for number in signal.Signals}
            return WorkerExit(f"it was stopped by {names.get(-code, f'signal {-code}')}")
        if code == FAILED_FOR_GOOD and self._last_line:
            return WorkerExit(self._last_line, for_good=True)
        message = f": {self._last_line}" if self._last_line else ""
        return WorkerExit(f"it ended with code {code}{message}" if code else "")

    def stop(self, *, at_once: bool = False) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        if at_once:
            self.process.kill()
            self.process.wait()

    def _listen(self, tell: Tell) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                self._last_line = line.rstrip("\n")
                tell(self._last_line)


_TO_END = 20.0
"""Seconds that a stopping worker gets to clean up."""
_LOOK_AGAIN = 0.05
_RESUME = ("fix that, then ", RunCommand("batch resume"), ": stored results are safe")
_VAIN_STARTS = 3
"""Give up after this many consecutive workers that died early without leasing an item."""
_SOON = 30.0
_TO_BEGIN = 15.0
"""Seconds after which a waiting worker is reported to the user."""
_NO_ROOM = 600.0
"""Seconds without a single worker after which waiting ends."""


@dataclass(slots=True)
class WorkerPool:
    """The workers of one batch for the duration of the context."""

    store: Store
    engine: Engine
    terms: WorkerTerms
    """The terms of every worker, except its name and number."""
    tell: Tell
    """Receives each message of the workers once."""
    running: list[Worker] = field(default_factory=list)
    _messages: set[str] = field(default_factory=set)
    _vain: int = 0

    def __enter__(self) -> Self:
        for number in range(self.terms.of):
            self._start(number)
        return self

    def repair(self) -> bool:
        """Release the leases of dead workers and start others; report workers that wait for resources, and give up in
        the end if none could start. Return whether any is working or waiting to start."""
        for worker in [*self.running]:
            if worker.start is None and worker.pid is not None:
                worker.start = time.monotonic()
            ended = worker.ended()
            if ended is not None:
                self.running.remove(worker)
                if ended.for_good:
                    raise RedraftError(f"no worker can continue: {ended.died}", fix=_RESUME)
                if not ended.died:
                    continue
                leased = Batches(self.store).release(worker.terms.batch, worker.terms.worker, ended.died)
                # A worker that found every document leased may have none for hours.
                soon = worker.start is None or time.monotonic() - worker.start < _SOON
                self._vain = self._vain + 1 if soon and not leased else 0
                if self._vain >= _VAIN_STARTS:
                    raise RedraftError(
                        f"workers cannot be started; the last one: {ended.died}",
                        hint="fix that, then repeat the command",
                    )
                self._start(worker.terms.number)

        waiting = [worker for worker in self.running if worker.start is None]
        if len(waiting) == len(self.running) and Batches(self.store).is_over(self.terms.batch):
            return False
        waited = [time.monotonic() - worker.since for worker in waiting]
        late = sum(seconds > _TO_BEGIN for seconds in waited)
        if late:
            self._hear(f"{late} of {self.terms.of} workers wait for resources")
        if late == len(self.running) and waited and min(waited) > _NO_ROOM:
            raise RedraftError(
                f"in {_NO_ROOM / 60:.0f} minutes there were no resources for a single worker",
                hint="repeat the command when some are free",
            )
        return bool(self.running)

    def _start(self, number: int) -> None:
        terms = replace(self.terms, worker=f"{os.getpid()}-{secrets.token_hex(4)}", number=number)
        self.running.append(self.engine.start(terms, self._hear))

    def _hear(self, line: str) -> None:
        if line not in self._messages:
            self._messages.add(line)
            self.tell(line)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        until = time.monotonic() + _TO_END
        for worker in self.running:
            worker.stop()
        for worker in self.running:
            while (ended := worker.ended()) is None and worker.pid is not None and time.monotonic() < until:
                time.sleep(_LOOK_AGAIN)
            if ended is None:
                # It has not started, or takes too long.
                worker.stop(at_once=True)
            died = ended.died if ended is not None else "it did not stop when asked to"
            # If that cannot be stored, the leases expire.
            with suppress(StoreError):
                if died:
                    Batches(self.store).release(worker.terms.batch, worker.terms.worker, died)
