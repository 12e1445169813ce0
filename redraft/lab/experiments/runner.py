"""Making, counting and recording the runs of an experiment, and what their summaries are judged by."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from itertools import count
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import PlainSerializer

from redraft.agents.judge import Judge, wording_of
from redraft.domain import Document, Totals, computed, content_id
from redraft.errors import BudgetError, RedraftError, StoreError
from redraft.evaluators.catalog import metrics, with_rubrics
from redraft.events import Notice, PartDone, RunStarted
from redraft.graphs.prepared import ModelPool, PreparedDocument
from redraft.lab.declared import Row, make_table
from redraft.lab.experiments.orders import Seats
from redraft.llm.budget import PriceTable
from redraft.order import Build, Order, OrderParts
from redraft.prompts.factual import ALIGN_FACTS, SPLIT_FACTS, VERIFY_SENTENCES
from redraft.report.history.results import Result
from redraft.report.tables import Table
from redraft.runs.dry_run import DryRuns, StageUsage, without_person
from redraft.runs.experiment_runner import ExperimentRunner, Failure, RunWatch, failure
from redraft.runs.models import ModelRole, assign_models, known_window, resolve
from redraft.runs.open_runs import record_stop
from redraft.runs.order import SessionOrder
from redraft.runs.prepare import record
from redraft.runs.sync import run_to_end
from redraft.settings import REFERENCES, DraftConfig, JudgeConfig, Limits, PackPart
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.text.languages import language_context

DRAFTING, JUDGING, FACTS = "drafting", "judging", "facts"
_STEPS_OF_PROMPTS = {
    SPLIT_FACTS.name: "splitting summaries",
    VERIFY_SENTENCES.name: "verifying facts",
    ALIGN_FACTS.name: "aligning facts",
}
"""The steps of judging facts, by prompt."""


Choice = tuple[DraftConfig, JudgeConfig | None]
"""The settings of a model, and how it or others judge, if they do."""
Plan = Callable[[], PreparedDocument]


def check_work(runner: ExperimentRunner, *choices: Choice, plans: Sequence[Plan] = ()) -> None:
    """Raise, before anything is paid for, if a name or a price is unknown; or the error of the first plan, if none of
    them can be made."""
    for settings, judging in choices:
        parts = OrderParts(settings=resolve(settings), judging=judging or JudgeConfig(), limits=runner.limits)
        assign_models(parts, runner.defaults.prices)
    errors: list[RedraftError] = []
    for prepared in plans:
        try:
            prepared().plan  # noqa: B018
        except RedraftError as error:
            errors.append(error)
        else:
            return
    if errors:
        raise errors[0]


_MAX_SKIPPED, _OTHER_TEXTS = 5, "summaries"
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class PlanStep(StageUsage):
    """One kind of work by one model on one document, with its number of runs."""

    document: str
    runs: int = 0


def cost_table(steps: Sequence[PlanStep], about: str, skipped: Sequence[str] = ()) -> Table:
    """Return the steps and their total as a table. `about` says how they were counted, `skipped` what is left out."""
    rows, counts = list[Row](), list[tuple[Any, ...]]()
    for step in steps:
        costs = step.calls, step.prompt_tokens, step.completion_tokens, step.cost(step.reasoning_tokens)
        rows.append((step.document, step.name, step.settings.model, step.runs, *costs))
        counts.append(costs)
    sums = [None if None in column else sum(column) for column in zip(*counts, strict=True)]
    if any(step.reasoning_tokens for step in steps):
        about += " Costs include the whole reasoning budget."
    left_out = "; ".join((*skipped[:_MAX_SKIPPED], *(["and more"] if len(skipped) > _MAX_SKIPPED else [])))
    basis = "No model was called and nothing was stored; cached answers cost nothing."
    basis += f" Not possible, and left out: {left_out}." if skipped else ""
    rows.append(("total", "", "", None, *(sums or (0, 0, 0, 0.0))))
    return make_table("every", "plan", basis, rows, about=about)


class DryExperimentRunner(ExperimentRunner):
    """Makes an experiment's runs in memory with counting models, in which refining goes through all its rounds."""

    def __init__(self, runs: DryRuns, prices: PriceTable, documents: Sequence[Document]) -> None:
        """Runs are made one at a time, so that the steps always have the same order."""
        super().__init__(runs.store, Limits(concurrency=1), prices)
        self.runs = runs
        self.planned: list[tuple[str, str, bool]] = []
        """The runs, their names in the plan, and whether they are parts of others."""
        self.sources = {document.id for document in documents}
        """The ids of the experiment's documents. Steps on other texts, such as a file of summaries, count together."""

    async def find_or_run(self, document: Document, order: Order, watch: RunWatch) -> Result:
        """Return the finished run, which is counted with its parts."""
        result = await super().find_or_run(document, without_person(order), watch)
        run, store = result.run.id, self.store
        parts = [chapter.run for chapter in store.chapters.of(run)]
        self.planned.append((run, watch.step, False))
        self.planned += [(part, watch.step, True) for part in parts if part]
        return result

    def models(self, *arguments: Any, **named: Any) -> Any:
        """Open counting models."""
        return self.runs.models(*arguments, **named)

    def window(self, role: ModelRole) -> int | None:
        """Return a model's window if it is known without a request."""
        return known_window(role)

    async def do_run(
        self,
        run: Run | None,  # noqa: ARG002
        prepared: PreparedDocument,
        order: Order,
        watch: RunWatch,  # noqa: ARG002
    ) -> Result:
        """Count a run in memory."""
        return await self.runs.run_prepared(prepared, order)

    def steps(self) -> list[PlanStep]:
        """Return the steps in the order in which they began."""
        steps_by_key: dict[tuple[object, ...], PlanStep] = {}
        for run, step, is_part in self.planned:
            if (tally := self.runs.tallies.get(run)) is None:
                continue
            counted = set[object]()
            document = tally.prepared.document
            source, title = (document.id, document.title) if document.id in self.sources else ("", _OTHER_TEXTS)
            for key, work in tally.work.items():
                name = _STEPS_OF_PROMPTS.get(work.name, step) if step == FACTS else step
                if tally.run.refinement is not None:
                    name = f"{name}: {work.by}"
                elif work.by == "validator":
                    name = f"{name}: validation"
                at = (source, name, work.settings.temperature, *key[2:])
                step_of_key = PlanStep(name=name, settings=work.settings, price=work.price, document=title)
                plan_step = steps_by_key.setdefault(at, step_of_key)
                plan_step.add(work.calls, work)
                plan_step.runs += not is_part and at not in counted
                counted.add(at)
        return list(steps_by_key.values())


def plan_steps(
    work: Callable[[ExperimentRunner], Coroutine[Any, Any, T]], documents: Sequence[Document], prices: PriceTable
) -> tuple[T, list[PlanStep]]:
    """Return the outcome of an experiment with counting models on an in-memory store, and its steps by document."""

    async def count_steps() -> tuple[T, list[PlanStep]]:
        async with DryRuns(SessionOrder(prices=prices)) as runs:
            runner = DryExperimentRunner(runs, prices, documents)
            return await work(runner), runner.steps()

    outcome, steps = run_to_end(count_steps)
    order = [document.title for document in documents]
    return outcome, sorted(steps, key=lambda step: order.index(step.document) if step.document in order else len(order))


C = TypeVar("C", bound="Cell")
I = TypeVar("I", bound="Item")  # noqa: E741
Used = Annotated[
    Totals, PlainSerializer(lambda used: {name: value for name, value in asdict(used).items() if name != "seconds"})
]
"""Totals of which JSON has no time, which differs between machines."""


@dataclass(frozen=True, slots=True)
class Item:
    """One result of an experiment: a row of its frame. It has neither a result nor a failure if the budget ran out."""

    document: str
    title: str
    _: KW_ONLY
    runs: Mapping[str, str] = field(default_factory=dict)
    """The runs behind it, by stage."""
    failure: Failure | None = None

    forms: ClassVar[Mapping[str, str]] = {"label": "", "by": "", "made": "document"}

    def __init_subclass__(cls, **forms: str) -> None:
        """Set how items are named among those of their document (`label`) and what their system is called (`by`), both
        with `{0}` as the item, and the field that has a value once there is a result (`made`)."""
        cls.forms = {**cls.forms, **forms}

    @property
    def label(self) -> str:
        """The name among the items of its document, in messages."""
        return self.forms["label"].format(self)

    @property
    def by(self) -> str:
        """The system that it is about, in the table of cost."""
        return self.forms["by"].format(self)

    @property
    def is_made(self) -> bool:
        """True if there is a result."""
        return getattr(self, self.forms["made"]) not in (None, False, ())

    @property
    def is_result(self) -> bool:
        """True if there is a result that is worth a report."""
        return self.is_made

    @property
    def failures(self) -> Iterable[Failure]:
        """What failed."""
        return () if self.failure is None else (self.failure,)

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of verdicts that were given, and that are missing."""
        return 0, 0

    @computed
    def status(self) -> str:
        """The status: `done`, `failed` or `not made`."""
        return "failed" if self.failure is not None else "done" if self.is_made else "not made"


def by_system(items: Iterable[I]) -> dict[str, list[I]]:
    """Return the items of each system."""
    systems: dict[str, list[I]] = {}
    for item in items:
        systems.setdefault(item.by, []).append(item)
    return systems


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of an experiment that is run by itself: a document, with what is shared by its items."""

    document: Document
    _: KW_ONLY
    runs: Mapping[str, str] = field(default_factory=dict)
    """The runs of shared work, by stage."""
    failures: tuple[Failure, ...] = ()
    key: str = ""
    """What distinguishes the cell from others of its document."""
    about: Mapping[str, object] = field(default_factory=dict)
    """What the settings of a report say about the document, besides its id and title."""
    ids: Mapping[str, str | None] = field(default_factory=dict)
    """The ids of the questions and key facts that its summaries are judged by, by the names of their settings."""
    lacking: frozenset[PackPart] = frozenset()
    """What some metrics need and could not be built."""


@dataclass(slots=True)
class GuardedStage(AbstractContextManager["GuardedStage"]):
    """A stage whose failure is recorded so that other work goes on.

    When the budget ends, the stage is left, and the `runner` is marked as stopped. Errors of the store are raised.
    """

    stage: str
    runner: ExperimentRunner | None = None
    failure: Failure | None = None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Record why the stage failed."""
        if isinstance(error, BudgetError):
            if self.runner is not None:
                self.runner.stopped = error
            return True
        if isinstance(error, StoreError) or not isinstance(error, Exception):
            return False
        self.failure = failure(self.stage, error)
        return True


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of a run, or its failure; neither if the budget ran out first."""

    result: Result | None = None
    run: str | None = None
    failure: Failure | None = None

    def recorded(self, item: I, stage: str) -> I:
        """Return an item with this run as that of a stage, and with the failure of this run, if any."""
        runs = {**item.runs, stage: self.run} if self.run else item.runs
        return replace(item, runs=runs, failure=self.failure or item.failure)


@dataclass(slots=True)
class RunBatch:
    """Makes the runs of one experiment, as many at once as the limits allow."""

    runner: ExperimentRunner
    of: int
    """The total number of parts, for progress events."""
    places: asyncio.Semaphore = field(init=False)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _same: dict[str, asyncio.Lock] = field(default_factory=dict)
    """A lock for each run, which two parts of an experiment may need, such as two models with the same answer."""

    def __post_init__(self) -> None:
        self.places = asyncio.Semaphore(self.runner.limits.concurrency)

    async def run(self, stage: str, step: str, document: Document, settings: DraftConfig, order: Order,
                   which: str = "") -> RunOutcome:  # fmt: skip
        """Make a run as soon as the limits allow, and report its status. `step` is its name in a plan; `which` tells it
        from others of that step."""
        name = f"{document.title}: {which or step}"
        async with self.places:
            outcome = await self.run_part(stage, step, name, document, settings, order)
        status = ": failed" if outcome.failure else ": not made" if outcome.result is None else ""
        self.report_progress(f"{name}{status}")
        return outcome

    async def run_task(self, name: str, work: Callable[[], Awaitable[I]]) -> I:
        """Make an item as soon as the limits allow, and report it, with its status if it is not done."""
        async with self.places:
            item = await work()
        self.report_progress(name if item.status == "done" else f"{name}: {item.status}")
        return item

    async def run_part(
        self, stage: str, step: str, name: str, document: Document, settings: DraftConfig, order: Order
    ) -> RunOutcome:
        """Make a run as part of a larger piece of work, and return its result or failure without reporting it."""
        watch, result = RunWatch(name, self.runner.observer, step=step), None
        order = order.model_copy(update={"settings": settings})
        same = self._same.setdefault(content_id(repr((document.id, order))), asyncio.Lock())
        async with same:
            with GuardedStage(stage) as guarded_stage:
                result = await self.runner.find_or_run(document, order, watch)
        return RunOutcome(result, result.run.id if result else watch.run, guarded_stage.failure)

    def report_progress(self, what: str) -> None:
        """Report that one more part has finished."""
        self.runner.observer(PartDone(what, next(self._numbers), self.of))

    async def usage(self, runs: Iterable[str | None]) -> Totals:
        """Return what some runs used, with each answer counted once."""
        ids = sorted({run for run in runs if run})
        return await asyncio.to_thread(self.runner.store.calls.taken_by, ids) if ids else Totals()

    @asynccontextmanager
    async def own_work(
        self, prepared: PreparedDocument, order: Order, step: str, judging: JudgeConfig | None = None
    ) -> AsyncIterator[tuple[Run, Judge, ModelPool]]:
        """Open a new or resumed run of an experiment's own work, called `step` in plans: with its writer as a judge of
        the document, and all its models, which have the roles that `judging` names. Cached replies are reused, and how
        it ended is recorded. After the budget has ended, only a run that is there already is opened; when it ends
        inside, no new work is started."""
        runner, store, limits = self.runner, self.runner.store, self.runner.limits
        order = order.model_copy(update={"settings": prepared.settings, "limits": limits})
        for warning in prepared.warnings:
            runner.observer(Notice(warning, everywhere=True))
        async with runner.opening:
            run = await runner.open_own_run(prepared, order)
            if run is None:
                if runner.stopped is not None:
                    raise runner.stopped
                run = await off_loop(record, prepared, order, store)
            if isinstance(runner, DryExperimentRunner):
                runner.planned.append((run.id, step, False))
        runner.observer(RunStarted(run.id))
        run = replace(run, order=run.order.model_copy(update={"limits": limits}))
        parts = OrderParts(settings=prepared.settings, judging=judging or JudgeConfig(), limits=limits)
        roles, began = assign_models(parts, runner.defaults.prices), time.monotonic()
        with store.claim(run.id), language_context(prepared.document):
            await off_loop(store.runs.set_status, run.id, "running")
            try:
                async with runner.models(roles, run, prepared, runner.observer, runner.budget) as pool:
                    wording = wording_of(prepared.document.text, prepared.tokenizer)
                    yield run, pool.writer.judge(store.verdicts, prepared.document.id, wording), pool
            except BaseException as error:
                await record_stop(store, run.id, error)
                runner.stopped = error if isinstance(error, BudgetError) else runner.stopped
                raise
            else:
                await off_loop(store.runs.set_status, run.id, "done", stop_reason="complete")
            finally:
                await off_loop(store.runs.add_seconds, run.id, time.monotonic() - began)

    async def judging_pack(self, cell: C, names: Iterable[str], judging: JudgeConfig, design: Seats) -> C:
        """Return a document with what some metrics judge its summaries by: set in the judging, imported, built before
        or built now, by the first judge, without a query."""
        store, document, runs, failures = self.runner.store, cell.document, dict[str, str](), list[Failure]()
        ids: dict[str, str | None] = {name: getattr(judging, name) for name in REFERENCES.values()}
        imported = {"questions": store.packs.imported(document.id), "keyfacts": store.keyfacts.imported(document.id)}
        needs = {evaluator.needs for evaluator in metrics(names, with_rubrics(judging, ()))}
        parts = [part for part in REFERENCES if part in needs]
        for part in parts:
            name, stage = REFERENCES[part], "key facts" if part == "keyfacts" else part
            if ids[name] is None and (reference := imported[part]) is not None:
                ids[name] = reference.id
            if ids[name] is not None:
                continue
            self.of += 1
            own = design.judging_by(judging.model_copy(update={"metrics": ()}), design.judge)
            order = Build(kind="pack" if part == "questions" else "keyfacts", judging=own, experiment=design.name)
            outcome = await self.run(stage, f"building {stage}", document, design.judge_settings(query=None), order)
            runs |= {stage: outcome.run} if outcome.run else {}
            failures += [outcome.failure] if outcome.failure else []
            ids[name] = getattr(outcome.result.run.judging, name) if outcome.result else None
        lacking = frozenset(part for part in parts if ids[REFERENCES[part]] is None)
        return replace(cell, ids=ids, lacking=lacking, runs=runs, failures=tuple(failures))
