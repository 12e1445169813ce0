"""The runs that are being worked on: opened when needed, shared by everybody who works on one, and closed however they
end."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from typing_extensions import override

from redraft.errors import BudgetError, RedraftError, StoreError, UsageError, stored_error
from redraft.events import Notice, Observer, RunDone, RunStarted, Waiting, for_run, ignore_event, safe_observer
from redraft.graphs.job import Job, best_so_far
from redraft.graphs.prepared import ModelPool, PreparedDocument
from redraft.graphs.strategies import check_installed
from redraft.llm.addresses import address_in, name_of, provider_of
from redraft.llm.base import Model
from redraft.llm.budget import Budget, Limiter, shared_limiter
from redraft.llm.langsmith import tracing
from redraft.llm.recorded import RecordedModel
from redraft.order import Order
from redraft.prompts.book import PromptBook
from redraft.runs.model_settings import OwnPlaces
from redraft.runs.models import ModelRole, assign_models, is_at_openai, open_model, pool_of, same_identity
from redraft.runs.order import SessionOrder
from redraft.runs.prepare import restore
from redraft.settings import Limits, reads_prompts
from redraft.store.calls import take_turn
from redraft.store.connection import BUSY_SECONDS, Checkpoints, off_loop
from redraft.store.plain_serializer import PlainSerializer
from redraft.store.runs import Run, Status
from redraft.store.sqlite import SqliteCheckpoints
from redraft.store.store import Store
from redraft.text.languages import detected_language, language_context, primary, undetected_language
from redraft.text.tokens import tokenizer_for
from redraft.text.vectors import CachingEncoder, load_encoder

# Seconds in which the thread of a saver ends.
_TO_STOP = 5.0
_ROWS_AT_ONCE = 64


class FileSaver(AsyncSqliteSaver):
    """LangGraph's SQLite saver with integers as channel versions. LangGraph's own versions are texts of 49 characters,
    more than half of a step's size, which keep the channels of forks apart where each is stored by itself. Here every
    checkpoint holds all of its channels. A thread that was started with texts continues with texts."""

    @override
    def get_next_version(self, current: Any, channel: None) -> Any:
        if isinstance(current, str):
            return super().get_next_version(current, channel)
        return BaseCheckpointSaver.get_next_version(self, current, channel)


async def open_saver(checkpoints: Checkpoints, closing: AsyncExitStack) -> BaseCheckpointSaver[Any]:
    """Open the checkpoint saver of a store; the stack closes it."""
    with checkpoints.explained():
        if not isinstance(checkpoints, SqliteCheckpoints):
            from redraft.store.postgres import on_a_server

            return await on_a_server(checkpoints, closing)
        connecting = aiosqlite.Connection(
            lambda: sqlite3.connect(checkpoints.address(), uri=True, timeout=BUSY_SECONDS),
            iter_chunk_size=_ROWS_AT_ONCE,
        )
        # Otherwise its thread would keep a process alive that forgets to close its session.
        connecting._thread.daemon = True
        try:
            saver = FileSaver(await connecting, serde=PlainSerializer(checkpoints.place))
        except Exception:
            # Its thread answers the event loop once more, which must not be closed by then.
            await off_loop(connecting._thread.join, _TO_STOP)
            raise

        async def close() -> None:
            """Close the connection once nothing is written through it, and roll back an interrupted write. A cancelled
            run continues for a moment to finish its writes. What it leaves half done would hold on to the connection,
            and with it to the lock on the file, until its remains are collected."""
            async with saver.lock:
                with suppress(sqlite3.Error):
                    await saver.conn.rollback()
                await saver.conn.close()

        closing.push_async_callback(close)
        await saver.setup()
        return saver


PARTIAL = "partial"
"""The node name of a draft made from partial results after the budget was used up."""
WAITING = "review"
"""The stop reason of a run that waits for a person."""
# Seconds that the nodes of a cancelled run get to clean up.
_TO_PUT_AWAY = 10.0


async def record_stop(store: Store, run: str, error: BaseException) -> None:
    """Record what stopped a run: its status, the reason and the error."""
    status: Status = "stopped" if isinstance(error, BudgetError) else "failed"
    described: dict[str, Any] | None = None
    match error:
        case GraphBubbleUp():
            status, reason = "waiting", WAITING
        case asyncio.CancelledError() | KeyboardInterrupt() | GeneratorExit():
            status, reason = "interrupted", "cancelled"
        case _:
            described = stored_error(error)
            reason = described["code"]
    # The caller that stops the run has to wait until that is recorded.
    writing = asyncio.ensure_future(off_loop(store.runs.set_status, run, status, stop_reason=reason, error=described))
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await writing
        raise


@dataclass(slots=True)
class _OpenRun:
    """An open run, its resources, and the number of nodes and visitors that use it."""

    job: Job
    warnings: tuple[str, ...]
    """What is reported when it starts."""
    closing: AsyncExitStack
    began: float = field(default_factory=time.monotonic)
    present: int = 0
    driven: bool = False
    """Whether a graph drives it. A visitor alone does not change the run's status."""
    over: bool = False


@dataclass(slots=True)
class OpenRuns:
    """The open runs of a session, and what they share: its models, metrics, limits and observers."""

    store: Store
    defaults: SessionOrder = field(default_factory=SessionOrder)
    """The models, prices and metrics, and the settings that calls override."""
    observer: Observer = ignore_event
    """The caller's observer."""
    limits: Limits | None = None
    """The session's limits, which replace those of a resumed run."""
    budget: Budget | None = None
    """A budget that all runs share, besides their own."""
    traced: bool = False
    """Whether prompts and replies may be sent to LangSmith."""
    places: OwnPlaces = field(default_factory=OwnPlaces)
    """The servers, keys and files that the user has named for this session."""
    begun: dict[str, None] = field(default_factory=dict)
    """The runs that the session has begun, which are those that its tools see."""
    observe: Observer = field(init=False)
    """Sends an event to the observer and to all streams; an exception of theirs ends nothing."""
    limited: dict[str, Limits | None] = field(default_factory=dict, init=False)
    """The limits of runs that were resumed with new ones."""
    budgets: dict[str, Budget] = field(default_factory=dict, init=False)
    """The budgets of runs that draw on another run's, such as chapters."""
    prepared: dict[str, PreparedDocument] = field(default_factory=dict, init=False)
    """Prepared documents of runs that are not open yet."""
    _open: dict[str, _OpenRun] = field(default_factory=dict, init=False)
    _opening: dict[str, asyncio.Lock] = field(default_factory=dict, init=False)
    _saver: BaseCheckpointSaver[Any] | None = field(default=None, init=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)
    """The event loop that the saver belongs to."""
    _closing: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)

    def __post_init__(self) -> None:
        self.observe = safe_observer(self.observer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every run, of which unfinished ones are marked as interrupted, and the checkpoints."""
        saver, self._closing, self._saver, self._loop = self._closing, AsyncExitStack(), None, None
        async with AsyncExitStack() as closing:
            closing.push_async_callback(saver.aclose)
            # Each of them, even if another can no longer be recorded.
            for opened in self._open.values():
                closing.push_async_callback(self._abandon, opened, asyncio.CancelledError())

    @asynccontextmanager
    async def at_work(self, run: str, *, visits: bool = False) -> AsyncIterator[Job]:
        """Open the run for a node, and close it once it is over or nobody drives it. An error is recorded and closes
        the run. One tool call of an outside agent `visits`: the run's status stays as it was, whatever happens, and
        only `finish` ends it."""
        opened = await self._opened(run)
        opened.present += 1
        try:
            with tracing(self.traced), language_context(opened.job.document):
                try:
                    if not (visits or opened.driven):
                        opened.driven = True
                        await off_loop(self.store.runs.set_status, opened.job.run.id, "running")
                        self.observe(RunStarted(opened.job.run.id))
                        for warning in opened.warnings:
                            # Notes that are not the document's are about the model: how its tokens are counted.
                            self.observe(Notice(warning, everywhere=warning not in opened.job.document.notes))
                    yield opened.job
                except BaseException as error:
                    if isinstance(error, RedraftError) and not visits:
                        error.run = opened.job.run.id
                    if not (visits or opened.over):
                        opened.over = True
                        await self._stopped(opened, error)
                    raise
        finally:
            opened.present -= 1
            if opened.over or not opened.driven:
                await self._close(opened)

    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        """Mark a run as done with this draft, for this reason or because of its gaps, and close it; return the
        reason. `why` explains a stop that a model decided on."""
        opened = await self._opened(run)
        reason = reason or ("gaps" if await off_loop(self.store.runs.gaps.of, run) else "complete")
        if draft:
            await off_loop(self.store.runs.change, run, {}, draft=draft)
        await off_loop(self.store.runs.set_status, run, "done", stop_reason=reason, why=why)
        opened.over = True
        await self._close(opened)
        self.observe(RunDone(run, reason))
        return reason

    async def record_end(self, run: str, error: asyncio.CancelledError | StoreError) -> None:
        """Record what ended a run between two nodes, when nothing was running that could: a cancellation, so that
        others can resume it, or the database. Active nodes clean up after a cancellation, and report it."""
        opened, deadline = self._open.get(run), time.monotonic() + _TO_PUT_AWAY
        if isinstance(error, asyncio.CancelledError):
            while opened is not None and opened.present and time.monotonic() < deadline:  # noqa: ASYNC110  (there is no event to wait for)
                await asyncio.sleep(0.01)
            if opened is not None and self._open.get(run) is opened:
                await self._abandon(opened, error)
            return
        with suppress(StoreError):
            if opened is None:
                await record_stop(self.store, run, error)
            else:
                opened.driven = True
                await self._abandon(opened, error)

    async def checkpointer(self) -> BaseCheckpointSaver[Any]:
        """Return LangGraph's saver, which is opened on first use. Raises `UsageError` in another event loop than
        before."""
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise UsageError(
                "the session was used in another event loop before",
                hint="open one session in each: async with redraft.Session(...) as session",
            )
        if self._saver is None:
            self._loop, self._saver = loop, await open_saver(self.store.checkpoints, self._closing)
        return self._saver

    def check_stored(self, run: Run) -> None:
        """Refuse a stored run whose strategy is missing, or that names a server, a key or a file of somebody else."""
        check_installed(run)
        self.places.check(run.id, run.order, self.defaults.roles.objects)

    def roles(self, order: Order) -> list[ModelRole]:
        """Return the models of an order with their prices. A limit of cost, the run's or that of a shared budget, needs
        the price of each."""
        if self.budget is not None and self.budget.max_cost is not None and order.limits.max_cost is None:
            limits = order.limits.model_copy(update={"max_cost": self.budget.max_cost})
            order = order.model_copy(update={"limits": limits})
        return assign_models(order, self.defaults.prices, self.defaults.roles.objects)

    @asynccontextmanager
    async def models(
        self,
        assigned: Sequence[ModelRole],
        run: Run,
        prepared: PreparedDocument,
        observe: Observer,
        budget: Budget | None = None,
    ) -> AsyncIterator[ModelPool]:
        """Open the models of a run, one that is named twice only once. Its budget may be shared with other runs."""
        limits, document, store = run.limits, prepared.document, self.store
        terms: dict[str, Any] = {"budget_key": run.id, "outer": self.budget}
        budget_of_run = Budget(max_calls=limits.max_calls, max_cost=limits.max_cost, deadline=limits.deadline, **terms)
        budget = budget or self.budgets.get(run.id) or budget_of_run
        language = undetected_language(document) or primary(document.language) or detected_language(document.text)
        ends = [limit.ends_at for limit in (budget_of_run, budget) if limit.ends_at is not None]
        opened: dict[tuple[object, ...], Model] = {}

        def recorded(role: ModelRole, prompts: PromptBook) -> Model:
            settings, model, exact = role.settings, opened[role.opened_as], None
            if limits.max_cost is not None and role.model is None and is_at_openai(settings):
                # Tokens are counted as the provider does, where that matters and is known for certain.
                tokenizer, warning = tokenizer_for(name_of(settings.model))
                exact = None if warning else tokenizer
            return RecordedModel(
                model,
                book=prompts,
                store=store,
                limiter=_limiter(settings.base_url, model.identity, limits, store, budget),
                run=run.id,
                budget=budget,
                price=role.price,
                tokenizer=exact,
                top_p=settings.top_p,
                max_tokens=settings.max_tokens,
                observer=observe,
                limits=limits,
                ends_at=min(ends, default=None),
                language="" if reads_prompts(settings.model) else language,
            )

        places: dict[str, tuple[object, ...]] = {}
        judges: set[str] = set()
        async with AsyncExitStack() as stack:
            for role in assigned:
                if role.opened_as not in opened and role.model is not None:
                    opened[role.opened_as] = role.model
                elif role.opened_as not in opened:
                    names = dict.fromkeys(user.role for user in assigned if user.opened_as == role.opened_as)
                    usual: dict[str, Any] = {"seconds": limits.timeout, "usual_key": role.usual_key}
                    opening = open_model(role.settings, **usual, roles=" and ".join(names))
                    opened[role.opened_as] = await stack.enter_async_context(opening)
                # Two models of one name would answer for each other. One at one address is one model, which may have
                # several roles, but does not judge beside itself.
                identity, place = opened[role.opened_as].identity, role.opened_as[:2]
                if (role.role == "judge" and identity in judges) or places.setdefault(identity, place) != place:
                    raise same_identity(identity)
                judges |= {identity} if role.role == "judge" else set()
            yield pool_of(assigned, prepared.book, recorded)

    async def _opened(self, key: str) -> _OpenRun:
        """Return an open run. If nobody has opened it, claim it, prepare it and open its models; all of that stays
        open."""
        if key not in self._open:
            key = (await off_loop(self.store.runs.get, key)).id
        metrics, claims, claimed = self.defaults.evaluators, ExitStack(), list[Run]()

        def claim() -> tuple[PreparedDocument, list[ModelRole], int]:
            claims.enter_context(self.store.claim(key))
            run = self.store.runs.get(key)
            claimed.append(run)
            limits = self.limited.get(key, self.limits)
            if limits is not None and limits != run.limits:
                self.store.runs.change(key, {"order.limits": limits})
                claimed.append(replace(run, order=run.order.model_copy(update={"limits": limits})))
            prepared = self.prepared.pop(key, None)
            if prepared is None:
                self.check_stored(run)
                prepared = restore(self.store, run, metrics)
            # Resuming a done run repeats requests that were left open, rather than taking their cached replies.
            attempt = self.store.calls.totals(key).calls if run.status == "done" else 0
            return prepared, self.roles(claimed[-1].order), attempt

        # Metrics judge concurrently: the first opens the run, the others wait for it.
        async with self._opening.setdefault(key, asyncio.Lock()), AsyncExitStack() as stack:
            if key in self._open:
                return self._open[key]
            stack.push_async_callback(off_loop, claims.close)
            try:
                prepared, roles, attempt = await off_loop(claim)
                run, observe = claimed[-1], for_run(key, self.observe)
                pool = await stack.enter_async_context(self.models(roles, run, prepared, observe))

                def made() -> Job:
                    embeddings = run.judging.embeddings if run.judging else None
                    encoder = load_encoder(embeddings) if embeddings else None
                    caching = CachingEncoder(encoder, self.store.vectors, run.document) if encoder else None
                    return Job(run, self.store, prepared, pool, observe, caching, metrics, attempt)

                with language_context(prepared.document):
                    self._open[key] = _OpenRun(await off_loop(made), prepared.warnings, stack.pop_all())
                return self._open[key]
            except BaseException as error:
                # A run marked as running was just started, or left by a dead process.
                if claimed and claimed[-1].status == "running":
                    await record_stop(self.store, key, error)
                raise

    async def _stopped(self, opened: _OpenRun, error: BaseException) -> None:
        run = opened.job.run.id
        if isinstance(error, BudgetError) and opened.job.run.kind in ("summarize", "refine"):
            # The best text so far is the run's draft, where it has none that is whole; a note says what it covers.
            job, stored_run = opened.job, await off_loop(self.store.runs.get, run)
            draft = await job.draft(stored_run.draft) if stored_run.draft else None
            pieces = await off_loop(self.store.runs.pieces, run)
            partial = best_so_far(pieces, job.plan.words) if draft is None or draft.node == PARTIAL else None
            if partial is not None:
                what = "chapters" if stored_run.settings.by_chapter else "chunks"
                text, partial_pieces = partial
                covered = sum(piece.last_chunk - piece.first_chunk + 1 for piece in partial_pieces)
                note = f"only {covered} of {job.plan.chunks} {what} are covered: {error.message}"
                await job.keep(text, PARTIAL, (note,), partial_pieces)
        await record_stop(self.store, run, error)
        if isinstance(error, GraphInterrupt):
            for interrupt in error.args[0]:
                self.observe(Waiting(run, interrupt.value))

    async def _abandon(self, opened: _OpenRun, error: BaseException) -> None:
        """Record what ended a run that is driven, unless it is over, and close it whoever still uses it."""
        try:
            if opened.driven and not opened.over:
                await record_stop(self.store, opened.job.run.id, error)
        finally:
            opened.over, opened.present = True, 0
            await self._close(opened)

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


def _limiter(address: str | None, identity: str, limits: Limits, store: Store, budget: Budget) -> Limiter:
    """Return the limiter of a model's address. The limits per minute hold for all that use the database, or for all
    processes of a paced budget."""
    provider = address or address_in(identity) or provider_of(identity) or identity
    requests, tokens = rates = limits.requests_per_minute, limits.tokens_per_minute
    if not any(rates):
        return shared_limiter(provider, limits.concurrency)
    limiter_key = f"{budget.pace_key} {provider}" if budget.pace_key else provider
    turn = partial(take_turn, store.connection, limiter_key, requests_per_minute=requests, tokens_per_minute=tokens)
    pace, pacer = partial(off_loop, turn), hash((id(store), limiter_key, *rates))
    return shared_limiter(provider, limits.concurrency, pacer=pacer, pace=pace)
