"""The session: what an application opens, its methods, and the context of every graph."""

from __future__ import annotations

import sys
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from copy import copy
from dataclasses import dataclass
from functools import partial, wraps
from inspect import iscoroutinefunction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeVar

from langgraph.checkpoint.base import BaseCheckpointSaver
from typing_extensions import Unpack

from redraft.domain import Document, Finding, ReviewQuestion
from redraft.errors import RunCommand, RunError, UsageError
from redraft.evaluators.base import Evaluator, Metric
from redraft.evaluators.catalog import metrics as known_metrics
from redraft.evaluators.catalog import scoring
from redraft.events import Event, Observer, ignore_event, safe_observer
from redraft.fields import list_argument, settings_argument
from redraft.graphs.job import Job
from redraft.graphs.state import CallOptions, Scope, Task
from redraft.graphs.strategies import Strategy, name_of
from redraft.llm.budget import Budget, PriceTable
from redraft.llm.langsmith import Tracing, check_config, configured, is_traced, tracing
from redraft.order import Kind, kind_of_draft, refuse_idle
from redraft.report.history.citations import Answer, read_answer
from redraft.report.history.lineage import Lineage, read_lineage
from redraft.report.history.lost import Losses, read_losses
from redraft.report.history.results import Result, read_result
from redraft.runs.background import iterate_blocking, run_blocking
from redraft.runs.driver import AnswerLike, Driver, Reviewer, close_forgotten, streaming
from redraft.runs.execute import carry_out, check_summaries, may_gain
from redraft.runs.inputs import (
    Sources,
    document_asked_about,
    document_of,
    document_of_task,
    draft_of_round,
    summary_of,
    summary_text,
)
from redraft.runs.job import JobFactory
from redraft.runs.manager import RunManager, record_new_run
from redraft.runs.models import ModelLike, model_roles, resolve
from redraft.runs.order import OrderParts, SessionOrder, checked_question
from redraft.runs.prepare import RunSpec
from redraft.settings import (
    DraftConfig,
    ExperimentPart,
    JudgeConfig,
    Limits,
    RefineConfig,
)
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.vectors import load_encoder

if TYPE_CHECKING:
    from redraft.runs.plans import RunPlan


# LangGraph takes a dataclass, and no other class, as the `context_schema` of a graph.
@dataclass(init=False, repr=False, eq=False)
class Session:
    """A store and the models that work on it: `async with Session("book.db", model="openai:gpt-5-mini") as session`.

    `with` instead of `async with` gives a `SyncSession`, whose methods block instead of being awaited.

    Its methods make runs and return a `Result` when the run ends or stops (a used-up budget, a question to a person). A
    session is also the context of every graph of `redraft.graphs`. It belongs to one event loop; several sessions may
    share a database.

    For every method: a source is a path, an id in the store, a `Document`, or a list of these, read as one document; a
    summary is its text, or the `Path` of a file with it. `options` are the fields of `redraft.Options`, such as
    `words=300, goals={"coverage": 0.7}`; they override `settings`, `judging` and `refinement`, which override the
    session's. Invalid input, and an option that would make no difference, raises `UsageError` before anything is paid
    for; a failed run raises `ModelError`, `StoreError` or another `RedraftError`; a limit reached before there is a
    draft raises `BudgetError`. Whatever ends a run early, including cancellation, is recorded with it, every answer is
    kept, and `resume` continues from there. Events go to the session's `observer`; `stream` yields the same events.
    """

    def __init__(
        self,
        store: Store | str | Path | None = None,
        *,
        model: ModelLike | None = None,
        judges: Sequence[ModelLike] = (),
        validator: ModelLike | None = None,
        decider: ModelLike | None = None,
        metrics: Sequence[Metric] = (),
        settings: DraftConfig | None = None,
        judging: JudgeConfig | None = None,
        refinement: RefineConfig | None = None,
        limits: Limits | None = None,
        prices: PriceTable | None = None,
        reviewer: Reviewer | None = None,
        observer: Observer = ignore_event,
        budget: Budget | None = None,
        trace_to_langsmith: bool = False,
        strategies: Sequence[Strategy] = (),
        **config: Unpack[Tracing],
    ) -> None:
        """`store` is a database or its path; the default is the command line's. Models are names as on the command
        line, `ModelSettings`, LangChain chat models, or `Model` objects. `metrics` are names or `Evaluator` objects
        that `evaluate` and `refine` use by default. `settings`, `judging` and `refinement` are the defaults of every
        run. `limits` apply to each run, and `budget` to all of them together. `reviewer` answers a run's questions to a
        person; without one the run waits. `observer` receives events; exceptions that it raises are logged and ignored.
        Nothing is sent to LangSmith unless `trace_to_langsmith` is set. `strategies` are objects that the options and
        the stored runs name. `callbacks`, `tags` and `metadata` of a session or a call go to LangChain."""
        for name, value, right, hint in (
            ("prices", prices, isinstance(prices, PriceTable), "pass redraft.price_table(path)"),
            ("budget", budget, isinstance(budget, Budget), "pass limits=redraft.Limits(max_cost=...), for each run"),
            ("observer", observer, callable(observer), "pass a function"),
            ("reviewer", reviewer, callable(reviewer), "pass a function"),
        ):
            if value is not None and not right:
                raise UsageError(f"{name} is of the type {type(value).__name__}", hint=hint)
        if iscoroutinefunction(observer):
            raise UsageError(
                "observer is an async function, which would never be awaited", hint="make it a plain `def`"
            )
        for strategy in list_argument(strategies, "strategies"):
            name_of(strategy)
        limits = settings_argument(Limits, limits, "limits")
        check_config(config)
        self._owned, self._observer, self._config = not isinstance(store, Store), observer, config
        self.store = store if isinstance(store, Store) else Store(store)
        self._model_roles = model_roles(model, judges, validator, decider)
        self._order = SessionOrder().with_parts(OrderParts(settings, judging, refinement)).with_metrics(metrics)
        self._own: dict[str, Evaluator] = dict(self._order.own)
        known_metrics(self._order.metrics, tuple(self._own.values()))
        traced = is_traced(trace_to_langsmith)
        self._manager = RunManager(
            self.store, self._model_roles, self._own, prices, safe_observer(observer), limits, budget, traced
        )
        self._manager.places.add_roles(self._model_roles, self._order.order.settings, self._order.order.judging)
        self._driver = Driver(self.store, self, reviewer, self._manager)
        caller = sys._getframe(1)
        place = caller.f_code.co_filename, caller.f_lineno
        owned = self.store if self._owned else None
        self._forgotten = weakref.finalize(self, close_forgotten, place, owned, self._driver.savers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> SyncSession:
        return SyncSession(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        run_blocking(self.aclose())

    async def aclose(self) -> None:
        """Close what is open: runs still under way are recorded as interrupted, and can be resumed."""
        self._forgotten.detach()
        async with AsyncExitStack() as closing:
            if self._owned:
                closing.callback(self.store.close)
            closing.push_async_callback(self._driver.aclose)
            closing.push_async_callback(self._manager.aclose)

    # Making runs.

    async def summarize(
        self,
        source: Sources,
        *,
        metrics: Sequence[Metric] = (),
        settings: DraftConfig | None = None,
        judging: JudgeConfig | None = None,
        refinement: RefineConfig | None = None,
        **options: Unpack[CallOptions],
    ) -> Result:
        """Draft a summary, judge it by `metrics`, and refine it if there are `goals`. With `by_chapter=True` the same
        is done for each chapter, or each of several documents; see `chapters` of the result. A used-up budget is not an
        error if there is a draft."""
        parts = OrderParts(settings, judging, refinement)
        return await self.begin_order(source, *self.order(parts, metrics, options))

    async def evaluate(
        self,
        source: Sources,
        summary: str | Path,
        *,
        metrics: Sequence[Metric] = (),
        settings: DraftConfig | None = None,
        judging: JudgeConfig | None = None,
        **options: Unpack[CallOptions],
    ) -> Result:
        """Judge a summary by every metric that is named, or by coverage and consistency.

        A metric that fails is a failed `Evaluation` with its reason; the others have their scores.
        """
        session_order = self._ordered("evaluate", OrderParts(settings, judging), metrics, options)
        return await self._made(source, session_order, "evaluate", given=await self._text(summary))

    async def refine(
        self,
        source: Sources,
        summary: str | Path,
        *,
        metrics: Sequence[Metric] = (),
        settings: DraftConfig | None = None,
        judging: JudgeConfig | None = None,
        refinement: RefineConfig | None = None,
        findings: Sequence[Finding] = (),
        **options: Unpack[CallOptions],
    ) -> Result:
        """Refine a summary until it meets its goals. Its limit is `words`, or else its own length. `findings`, such as
        those of `redraft.read_losses`, are fixed first, whatever the goals; they do not affect scores. With
        `review=True` the run stops before each revision with status `waiting`, unless there is a `reviewer`."""
        session_order = self._ordered("refine", OrderParts(settings, judging, refinement), metrics, options)
        text = await self._text(summary)
        return await self._made(
            source, session_order, "refine", given=text, findings=list_argument(findings, "findings")
        )

    async def ask(
        self,
        source: Sources,
        question: str,
        *,
        settings: DraftConfig | None = None,
        judging: JudgeConfig | None = None,
        **options: Unpack[CallOptions],
    ) -> Answer:
        """Answer a question about a document from the document alone, with citations.

        `source` may also be the id of a run, for its document. Where the document does not say, the answer is
        `redraft.Answer.answered` False. With judges its sentences are judged for consistency, as those of a summary
        are.
        """
        values: dict[str, Any] = {**options, "query": checked_question(question)}
        session_order = self._ordered("ask", OrderParts(settings, judging), (), values)
        document = await off_loop(document_asked_about, self.store, source)
        result = await self._made(document, session_order, "ask")
        return await off_loop(read_answer, self.store, result.run.id)

    async def compare(
        self,
        source: Sources,
        first: str | Path,
        second: str | Path,
        *,
        settings: DraftConfig | None = None,
        judging: JudgeConfig | None = None,
        **options: Unpack[CallOptions],
    ) -> Result:
        """Ask in both orders which summary is better. `redraft.compared(session.store, run)` reads the answer."""
        session_order = self._ordered("compare", OrderParts(settings, judging), (), options)
        first, second = await self._text(first, "first"), await self._text(second, "second")
        check_summaries(first, second)
        return await self._made(source, session_order, "compare", given=first, other=second)

    async def build(
        self,
        source: Sources,
        what: Literal["questions", "keyfacts"] = "questions",
        *,
        settings: DraftConfig | None = None,
        judging: JudgeConfig | None = None,
        **options: Unpack[CallOptions],
    ) -> Result:
        """Build the questions or key facts that a document's summaries are judged by; existing ones are kept.
        `redraft.built` and `redraft.built_keyfacts` read them, with their gaps.
        """
        if what not in ("questions", "keyfacts"):
            raise UsageError(f"{what!r} cannot be built", hint='use "questions" or "keyfacts"')
        kind: Kind = "pack" if what == "questions" else "keyfacts"
        return await self._made(source, self._ordered(kind, OrderParts(settings, judging), (), options), kind)

    async def fork(
        self,
        key: str,
        number: int,
        *,
        metrics: Sequence[Metric] = (),
        settings: DraftConfig | None = None,
        judging: JudgeConfig | None = None,
        refinement: RefineConfig | None = None,
        findings: Sequence[Finding] = (),
        **options: Unpack[CallOptions],
    ) -> Result:
        """Refine the draft of round `number` of a run again, in a new run, by default with the settings of the run. If
        no judge is named, the model of the run judges, even if another one revises now. `findings` are as for `refine`.
        Earlier verdicts are reused. Raises `RunError` if there is no such round."""
        run = await off_loop(self.store.runs.get, key)
        text = await off_loop(draft_of_round, self.store, run, number)
        document = await off_loop(self.store.documents.get, run.document)
        parts = OrderParts(settings or run.settings, judging or run.judging, refinement or run.refinement)
        session_order = self._ordered("refine", parts, metrics, options).judged_as_before(
            run.settings, self._model_roles
        )
        places, order = self._manager.places.with_given(settings, judging, options), session_order.order
        places.check(run.id, order.settings, order.judging, order.refinement, self._model_roles.objects)
        more = {"given": text, "parent": run.id, "findings": list_argument(findings, "findings")}
        return await self._made(document, session_order, "refine", **more)

    async def resume(
        self, key: str, *, limits: Limits | None = None, answer: AnswerLike | None = None, **config: Unpack[Tracing]
    ) -> Result:
        """Continue a run where it stopped, with the settings that it began with. Other limits replace its own.

        `answer`, a `ReviewAnswer` or its fields, is for a run that waits: see `question`. Raises a `RunError` for a run
        that is worked on elsewhere. A run that is done stays as it is; but what it had to leave out is tried again:
        chunks, questions, key facts, an evaluation that failed, and a revision that never came.
        """
        limits = settings_argument(Limits, limits, "limits")
        check_config(config)
        run = await off_loop(self.store.runs.get, key)
        if isinstance(run.purpose, ExperimentPart):
            experiment = RunCommand("experiment", more=(run.kind,))
            raise RunError(f"run {run.id} is part of an experiment", fix=("repeat ", experiment))
        await off_loop(self._manager.check_stored, run)
        if self._model_roles.model is None:
            resolve(run.settings)
        elif self._model_roles.model != run.settings.model:
            raise RunError(f"run {run.id} was begun with the model {run.settings.model}, not {self._model_roles.model}")
        if answer is not None and run.status != "waiting":
            message = f"run {run.id} is not waiting for an answer: it is {run.status}"
            raise RunError(message, fix=("see ", RunCommand("show", run.id)))
        self._manager.limited[run.id] = limits or self._manager.limits
        if run.status == "done" and not await may_gain(self._manager, run):
            return await self.result(run.id)
        return await self._worked(run, answer, config)

    def stream(
        self,
        source: Sources,
        summary: str | Path | None = None,
        *,
        metrics: Sequence[Metric] = (),
        **options: Unpack[CallOptions],
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of `summarize`, or of `refine` if there is a summary. The first event has the run's id; the
        last is `RunDone` or `Waiting`, after which `result(run)` returns the rest. Errors of the run are raised after
        its last event. Closing the iterator stops the run, which can be resumed."""
        if summary is None:
            return streaming(partial(self.summarize, source, metrics=metrics, **options))
        return streaming(partial(self.refine, source, summary, metrics=metrics, **options))

    def stream_resume(
        self, key: str, answer: AnswerLike | None = None, **config: Unpack[Tracing]
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of a resumed run, like `stream`."""
        return streaming(partial(self.resume, key, answer=answer, **config))

    async def plan(
        self,
        source: Sources,
        summary: str | Path | None = None,
        *,
        metrics: Sequence[str | Evaluator] = (),
        settings: DraftConfig | None = None,
        judging: JudgeConfig | None = None,
        refinement: RefineConfig | None = None,
        **options: Unpack[CallOptions],
    ) -> RunPlan:
        """Return what `summarize` with these arguments takes in calls, tokens, cost and time. With a summary it is for
        `refine` if there are goals, and otherwise for `evaluate`. No model is asked, and nothing is stored."""
        parts = OrderParts(settings, judging, refinement)
        if summary is None:
            draft_config, order = self.order(parts, metrics, options)
        else:
            session_order = self._with(parts, metrics, options)
            kind: Kind = "refine" if session_order.order.refinement else "evaluate"
            refuse_idle(kind, options)
            draft_config, order = session_order.spec(kind, self._model_roles, given=await self._text(summary))
        from redraft.runs.dry_run import plan_in_session

        return await off_loop(plan_in_session, self._manager, source, draft_config, order)

    # Reading runs.

    async def result(self, key: str) -> Result:
        """Return the stored result of a run: its summary, scores, rounds and usage."""
        return await off_loop(read_result, self.store, key)

    async def lineage(self, key: str, *, embeddings: str | Path | None = None) -> Lineage:
        """Return where the sentences of a run's summary come from. With `embeddings`, meanings are compared as well as
        words."""
        with configured(self._config):
            encoder = await off_loop(load_encoder, str(embeddings)) if embeddings else None
            return await off_loop(read_lineage, self.store, key, encoder=encoder)

    async def losses(self, key: str, *, embeddings: str | Path | None = None) -> Losses:
        """Return what the document says and a run's summary lacks, and the step that lost it; `embeddings` as for
        `lineage`."""
        with configured(self._config):
            encoder = await off_loop(load_encoder, str(embeddings)) if embeddings else None
            return await off_loop(read_losses, self.store, key, encoder=encoder)

    async def question(self, key: str) -> ReviewQuestion | None:
        """Return the question of a waiting run, or None."""
        return await self._driver.question(await off_loop(self.store.runs.get, key))

    def metrics(self) -> tuple[str, ...]:
        """Return the metrics that give a score: redraft's, those of installed packages, and those passed as objects."""
        return scoring(tuple(self._own.values()))

    async def add(self, text: str | Path | Document) -> str:
        """Keep a document, or a summary as text or a `Path`, in the store; graphs accept the id that is returned."""
        if isinstance(text, Document):
            document = await off_loop(document_of, self.store, text)
            await off_loop(self.store.documents.add, document)
            return document.id
        clean_text = await off_loop(summary_text, text, "text")
        return await off_loop(self.store.documents.add_text, clean_text.text)

    async def checkpointer(self) -> BaseCheckpointSaver[Any]:
        """Return the store's checkpoint saver, for graphs that you compile yourself; it is closed with the session."""
        return await self._driver.saver()

    # Used by graphs.

    async def begin(self, task: Task, scope: Scope) -> str:
        """Record a run for the input of a graph; returns its id."""
        session_order, place = self._order.of_task(task, scope)
        summary: str | None = None
        if place is not None:
            summary, notes = await off_loop(summary_of, self.store, place)
            self._manager.note(*notes)
        settings, order = session_order.spec(scope, self._model_roles, given=summary)
        document = await off_loop(document_of_task, self.store, task)
        return (await record_new_run(self._manager, document, settings, order)).id

    def at_work(self, run: str) -> AbstractAsyncContextManager[Job]:
        """Work on a run for the duration of the context; see `redraft.graphs.node`."""
        return self._manager.at_work(run)

    def visiting(self, run: str) -> AbstractAsyncContextManager[JobFactory]:
        """Work on a run for one tool call; see `redraft.tools`."""
        return self._manager.visiting(run)

    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        """End a run for a `reason`, explained in `why`; returns the reason."""
        return await self._manager.finish(run, draft, reason, why)

    # Used by batches.

    def order(
        self, parts: OrderParts, metrics: Sequence[Metric], options: Mapping[str, Any]
    ) -> tuple[DraftConfig, RunSpec]:
        """Return what a run of `summarize` with these arguments is to do."""
        session_order = self._with(parts, metrics, options)
        is_judged = parts.judging is not None or bool(metrics)
        kind = kind_of_draft(session_order.order, options, judged=is_judged or parts.refinement is not None)
        if kind == "summarize" and session_order.order.settings.drafts == 1:
            refuse_idle("summarize", options)
        return session_order.spec(kind, self._model_roles)

    @property
    def terms(self) -> RunManager:
        """Return the models, metrics, prices and limits of the session."""
        return self._manager

    @property
    def observer(self) -> Observer:
        """Return the observer that was passed in."""
        return self._observer

    def beside(self, observer: Observer, limits: Limits, budget: Budget) -> Session:
        """Return another session with the same models and store, for one of many runs that share a budget."""
        session, at = copy(self), self._manager
        session._owned, session._observer = False, observer
        session._manager = RunManager(
            at.store, at.model_roles, at.own, at.prices, safe_observer(observer), limits, budget, at.traced, at.places
        )
        session._manager.begun = at.begun
        session._driver = Driver(self.store, session, None, session._manager)
        session._forgotten = weakref.finalize(session, close_forgotten, ("", 0), None, [])
        return session

    # Internals.

    def _with(self, parts: OrderParts, metrics: Sequence[Metric], options: Mapping[str, Any]) -> SessionOrder:
        session_order = self._order.with_parts(parts).with_options(options).with_metrics(metrics)
        self._own.update(session_order.own)
        return session_order

    def _ordered(
        self, kind: Kind, parts: OrderParts, metrics: Sequence[Metric], options: Mapping[str, Any]
    ) -> SessionOrder:
        """Return the order of a call of this kind, which takes a summary or a question as it is."""
        refuse_idle(kind, options)
        return self._with(parts, metrics, options)

    async def _text(self, summary: str | Path, name: str = "summary") -> str:
        text, notes = await off_loop(summary_text, summary, name)
        self._manager.note(*notes)
        return text

    async def _made(self, source: Sources, session_order: SessionOrder, kind: Kind, **given: Any) -> Result:
        return await self.begin_order(source, *session_order.spec(kind, self._model_roles, **given))

    async def begin_order(
        self, source: Sources, settings: DraftConfig, order: RunSpec, limits: Limits | None = None
    ) -> Result:
        """Begin a run of an order that is complete, and work on it to its end. Its own limits replace the session's."""
        run = await record_new_run(self._manager, source, settings, order, limits)
        return await self._worked(run, config=order.config)

    async def go_on(self, key: str) -> Result:
        """Go on with a run that is known to be this session's."""
        return await self._worked(await off_loop(self.store.runs.get, key))

    async def _worked(
        self, run: Run, answer: AnswerLike | None = None, config: Mapping[str, Any] | None = None
    ) -> Result:
        with tracing(self._manager.traced), configured(self._config, config or {}):
            await carry_out(self._manager, self._driver, run, answer)
        return await self.result(run.id)


def check_session(session: object) -> None:
    """Raise `UsageError` for anything but a `Session`, such as the `SyncSession` that `with` gives."""
    if not isinstance(session, Session):
        hint = "pass a redraft.Session; inside `with redraft.Session(...) as session` that is session.session"
        raise UsageError(f"session is of the type {type(session).__name__}", hint=hint)


_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def _blocking(
    method: Callable[Concatenate[Session, _Given], Coroutine[Any, Any, _Result]],
) -> Callable[Concatenate[SyncSession, _Given], _Result]:
    """Return a method of `SyncSession` that waits for this method of its session."""

    @wraps(method)
    def call(self: SyncSession, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        return run_blocking(method(self.session, *args, **kwargs))

    return call


def _iterating(
    method: Callable[Concatenate[Session, _Given], AsyncGenerator[Event, None]],
) -> Callable[Concatenate[SyncSession, _Given], Iterator[Event]]:
    """Return a method of `SyncSession` that yields the events of this method of its session."""

    @wraps(method)
    def call(self: SyncSession, /, *args: _Given.args, **kwargs: _Given.kwargs) -> Iterator[Event]:
        return iterate_blocking(method(self.session, *args, **kwargs))

    return call


class SyncSession:
    """A `Session` for synchronous code: `with redraft.Session("book.db") as session: session.summarize("book.md")`.

    Its methods have the arguments, results and errors of the session's, and block until they are done. The work is
    done on an event loop in a thread of redraft's own, so they can also be called in a notebook. The observer and the
    reviewer are called in that thread. Ctrl-C stops the run, which can be resumed.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        """The asynchronous session, for functions such as `redraft.batch` (see `wait`)."""

    @property
    def store(self) -> Store:
        """Return the store of the session."""
        return self.session.store

    def wait(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine and return its result: `session.wait(redraft.batch(session.session, paths))`."""
        return run_blocking(work)

    summarize = _blocking(Session.summarize)
    evaluate = _blocking(Session.evaluate)
    refine = _blocking(Session.refine)
    ask = _blocking(Session.ask)
    plan = _blocking(Session.plan)
    compare = _blocking(Session.compare)
    build = _blocking(Session.build)
    fork = _blocking(Session.fork)
    resume = _blocking(Session.resume)
    stream = _iterating(Session.stream)
    stream_resume = _iterating(Session.stream_resume)
    result = _blocking(Session.result)
    lineage = _blocking(Session.lineage)
    losses = _blocking(Session.losses)
    question = _blocking(Session.question)
    add = _blocking(Session.add)
