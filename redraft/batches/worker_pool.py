"""The workers of a batch on any engine: started, watched, replaced when they die, and ended."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from redraft.batches.engine import Engine, WorkerEnded, WorkerHandle, WorkerPlace
from redraft.batches.worker import Tell, WorkerTerms
from redraft.errors import RedraftError, StoreError
from redraft.store.store import Store

_TO_END = 20.0
"""Seconds that a stopping worker gets to clean up."""
_LOOK_AGAIN = 0.05
_RESUME = "fix that, then run `redraft batch resume`: what was stored is safe"
_VAIN_STARTS = 3
"""Give up after this many consecutive workers that died early without leasing an item."""
_SOON = 30.0
_TO_BEGIN = 15.0
"""Seconds after which users are told that a worker is waiting for resources."""
_NO_ROOM = 600.0
"""Seconds without a single worker after which waiting ends."""


@dataclass(slots=True)
class _RunningWorker:
    """A worker with its terms."""

    terms: WorkerTerms
    handle: WorkerHandle
    since: float
    begun: float | None = None
    """When it was first seen working."""

    def waits(self) -> bool:
        """Return whether it waits for resources."""
        if self.begun is None and self.handle.place() is not None:
            self.begun = time.monotonic()
        return self.begun is None


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
    _told: set[str] = field(default_factory=set)
    _vain: int = 0

    def __enter__(self) -> Self:
        for number in range(self.terms.of):
            self._start(number)
        return self

    def repair(self) -> bool:
        """Replace dead workers; returns whether any is working or waiting to start."""
        for worker in [*self._running]:
            ended = worker.handle.ended()
            if ended is not None:
                self._running.remove(worker)
                if ended.for_good:
                    raise RedraftError(f"no worker can continue: {ended.died}", hint=_RESUME)
                if ended.died:
                    self._lost(worker, ended.died)
        waiting = [worker for worker in self._running if worker.waits()]
        if len(waiting) == len(self._running) and self.store.batches.is_over(self.terms.batch):
            return False
        self._tell_of(waiting)
        return bool(self._running)

    def places(self) -> list[WorkerPlace]:
        return [place for worker in self._running if (place := worker.handle.place())]

    def _tell_of(self, waiting: list[_RunningWorker]) -> None:
        """Report workers that wait for resources; gives up in the end if none could start."""
        waited = [time.monotonic() - worker.since for worker in waiting]
        late = sum(seconds > _TO_BEGIN for seconds in waited)
        if late:
            self._hear(f"{late} of {self.terms.of} workers wait for resources")
        if late == len(self._running) and waited and min(waited) > _NO_ROOM:
            raise RedraftError(
                f"in {_NO_ROOM / 60:.0f} minutes there were no resources for a single worker",
                hint="repeat the command when there are",
            )

    def _lost(self, worker: _RunningWorker, how: str) -> None:
        """Release the leases of a dead worker and start another."""
        leased = self.store.batches.release(worker.terms.batch, worker.terms.worker, how)
        # A worker that found every document leased may have none for hours.
        soon = worker.begun is None or time.monotonic() - worker.begun < _SOON
        self._vain = self._vain + 1 if soon and not leased else 0
        if self._vain >= _VAIN_STARTS:
            raise RedraftError(
                f"workers cannot be started; the last one: {how}", hint="fix that, then repeat the command"
            )
        self._start(worker.terms.number)

    def _start(self, number: int) -> None:
        terms = replace(self.terms, worker=f"{os.getpid()}-{secrets.token_hex(4)}", number=number)
        self._running.append(_RunningWorker(terms, self.engine.start(terms, self._hear), time.monotonic()))

    def _hear(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self.tell(line)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        until = time.monotonic() + _TO_END
        for worker in self._running:
            worker.handle.stop()
        ends = [(worker.terms, _ended(worker.handle, until).died) for worker in self._running]
        for terms, died in ends:
            # If that cannot be stored, the leases expire.
            with suppress(StoreError):
                if died:
                    self.store.batches.release(terms.batch, terms.worker, died)


def _ended(handle: WorkerHandle, until: float) -> WorkerEnded:
    """Wait for a stopping worker and return how it ended; one that has not started or takes too long is killed."""
    while (ended := handle.ended()) is None and handle.place() is not None and time.monotonic() < until:
        time.sleep(_LOOK_AGAIN)
    if ended is None:
        handle.kill()
    return ended or WorkerEnded("it did not stop when asked to")
