"""The status of a batch: finished items, cost and progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic_core import to_jsonable_python

from redraft.batches.engine import Engine, WorkerPool
from redraft.batches.request import budget_key_of
from redraft.batches.worker import Tell, WorkerTerms
from redraft.store.batches import Batch, ItemStates
from redraft.store.store import Store

Stage = Literal["done", "paused", "cancelled", "stopped", "working", "idle"]
"""An open batch is `working` if a worker is active, otherwise `idle`."""
_LOOK_AGAIN = 1.0
_LATELY = 600.0


@dataclass(frozen=True, slots=True)
class BatchStanding:
    """The status of a batch at one moment."""

    batch: Batch
    counts: ItemStates
    calls: int
    cost_usd: float | None
    """What it has taken from its budget, calls in flight at their maximum; None where a price is unknown."""
    over_usd: float = 0.0
    """By how much it exceeds its limit."""

    @property
    def stage(self) -> Stage:
        """Return the status as one word."""
        if self.counts.ended == self.counts.all:
            return "done"
        if self.batch.status != "open":
            return self.batch.status
        return "working" if self.counts.leased else "idle"

    @property
    def complete(self) -> bool:
        """Return whether every item is done without gaps or missed goals."""
        return self.counts.done == self.counts.all and not self.counts.short

    def to_json(self) -> dict[str, object]:
        """Return the JSON of a batch."""
        return {
            "batch": self.batch.name,
            "status": self.stage,
            "items": to_jsonable_python(self.counts),
            "calls": self.calls,
            "cost_usd": self.cost_usd,
            "over_usd": self.over_usd,
            "error": self.batch.error,
            "folder": self.batch.folder or None,
            "created": self.batch.created,
        }


def standing_of(store: Store, name: str) -> BatchStanding:
    """Return the current status of a batch."""
    batch = store.batches.get(name)
    calls, cost = store.reservations.used(budget_key_of(name))
    over = store.reservations.over(budget_key_of(name), batch.limits.get("max_cost"))
    return BatchStanding(batch, store.batches.counts(name), calls, cost, over)


@dataclass(frozen=True, slots=True)
class Pace:
    """The progress of a batch since it was first observed."""

    ended: int
    seconds: float
    left: int

    @property
    def a_minute(self) -> float | None:
        """Return the items per minute; None before the first has finished."""
        return 60 * self.ended / self.seconds if self.ended and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Return the estimated seconds left at this pace."""
        return self.seconds / self.ended * self.left if self.ended else None


def pace_of(store: Store, standing: BatchStanding) -> Pace:
    """Return the recent progress of a batch from its stored runs."""
    counts = standing.counts
    return Pace(*store.batches.lately(standing.batch.name, _LATELY), counts.all - counts.ended)


Watcher = Callable[[BatchStanding, Pace], object]


class BatchWatch:
    """Observes a batch from its creation on."""

    def __init__(self, store: Store, name: str) -> None:
        self._store = store
        self._name = name
        self._began = time.monotonic()
        self._first = standing_of(store, name).counts.ended

    def look(self) -> tuple[BatchStanding, Pace]:
        """Return the current status and the progress since creation."""
        now = standing_of(self._store, self._name)
        ended = now.counts.ended
        return now, Pace(ended - self._first, time.monotonic() - self._began, now.counts.all - ended)


def drive(store: Store, engine: Engine, terms: WorkerTerms, tell: Tell, watch: Watcher) -> BatchStanding:
    """Have an engine's workers process a batch until it is finished or no longer open."""
    watching = BatchWatch(store, terms.batch)
    with WorkerPool(store, engine, terms, tell) as worker_pool:
        while worker_pool.repair():
            watch(*watching.look())
            time.sleep(_LOOK_AGAIN)
    return standing_of(store, terms.batch)
