"""A worker as a process of its own: told what to do on its standard input, at whose end it stops."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from threading import Thread

from redraft import sources
from redraft.batches.work import Worker, share_of
from redraft.errors import RedraftError
from redraft.events import Event, Noted
from redraft.models.prices import price_table
from redraft.models.tracing import tracing
from redraft.store.batches import LEASE_SECONDS
from redraft.store.store import Store
from redraft.text.cleaning import one_line

_FAILED = 1


@dataclass(frozen=True, slots=True)
class Terms:
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
    spans: bool = False
    """Whether what happens is sent to an OpenTelemetry collector; then the worker starts by `batches/watched.py`."""

    def to_line(self) -> str:
        """As it goes over a pipe."""
        return json.dumps(asdict(self)) + "\n"


def main(watching: Callable[[Callable[[str], object]], AbstractContextManager[None]] | None = None) -> None:
    """Work as the first line says, until the input ends. `watching` is told how to say what users should know."""
    # Whoever has started us says when we are to stop; ^C in a terminal is theirs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    terms = Terms(**json.loads(sys.stdin.readline()))
    sources.allow(terms.max_source)
    try:
        with Store(terms.db) as store, tracing(terms.traced), watching(_say) if watching else nullcontext():
            batch = store.batches.get(terms.batch)
            limits, prices = share_of(batch, terms.number, terms.of), price_table(terms.prices)
            worker = Worker(store, batch.name, terms.worker, limits, prices, _tell, terms.lease_seconds)
            asyncio.run(_work(worker))
    except RedraftError as error:
        _say(f"{error} {error.hint}".strip())
        sys.exit(_FAILED)


async def _work(worker: Worker) -> None:
    loop = asyncio.get_running_loop()
    Thread(target=_until_the_end, args=(lambda: loop.call_soon_threadsafe(worker.stop),), daemon=True).start()
    await worker.work()


def _until_the_end(stop: Callable[[], object]) -> None:
    """Wait for the end of the input, which comes also when whoever has started us was killed."""
    sys.stdin.read()
    try:
        stop()
    except RuntimeError:
        return  # The work is done, and its loop closed.


def _tell(event: Event) -> None:
    """Pass on what users should know, a line each."""
    if isinstance(event, Noted):
        _say(event.message)


def _say(message: str) -> None:
    sys.stderr.write(one_line(message) + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
