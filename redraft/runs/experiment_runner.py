"""Makes the runs of an experiment on one budget, each only once over all repetitions."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from redraft.domain import Document, content_id
from redraft.errors import BudgetError, RedraftError
from redraft.events import Event, Notice, Observer, PartDone, RunStarted, StageStarted, ignore_event
from redraft.graphs.prepared import ModelPool, PreparedDocument
from redraft.llm.budget import Budget, PriceTable
from redraft.order import Order
from redraft.report.history.results import Result, read_result
from redraft.runs.driver import Runner
from redraft.runs.models import ModelRole, server_window
from redraft.runs.open_runs import record_stop
from redraft.runs.prepare import complete, identify, record
from redraft.runs.session import Session, runner_of
from redraft.settings import Limits
from redraft.store.connection import off_loop, storable
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

_LONGEST_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a result is missing: the stage, the error code and the message."""

    stage: str
    code: str
    message: str


def failure(stage: str, error: Exception) -> Failure:
    """Return the failure record of an error."""
    code = error.code if isinstance(error, RedraftError) else "bug"
    message = str(error) if isinstance(error, RedraftError) else f"{type(error).__name__}: {error}"
    return Failure(stage, code, storable(one_line(message, _LONGEST_MESSAGE)))


def describe_error(error: Exception) -> dict[str, Any]:
    """Return an error as it is stored with an item or a batch: its code, message and hint."""
    problem = failure("", error)
    words = error.stored if isinstance(error, RedraftError) else {"hint": "please report it"}
    return {**words, "code": problem.code, "message": problem.message}


@asynccontextmanager
async def recorded_run(store: Store, run: str) -> AsyncIterator[None]:
    """Mark a run of an experiment's own work as running, then record how it ended and how long it took."""
    began = time.monotonic()
    await off_loop(store.runs.set_status, run, "running")
    try:
        yield
    except BaseException as error:
        await record_stop(store, run, error)
        raise
    else:
        await off_loop(store.runs.set_status, run, "done", stop_reason="complete")
    finally:
        await off_loop(store.runs.add_seconds, run, time.monotonic() - began)


@dataclass(slots=True)
class RunWatch:
    """Follows one of many runs: records its id and forwards its notable events."""

    name: str
    observer: Observer
    run: str | None = None
    step: str = ""
    """The kind of work, for a plan."""
    on_start: Callable[[str], object] | None = None
    """Called with the run's id when it starts or is resumed."""

    def __call__(self, event: Event) -> None:
        """Record or forward an event. Stages are dropped: they mean little when many runs are in progress."""
        if isinstance(event, RunStarted):
            self.run = event.run
            if self.on_start is not None:
                self.on_start(event.run)
        elif isinstance(event, Notice):
            self.observer(event if event.everywhere else Notice(f"{self.name}: {event.message}"))
        elif not isinstance(event, StageStarted | PartDone):
            self.observer(event)


@dataclass(slots=True)
class ExperimentRunner:
    """Makes runs or finds stored ones. Its limits apply to all runs together, over all repetitions."""

    store: Store
    limits: Limits
    prices: PriceTable | None = None
    observer: Observer = ignore_event
    session: Session | None = None
    """The session that provides model objects and metrics; None if all are given by name."""
    stopped: BudgetError | None = None
    """Why no more runs are started."""
    budget: Budget = field(init=False)
    _runner: Runner = field(init=False)
    """Has the models and metrics of all runs."""
    _windows: dict[tuple[object, ...], int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        observer, messages = self.observer, set[str]()

        def observe(event: Event) -> None:
            """Pass on messages common to all runs once, and every other event."""
            if isinstance(event, Notice) and event.everywhere:
                if event.message in messages:
                    return
                messages.add(event.message)
            observer(event)

        self.observer = observe
        self.budget = Budget(max_calls=self.limits.max_calls, max_cost=self.limits.max_cost)
        runner = Runner(self.store, prices=self.prices) if self.session is None else runner_of(self.session)
        self._runner = runner.beside(self.observer, self.limits, self.budget)

    def share_budget(self, *experiment: str, paced: bool = False) -> None:
        """Set the budget of an experiment or a batch, which all processes that work on it share."""
        calls, cost, key = self.limits.max_calls, self.limits.max_cost, content_id("\n".join(experiment))
        self.budget = Budget(max_calls=calls, max_cost=cost, budget_key=key, paced=paced)

    def note_token_counts(self, prepared: PreparedDocument) -> None:
        """Report once how tokens are counted, for experiments that start no runs."""
        for warning in prepared.warnings:
            self.observer(Notice(warning, everywhere=True))

    async def open_run(self, prepared: PreparedDocument, order: Order) -> Run:
        """Find or record the run for the calls that an experiment makes itself."""
        order = order.model_copy(update={"settings": prepared.settings, "limits": self.limits})
        run = await self.open_own_run(prepared.document, order)
        if run is None:
            run = await off_loop(record, prepared, order, self.store)
        self.observer(RunStarted(run.id))
        return replace(run, order=run.order.model_copy(update={"limits": self.limits}))

    async def open_own_run(self, document: Document, order: Order) -> Run | None:
        """Return the run for the calls that an experiment made itself. Its usage counts against the budget."""
        defaults = self._runner.defaults

        def stored() -> Run | None:
            model = defaults.objects.get(order.settings.model)
            runs = self.store.runs.some(identity=identify(document, order, defaults.evaluators, model))
            run = next((run for run in runs if run.status == "done"), runs[-1] if runs else None)
            if run is not None:
                self.store.calls.share(self.budget.terms.budget_key, run.id)
            return run

        return await off_loop(stored)

    async def _settled(self, order: Order) -> Order:
        """Return the order with every model's window, as it identifies a run."""
        order, notes = await off_loop(complete, order, self._window, self._runner.defaults.objects)
        for note in notes:
            self.observer(Notice(note, everywhere=True))
        return order

    def _window(self, role: ModelRole) -> int | None:
        """Return a model's window as its server reports it; asked once."""
        if role.opened_as not in self._windows:
            self._windows[role.opened_as] = server_window(role)
        return self._windows[role.opened_as]

    async def find_or_run(self, document: Document, order: Order, watch: RunWatch) -> Result:
        """Return the completed run, after finding, resuming or starting it. Raises its errors."""
        order = await self._settled(order)
        run = await self.open_own_run(document, order)
        if run is not None:
            watch.run = run.id
            if run.status == "done":
                return await off_loop(read_result, self.store, run.id)
        if self.stopped is not None:
            raise self.stopped
        try:
            result = await self.do_run(run, document, order, watch)
        except BudgetError as error:
            self.stopped = error
            raise
        if result.run.status == "stopped":
            # A partial draft is not a basis for judging a model.
            self.stopped = BudgetError((result.run.error or {}).get("message", "the budget is used up"))
            raise self.stopped
        return result

    async def do_run(self, run: Run | None, document: Document, order: Order, watch: RunWatch) -> Result:
        """Resume the run, or start one; a plan counts it instead."""
        async with self._runner.beside(watch, self.limits, self.budget) as runner:
            runner.places.add(order, runner.defaults.objects)
            return await (runner.begin_order(document, order) if run is None else runner.resume(run.id))

    def open_models(
        self,
        assigned: Sequence[ModelRole],
        run: Run,
        prepared: PreparedDocument,
        step: str,  # noqa: ARG002  (for plans)
    ) -> AbstractAsyncContextManager[ModelPool]:
        """Open models for the experiment's own requests; plans call them `step`."""
        return self._runner.models(assigned, run, prepared, self.observer, self.budget)
