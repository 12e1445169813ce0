"""What a worker is told, and a worker made of it: the same in a process, in an actor, or in whatever comes next."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pkgutil import resolve_name
from threading import Thread

from redraft import sources
from redraft.batches.worker import BatchWorker, share_of
from redraft.errors import RedraftError, StoreError, StoreLost
from redraft.events import Event, Noted
from redraft.llm.langsmith import tracing
from redraft.llm.prices import PriceTable
from redraft.store.batches import LEASE_SECONDS
from redraft.store.store import Store
from redraft.text.cleaning import one_line

Tell = Callable[[str], object]
_SPANS = "redraft.telemetry.spans:sending"
"""Brings OpenTelemetry, an extra: it is loaded where spans are asked for."""


@dataclass(frozen=True, slots=True)
class WorkerTerms:
    """What a worker is told: ids and numbers, all that a process on any machine needs besides the store."""

    db: str
    batch: str
    worker: str
    number: int
    of: int
    prices: str | None = None
    max_source: int = sources.MOST_BYTES
    traced: bool = False
    lease_seconds: float = LEASE_SECONDS
    keys: Sequence[str] = ()
    """The environment variables with keys that the settings name, for engines that do not pass on all of them."""
    spans: bool = False
    """Whether what happens is sent to an OpenTelemetry collector."""

    def to_line(self) -> str:
        """As it goes over a pipe."""
        return json.dumps(asdict(self)) + "\n"


@contextmanager
def open_worker(terms: WorkerTerms, prices: PriceTable, tell: Tell, *, delivers: bool = True) -> Iterator[BatchWorker]:
    """A worker with a store of its own. It tells what users should know, a line each."""

    def hear(event: Event) -> None:
        if isinstance(event, Noted):
            tell(one_line(event.message))

    sources.allow(terms.max_source)
    watching = resolve_name(_SPANS)(tell) if terms.spans else nullcontext()
    with Store(terms.db, must_exist=True) as store, tracing(terms.traced), watching:
        batch = store.batches.get(terms.batch)
        limits = share_of(batch, terms.number, terms.of)
        yield BatchWorker(store, batch.name, terms.worker, limits, prices, hear, terms.lease_seconds, delivers)


def is_for_good(error: RedraftError) -> bool:
    """Whether another worker would end with the same: the database cannot be written to."""
    return isinstance(error, StoreError) and not isinstance(error, StoreLost)


async def work(worker: BatchWorker, wait: Callable[[], object]) -> None:
    """Work until there is nothing left to do, or `wait` returns, for which there is a thread of its own."""
    loop = asyncio.get_running_loop()

    def stop_at_the_end() -> None:
        wait()
        try:
            loop.call_soon_threadsafe(worker.stop)
        except RuntimeError:
            return  # The work is done, and its loop closed.

    Thread(target=stop_at_the_end, daemon=True).start()
    await worker.work()
