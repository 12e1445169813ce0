"""The session: what an application opens, its methods, and the context of every graph; the same for synchronous code,
and blocking calls for scripts and notebooks that need no session of their own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutine, iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from langgraph.checkpoint.base import BaseCheckpointSaver
from typing_extensions import Unpack

from redraft.domain import Document, Finding, ReviewQuestion
from redraft.errors import UsageError
from redraft.evaluators.base import Metric
from redraft.evaluators.catalog import metrics as known_metrics
from redraft.evaluators.catalog import scoring
from redraft.events import Event, Observer, ignore_event
from redraft.fields import list_argument, settings_argument
from redraft.graphs.state import Options, Strategy
from redraft.graphs.strategies import name_of
from redraft.llm.budget import Budget, PriceTable
from redraft.llm.langsmith import Tracing, check_config, configured, is_traced
from redraft.order import PART_OF, PARTS, Kind, OrderParts, refuse_idle
from redraft.report.history.citations import Answer, read_answer
from redraft.report.history.lineage import Lineage, read_lineage
from redraft.report.history.results import Result, read_result
from redraft.report.history.summaries import RunSummary, latest_runs
from redraft.runs.driver import AnswerLike, Reviewer, Runner, streaming
from redraft.runs.models import ModelLike, model_roles
from redraft.runs.order import (
    SessionOrder,
    Sources,
    check_summaries,
    checked_question,
    document_asked_about,
    document_of,
    draft_of_round,
    exchanges_until,
    summary_text,
)
from redraft.runs.sync import ResultT, blocking, iterating, run_blocking, within
from redraft.settings import REFERENCES, DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.store.connection import off_loop, shown
from redraft.store.store import Store
from redraft.text.vectors import load_encoder

if TYPE_CHECKING:
    from redraft.runs.dry_run import RunPlan


class _Parts(Tracing, total=False):
    """What a session and each of its calls may have: metrics, by name or as objects, whole parts of an order, and
    callbacks."""

    metrics: Sequence[Metric]
    settings: DraftConfig | None
    judging: JudgeConfig | None
    refinement: RefineConfig | None


class SessionCall(Options, _Parts, total=False):
    """What one call may override of its session: besides these, settings by name."""


class SessionOptions(_Parts, total=False):
    """The arguments of `Session` besides the store."""

    model: ModelLike | None
    judges: Sequence[ModelLike]
    validator: ModelLike | None
    decider: ModelLike | None
    limits: Limits | None
    prices: PriceTable | None
    reviewer: Reviewer | None
    observer: Observer
    budget: Budget | None
    trace_to_langsmith: bool
    strategies: Sequence[Strategy]


# LangGraph takes a dataclass, and no other class, as the `context_schema` of a graph.
@dataclass(init=False, repr=False, eq=False)
class Session:
    """A store and the models that work on it: `async with Session("book.db", model="openai:gpt-5-mini") as session`.

    `with` instead of `async with` gives a `SyncSession`, whose methods block instead of being awaited.

    Its methods make runs and return a `Result` when the run ends or stops (a used-up budget, a question to a person). A
    session is also the context of every graph of `redraft.graphs`. It belongs to one event loop; several sessions may
    share a database.

    For every method: a source is a path, an id in the store, a `Document`, or a list of these, read as one document; a
    summary is its text, or the `Path` of a file with it. `options` are `metrics`, by name or as objects, and the fields
    of `redraft.Options`, such as `words=300, goals={"coverage": 0.7}`; they override `settings`, `judging` and
    `refinement`, which override the session's. Invalid input, and an option that would make no difference, raises
    `UsageError` before anything is paid for; a failed run raises `ModelError`, `StoreError` or another `RedraftError`;
    a limit reached before there is a draft raises `BudgetError`. Whatever ends a run early, including cancellation, is
    recorded with it, every answer is kept, and `resume` continues from there. Events go to the session's `observer`;
    `stream` yields the same events.
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
        checks = (
            ("prices", prices, isinstance(prices, PriceTable), "pass redraft.price_table(path)"),
            ("budget", budget, isinstance(budget, Budget), "pass redraft.Budget(max_cost=...)"),
            ("observer", observer, callable(observer), "pass a function"),
            ("reviewer", reviewer, callable(reviewer), "pass a function"),
        )
        for name, value, is_valid, hint in checks:
            if value is not None and not is_valid:
                raise UsageError(f"{name} is of the type {type(value).__name__}", hint=hint)
        if iscoroutinefunction(observer):
            hint = "make it a plain `def`"
            raise UsageError("observer is an async function, which would never be awaited", hint=hint)
        for strategy in list_argument(strategies, "strategies"):
            name_of(strategy)
        limits = settings_argument(Limits, limits, "limits")
        if name := next((name for name in config if name in PART_OF), ""):
            part = PART_OF[name]
            hint = f"pass it to a method, or here as {part}=redraft.{PARTS[part].__name__}({name}=...)"
            raise UsageError(f"{name} is no argument of a session", hint=hint)
        check_config(config)
        self._owned = not isinstance(store, Store)
        self.store = store if isinstance(store, Store) else Store(store)
        roles = model_roles(model, judges, validator, decider)
        parts = {"settings": settings, "judging": judging, "refinement": refinement}
        defaults = SessionOrder(roles=roles, prices=prices).edited({**parts, "metrics": metrics})
        known_metrics(defaults.metrics, defaults.evaluators)
        shared = (observer, limits, budget, is_traced(trace_to_langsmith))
        self._open_runner = Runner(self.store, defaults, *shared, reviewer=reviewer, config=config)
        self._open_runner.places.add_roles(roles, defaults.parts)
        self._is_closed = self._is_blocking = False

    @property
    def _runner(self) -> Runner:
        """Return what carries out its calls. Raises `UsageError` once the session and its store are closed."""
        if self._is_closed:
            address, opening = shown(self.store.address), "with" if self._is_blocking else "async with"
            raise UsageError(
                f"the session on {address} is closed",
                hint=f"open another one: `{opening} redraft.Session({address!r}) as session`, with the same arguments",
            )
        return self._open_runner

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __enter__(self) -> SyncSession:
        return SyncSession(self)

    def __exit__(self, *_: object) -> None:
        run_blocking(self.aclose())

    async def aclose(self) -> None:
        """Close what is open: runs still under way are recorded as interrupted, and can be resumed. A session that is
        closed stays as it is."""
        if self._is_closed:
            return
        async with AsyncExitStack() as closing:
            if self._owned:
                closing.callback(setattr, self, "_is_closed", True)
                closing.callback(self.store.close)
            closing.push_async_callback(self._open_runner.aclose)

    # Making runs.

    async def _made(self, kind: Kind, source: Sources, options: Mapping[str, Any], **inputs: Any) -> Result:
        """Begin a run with the options of a call, and work on it to its end. `inputs` are what it begins with."""
        runner = self._runner
        return await runner.begin_order(source, runner.defaults.of_call(kind, options, **inputs), config=options)

    async def summarize(self, source: Sources, **options: Unpack[SessionCall]) -> Result:
        """Draft a summary, judge it by `metrics`, and refine it if there are `goals`. With `by_chapter=True` the same
        is done for each chapter, or each of several documents; see `chapters` of the result. A used-up budget is not an
        error if there is a draft."""
        return await self._made("summarize", source, options)

    async def evaluate(self, source: Sources, summary: str | Path, **options: Unpack[SessionCall]) -> Result:
        """Judge a summary by every one of the `metrics`, or by coverage and consistency.

        A metric that fails is a failed `Evaluation` with its reason; the others have their scores.
        """
        given = await self._runner.noted(summary_text, summary)
        return await self._made("evaluate", source, options, given=given)

    async def refine(
        self, source: Sources, summary: str | Path, *, findings: Sequence[Finding] = (), **options: Unpack[SessionCall]
    ) -> Result:
        """Refine a summary until it meets its goals. Its limit is `words`, or else its own length. `findings`, such as
        those of `result.findings`, are fixed first, whatever the goals; they do not affect scores. With
        `review=True` the run stops before each revision with status `waiting`, unless there is a `reviewer`."""
        given = await self._runner.noted(summary_text, summary)
        findings = list_argument(findings, "findings")
        return await self._made("refine", source, options, given=given, findings=findings)

    async def ask(
        self, source: Sources, question: str, *, follow: str | None = None, **options: Unpack[SessionCall]
    ) -> Answer:
        """Answer a question about a document from the document alone, with citations.

        `source` may also be the id of a run, for its document. `follow` is the run of a question that this follows:
        it is understood by the last three questions and their answers. Where the document does not say, the answer is
        `redraft.Answer.answered` False. With judges its sentences are judged for consistency, as those of a summary
        are.
        """
        earlier = await off_loop(exchanges_until, self._runner.store, follow)
        values: dict[str, Any] = {**options, "query": checked_question(question), "earlier": earlier}
        document = await off_loop(document_asked_about, self.store, source)
        result = await self._made("ask", document, values)
        return await off_loop(read_answer, self.store, result.run.id)

    async def compare(
        self, source: Sources, first: str | Path, second: str | Path, **options: Unpack[SessionCall]
    ) -> Result:
        """Ask in both orders which summary is better. `redraft.records.compared(store, run)` reads the answer."""
        given = await self._runner.noted(summary_text, first, "first")
        other = await self._runner.noted(summary_text, second, "second")
        check_summaries(given, other)
        return await self._made("compare", source, options, given=given, other=other)

    async def build(
        self, source: Sources, what: Literal["questions", "keyfacts"] = "questions", **options: Unpack[SessionCall]
    ) -> Result:
        """Build the questions or key facts that a document's summaries are judged by; existing ones are kept.
        `redraft.records.built` and `redraft.records.built_keyfacts` read them, with their gaps.
        """
        if what not in REFERENCES:
            raise UsageError(f"{what!r} cannot be built", hint='use "questions" or "keyfacts"')
        kind: Kind = "pack" if what == "questions" else "keyfacts"
        return await self._made(kind, source, options)

    async def fork(
        self, key: str, number: int, *, findings: Sequence[Finding] = (), **options: Unpack[SessionCall]
    ) -> Result:
        """Refine the draft of round `number` of a run again, in a new run, by default with the settings of the run. If
        no judge is named, the model of the run judges, even if another one revises now. `findings` are as for `refine`.
        Earlier verdicts are reused. Raises `RunError` if there is no such round."""
        refuse_idle("refine", options)
        runner, store = self._runner, self.store
        run = await off_loop(store.runs.get, key)
        given = await off_loop(draft_of_round, store, run, number)
        session_order = runner.defaults.edited(options, OrderParts.of(run.order)).judged_as_before(run.settings)
        runner.places.with_given(options).check(run.id, session_order.parts, session_order.roles.objects)
        inputs: dict[str, Any] = {"parent": run.id, "given": given, "findings": list_argument(findings, "findings")}
        order = session_order.order("refine", **inputs)
        return await runner.begin_order(await off_loop(store.documents.get, run.document), order, config=options)

    async def resume(
        self, key: str, *, limits: Limits | None = None, answer: AnswerLike | None = None, **config: Unpack[Tracing]
    ) -> Result:
        """Continue a run where it stopped, with the order that it began with. Other limits replace its own.

        `answer`, a `ReviewAnswer` or its fields, is for a run that waits: see `question`. Raises a `RunError` for a run
        that is worked on elsewhere. A run that is done stays as it is; but what it had to leave out is tried again:
        chunks, questions, key facts, an evaluation that failed, and a revision that never came.
        """
        limits = settings_argument(Limits, limits, "limits")
        check_config(config)
        return await self._runner.resume(key, limits, answer, config)

    def stream(
        self, source: Sources, summary: str | Path | None = None, **options: Unpack[SessionCall]
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of `summarize`, or of `refine` if there is a summary. The first event has the run's id; the
        last is `RunDone` or `Waiting`, after which `result(run)` returns the rest. Errors of the run are raised after
        its last event. Closing the iterator stops the run, which can be resumed."""
        if summary is None:
            return streaming(partial(self.summarize, source, **options))
        return streaming(partial(self.refine, source, summary, **options))

    def stream_resume(
        self, key: str, answer: AnswerLike | None = None, **config: Unpack[Tracing]
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of a resumed run, like `stream`."""
        return streaming(partial(self.resume, key, answer=answer, **config))

    async def plan(self, source: Sources, summary: str | Path | None = None, **options: Unpack[SessionCall]) -> RunPlan:
        """Return what `summarize` with these arguments takes in calls, tokens, cost and time. With a summary it is for
        `refine` if there are goals, and otherwise for `evaluate`. No model is asked, and nothing is stored."""
        from redraft.runs.dry_run import plan_run

        runner, inputs = self._runner, dict[str, Any]()
        kind: Kind = "summarize"
        if summary is not None:
            kind = "refine" if runner.defaults.edited(options).parts.refinement else "evaluate"
            inputs["given"] = await runner.noted(summary_text, summary)
        order = runner.defaults.of_call(kind, options, **inputs)
        document, at_once = await off_loop(document_of, runner.store, source), (runner.limits or Limits()).concurrency
        return await off_loop(plan_run, document, order, runner.defaults, runner.store, at_once)

    # Reading runs.

    async def result(self, key: str) -> Result:
        """Return the stored result of a run: its summary, scores, rounds and usage."""
        return await off_loop(read_result, self._runner.store, key)

    async def runs(
        self,
        limit: int = 20,
        *,
        kind: str | None = None,
        status: str | None = None,
        document: str | None = None,
        model: str | None = None,
        include_parts: bool = False,
    ) -> list[RunSummary]:
        """Return the latest runs of the database, newest first, each in short: its id as `run`, kind, status, title,
        scores, cost.

        `kind` and `status` are words such as `refine` and `stopped`, `document` is the id or a part of the title of a
        document, and `model` a part of a model's name. Runs of experiments and chapters need `include_parts` or a
        `kind`. A run that cannot be read is left out.
        """
        if limit < 1:
            raise UsageError(f"{limit} runs cannot be listed", hint="use a limit of 1 or more")
        filters = {"kind": kind, "status": status, "document": document, "model": model}
        return await off_loop(partial(latest_runs, self._runner.store, limit, include_parts=include_parts, **filters))

    async def lineage(self, key: str, *, embeddings: str | Path | None = None) -> Lineage:
        """Return where the sentences of a run's summary come from. With `embeddings`, meanings are compared as well as
        words."""
        with configured(self._runner.config):
            encoder = await off_loop(load_encoder, str(embeddings)) if embeddings else None
            return await off_loop(read_lineage, self.store, key, encoder=encoder)

    async def question(self, key: str) -> ReviewQuestion | None:
        """Return the question of a waiting run, or None. A run that waits in a graph of your own has its question
        there: `(await graph.aget_state(config)).interrupts`."""
        return await self._runner.question_of(await off_loop(self._runner.store.runs.get, key))

    def metrics(self) -> tuple[str, ...]:
        """Return the metrics that give a score: redraft's, those of installed packages, and those passed as objects."""
        return scoring(self._runner.defaults.evaluators)

    async def add(self, text: str | Path | Document) -> str:
        """Keep a document, or a summary as text or a `Path`, in the store; graphs accept the id that is returned."""
        store = self._runner.store
        if not isinstance(text, Document):
            return await off_loop(lambda: store.documents.add_text(summary_text(text, "text").text))
        document = await off_loop(document_of, store, text)
        await off_loop(store.documents.add, document)
        return document.id

    async def checkpointer(self) -> BaseCheckpointSaver[Any]:
        """Return the store's checkpoint saver, for graphs that you compile yourself; it is closed with the session."""
        return await self._runner.checkpointer()


def runner_of(session: object) -> Runner:
    """Return the runner of a session. Raise `UsageError` for anything but a `Session`, such as the `SyncSession` that
    `with` gives."""
    if not isinstance(session, Session):
        hint = "pass a redraft.Session; inside `with redraft.Session(...) as session` that is session.session"
        raise UsageError(f"session is of the type {type(session).__name__}", hint=hint)
    return session._runner


class SyncSession:
    """A `Session` for synchronous code: `with redraft.Session("book.db") as session: session.summarize("book.md")`.

    Its methods have the arguments, results and errors of the session's, and block until they are done. The work is
    done on an event loop in a thread of redraft's own, so they can also be called in a notebook. The observer and the
    reviewer are called in that thread. Ctrl-C stops the run, which can be resumed.
    """

    def __init__(
        self, session: Session | Store | str | Path | None = None, /, **options: Unpack[SessionOptions]
    ) -> None:
        """The arguments are those of `Session`; or pass a session that is open. `close()` ends it, as `with` does."""
        if isinstance(session, Session) and options:
            problem = f"{next(iter(options))} belongs to the session, which is open already"
            raise UsageError(problem, hint="pass it there")
        self.session = session if isinstance(session, Session) else Session(session, **options)
        """The asynchronous session, for functions such as `redraft.batch` (see `wait`)."""
        self.session._is_blocking = True
        self.store = self.session.store
        self.timeout: float | None = None
        """The seconds that a call may take. One that takes longer is stopped and raises `DeadlineError`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the session: runs still under way are recorded as interrupted, and can be resumed."""
        run_blocking(self.session.aclose())

    def metrics(self) -> tuple[str, ...]:
        """Return the metrics that give a score; see `Session.metrics`."""
        return self.session.metrics()

    def wait(self, work: Coroutine[Any, Any, ResultT], timeout: float | None = None) -> ResultT:
        """Run a coroutine and return its result: `session.wait(redraft.batch(session.session, paths))`. After
        `timeout` seconds, or those of the session, it is stopped, and `DeadlineError` is raised."""
        seconds = timeout if timeout is not None else self.timeout
        if seconds is not None and iscoroutine(work):
            work = within(seconds, work)
        return run_blocking(work)

    summarize = blocking(Session.summarize)
    evaluate = blocking(Session.evaluate)
    refine = blocking(Session.refine)
    ask = blocking(Session.ask)
    plan = blocking(Session.plan)
    compare = blocking(Session.compare)
    build = blocking(Session.build)
    fork = blocking(Session.fork)
    resume = blocking(Session.resume)
    stream = iterating(Session.stream)
    stream_resume = iterating(Session.stream_resume)
    result = blocking(Session.result)
    runs = blocking(Session.runs)
    lineage = blocking(Session.lineage)
    question = blocking(Session.question)
    add = blocking(Session.add)


class AllOptions(SessionOptions, SessionCall, total=False):
    """The arguments of `Session`, and those of its methods. After `timeout` seconds the call is stopped and raises
    `DeadlineError`."""

    store: Store | str | Path | None
    timeout: float | None


def summarize(source: Sources, **options: Unpack[AllOptions]) -> Result:
    """Draft a summary, judge it if there are `metrics`, and refine it if there are `goals`:
    `redraft.summarize("book.md", model="openai:gpt-5-mini", words=300)`. The arguments are those of `Session` and
    `Session.summarize`, and `timeout`, the seconds that the call may take. The run is stored in the default database,
    or in `store`, and can be resumed if it is interrupted."""
    return _run(SyncSession.summarize, options, source)


def evaluate(source: Sources, summary: str | Path, **options: Unpack[AllOptions]) -> Result:
    """Judge a summary, its text or the `Path` of its file, with the arguments of `Session` and `Session.evaluate`."""
    return _run(SyncSession.evaluate, options, source, summary)


def refine(
    source: Sources, summary: str | Path, *, findings: Sequence[Finding] = (), **options: Unpack[AllOptions]
) -> Result:
    """Refine a summary until it meets its goals; the arguments are those of `Session` and `Session.refine`."""
    return _run(SyncSession.refine, options, source, summary, findings=findings)


def ask(source: Sources, question: str, **options: Unpack[AllOptions]) -> Answer:
    """Answer a question about a document; the arguments are those of `Session` and `Session.ask`."""
    return _run(SyncSession.ask, options, source, question)


_OF_SESSION = {"store", *SessionOptions.__annotations__} - {*Tracing.__annotations__, "metrics", "judging"}
"""What a session gets of the arguments: a new summary is judged only by the metrics and judges of its run."""


def _run(method: Callable[..., ResultT], options: AllOptions, *inputs: object, **of_run: object) -> ResultT:
    """Open a session with its share of the arguments, and call a method of it with the others."""
    arguments = dict(options)
    of_session: dict[str, Any] = {name: arguments.pop(name) for name in options if name in _OF_SESSION}
    seconds: Any = arguments.pop("timeout", None)
    with Session(**of_session) as session:
        session.timeout = seconds
        return method(session, *inputs, **of_run, **arguments)
