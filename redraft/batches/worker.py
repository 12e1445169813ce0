"""A batch worker: leases items, runs them and stores the results; also the main function of a worker process."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from threading import Thread
from typing import Any, NamedTuple

from redraft import sources
from redraft.batches.queue import LEASE_SECONDS, Batches, BatchItemRow
from redraft.batches.request import BATCH, BatchRequest, budget_key_of
from redraft.batches.sources import SUMMARY
from redraft.domain import Document
from redraft.errors import (
    BudgetError,
    DeadlineError,
    DocumentError,
    ProviderError,
    RateLimited,
    RedraftError,
    RunError,
    ServerUnreachable,
    StoreError,
    StoreLost,
)
from redraft.events import Event, Notice
from redraft.llm.budget import PriceTable, price_table
from redraft.llm.langsmith import tracing
from redraft.readers.documents import load
from redraft.readers.parts import Selection
from redraft.runs.experiment_runner import ExperimentRunner, RunWatch, describe_error
from redraft.settings import Limits
from redraft.sources import write
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

_AT_ONCE = 50
"""How many texts are read into memory and stored in one transaction."""
_LOST_TEXT = "its text is no longer in the database"


def text_of(store: Store, item: BatchItemRow, reading: Selection) -> Document:
    """Return the document of an item: what is stored of it, or else its file."""
    if item.document is not None:
        return store.documents.get(item.document)
    if "#" in item.source and not Path(item.source).exists():
        raise DocumentError(_LOST_TEXT, hint="repeat the command that started the batch")
    return load(item.source, selection=reading)


def keep_texts(store: Store, batch: str, reading: Selection) -> int:
    """Put into the database what are files of this machine, side by side; return how many there are. One that cannot be
    read has failed."""

    def read(item: BatchItemRow) -> tuple[BatchItemRow, Document | None]:
        row = BatchItemRow(item.source, item.file, priority=item.priority)
        try:
            document = text_of(store, item, reading)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            return replace(row, error=describe_error(error)), None
        return replace(row, document=document.id), document

    files, total = (row for row in Batches(store).items(batch) if row.state == "waiting" and row.document is None), 0
    with ThreadPoolExecutor() as readers:
        while items := list(islice(files, _AT_ONCE)):
            texts, total = list(readers.map(read, items)), total + len(items)
            with store.transaction():
                for document in (document for _, document in texts if document):
                    store.documents.add(document)
                Batches(store).add(batch, [row for row, _ in texts])
    return total


# Errors that affect every item.
_HOPELESS = (BudgetError, ProviderError, RateLimited, ServerUnreachable, StoreError)
_LOOK_AGAIN, _LOOK_AGAIN_IDLY = 0.5, 1.0
_MAX_HEARTBEAT_SECONDS = 2.0
_RENEWALS_A_LEASE = 4

Key = tuple[int, int]


@dataclass(slots=True)
class BatchWorker:
    """One worker of a batch, in a process or an actor; the rest of its state is in the store."""

    runner: ExperimentRunner
    """Makes the runs, within the limits of the batch and this worker's share of the concurrent requests."""
    batch: str
    name: str
    lease_seconds: float = LEASE_SECONDS
    delivers: bool = True
    """Whether the batch's folder is on this machine."""
    _request: BatchRequest = field(init=False)
    _folder: Path | None = field(init=False)
    _batches: Batches = field(init=False)
    _tasks: dict[Key, asyncio.Task[None]] = field(default_factory=dict)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to return the current items to the queue and to stop."""

    def __post_init__(self) -> None:
        self._batches = Batches(self.runner.store)

    async def work(self) -> None:
        """Work until nothing is left to do or the batch is no longer open."""
        batch = await off_loop(self._batches.get, self.batch)
        self._request = BatchRequest.from_json(batch.asked)
        self._folder = Path(batch.folder) if batch.folder and self.delivers else None
        self.runner.share_budget(BATCH, self.batch, paced=True)
        beating, stopping = asyncio.create_task(self._beat()), asyncio.create_task(self.stopped.wait())
        try:
            while not self.stopped.is_set():
                for key, task in list(self._tasks.items()):
                    if task.done():
                        del self._tasks[key]
                        # Where even the failure of an item could not be stored there is no going on.
                        if not task.cancelled():
                            task.result()
                room = self.runner.limits.concurrency - len(self._tasks)
                lease = partial(self._batches.lease, self.batch, self.name, room, self.lease_seconds)
                for item in await off_loop(lease) if room else []:
                    self._tasks[item.idx, item.attempts] = asyncio.create_task(self._finish(item))
                if not self._tasks and await off_loop(self._batches.is_over, self.batch):
                    return
                waiting = [stopping, beating, *self._tasks.values()]
                pause = _LOOK_AGAIN if self._tasks else _LOOK_AGAIN_IDLY
                await asyncio.wait(waiting, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                if beating.done():
                    beating.result()
        finally:
            ending: list[asyncio.Task[Any]] = [stopping, beating, *self._tasks.values()]
            for ending_task in ending:
                ending_task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    async def _beat(self) -> None:
        """Renew the leases, cancel what is not leased any more, and look whether the batch was cancelled."""
        while True:
            await asyncio.sleep(min(_MAX_HEARTBEAT_SECONDS, self.lease_seconds / _RENEWALS_A_LEASE))
            # Workers report a database that cannot be written themselves.
            with suppress(StoreError):
                if self._tasks:
                    # Items leased meanwhile are not renewed here.
                    tasks = list(self._tasks.items())
                    leased = await off_loop(self._batches.renew, self.batch, self.name, self.lease_seconds)
                    for key, task in tasks:
                        if key not in leased:
                            task.cancel()
                if (await off_loop(self._batches.get, self.batch)).status == "cancelled":
                    self.stopped.set()

    async def _finish(self, item: BatchItemRow) -> None:
        """Finish an item or return it to the queue."""
        settle = partial(self._batches.settle, item)
        noting: list[asyncio.Task[Any]] = []

        def record_run(run: str) -> None:
            """Record the item's run and count its usage against the batch's budget."""
            noting.append(asyncio.create_task(off_loop(self._batches.change, item, run=run)))
            sharing = off_loop(self.runner.store.calls.share, budget_key_of(self.batch), run)
            noting.append(asyncio.create_task(sharing))

        watch = RunWatch(item.source, self.runner.observer, on_start=record_run)
        try:
            document = await off_loop(text_of, self.runner.store, item, self._request.reading)
            result = await self.runner.find_or_run(document, self._request.order, watch)
            if self._folder is not None and result.summary is not None:
                path, text = self._folder / f"{item.file}{SUMMARY}", f"{result.summary.rstrip()}\n"
                await off_loop(write, path, text, "name another folder with -o, and repeat the command")
        except asyncio.CancelledError:
            await off_loop(settle, "waiting", run=watch.run)
            raise
        except StoreLost:
            # The server may be restarting. If it stays away, the next statement reports it.
            await asyncio.sleep(_LOOK_AGAIN)
            await off_loop(settle, "waiting", run=watch.run)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
            if isinstance(error, _HOPELESS) and not isinstance(error, DeadlineError):
                await off_loop(settle, "waiting", run=watch.run)
                await off_loop(self._batches.set_status, self.batch, "stopped", describe_error(error))
                return
            if isinstance(error, RunError) and watch.run and await off_loop(self.runner.store.is_claimed, watch.run):
                # The same document under another name: finishing one finishes both.
                await asyncio.sleep(_LOOK_AGAIN)
                await off_loop(settle, "waiting")
                return
            await off_loop(settle, "failed", run=watch.run, error=describe_error(error))
        else:
            await off_loop(settle, "done", run=result.run.id, short=not result.complete)
        finally:
            await asyncio.gather(*noting, return_exceptions=True)


_SPANS = "redraft.integrations.opentelemetry:sending"
"""Imports OpenTelemetry, an extra, only where spans are requested."""


@dataclass(frozen=True, slots=True)
class WorkerTerms:
    """What a worker process on any machine needs besides the store: ids and numbers."""

    db: str
    batch: str
    worker: str
    number: int
    of: int
    prices: str | None = None
    max_source: int = sources.MAX_BYTES
    traced: bool = False
    lease_seconds: float = LEASE_SECONDS
    keys: Sequence[str] = ()
    """The environment variables with the models' keys, for engines that do not pass on the whole environment."""
    spans: bool = False
    """Whether to send spans to an OpenTelemetry collector."""


def terms_of(
    store: Store, batch: str, workers: int, *, traced: bool, prices: str | None = None, spans: bool = False
) -> WorkerTerms:
    """Return the terms of so many workers of a batch, apart from their names and numbers, or of fewer: one without a
    document, or without a share of the concurrent requests, has nothing to do."""
    stored, max_source = Batches(store).get(batch), sources.size_limit.get()
    request, limits = BatchRequest.from_json(stored.asked), Limits.model_validate(stored.limits)
    models = request.judging.models.values() if request.judging else ()
    keys = sorted({model.key_env for model in (request.settings, *models) if model.key_env})
    of = max(1, min(workers, limits.concurrency, Batches(store).counts(batch).left))
    return WorkerTerms(store.address, batch, "", 0, of, prices, max_source, traced, keys=keys, spans=spans)


Tell = Callable[[str], object]
"""Receives messages for users, one line each."""


class WorkerExit(NamedTuple):
    """A worker has ended."""

    died: str = ""
    """The cause of death; empty for a normal end."""
    for_good: bool = False
    """Whether another worker would die of the same cause, such as a full disk."""


def carry_out(
    terms: WorkerTerms, prices: PriceTable, tell: Tell, wait: Callable[[], object], *, delivers: bool = True
) -> WorkerExit:
    """Work with a store of its own until nothing is left to do, or until `wait`, which runs in a thread, returns; say
    how it ended."""

    def hear(event: Event) -> None:
        if isinstance(event, Notice):
            tell(one_line(event.message))

    async def work(worker: BatchWorker) -> None:
        loop = asyncio.get_running_loop()

        def stop_at_the_end() -> None:
            wait()
            with suppress(RuntimeError):  # the work is done, and its loop closed
                loop.call_soon_threadsafe(worker.stopped.set)

        Thread(target=stop_at_the_end, daemon=True).start()
        await worker.work()

    sources.size_limit.set(terms.max_source)
    try:
        watching = resolve_name(_SPANS)(tell) if terms.spans else nullcontext()
        with Store(terms.db, must_exist=True) as store, tracing(terms.traced), watching:
            limits = Limits.model_validate(Batches(store).get(terms.batch).limits)
            share, rest = divmod(limits.concurrency, terms.of)
            limits = limits.model_copy(update={"concurrency": max(1, share + (terms.number < rest))})
            runner = ExperimentRunner(store, limits, prices, hear)
            asyncio.run(work(BatchWorker(runner, terms.batch, terms.worker, terms.lease_seconds, delivers)))
    except RedraftError as error:
        message = one_line(f"{error} {error.hint}".strip())
        tell(message)
        # A database that cannot be written ends every worker alike.
        is_for_good = isinstance(error, StoreError) and not isinstance(error, StoreLost)
        return WorkerExit(message if is_for_good else f"it ended with: {message}", is_for_good)
    return WorkerExit()


_FAILED, FAILED_FOR_GOOD = 1, 4


def main() -> None:
    """Work with the terms in the first line of standard input until the input closes, which also happens when the
    parent process is killed."""
    # The parent process stops us; ^C in the terminal is for it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    terms, say = WorkerTerms(**json.loads(sys.stdin.readline())), partial(print, file=sys.stderr, flush=True)
    ended = carry_out(terms, price_table(terms.prices), say, sys.stdin.read)
    if ended.died:
        sys.exit(FAILED_FOR_GOOD if ended.for_good else _FAILED)


if __name__ == "__main__":
    main()
