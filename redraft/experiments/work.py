"""How the runs of an experiment are made: what fails is recorded, what the budget does not reach is not made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from redraft.agents.judge import Judge, longest_reply, reply_tokens
from redraft.domain import Document, Totals
from redraft.errors import BudgetError, RedraftError, StoreError
from redraft.events import PartDone
from redraft.experiments.records import status_of
from redraft.history.results import Result
from redraft.runs.experiment_runner import Bench, Failure, Watch, failure
from redraft.runs.job import wording
from redraft.runs.manager import on_record
from redraft.runs.model_pool import Staff, Worker, at_work, hire
from redraft.runs.prepare import Order, Prepared
from redraft.settings import Judging, Settings
from redraft.store.runs import Run
from redraft.text.languages import reading


@dataclass(slots=True)
class Attempt:
    """Something that is tried, so that other things go on when it fails: at which stage it is, and why it failed.

    Where the budget ends it is just left, and the `bench` is told that nothing more is begun. That the store fails is
    raised.
    """

    stage: str
    bench: Bench | None = None
    failure: Failure | None = None

    def __enter__(self) -> Attempt:
        """Try it."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Note why it failed."""
        if isinstance(error, BudgetError):
            if self.bench is not None:
                self.bench.stopped = error
            return True
        if isinstance(error, StoreError) or not isinstance(error, Exception):
            return False
        self.failure = failure(self.stage, error)
        return True


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a run: its result, or why there is none; neither where the budget was used up before."""

    result: Result | None = None
    run: str | None = None
    failure: Failure | None = None

    @property
    def status(self) -> str:
        """Whether it is `done`, has `failed`, or was `not made`."""
        return status_of(self.failure, done=self.result is not None)


@dataclass(slots=True)
class RunBatch:
    """Makes the runs of one experiment, as many at once as the limits allow."""

    bench: Bench
    of: int
    """How many there will be, for those who watch."""
    places: asyncio.Semaphore = field(init=False)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.places = asyncio.Semaphore(self.bench.limits.concurrency)

    async def made(self, stage: str, name: str, document: Document, settings: Settings, order: Order) -> Made:
        """A run in its turn, when it is done, or what kept it from being."""
        async with self.places:
            found = await self.quietly(stage, name, document, settings, order)
        self.tell(f"{name}: {found.status}")
        return found

    async def quietly(self, stage: str, name: str, document: Document, settings: Settings, order: Order) -> Made:
        """A run that is a part of what others wait for, when it is done, or what kept it from being."""
        watch, result = Watch(name, self.bench.observer), None
        with Attempt(stage) as tried:
            result = await self.bench.made(document, settings, order, watch)
        return Made(result, result.run.id if result else watch.run, tried.failure)

    def tell(self, what: str) -> None:
        """Say that one more of the parts has come to its end."""
        self.bench.observer(PartDone(what, next(self._numbers), self.of))


async def taken_by(bench: Bench, runs: Sequence[str]) -> Totals:
    """What some runs took, each answer counted once."""
    return await asyncio.to_thread(bench.store.calls.taken_by, runs) if runs else Totals()


def used_by(bench: Bench, run: str | None) -> Totals | None:
    """What a run has used, where there is one."""
    return bench.store.calls.totals(run) if run else None


def refuse_if_none_fits(plans: Sequence[Callable[[], object]]) -> None:
    """Where none of some plans can be made, say why the first cannot, before anything is paid for."""
    first: RedraftError | None = None
    for plan in plans:
        try:
            plan()
        except RedraftError as error:
            first = first or error
        else:
            return
    if first is not None:
        raise first


@asynccontextmanager
async def part_at_work(run: Run, prepared: Prepared, judging: Judging | None, bench: Bench) -> AsyncIterator[Staff]:
    """The writer and the judges of a run of what an experiment does by itself. Replies that were given before come from
    the cache. Where the budget ends within, nothing more is begun."""
    hired = hire(prepared.settings, judging, bench.limits, bench.prices)
    with bench.store.claim(run.id), reading(prepared.document):
        async with (
            on_record(bench.store, run.id),
            at_work(hired, run, prepared, bench.store, bench.observer, bench.budget) as staff,
        ):
            try:
                yield staff
            except BudgetError as error:
                bench.stopped = error
                raise


def judge_of(worker: Worker, prepared: Prepared, bench: Bench) -> Judge:
    """A worker as a judge of one document."""
    settings = worker.settings
    room = reply_tokens(settings.context_tokens)
    return Judge(
        worker.model,
        worker.book,
        bench.store.judgments,
        sample=settings.sample,
        temperature=settings.temperature,
        top_p=settings.top_p,
        reply_tokens=min(room, settings.max_tokens or room),
        longest_reply=longest_reply(settings.max_tokens),
        wording=wording(prepared),
        document=prepared.document.id,
    )
