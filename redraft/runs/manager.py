"""The active runs of a session: recorded, opened when needed, and closed however they end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from langgraph.errors import GraphBubbleUp, GraphInterrupt

from redraft.errors import BudgetError, RedraftError
from redraft.evaluators.base import Evaluator
from redraft.events import Notice, Observer, RunDone, RunStarted, Waiting, for_run
from redraft.graphs.job import Job, best_so_far
from redraft.graphs.strategies import check_installed
from redraft.llm.addresses import OPENAI, provider_of
from redraft.llm.base import Model
from redraft.llm.budget import Budget, PriceTable
from redraft.llm.langsmith import tracing
from redraft.order import Order
from redraft.runs.inputs import Sources, document_of
from redraft.runs.job import JobFactory
from redraft.runs.model_names import judge_settings_of
from redraft.runs.models import ModelPool, ModelRole, ModelRoles, assign_models, load_openai
from redraft.runs.models import open_models as open_models
from redraft.runs.own_places import OwnPlaces
from redraft.runs.prepare import PreparedDocument, check_judging, complete, prepare, record, restore
from redraft.runs.roster import server_window
from redraft.settings import GIVEN_STRATEGY, DraftConfig, Limits, reads_prompts
from redraft.store.connection import entered_off_loop, off_loop
from redraft.store.runs import Run, Status
from redraft.store.store import Store
from redraft.text.languages import language_context

WAITING = "review"
"""The stop reason of a run that waits for a person."""


@asynccontextmanager
async def recorded_run(store: Store, run: str) -> AsyncIterator[None]:
    """Mark a run as running, then record how it ended and how long it took."""
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


async def record_stop(store: Store, run: str, error: BaseException) -> None:
    """Record what stopped a run."""
    status, reason, described = _told(error)
    # The caller that stops the run has to wait until that is recorded.
    writing = asyncio.ensure_future(off_loop(store.runs.set_status, run, status, stop_reason=reason, error=described))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await writing
        raise


def _told(error: BaseException) -> tuple[Status, str, dict[str, Any] | None]:
    """Return the status, stop reason and stored error for the exception that ended a run."""
    match error:
        case GraphBubbleUp():
            return "waiting", WAITING, None
        case BudgetError():
            return "stopped", error.code, error.stored
        case RedraftError():
            return "failed", error.code, error.stored
        case asyncio.CancelledError() | KeyboardInterrupt() | GeneratorExit():
            return "interrupted", "cancelled", None
    message = f"{type(error).__name__}: {error}"
    return "failed", "bug", {"code": "bug", "message": message, "hint": "please report it"}


# Seconds that the nodes of a cancelled run get to clean up.
_TO_PUT_AWAY = 10.0


@dataclass(slots=True)
class _OpenRun:
    """An open run, its resources, and the number of nodes and visitors that use it."""

    job_factory: JobFactory
    job: Job
    closing: AsyncExitStack
    began: float = field(default_factory=time.monotonic)
    present: int = 0
    driven: bool = False
    """Whether a graph drives it. A visitor alone does not change the run's status."""
    over: bool = False


@dataclass(slots=True)
class RunManager:
    """Opens, shares and closes the active runs of a session."""

    store: Store
    model_roles: ModelRoles
    own: dict[str, Evaluator]
    prices: PriceTable | None
    observe: Observer
    limits: Limits | None = None
    """The session's limits, which replace those of a resumed run."""
    budget: Budget | None = None
    """A budget that all runs share, besides their own."""
    traced: bool = False
    """Whether prompts and replies may be sent to LangSmith."""
    places: OwnPlaces = field(default_factory=OwnPlaces)
    """The servers, keys and files that the user has named for this session."""
    shared: dict[str, Budget] = field(default_factory=dict)
    """The budgets of runs that draw on another run's, such as chapters."""
    limited: dict[str, Limits | None] = field(default_factory=dict)
    """The limits of runs that were resumed with new ones."""
    prepared: dict[str, PreparedDocument] = field(default_factory=dict)
    """Prepared documents of runs that are not open yet."""
    begun: dict[str, None] = field(default_factory=dict)
    """The runs that the session has begun, which are those that its tools see."""
    factory: type[JobFactory] = JobFactory
    _open: dict[str, _OpenRun] = field(default_factory=dict)
    _opening: dict[str, asyncio.Lock] = field(default_factory=dict)

    @asynccontextmanager
    async def at_work(self, run: str) -> AsyncIterator[Job]:
        """Open the run for a node. An error is recorded and closes the run."""
        async with self.working(run) as job_factory:
            yield self._open[job_factory.run.id].job

    @asynccontextmanager
    async def working(self, run: str) -> AsyncIterator[JobFactory]:
        """Open the run with its models and judges."""
        opened = await self._opened(run)
        opened.present += 1
        try:
            await self._drive(opened)
            with tracing(self.traced), language_context(opened.job_factory.prepared.document):
                yield opened.job_factory
        except BaseException as error:
            if isinstance(error, RedraftError):
                error.run = opened.job.run.id
            if not opened.over:
                opened.over = True
                await self._stopped(opened, error)
            raise
        finally:
            opened.present -= 1
            if opened.over:
                await self._close(opened)

    @asynccontextmanager
    async def visiting(self, run: str) -> AsyncIterator[JobFactory]:
        """Open the run for one tool call of an outside agent. The run's status stays as it was, whatever happens; only
        `finish` ends it."""
        opened = await self._opened(run)
        opened.present += 1
        try:
            with tracing(self.traced), language_context(opened.job_factory.prepared.document):
                yield opened.job_factory
        finally:
            opened.present -= 1
            if opened.over or not opened.driven:
                await self._close(opened)

    def note(self, *messages: str) -> None:
        """Send a note to the observers."""
        for message in messages:
            self.observe(Notice(message))

    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        """Mark a run as done with this draft, for this reason or because of its gaps, and close it."""
        opened = await self._opened(run)
        reason = reason or ("gaps" if await off_loop(self.store.runs.gaps, run) else "complete")
        if draft:
            await off_loop(self.store.runs.choose_draft, run, draft)
        await off_loop(self.store.runs.set_status, run, "done", stop_reason=reason, why=why)
        opened.over = True
        await self._close(opened)
        self.observe(RunDone(run, reason))
        return reason

    async def record_error(self, run: str, error: BaseException) -> None:
        """Record the error that ended a run between its nodes, and close it."""
        opened = self._open.get(run)
        if opened is None or not opened.over:
            await record_stop(self.store, run, error)
        if opened is not None:
            opened.over = True
            await self._close(opened)

    async def aclose(self) -> None:
        """Close every run; unfinished ones are marked as interrupted."""
        async with AsyncExitStack() as closing:
            # Each of them, even if another can no longer be recorded.
            for opened in self._open.values():
                closing.push_async_callback(self._abandon, opened)

    async def release(self, run: str) -> None:
        """Record that a run was cancelled, so that others can resume it. Active nodes clean up and report by
        themselves; between two nodes this does it."""
        opened = self._open.get(run)
        deadline = time.monotonic() + _TO_PUT_AWAY
        while opened is not None and opened.present and time.monotonic() < deadline:  # noqa: ASYNC110  (there is no event to wait for)
            await asyncio.sleep(0.01)
        if opened is not None and self._open.get(run) is opened:
            await self._abandon(opened)

    async def _abandon(self, opened: _OpenRun) -> None:
        try:
            if opened.driven and not opened.over:
                await record_stop(self.store, opened.job.run.id, asyncio.CancelledError())
        finally:
            opened.present = 0
            await self._close(opened)

    async def _opened(self, run: str) -> _OpenRun:
        if run not in self._open:
            run = (await off_loop(self.store.runs.get, run)).id
        # Metrics judge concurrently: the first opens the run, the others wait for it.
        async with self._opening.setdefault(run, asyncio.Lock()):
            if run not in self._open:
                self._open[run] = await self._begun(await off_loop(self.store.runs.get, run))
            return self._open[run]

    def check_stored(self, run: Run) -> None:
        """Refuse a stored run whose strategy is missing, or that names a server, a key or a file of somebody else."""
        check_installed(run)
        self.places.check(run.id, run.settings, run.judging, run.refinement, self.model_roles.objects)

    async def _begun(self, run: Run) -> _OpenRun:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(entered_off_loop(self.store.claim(run.id)))
            try:
                return await self._staffed(run, stack)
            except BaseException as error:
                # A run marked as running was just started, or left by a dead process.
                if run.status == "running":
                    await record_stop(self.store, run.id, error)
                raise

    async def _staffed(self, run: Run, stack: AsyncExitStack) -> _OpenRun:
        """Claim the run and open its models; resources entered into `stack` stay open."""
        limits = self.limited.get(run.id, self.limits)
        if limits is not None and limits != run.limits:
            await off_loop(self.store.runs.set_limits, run.id, limits)
            run = run.with_order(limits=limits)
        evaluators = tuple(self.own.values())
        prepared = self.prepared.pop(run.id, None)
        if prepared is None:
            await off_loop(self.check_stored, run)
            prepared = await off_loop(restore, self.store, run, evaluators)
        roles = await off_loop(
            assign_models,
            run.settings,
            run.judging,
            self.limits_with_budget(run.limits),
            self.prices,
            refinement=run.refinement,
            objects=self.model_roles.objects,
        )
        observe = for_run(run.id, self.observe)
        pool = await stack.enter_async_context(self.models(roles, run, prepared, observe))
        # Resuming a done run repeats requests that were left open, rather than taking their cached replies.
        attempt = (await off_loop(self.store.calls.totals, run.id)).calls if run.status == "done" else 0
        job_factory = self.factory(self.store, run, prepared, pool, observe, evaluators, attempt)
        with language_context(prepared.document):
            job = await job_factory.job()
        return _OpenRun(job_factory, job, stack.pop_all())

    def models(
        self, assigned: Sequence[ModelRole], run: Run, prepared: PreparedDocument, observe: Observer
    ) -> AbstractAsyncContextManager[ModelPool]:
        """Open the models of a run for the duration of the context."""
        limits = run.limits
        budget = self.shared.get(run.id) or Budget(
            max_calls=limits.max_calls, max_cost=limits.max_cost, budget_key=run.id, outer=self.budget
        )
        return open_models(assigned, run, prepared.document, prepared.book, self.store, observe, budget)

    def limits_with_budget(self, limits: Limits) -> Limits:
        """Return the limits of a run with that of the shared budget, which needs the prices of models just as well."""
        if self.budget is None or self.budget.max_cost is None or limits.max_cost is not None:
            return limits
        return limits.model_copy(update={"max_cost": self.budget.max_cost})

    async def _drive(self, opened: _OpenRun) -> None:
        """Put on record that the run is being worked on, once."""
        if opened.driven:
            return
        opened.driven, job_factory = True, opened.job_factory
        await off_loop(self.store.runs.set_status, job_factory.run.id, "running")
        self.observe(RunStarted(job_factory.run.id))
        prepared = job_factory.prepared
        for warning in prepared.warnings:
            # Notes that are not the document's are about the model: how its tokens are counted.
            self.observe(Notice(warning, everywhere=warning not in prepared.document.notes))

    async def _stopped(self, opened: _OpenRun, error: BaseException) -> None:
        run = opened.job.run.id
        if isinstance(error, BudgetError) and opened.job.run.kind in ("summarize", "refine"):
            await self._keep_partial(opened.job, error)
        await record_stop(self.store, run, error)
        if isinstance(error, GraphInterrupt):
            for interrupt in error.args[0]:
                self.observe(Waiting(run, interrupt.value))

    async def _keep_partial(self, job: Job, error: BudgetError) -> None:
        """Keep the best text so far as the run's draft, where it has none that is whole, and say what it covers."""
        run = await off_loop(self.store.runs.get, job.run.id)
        draft = await job.draft(run.draft) if run.draft else None
        if draft is not None and draft.node != PARTIAL:
            return
        partial = best_so_far(await off_loop(self.store.runs.pieces, run.id), job.plan.words)
        if partial is not None:
            what = "chapters" if run.settings.by_chapter else "chunks"
            note = f"only {partial.covered} of {job.plan.chunks} {what} are covered: {error.message}"
            await job.keep(partial.text, PARTIAL, (note,), partial.pieces)

    async def _close(self, opened: _OpenRun) -> None:
        """Close a run unless others still use it; the last one closes it. A later user opens it anew."""
        run = opened.job.run.id
        async with self._opening.setdefault(run, asyncio.Lock()):
            if opened.present or self._open.get(run) is not opened:
                return
            del self._open[run]
            try:
                await off_loop(self.store.runs.add_seconds, run, time.monotonic() - opened.began)
            finally:
                await opened.closing.aclose()


PARTIAL = "partial"
"""The node name of a draft made from partial results after the budget was used up."""


def _is_sure_to_ask(settings: DraftConfig, order: Order, objects: Mapping[str, Model]) -> bool:
    """Return whether the OpenAI client will certainly be needed, by the writer or a judge."""
    drafted = settings.strategy != GIVEN_STRATEGY
    draft_configs = [settings] if drafted else judge_settings_of(settings, order.judging)
    return OPENAI in {provider_of(settings.model) for settings in draft_configs if settings.model not in objects}


def judged_by_writer(settings: DraftConfig, order: Order) -> list[str]:
    """Return a note if a language model judges what it writes itself."""
    is_written = settings.strategy != GIVEN_STRATEGY or order.refinement is not None
    if order.judging is None or not is_written or not reads_prompts(settings.model):
        return []
    judges = judge_settings_of(settings, order.judging)
    if any((judge.model, judge.base_url) != (settings.model, settings.base_url) for judge in judges):
        return []
    return [f"{settings.model} judges what it has written itself: scores by another judge mean more"]


async def record_new_run(manager: RunManager, source: Sources, order: Order, limits: Limits | None = None) -> Run:
    """Record a new run; invalid settings are raised first. Its own limits replace the session's."""
    store, objects, own = manager.store, manager.model_roles.objects, tuple(manager.own.values())
    document = await off_loop(document_of, store, source)
    manager.places.add(order.settings, order.judging, order.refinement, objects)
    order, notes = await off_loop(complete, order, server_window, objects)
    settings = order.settings
    notes += judged_by_writer(settings, order)
    for note in notes:
        manager.observe(Notice(note, everywhere=True))
    inputs = (document, settings, objects.get(settings.model), order.given)
    if _is_sure_to_ask(settings, order, objects) and not await off_loop(store.documents.has, document.id):
        prepared, _ = await asyncio.gather(off_loop(prepare, *inputs), off_loop(load_openai))
    else:
        prepared = await off_loop(prepare, *inputs)
    # Errors in the judging settings are raised before the first draft is paid for.
    await off_loop(check_judging, order, prepared, store, own)
    order = order.model_copy(update={"limits": limits or manager.limits or Limits()})
    arguments = (prepared.settings, order.judging, manager.limits_with_budget(order.limits), manager.prices)
    await off_loop(assign_models, *arguments, refinement=order.refinement, objects=objects)
    run = await off_loop(record, prepared, order, store, own, notes)
    manager.prepared[run.id], manager.begun[run.id] = prepared, None
    if limits is not None:
        manager.limited[run.id] = limits
    return run
