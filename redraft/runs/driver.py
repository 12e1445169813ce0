"""Carries out a stored run by its kind, and resumes it in any process: its graph is driven to its end or to a stop;
chapters, packs and comparisons have no graph of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from inspect import isawaitable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import EmptyInputError, InvalidUpdateError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot
from pydantic import TypeAdapter
from typing_extensions import override

from redraft.domain import GIVEN, OTHER, KeyFacts, Pack, Piece, ReviewQuestion
from redraft.errors import (
    BudgetError,
    CheckpointError,
    DeadlineError,
    IncompleteError,
    NotShrinkingError,
    RejectedRequest,
    ReplyError,
    RunCommand,
    RunError,
    StoreError,
    UsageError,
    stored_advice,
)
from redraft.evaluators.base import Case, statements_of
from redraft.evaluators.preference import prefer, same
from redraft.evaluators.statistics import Statistics
from redraft.events import Event, Notice, PartDone, StageStarted, nested_run, stream_to
from redraft.graphs import assembly
from redraft.graphs.job import Job
from redraft.graphs.policy import undecided_metrics
from redraft.graphs.review import ReviewAnswer
from redraft.graphs.state import GraphSession, Scope, Task
from redraft.graphs.strategies import Strategy, strategy_named
from redraft.llm.budget import Budget
from redraft.order import AnyOrder
from redraft.report.history.results import lost_rounds
from redraft.runs.open_runs import OpenRuns
from redraft.runs.order import chapter_document, chapter_settings, order_of_chapter
from redraft.runs.prepare import PreparedDocument, prepare, record
from redraft.settings import AUTO, GIVEN_STRATEGY, REFERENCES
from redraft.store.checkpoints import Checkpoints, thread_of
from redraft.store.connection import off_loop
from redraft.store.documents import ChapterRun
from redraft.store.runs import Run
from redraft.store.shelf import QuestionSets
from redraft.text.sanitizer import one_line
from redraft.text.words import has_words

AnswerLike = ReviewAnswer | Mapping[str, Any]
Reviewer = Callable[[ReviewQuestion], Awaitable[AnswerLike | None]]
"""Answers a run's questions with a `redraft.ReviewAnswer` or its fields; None leaves the run waiting."""


# LangGraph's default limit guards against endless loops; a draft needs a step per chunk, or two with compression.
_STEPS_A_CHUNK, _STEPS_A_ROUND, _STEPS = 3, 24, 100

_STAGES = {"metric": "judging", "gather": "judging", "confirm": "second look", "contest": "second look"}
"""The stages of nodes at which a run may resume without reporting one itself."""
Graph = CompiledStateGraph[Any, Any, Any, Any]
Question = tuple[str, ReviewQuestion]
"""A question with its id in LangGraph."""
_QUESTION = TypeAdapter(ReviewQuestion)

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
    cause: Exception
    try:
        with checkpoints.explained():
            yield
        return
    except CheckpointError as error:
        reason, cause = error.message, error
    except _MALFORMED as error:
        reason, cause = f"{type(error).__name__}: {error}", error
    raise CheckpointError(
        f"run {run} cannot continue from its checkpoint: {one_line(reason, _LONGEST_REASON)}",
        place=checkpoints.place,
        fix=checkpoints.restart_advice(run),
    ) from cause


# A reviewer whose answers make no sense is asked no more; the run waits for another answer.
_MAX_REFUSED = 3


async def drive(runs: OpenRuns, run: Run, answer: AnswerLike | None = None, reviewer: Reviewer | None = None) -> None:
    """Work on a run until it is done, waits, or has used up its budget after making a draft. `answer` is for a run that
    waits for a person, and `reviewer` answers its next questions."""
    try:
        with runs.store.checkpoints.explained():
            await _go_on(runs, run, answer, reviewer)
    except asyncio.CancelledError:
        await asyncio.shield(runs.release(run.id))
        raise
    except BudgetError:
        # A summary that was given is no result of the run.
        is_given = run.kind == "evaluate" and run.settings.strategy == GIVEN_STRATEGY
        if is_given or (await off_loop(runs.store.runs.get, run.id)).draft is None:
            raise
    except StoreError as error:
        # It may have stopped between two nodes, when nothing was running that could record it.
        await runs.record_error(run.id, error)
        raise


async def question_of(runs: OpenRuns, run: Run) -> ReviewQuestion | None:
    """Return the question of a waiting run, or None."""
    if run.status != "waiting":
        return None
    graph, config = await _graph(runs, run)
    with named_in_errors(run.id, runs.store.checkpoints):
        question = _question(await graph.aget_state(config))
    return question[1] if question else None


async def _go_on(runs: OpenRuns, run: Run, answer: AnswerLike | None, reviewer: Reviewer | None) -> None:
    (graph, config), session = await _graph(runs, run), _SessionOfRun(runs, run.id)
    with named_in_errors(run.id, runs.store.checkpoints):
        snapshot = await graph.aget_state(config)
        question = _question(snapshot)
        # An empty `next` is not enough: if a process died between a node's writes and the next checkpoint, the node is
        # still among the tasks.
        is_at_end = snapshot.created_at is not None and not snapshot.tasks
        is_over = is_at_end and answer is None and run.status != "done"
        if is_over and not await off_loop(runs.store.runs.gaps.of, run.id):
            # Another process has worked on it since and left it open: there is nothing else to do.
            await runs.finish(run.id, "", snapshot.values["stop"], snapshot.values.get("why", ""))
            return
    if answer is not None and question is None:
        if run.status == "waiting":
            hint = (
                "answer there: `await graph.ainvoke(Command(resume=...), config, context=session)`, where"
                " `(await graph.aget_state(config)).interrupts` has the question; or resume it here without an answer:"
                " it begins anew, with the stored replies"
            )
            raise RunError(f"run {run.id} waits in a thread of a graph of your own, not in the session's", hint=hint)
        raise RunError(
            f"run {run.id} is not waiting for an answer", fix=(f"it is {run.status}: see ", RunCommand("show", run.id))
        )
    if question is not None and answer is None:
        answer = await _review(reviewer, question[1])
    resumed = snapshot.created_at is not None
    entry: Any = None if resumed else {"order": {"recorded": run.id}}
    if is_at_end:
        # It ended with gaps: it runs again, and only what is missing is requested.
        await (await runs.saver.open()).adelete_thread(thread_of(run.id))
        entry = {"order": {"recorded": run.id}}
    if question is not None:
        entry = _reply(question[0], answer) if answer is not None else None
    elif entry is None and (stages := [_STAGES[name] for name in snapshot.next if name in _STAGES]):
        runs.observe(StageStarted(stages[0], 0))
    refused = 0
    while True:
        with named_in_errors(run.id, runs.store.checkpoints) if resumed else nullcontext():
            await graph.ainvoke(entry, config, context=session, durability="sync")
            question = _question(await graph.aget_state(config))
        refused = refused + 1 if question and question[1]["problem"] else 0
        reply = await _review(reviewer, question[1]) if question and refused < _MAX_REFUSED else None
        if question is None or reply is None:
            return
        # By id: LangGraph treats an empty answer without one as no answer, and would ask forever.
        entry = _reply(question[0], reply)


async def _review(reviewer: Reviewer | None, question: ReviewQuestion) -> AnswerLike | None:
    """Return the reviewer's answer, also that of a plain function; None without a reviewer."""
    answer: Any = reviewer(question) if reviewer else None
    reply: AnswerLike | None = await answer if isawaitable(answer) else answer
    return reply


async def _graph(runs: OpenRuns, run: Run) -> tuple[Graph, RunnableConfig]:
    """Return the graph of a run with the checkpoints of the session, and its configuration."""
    strategy = run.settings.draft_strategy
    by_name = strategy in (AUTO, GIVEN_STRATEGY)
    graph = _compiled(strategy, None if by_name else strategy_named(strategy), run.kind, bool(run.judging))
    rounds = run.refinement.rounds if run.refinement else 0
    steps = _STEPS + _STEPS_A_CHUNK * len(await off_loop(runs.store.chunks, run)) + _STEPS_A_ROUND * rounds
    config: RunnableConfig = {"configurable": {"thread_id": thread_of(run.id)}, "recursion_limit": steps}
    return graph.copy(update={"checkpointer": await runs.saver.open()}), config


@lru_cache(maxsize=64)
def _compiled(strategy: str, entry: Strategy | None, kind: str, is_judged: bool) -> Graph:
    """Return the graph of recorded runs of a kind, which is compiled once: LangGraph reads all type hints of its nodes.
    `entry` is the strategy that the name means at present."""
    del entry
    if kind == "refine":
        return (assembly.refine() if strategy == GIVEN_STRATEGY else assembly.summarizer(strategy)).compile()
    return (assembly.judge(strategy) if is_judged else assembly.draft(strategy)).compile()


def _reply(question: str, answer: AnswerLike) -> Command[Any]:
    """Return the answer as plain values, which every checkpointer can store."""
    return Command(
        resume={question: answer.model_dump(exclude_unset=True) if isinstance(answer, ReviewAnswer) else answer}
    )


def _question(snapshot: StateSnapshot) -> Question | None:
    """Return the question that a graph waits with, and its id. Raises a `ValueError` if it is none of ours."""
    interrupt = next(iter(snapshot.interrupts), None)
    return None if interrupt is None else (interrupt.id, _QUESTION.validate_python(interrupt.value))


class _SessionOfRun(GraphSession):
    """The session of a graph that works on one run on record. A checkpoint from elsewhere neither begins a run, which
    would read files, nor works on another one."""

    def __init__(self, runs: OpenRuns, run: str) -> None:
        self._runs = runs
        self._run = run

    @override
    async def begin(self, task: Task | AnyOrder, scope: Scope) -> str:
        raise CheckpointError("it would begin another run")

    @override
    def at_work(self, run: str) -> AbstractAsyncContextManager[Job]:
        self._check(run)
        return self._runs.at_work(run)

    @override
    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        self._check(run)
        return await self._runs.finish(run, draft, reason, why)

    def _check(self, run: str) -> None:
        if run != self._run:
            raise CheckpointError("it is the checkpoint of another run")


async def streaming(work: Callable[[], Coroutine[Any, Any, object]]) -> AsyncGenerator[Event, None]:
    """Yield the events of `work` as they happen. Closing the iterator cancels the work."""
    happened: asyncio.Queue[Event | None] = asyncio.Queue()

    async def watched() -> None:
        try:
            with stream_to(happened.put_nowait):
                await work()
        finally:
            happened.put_nowait(None)

    task = asyncio.create_task(watched())
    try:
        while (event := await happened.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(task, return_exceptions=True)


async def build(runs: OpenRuns, run: Run) -> None:
    """Ask for what is not known yet; the run's judging names what it came to."""
    assert run.judging is not None
    async with runs.at_work(run.id) as job:
        reference = job.judges.reference
        if run.kind == "pack":
            runs.observe(StageStarted("questions about the document", 0))
            built = {"pack": (await reference.pack(complete=True)).id}
        else:
            runs.observe(StageStarted("key facts of the document", 0))
            built = {"keyfacts": (await reference.keyfacts(complete=True)).id}
        await off_loop(runs.store.runs.change, run.id, {"order.judging": run.judging.model_copy(update=built)})
    await runs.finish(run.id, "", "complete")


def check_summaries(first: str, second: str) -> None:
    """Refuse a summary that says nothing: there is no preference for silence."""
    for name, text in (("A", first), ("B", second)):
        if not has_words(text):
            raise UsageError("it has no words", place=f"summary {name}")


async def compare(runs: OpenRuns, run: Run) -> None:
    """Compare two summaries, and store the result with the first. Identical texts need no judge."""
    store = runs.store
    drafts = {draft.node: draft for draft in await off_loop(store.runs.drafts, run.id)}
    if not {GIVEN, OTHER} <= drafts.keys():
        raise RunError(f"the summaries of run {run.id} were never stored", hint="start it again")
    first, second = drafts[GIVEN], drafts[OTHER]
    async with runs.at_work(run.id) as job:
        for draft in (first, second):
            case = Case(statements_of(draft.text), (), job.judges.reference.reader, text=draft.text)
            await off_loop(store.judgments.keep, draft.id, await Statistics().evaluate(case))
        if first.text.strip() == second.text.strip():
            preferred = same()
        else:
            runs.observe(StageStarted("preference", 2 * len(job.referees)))
            tokens = job.plan.document_tokens
            preferred = await prefer(job.referees, job.document, tokens, first.text, second.text)
        await off_loop(store.judgments.keep, first.id, preferred)
    await runs.finish(run.id, first.id, "complete")


async def may_gain(runs: OpenRuns, run: Run) -> bool:
    """Return whether working on a finished run again may improve it: a chunk was left out, a metric or item has no
    verdict, a goal is unsure, a revision failed, its pack has become more complete, or one of its chapters may gain.
    Holes in its pack are retried first, and a run that was judged by the pack restarts only if some were filled:
    answers come from the cache, but a reviewing person is asked again."""
    gaps, failed_rounds = await off_loop(runs.store.runs.gaps.of, run.id), await off_loop(lost_rounds, runs.store, run)
    if gaps or failed_rounds:
        return True
    for chapter in await off_loop(runs.store.chapters.of, run.id):
        part = await off_loop(runs.store.runs.get, chapter.run) if chapter.run else None
        if part is None or part.status != "done" or await may_gain(runs, part):
            return True
    if run.kind in REFERENCES.values():
        key = getattr(run.judging, run.kind)
        shelf: QuestionSets[Any] = runs.store.packs if run.kind == "pack" else runs.store.keyfacts
        built: Pack | KeyFacts | None = await off_loop(shelf.get, key) if key else None
        return built is not None and bool(built.missing) and not built.imported
    evaluations = (await off_loop(runs.store.judgments.of, run.draft)).values() if run.draft and run.judging else ()
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
    async with runs.visiting(run.id) as job_factory:
        reference = (await off_loop(job_factory.panel, run.judging)).reference
        for evaluation in lacking:
            is_pack = "pack" in evaluation.details
            now = await (reference.pack(complete=True) if is_pack else reference.keyfacts(complete=True))
            before = evaluation.details.get("pack", evaluation.details.get("keyfacts"))
            if (now.id, now.missing) != (before, evaluation.missing):
                return True
    return False


AT_ONCE = 8
"""How many chapters are worked on concurrently; the run's limits bound the number of requests."""
_LEFT_OUT_OF_CHAPTERS = (IncompleteError, NotShrinkingError, RejectedRequest, ReplyError)
"""Errors that end only one chapter."""


async def draft_chapters(runs: OpenRuns, run: Run) -> bool:
    """Run all chapters to their end; returns whether the whole can continue. An error that ends one of them ends the
    run after the others have finished, since their cost is already spent. With a used-up budget, the available chapters
    become the draft of the whole."""
    store = runs.store
    try:
        async with runs.at_work(run.id) as job:
            chapters, limits = await off_loop(store.chapters.of, run.id), job.run.limits
            budget = Budget(
                max_calls=limits.max_calls,
                max_cost=limits.max_cost,
                budget_key=run.id,
                outer=runs.budget,
                deadline=limits.deadline,
            )
            work = _ChapterRuns(runs, job, budget, asyncio.Semaphore(AT_ONCE), len(chapters))
            # Planning errors of all chapters are raised before the first call.
            planned = sum([await work.prepare(chapter) for chapter in chapters if not chapter.run])
            job.observe(StageStarted("chapters", planned))
            ended = await asyncio.gather(*map(work.chapter, chapters), return_exceptions=True)
            if failures := [error for error in ended if isinstance(error, BaseException)]:
                raise next((failure for failure in failures if not isinstance(failure, BudgetError)), failures[0])
    except BudgetError:
        if (await off_loop(store.runs.get, run.id)).draft is None or run.kind == "evaluate":
            raise
        return False
    return True


@dataclass(slots=True)
class _ChapterRuns:
    """The chapters of one run while they are worked on."""

    runs: OpenRuns
    job: Job
    budget: Budget
    room: asyncio.Semaphore
    count: int
    done: int = 0
    prepared: dict[int, PreparedDocument] = field(default_factory=dict)

    async def prepare(self, chapter: ChapterRun) -> int:
        """Prepare a new chapter under the settings of the whole; returns how many calls its draft takes."""
        document = chapter_document(self.job.document, chapter.title, chapter.chunk.span)
        settings = chapter_settings(self.job.run.settings, document)
        writer = self.runs.model_roles.objects.get(settings.model)
        prepared = await off_loop(prepare, document, settings, writer)
        self.prepared[chapter.chunk.index] = prepared
        return prepared.plan.expected_calls

    async def chapter(self, chapter: ChapterRun) -> None:
        """Finish the summary of a chapter and store it for the whole."""
        store, job, chunk = self.runs.store, self.job, chapter.chunk
        async with self.room:
            part = await self._recorded(chapter)
            self.runs.budgets[part.id] = self.budget
            self.runs.limited[part.id] = self.job.run.limits
            if part.status != "done" or await may_gain(self.runs, part):
                with nested_run(chapter.title, self.job.run.id):
                    try:
                        await drive(self.runs, part)
                    except _LEFT_OUT_OF_CHAPTERS as error:
                        # A chapter without a summary leaves a gap in the whole.
                        gaps = await off_loop(store.runs.gaps.of, part.id)
                        if part.settings.query is None or gaps:
                            await job.gap(chunk.index, error)
                        else:
                            job.observe(Notice("it says nothing about the question"))
                part = await off_loop(store.runs.get, part.id)
                if part.status == "stopped":
                    problem = part.error or {}
                    kind = DeadlineError if part.stop_reason == DeadlineError.code else BudgetError
                    raise kind(problem.get("message", "the budget is used up"), fix=stored_advice(problem))

            if part.draft is not None and part.status == "done":
                draft = await off_loop(store.runs.draft, part.draft)
                tokens, limit = job.tokenizer.count(draft.text), part.settings.words or draft.words
                piece = Piece(0, chunk.index, chunk.index, chunk.index, draft.text, draft.words, tokens, limit)
                await off_loop(store.runs.add_piece, job.run.id, piece, [job.part(chunk)])
                await job.close_gap(chunk.index)
            self.done += 1
            self.job.observe(PartDone(chapter.title, self.done, self.count))

    async def _recorded(self, chapter: ChapterRun) -> Run:
        """Return the run of a chapter, recording it if new."""
        run, store = self.job.run, self.runs.store
        if chapter.run:
            return await off_loop(store.runs.get, chapter.run)
        order = order_of_chapter(run.order)
        prepared = self.prepared.pop(chapter.chunk.index)

        def recorded() -> Run:
            with store.transaction():
                part = record(prepared, order, store, tuple(self.runs.own.values()))
                store.chapters.put(replace(chapter, run=part.id), run=run.id)
            return part

        part = await off_loop(recorded)
        self.runs.prepared[part.id] = prepared
        return part


async def carry_out(
    runs: OpenRuns, run: Run, answer: AnswerLike | None = None, reviewer: Reviewer | None = None
) -> None:
    """Work on a run until it ends or stops. `answer` is for a run that waits for a person, and `reviewer` answers its
    next questions."""
    if run.kind == "compare":
        await compare(runs, run)
    elif run.kind in REFERENCES.values():
        await build(runs, run)
    else:
        by_chapter = run.settings.by_chapter and answer is None
        if not by_chapter or await draft_chapters(runs, run):
            await drive(runs, run, answer, reviewer)
