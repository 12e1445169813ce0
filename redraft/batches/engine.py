"""Engines start the workers of a batch (`local`: processes on this machine); a pool watches and replaces them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import EntryPoint
from threading import Thread
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from redraft import plugins
from redraft.batches.worker import FAILED_FOR_GOOD, Tell, WorkerTerms
from redraft.errors import RedraftError, RunCommand, Set, StoreError, UsageError
from redraft.store.store import Store

OWN = {"local": "redraft.batches.engine:ProcessEngine", "ray": "redraft.batches.ray_engine:RayEngine"}
"""redraft's engines in entry-point notation; only the requested one is imported."""
_KIND: plugins.Kind = "engines"
_NEEDS = {"ray": ("ray",)}


class WorkerPlace(NamedTuple):
    """Where a worker runs."""

    pid: int
    machine: str = ""
    """Empty for this machine."""


class WorkerExit(NamedTuple):
    """A worker has ended."""

    died: str = ""
    """The cause of death; empty for a normal end."""
    for_good: bool = False
    """Whether another worker would die of the same cause, such as a full disk."""


class WorkerHandle(Protocol):
    """A worker, wherever it runs."""

    def place(self) -> WorkerPlace | None:
        """Return where it runs; None before it has started, which may have to wait for resources."""

    def ended(self) -> WorkerExit | None:
        """Return how it ended; None while it runs or waits to start."""

    def stop(self) -> None:
        """Tell it to release its unfinished items, and to end."""

    def kill(self) -> None:
        """Kill it; it has stopped working when this returns."""


class Engine(Protocol):
    """Starts workers while its context lasts. No worker outlives the process that entered it."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...

    def room(self) -> int:
        """Return the default number of workers."""

    def is_elsewhere(self) -> bool:
        """Return whether workers may run on machines without access to this one's files."""

    def start(self, terms: WorkerTerms, tell: Tell) -> WorkerHandle:
        """Start a worker as soon as resources are available. `tell` receives its messages for users."""


Make = Callable[[str | None, str], Engine]
"""An entry point of the group `redraft.engines`: creates an engine for an address, whose workers use a database. May
refuse either."""


def engine_named(name: str, address: str | None, db: str) -> Engine:
    """Return the engine of this name for an address; nothing is started yet."""
    plugins.refuse_taken(_KIND, OWN)
    if name in OWN:
        plugins.require(f"the engine {name}", name, *_NEEDS.get(name, ()))
        make: Make = EntryPoint(name, OWN[name], f"redraft.{_KIND}").load()
    elif name in (installed := plugins.names(_KIND)):
        make = plugins.load(_KIND, name)
    else:
        *names, last = (*OWN, *installed)
        raise UsageError(f"there is no engine {name!r}; choose from {', '.join(names)} and {last}")
    return make(address, db)


_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1])\nfrom redraft.batches.worker import main; main()"
_MIN = 2
_LAST_WORDS = 1.0


class ProcessEngine:
    """Starts a process for each worker."""

    def __init__(self, address: str | None = None, _db: str = "") -> None:
        if address is not None:
            raise UsageError(
                "local workers have no address", fix=("leave ", Set("address"), " out, or name another ", Set("engine"))
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Do nothing: each process is ended by itself."""

    def room(self) -> int:
        """Return one per processor, and at least two."""
        return max(_MIN, os.cpu_count() or 1)

    def is_elsewhere(self) -> bool:
        return False

    def start(self, terms: WorkerTerms, tell: Tell) -> WorkerProcess:
        return WorkerProcess(terms, tell)


class WorkerProcess:
    """A worker process. It stops when its standard input closes, so that none outlives a killed command."""

    def __init__(self, terms: WorkerTerms, tell: Tell) -> None:
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
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(asdict(terms)) + "\n")
            self.process.stdin.flush()
        self._listening = Thread(target=self._listen, args=(tell,), daemon=True)
        self._listening.start()

    def place(self) -> WorkerPlace:
        return WorkerPlace(self.process.pid)

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

    def stop(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def kill(self) -> None:
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
class _RunningWorker:
    """A worker with its terms."""

    terms: WorkerTerms
    handle: WorkerHandle
    since: float
    start: float | None = None
    """When it was first seen working."""

    def is_waiting(self) -> bool:
        """Return whether it waits for resources."""
        if self.start is None and self.handle.place() is not None:
            self.start = time.monotonic()
        return self.start is None


@dataclass(slots=True)
class WorkerPool:
    """The workers of one batch for the duration of the context."""

    store: Store
    engine: Engine
    terms: WorkerTerms
    """The terms of every worker, except its name and number."""
    tell: Tell
    """Receives each message of the workers once."""
    _running: list[_RunningWorker] = field(default_factory=list)
    _messages: set[str] = field(default_factory=set)
    _vain: int = 0

    def __enter__(self) -> Self:
        for number in range(self.terms.of):
            self._start(number)
        return self

    def repair(self) -> bool:
        """Release the leases of dead workers and start others; report workers that wait for resources, and give up in
        the end if none could start. Return whether any is working or waiting to start."""
        for worker in [*self._running]:
            ended = worker.handle.ended()
            if ended is not None:
                self._running.remove(worker)
                if ended.for_good:
                    raise RedraftError(f"no worker can continue: {ended.died}", fix=_RESUME)
                if not ended.died:
                    continue
                leased = self.store.batches.release(worker.terms.batch, worker.terms.worker, ended.died)
                # A worker that found every document leased may have none for hours.
                soon = worker.start is None or time.monotonic() - worker.start < _SOON
                self._vain = self._vain + 1 if soon and not leased else 0
                if self._vain >= _VAIN_STARTS:
                    raise RedraftError(
                        f"workers cannot be started; the last one: {ended.died}",
                        hint="fix that, then repeat the command",
                    )
                self._start(worker.terms.number)

        waiting = [worker for worker in self._running if worker.is_waiting()]
        if len(waiting) == len(self._running) and self.store.batches.is_over(self.terms.batch):
            return False
        waited = [time.monotonic() - worker.since for worker in waiting]
        late = sum(seconds > _TO_BEGIN for seconds in waited)
        if late:
            self._hear(f"{late} of {self.terms.of} workers wait for resources")
        if late == len(self._running) and waited and min(waited) > _NO_ROOM:
            raise RedraftError(
                f"in {_NO_ROOM / 60:.0f} minutes there were no resources for a single worker",
                hint="repeat the command when some are free",
            )
        return bool(self._running)

    def places(self) -> list[WorkerPlace]:
        return [place for worker in self._running if (place := worker.handle.place())]

    def _start(self, number: int) -> None:
        terms = replace(self.terms, worker=f"{os.getpid()}-{secrets.token_hex(4)}", number=number)
        self._running.append(_RunningWorker(terms, self.engine.start(terms, self._hear), time.monotonic()))

    def _hear(self, line: str) -> None:
        if line not in self._messages:
            self._messages.add(line)
            self.tell(line)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        until = time.monotonic() + _TO_END
        for worker in self._running:
            worker.handle.stop()
        for worker in self._running:
            handle, terms = worker.handle, worker.terms
            while (ended := handle.ended()) is None and handle.place() is not None and time.monotonic() < until:
                time.sleep(_LOOK_AGAIN)
            if ended is None:
                # It has not started, or takes too long.
                handle.kill()
            died = ended.died if ended is not None else "it did not stop when asked to"
            # If that cannot be stored, the leases expire.
            with suppress(StoreError):
                if died:
                    self.store.batches.release(terms.batch, terms.worker, died)
