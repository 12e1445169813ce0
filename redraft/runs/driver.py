"""Makes the orders of calls, records their runs and carries them out by their kind: a graph is driven to its end or to
a stop, in any process; chapters, packs and comparisons have no graph of their own. A session is for applications;
graphs, tools, batches and pages work with its runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from inspect import isawaitable
from itertools import count
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import EmptyInputError, InvalidUpdateError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot
from pydantic import TypeAdapter

from redraft.domain import GIVEN, OTHER, KeyFacts, Pack, Piece, ReviewQuestion, widened
from redraft.errors import (
    BudgetError,
    CheckpointError,
    DeadlineError,
    IncompleteError,
    NotShrinkingError,
    RedraftError,
    RejectedRequest,
    ReplyError,
    RunCommand,
    RunError,
    StoreError,
    stored_advice,
)
from redraft.evaluators.base import Case, statements_of
from redraft.evaluators.coherence import prefer, same
from redraft.evaluators.statistics import Statistics
from redraft.events import Event, Notice, PartDone, StageStarted, nested_run, stream_to
from redraft.graphs import assembly
from redraft.graphs.job import Job
from redraft.graphs.policy import ReviewAnswer, undecided_metrics
from redraft.graphs.prepared import PreparedDocument
from redraft.graphs.state import GraphSession, Scope, Task
from redraft.llm.budget import Budget
from redraft.llm.langsmith import configured, tracing
from redraft.order import Compare, ExperimentPart, Order
from redraft.report.history.results import Result, lost_rounds, read_result
from redraft.runs.models import check_keys, resolve, server_window
from redraft.runs.open_runs import OpenRuns
from redraft.runs.order import Sources, chapter_of, document_of, document_of_task, order_of_chapter, summary_of
from redraft.runs.prepare import DRAFTED, check_judging, judged_by_writer, prepare, prepare_run, record
from redraft.settings import GIVEN_STRATEGY, REFERENCES, Limits
from redraft.store.connection import Checkpoints, off_loop, thread_of
from redraft.store.documents import ChapterRun, QuestionSets
from redraft.store.runs import Run
from redraft.text.sanitizer import CleanText, one_line

AnswerLike = ReviewAnswer | Mapping[str, Any]
Reviewer = Callable[[ReviewQuestion], Awaitable[AnswerLike | None]]
"""Answers a run's questions with a `redraft.ReviewAnswer` or its fields; None leaves the run waiting."""

# LangGraph's default limit is for short conversations: what ends a run are its chunks, its rounds and its limits.
_STEPS = 100_000
_JUDGING = {"metric", "gather"}
"""The nodes at which a run may resume without reporting a stage: they judge."""
Graph = CompiledStateGraph[Any, Any, Any, Any]
_QUESTION = TypeAdapter(ReviewQuestion)
# A reviewer whose answers make no sense is asked no more; the run waits for another answer.
_MAX_REFUSED = 3
AT_ONCE = 8
"""How many chapters are worked on concurrently; the run's limits bound the number of requests."""
_LEFT_OUT_OF_CHAPTERS = (IncompleteError, NotShrinkingError, RejectedRequest, ReplyError)
"""Errors that end only one chapter."""


_LONGEST_REASON = 200
# What LangGraph and the nodes of a graph raise of a state that lacks something or has values of other types.
_MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EmptyInputError,
    InvalidUpdateError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@contextmanager
def named_in_errors(run: str, checkpoints: Checkpoints) -> Iterator[None]:
    """Turn the errors of a damaged checkpoint into one that names its run and its file, and says how to go on."""
    try:
        with checkpoints.explained():
            yield
    except (CheckpointError, *_MALFORMED) as error:
        reason = error.message if isinstance(error, CheckpointError) else f"{type(error).__name__}: {error}"
        again = RunCommand("resume", run), ": it starts over, and no answer on record is paid for again"
        raise CheckpointError(
            f"run {run} cannot continue from its checkpoint: {one_line(reason, _LONGEST_REASON)}",
            place=checkpoints.place,
            fix=(f"{checkpoints.remedy.format(thread=thread_of(run))}, then ", *again),
        ) from error


async def _replies(
    question: tuple[str, ReviewQuestion], reviewer: Reviewer | None, answer: AnswerLike | None = None
) -> list[Any]:
    """Return the command with the answer, or else the reviewer's, also that of a plain function, in values that every
    checkpointer can store; nothing without one."""
    if answer is None and reviewer is not None:
        reply: Any = reviewer(question[1])
        answer = await reply if isawaitable(reply) else reply
    if answer is None:
        return []
    values = answer.model_dump(exclude_unset=True) if isinstance(answer, ReviewAnswer) else answer
    # By id: LangGraph treats an empty answer without one as no answer, and would ask forever.
    return [Command(resume={question[0]: values})]


def _question(snapshot: StateSnapshot) -> tuple[str, ReviewQuestion] | None:
    """Return the question that a graph waits with, and its id. Raises a `ValueError` if it is none of ours."""
    interrupt = next(iter(snapshot.interrupts), None)
    return None if interrupt is None else (interrupt.id, _QUESTION.validate_python(interrupt.value))


async def streaming(work: Callable[[], Coroutine[Any, Any, object]]) -> AsyncGenerator[Event, None]:
    """Yield the events of `work` as they happen. Closing the iterator cancels the work."""
    happened: asyncio.Queue[Event | None] = asyncio.Queue()
    with stream_to(happened.put_nowait):
        task = asyncio.create_task(work())
    task.add_done_callback(lambda _: happened.put_nowait(None))
    try:
        while (event := await happened.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(task, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class _SessionOfRun:
    """The session of a graph that works on one run on record. A checkpoint from elsewhere neither begins a run, which
    would read files, nor works on another one."""

    runs: OpenRuns
    run: str

    async def begin(self, task: Task, scope: Scope) -> str:  # noqa: ARG002
        raise CheckpointError("it would begin another run")

    def at_work(self, run: str) -> AbstractAsyncContextManager[Job]:
        if run != self.run:
            raise CheckpointError("it is the checkpoint of another run")
        return self.runs.at_work(run)

    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        if run != self.run:
            raise CheckpointError("it is the checkpoint of another run")
        return await self.runs.finish(run, draft, reason, why)


@dataclass(slots=True)
class Runner(OpenRuns, GraphSession):
    """Carries out runs with the models of one session."""

    reviewer: Reviewer | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    """Callbacks, tags and metadata for LangChain."""

    def shared(self, **changes: Any) -> dict[str, Any]:
        """Return the arguments of another runner with the same models and store, for one of many runs."""
        names = [argument.name for argument in fields(Runner) if argument.init]
        return {**{name: getattr(self, name) for name in names}, "reviewer": None, **changes}

    async def noted(self, read: Callable[..., CleanText], *arguments: Any) -> str:
        """Return the text of a summary that is read, with notes on what was left out of it."""
        text, notes = await off_loop(read, *arguments)
        for note in notes:
            self.observe(Notice(note))
        return text

    async def begin(self, task: Task, scope: Scope) -> str:
        """Record a run for the input of a graph; return its id."""
        session_order, place = self.defaults.of_task(task, scope)
        given = None if place is None else await self.noted(summary_of, self.store, place)
        order = session_order.order(scope, given=given)
        return (await self.record(await off_loop(document_of_task, self.store, task), order)).id

    async def record(self, source: Sources | PreparedDocument, order: Order, limits: Limits | None = None) -> Run:
        """Record a new run; an order that cannot be carried out raises first. Its own limits replace the session's. One
        of a prepared document is complete."""
        store, objects, own = self.store, self.defaults.roles.objects, self.defaults.evaluators
        to_do = order.model_copy(update={"limits": limits or self.limits or Limits()})

        def recorded() -> tuple[Run, PreparedDocument]:
            document = source if isinstance(source, PreparedDocument) else document_of(store, source)
            prepared, order = prepare_run(document, to_do, server_window, objects)
            prepared.plan  # noqa: B018  (a document that cannot be planned is refused here)
            self.places.add(order, objects)
            # Errors in the judging settings are raised before the first draft is paid for.
            check_judging(order, prepared, store, own)
            roles = self.roles(order)
            if not (isinstance(order, Compare) and order.given == order.other):
                check_keys(roles)
            notes = [*prepared.notes, *judged_by_writer(order)]
            return record(prepared, order, store, own, notes), prepared

        run, prepared = await off_loop(recorded)
        for note in run.notes:
            self.observe(Notice(note, everywhere=True))
        self.prepared[run.id], self.begun[run.id] = prepared, None
        if limits is not None:
            self.limited[run.id] = limits
        return run

    async def begin_order(
        self,
        source: Sources | PreparedDocument,
        order: Order,
        limits: Limits | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Result:
        """Begin a run of an order, and work on it to its end. Its own limits replace the session's; `config` goes to
        LangChain."""
        return await self.work_on(await self.record(source, order, limits), config=(self.config, config or {}))

    async def resume(
        self,
        key: str,
        limits: Limits | None = None,
        answer: AnswerLike | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Result:
        """Continue a run where it stopped; see `Session.resume`."""
        run = await off_loop(self.store.runs.get, key)
        if isinstance(run.order, ExperimentPart):
            experiment = RunCommand("experiment", more=(run.kind,))
            raise RunError(f"run {run.id} is part of an experiment", fix=("repeat ", experiment))
        await off_loop(self.check_stored, run)
        model = self.defaults.roles.model
        if model is None:
            resolve(run.settings)
        elif model != run.settings.model:
            raise RunError(f"run {run.id} was begun with the model {run.settings.model}, not {model}")
        if answer is not None and run.status != "waiting":
            message = f"run {run.id} is not waiting for an answer: it is {run.status}"
            raise RunError(message, fix=("see ", RunCommand("show", run.id)))
        self.limited[run.id] = limits or self.limits
        if run.status == "done" and not await self.may_gain(run):
            self.observe(Notice(f"run {run.id} is finished; nothing was left to do"))
            return await off_loop(read_result, self.store, run.id)
        return await self.work_on(run, answer, (self.config, config or {}))

    async def work_on(
        self, run: Run, answer: AnswerLike | None = None, config: Sequence[Mapping[str, Any]] = ()
    ) -> Result:
        """Work on a run until it is done, waits, or has used up its budget after making a draft. `answer` is for one
        that waits for a person, and `config` goes to LangChain."""
        try:
            with tracing(self.traced), configured(*config), self.store.checkpoints.explained():
                if run.kind == "compare":
                    await self._compare(run)
                elif run.kind in REFERENCES.values():
                    await self._build(run)
                else:
                    if run.settings.by_chapter and answer is None:
                        await self._draft_chapters(run)
                    graph, thread = await self._graph(run)
                    entries, is_resumed = await self._entries(run, graph, thread, answer)
                    session, refused = _SessionOfRun(self, run.id), 0
                    while entries:
                        with named_in_errors(run.id, self.store.checkpoints) if is_resumed else nullcontext():
                            await graph.ainvoke(entries[0], thread, context=session, durability="sync")
                            question = _question(await graph.aget_state(thread))
                        refused = refused + 1 if question and question[1]["problem"] else 0
                        entries = await _replies(question, self.reviewer) if question and refused < _MAX_REFUSED else []
        except BaseException as error:
            # Also that of a cancellation: whoever catches it can resume the run.
            vars(error)["run"] = run.id
            if isinstance(error, asyncio.CancelledError | StoreError):
                await asyncio.shield(self.record_end(run.id, error))
            # A summary that was given is no result of the run.
            is_drafted = run.kind in DRAFTED and (run.kind, run.settings.strategy) != ("evaluate", GIVEN_STRATEGY)
            is_used_up = isinstance(error, BudgetError) and is_drafted
            if not is_used_up or (await off_loop(self.store.runs.get, run.id)).draft is None:
                if isinstance(error, RedraftError):
                    raise error.trimmed() from error.__cause__
                raise
        return await off_loop(read_result, self.store, run.id)

    async def may_gain(self, run: Run) -> bool:
        """Return whether working on a finished run again may improve it: a chunk was left out, a metric or item has no
        verdict, a goal is unsure, a revision failed, its pack has become more complete, or a chapter of it may gain.
        Holes in its pack are retried first, and a run that was judged by the pack restarts only if some were filled:
        answers come from the cache, but a reviewing person is asked again."""
        gaps = await off_loop(self.store.runs.gaps.of, run.id)
        failed_rounds = await off_loop(lost_rounds, self.store, run)
        if gaps or failed_rounds:
            return True
        for chapter in await off_loop(self.store.chapters.of, run.id):
            part = await off_loop(self.store.runs.get, chapter.run) if chapter.run else None
            if part is None or part.status != "done" or await self.may_gain(part):
                return True
        if run.kind in REFERENCES.values():
            key = getattr(run.judging, run.kind)
            shelf: QuestionSets[Any] = self.store.packs if run.kind == "pack" else self.store.keyfacts
            built: Pack | KeyFacts | None = await off_loop(shelf.get, key) if key else None
            return built is not None and bool(built.missing) and not built.imported
        evaluations = (await off_loop(self.store.judgments.of, run.draft)).values() if run.draft and run.judging else ()
        refinement = run.refinement
        reviewed = refinement is not None and refinement.review
        if not reviewed and any(evaluation.outcome == "failed" or evaluation.unjudged for evaluation in evaluations):
            return True
        if refinement and undecided_metrics(
            {evaluation.metric: evaluation for evaluation in evaluations}, refinement.goals, refinement.judged_share
        ):
            return True

        lacking = [evaluation for evaluation in evaluations if evaluation.missing]
        if run.judging is None or not lacking:
            return False
        async with self.at_work(run.id, visits=True) as job:
            for evaluation in lacking:
                now = await job.judges.part("questions" if "pack" in evaluation.details else "keyfacts", complete=True)
                before = evaluation.details.get("pack", evaluation.details.get("keyfacts"))
                if (now.id, now.missing) != (before, evaluation.missing):
                    return True
        return False

    async def _build(self, run: Run) -> None:
        """Build what is not known yet of questions or key facts; the run's judging names what it came to."""
        assert run.judging is not None
        async with self.at_work(run.id) as job:
            is_pack = run.kind == "pack"
            stage = "questions about the document" if is_pack else "key facts of the document"
            self.observe(StageStarted(stage, 0))
            built = await job.judges.part("questions" if is_pack else "keyfacts", complete=True)
            judging = run.judging.model_copy(update={run.kind: built.id})
            await off_loop(self.store.runs.change, run.id, {"order.judging": judging})
        await self.finish(run.id, "", "complete")

    async def _compare(self, run: Run) -> None:
        """Compare two summaries, and store the result with the first. Identical texts need no judge."""
        store = self.store
        drafts = {draft.node: draft for draft in await off_loop(store.runs.drafts, run.id)}
        if not {GIVEN, OTHER} <= drafts.keys():
            raise RunError(f"the summaries of run {run.id} were never stored", hint="start it again")
        first, second = drafts[GIVEN], drafts[OTHER]
        async with self.at_work(run.id) as job:
            for draft in (first, second):
                case = Case(statements_of(draft.text), (), job.judges.reader, text=draft.text)
                await off_loop(store.judgments.keep, draft.id, await Statistics().evaluate(case))
            if first.text.strip() == second.text.strip():
                preferred = same()
            else:
                self.observe(StageStarted("preference", 2 * len(job.referees)))
                tokens = job.plan.document_tokens
                preferred = await prefer(job.referees, job.document, tokens, first.text, second.text)
            await off_loop(store.judgments.keep, first.id, preferred)
        await self.finish(run.id, first.id, "complete")

    async def _draft_chapters(self, run: Run) -> None:
        """Run all chapters to their end. An error that ends one of them ends the run after the others have finished,
        since their cost is already spent. With a used-up budget, the available chapters become the draft of the
        whole."""
        store, writer = self.store, self.defaults.roles.objects.get(run.settings.model)
        room, numbers = asyncio.Semaphore(AT_ONCE), count(1)
        async with self.at_work(run.id) as job:
            chapters, limits = await off_loop(store.chapters.of, run.id), job.run.limits
            terms: dict[str, Any] = {"budget_key": run.id, "outer": self.budget, "deadline": limits.deadline}
            budget = Budget(max_calls=limits.max_calls, max_cost=limits.max_cost, **terms)

            def prepare_new() -> tuple[dict[int, PreparedDocument], int]:
                parts = {
                    chapter.chunk.index: chapter_of(job.document, chapter, job.run.settings)
                    for chapter in chapters
                    if not chapter.run
                }
                prepared = {at: prepare(part, settings, writer) for at, (part, settings) in parts.items()}
                return prepared, sum(part.plan.expected_calls for part in prepared.values())

            # Planning errors of all chapters are raised before the first call.
            prepared, calls = await off_loop(prepare_new)
            job.observe(StageStarted("chapters", calls))

            async def draft(chapter: ChapterRun) -> None:
                async with room:
                    await self._draft_chapter(job, budget, chapter, prepared.get(chapter.chunk.index))
                    job.observe(PartDone(chapter.title, next(numbers), len(chapters)))

            ended = await asyncio.gather(*map(draft, chapters), return_exceptions=True)
            if failures := [error for error in ended if isinstance(error, BaseException)]:
                raise next((failure for failure in failures if not isinstance(failure, BudgetError)), failures[0])

    async def _draft_chapter(
        self, job: Job, budget: Budget, chapter: ChapterRun, prepared: PreparedDocument | None
    ) -> None:
        """Finish the summary of a chapter, of which a new one is `prepared`, and store it for the whole."""
        store, run, chunk = self.store, job.run, chapter.chunk

        def recorded() -> Run:
            if chapter.run or prepared is None:
                return store.runs.get(chapter.run or "")
            with store.transaction():
                part = record(prepared, order_of_chapter(run.order), store, self.defaults.evaluators)
                store.chapters.put(replace(chapter, run=part.id), run=run.id)
            self.prepared[part.id] = prepared
            return part

        part = await off_loop(recorded)
        self.budgets[part.id], self.limited[part.id] = budget, run.limits
        if part.status != "done" or await self.may_gain(part):
            with nested_run(chapter.title, run.id):
                try:
                    part = (await self.work_on(part)).run
                except _LEFT_OUT_OF_CHAPTERS as error:
                    # A chapter without a summary leaves a gap in the whole.
                    gaps = await off_loop(store.runs.gaps.of, part.id)
                    if part.settings.query is None or gaps:
                        await job.gap(chunk.index, error)
                    else:
                        job.observe(Notice("it says nothing about the question"))
                    return
            if part.status == "stopped":
                problem = part.error or {}
                kind = DeadlineError if part.stop_reason == DeadlineError.code else BudgetError
                raise kind(problem.get("message", "the budget is used up"), fix=stored_advice(problem))

        if part.draft is not None and part.status == "done":
            draft = await off_loop(store.runs.draft, part.draft)
            tokens, limit = job.tokenizer.count(draft.text), part.settings.words or draft.words
            place = dict.fromkeys(("index", "first_chunk", "last_chunk"), chunk.index)
            piece = widened(Piece, draft, level=0, **place, tokens=tokens, limit=limit)
            await off_loop(store.runs.add_piece, run.id, piece, [job.part(chunk)])
            await job.close_gap(chunk.index)

    async def _entries(
        self, run: Run, graph: Graph, thread: RunnableConfig, answer: AnswerLike | None
    ) -> tuple[list[Any], bool]:
        """Return what the graph of a run is invoked with, None to go on from its checkpoint, and whether it has one;
        nothing if it is at its end and all is done."""
        with named_in_errors(run.id, self.store.checkpoints):
            snapshot = await graph.aget_state(thread)
            question = _question(snapshot)
            # An empty `next` is not enough: if a process died between a node's writes and the next checkpoint, the node
            # is still among the tasks.
            is_at_end = snapshot.created_at is not None and not snapshot.tasks
            is_over = is_at_end and answer is None and run.status != "done"
            if is_over and not await off_loop(self.store.runs.gaps.of, run.id):
                # Another process has worked on it since and left it open: there is nothing else to do.
                await self.finish(run.id, "", snapshot.values["stop"], snapshot.values.get("why", ""))
                return [], True
        if question is not None:
            return await _replies(question, self.reviewer, answer) or [None], True
        if answer is not None:
            hint = (
                "answer there: `await graph.ainvoke(Command(resume=...), config, context=session)`, where `(await"
                " graph.aget_state(config)).interrupts` has the question; or resume it here without an answer: it"
                " begins anew, with the stored replies"
            )
            raise RunError(f"run {run.id} waits in a thread of a graph of your own, not in the session's", hint=hint)
        if snapshot.created_at is not None and not is_at_end:
            if _JUDGING & {*snapshot.next}:
                self.observe(StageStarted("judging", 0))
            return [None], True
        if is_at_end:
            # It ended with gaps: it runs again, and only what is missing is requested.
            await (await self.checkpointer()).adelete_thread(thread_of(run.id))
        return [{"order": {"recorded": run.id}}], is_at_end

    async def _graph(self, run: Run) -> tuple[Graph, RunnableConfig]:
        """Return the graph of a run with the checkpoints of the session, and its configuration."""
        strategy = run.settings.draft_strategy
        if run.kind == "refine":
            graph = assembly.refine() if strategy == GIVEN_STRATEGY else assembly.summarizer(strategy)
        else:
            graph = assembly.judge(strategy) if run.judging else assembly.draft(strategy)
        config: RunnableConfig = {"configurable": {"thread_id": thread_of(run.id)}, "recursion_limit": _STEPS}
        return graph.compile(checkpointer=await self.checkpointer()), config

    async def question_of(self, run: Run) -> ReviewQuestion | None:
        """Return the question of a waiting run, or None."""
        if run.status != "waiting":
            return None
        graph, config = await self._graph(run)
        with named_in_errors(run.id, self.store.checkpoints):
            question = _question(await graph.aget_state(config))
        return question[1] if question else None
