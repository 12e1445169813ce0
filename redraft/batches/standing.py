"""How a batch stands: how many items are done, what they have cost, and how it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from redraft.batches.asked import pot_of
from redraft.batches.crew import Crew
from redraft.batches.engine import Engine
from redraft.batches.terms import Tell, Terms
from redraft.store.batches import Batch, Counts
from redraft.store.store import Store

Stage = Literal["done", "paused", "cancelled", "stopped", "working", "idle"]
"""`working` is a batch that is open and that somebody works on, `idle` one that nobody does."""
_LOOK_AGAIN = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """A batch at one moment."""

    batch: Batch
    counts: Counts
    calls: int
    cost_usd: float | None
    """What it has taken from its budget, calls in flight at their most; None where a price is not known."""

    @property
    def stage(self) -> Stage:
        """In a word."""
        if self.counts.ended == self.counts.all:
            return "done"
        if self.batch.status != "open":
            return self.batch.status
        return "working" if self.counts.leased else "idle"

    @property
    def complete(self) -> bool:
        """Whether every item is done, and none fell short."""
        return self.counts.done == self.counts.all and not self.counts.short

    def to_json(self) -> dict[str, object]:
        """The contract of a batch in `--json`."""
        return {
            "batch": self.batch.name,
            "status": self.stage,
            "items": {"all": self.counts.all, **asdict(self.counts)},
            "calls": self.calls,
            "cost_usd": self.cost_usd,
            "error": self.batch.error,
            "folder": self.batch.folder or None,
            "created": self.batch.created,
        }


def standing_of(store: Store, name: str) -> Standing:
    """How a batch stands now."""
    batch = store.batches.get(name)
    calls, cost = store.bookings.used(pot_of(name))
    return Standing(batch, store.batches.counts(name), calls, cost)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a batch has come on since somebody began to watch."""

    ended: int
    seconds: float
    left: int

    @property
    def a_minute(self) -> float | None:
        """Items a minute; None before the first has come to its end."""
        return 60 * self.ended / self.seconds if self.ended and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """If it goes on so."""
        return self.seconds / self.ended * self.left if self.ended else None


Watcher = Callable[[Standing, Pace], object]


def drive(store: Store, engine: Engine, terms: Terms, tell: Tell, watch: Watcher) -> Standing:
    """Have the workers of an engine work on a batch until there is nothing left to do, or it is not open any more."""
    began, first = time.monotonic(), standing_of(store, terms.batch).counts.ended
    with Crew(store, engine, terms, tell) as crew:
        while crew.mend():
            now = standing_of(store, terms.batch)
            ended = now.counts.ended
            watch(now, Pace(ended - first, time.monotonic() - began, now.counts.all - ended))
            time.sleep(_LOOK_AGAIN)
    return standing_of(store, terms.batch)
