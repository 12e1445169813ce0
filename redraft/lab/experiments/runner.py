"""How the runs of an experiment are made and recorded, and what their summaries are judged by."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, is_dataclass
from itertools import count
from operator import attrgetter
from typing import Protocol, TypeVar

from redraft.agents.judge import Judge, longest_reply, reply_tokens
from redraft.domain import Document, Evaluation, Totals
from redraft.errors import BudgetError, RedraftError, StoreError
from redraft.evaluators.catalog import metrics
from redraft.events import PartDone
from redraft.report.history.certificates import Certificate, certificate
from redraft.report.history.results import Result
from redraft.runs.experiment_runner import ExperimentRunner, Failure, RunWatch, failure
from redraft.runs.job import wording
from redraft.runs.manager import on_record
from redraft.runs.model_pool import ModelPool, WorkingModel, assign_models
from redraft.runs.prepare import PreparedDocument, RunSpec
from redraft.settings import YARDSTICKS, DraftConfig, JudgeConfig, PackPart
from redraft.store.runs import Run
from redraft.text.languages import reading


class HasStatus(Protocol):
    """A record that is `done`, has `failed`, or was `not made`."""

    @property
    def status(self) -> str:
        """Which of the three."""


S = TypeVar("S", bound=HasStatus)


def status_of(failure: Failure | None, *, done: bool) -> str:
    """Whether something is `done`, has `failed`, or was `not made`."""
    return "failed" if failure is not None else "done" if done else "not made"


def by_status(records: Iterable[HasStatus]) -> str:
    """How many of some records are done, have failed, and were not made."""
    found = Counter(one.status for one in records)
    return ", ".join(f"{found[status]} {status}" for status in ("done", "failed", "not made"))


def json_of(record: object, keys: str, **more: object) -> dict[str, object]:
    """A record as programs read it: its attributes by their names, or by another one (`order=way.policy`), and more.

    A word `name:` takes its place among the keys for what is given as `more`.
    """
    found: dict[str, object] = {}
    for key in keys.split():
        name, _, path = key.partition("=")
        if key.endswith(":"):
            found[key[:-1]] = more[key[:-1]]
        else:
            found[name] = plain_json(attrgetter(path or name)(record))
    return found


def plain_json(value: object) -> object:
    """What stands in a record as programs read it. Of what was used the time is left out, which is another on every
    machine."""
    if isinstance(value, Totals):
        return {name: one for name, one in asdict(value).items() if name != "seconds"}
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return {key: plain_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(one) for one in value]
    return value


def failed(failure: Failure) -> tuple[str, str, str]:
    """The cells of a failure: its stage, code and message."""
    return (failure.stage, failure.code, failure.message)


@dataclass(slots=True)
class GuardedStage:
    """Something that is tried, so that other things go on when it fails: at which stage it is, and why it failed.

    Where the budget ends it is just left, and the `runner` is told that nothing more is begun. That the store fails is
    raised.
    """

    stage: str
    runner: ExperimentRunner | None = None
    failure: Failure | None = None

    def __enter__(self) -> GuardedStage:
        """Try it."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Note why it failed."""
        if isinstance(error, BudgetError):
            if self.runner is not None:
                self.runner.stopped = error
            return True
        if isinstance(error, StoreError) or not isinstance(error, Exception):
            return False
        self.failure = failure(self.stage, error)
        return True


@dataclass(frozen=True, slots=True)
class MadeRun:
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

    runner: ExperimentRunner
    of: int
    """How many there will be, for those who watch."""
    places: asyncio.Semaphore = field(init=False)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.places = asyncio.Semaphore(self.runner.limits.concurrency)

    async def made(self, stage: str, step: str, document: Document, settings: DraftConfig, order: RunSpec,
                   which: str = "") -> MadeRun:  # fmt: skip
        """Make a run as soon as the limits allow, and report its status. A plan calls it `step`; `which` tells it from
        others of that step."""
        name = f"{document.title}: {which or step}"
        return await self.turn(name, lambda: self.quietly(stage, step, name, document, settings, order))

    async def turn(self, name: str, work: Callable[[], Awaitable[S]]) -> S:
        """Do some work as soon as the limits allow, and report the status of what it returns."""
        async with self.places:
            found = await work()
        self.tell(f"{name}: {found.status}")
        return found

    async def quietly(
        self, stage: str, step: str, name: str, document: Document, settings: DraftConfig, order: RunSpec
    ) -> MadeRun:
        """A run that is a part of what others wait for, when it is done, or what kept it from being."""
        watch, result = RunWatch(name, self.runner.observer, step=step), None
        with GuardedStage(stage) as tried:
            result = await self.runner.made(document, settings, order, watch)
        return MadeRun(result, result.run.id if result else watch.run, tried.failure)

    def tell(self, what: str) -> None:
        """Say that one more of the parts has come to its end."""
        self.runner.observer(PartDone(what, next(self._numbers), self.of))


def certified(runner: ExperimentRunner, run: Run, metric: str, version: int, judged: int, unjudged: int) -> Certificate:
    """The certificate of the scores that a run gives by one metric, over all items together."""
    return certificate(runner.store, run, Evaluation(metric, version, "scored", None, judged, unjudged))


async def taken_by(runner: ExperimentRunner, runs: Sequence[str]) -> Totals:
    """What some runs took, each answer counted once."""
    return await asyncio.to_thread(runner.store.calls.taken_by, runs) if runs else Totals()


def used_by(runner: ExperimentRunner, run: str | None) -> Totals | None:
    """What a run has used, where there is one."""
    return runner.store.calls.totals(run) if run else None


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
async def part_at_work(
    run: Run, prepared: PreparedDocument, judging: JudgeConfig | None, runner: ExperimentRunner, step: str
) -> AsyncIterator[ModelPool]:
    """The writer and the judges of a run of what an experiment does by itself, which is called `step` in plans. Cached
    replies are used again. Where the budget ends within, nothing more is begun."""
    assigned = assign_models(prepared.settings, judging, runner.limits, runner.prices)
    with runner.store.claim(run.id), reading(prepared.document):
        async with (
            on_record(runner.store, run.id),
            runner.open_models(assigned, run, prepared, step) as pool,
        ):
            try:
                yield pool
            except BudgetError as error:
                runner.stopped = error
                raise


def judge_of(worker: WorkingModel, prepared: PreparedDocument, runner: ExperimentRunner) -> Judge:
    """A worker as a judge of one document."""
    settings = worker.settings
    room = reply_tokens(settings.context_tokens)
    return Judge(
        worker.model,
        worker.book,
        runner.store.judgments,
        sample=settings.sample,
        temperature=settings.temperature,
        top_p=settings.top_p,
        reply_tokens=min(room, settings.max_tokens or room),
        longest_reply=longest_reply(settings.max_tokens),
        wording=wording(prepared),
        document=prepared.document.id,
    )


PART_NAMES: Mapping[PackPart, str] = {"questions": "questions", "keyfacts": "key facts"}


@dataclass(slots=True)
class JudgingPack:
    """What the summaries of one document are judged by, and the runs that were made for that."""

    by: dict[str, str | None]
    """The ids of its questions and key facts, by the names of the settings that have them."""
    failures: list[Failure] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    lacking: set[PackPart] = field(default_factory=set)


def parts_for(names: Iterable[str]) -> list[PackPart]:
    """What has to be known of a document before its summaries can be judged by some metrics."""
    wanted = {one.needs for one in metrics(tuple(names)) if one.needs}
    return [part for part in YARDSTICKS if part in wanted]


async def yardstick(
    document: Document,
    parts: Iterable[PackPart],
    judging: JudgeConfig,
    settings: DraftConfig,
    building: Callable[[PackPart], RunSpec],
    batch: RunBatch,
) -> JudgingPack:
    """What a document's summaries are judged by: named in the judging, imported, built before, or built now."""
    store, found = batch.runner.store, JudgingPack({name: getattr(judging, name) for name in YARDSTICKS.values()})
    imported = {"questions": store.packs.imported(document.id), "keyfacts": store.keyfacts.imported(document.id)}
    for part in parts:
        name, said = YARDSTICKS[part], PART_NAMES[part]
        if found.by[name] is None and (there := imported[part]) is not None:
            found.by[name] = there.id
        if found.by[name] is not None:
            continue
        made = await batch.made(said, f"building {said}", document, settings, building(part))
        found.runs += [made.run] if made.run else []
        found.failures += [made.failure] if made.failure else []
        found.by[name] = getattr(made.result.run.judging, name) if made.result else None
        found.lacking |= set() if found.by[name] else {part}
    return found
