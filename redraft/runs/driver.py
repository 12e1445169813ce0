"""Runs the graph of a run to its end or to a stop, and resumes it in any process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from inspect import isawaitable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import EmptyInputError, InvalidUpdateError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot
from pydantic import TypeAdapter
from typing_extensions import override

from redraft.domain import ReviewQuestion
from redraft.errors import BudgetError, CheckpointError, RunCommand, RunError, StoreError
from redraft.events import Event, StageStarted, stream_to
from redraft.graphs import assembly
from redraft.graphs.job import Job
from redraft.graphs.review import ReviewAnswer
from redraft.graphs.state import GraphSession, Scope, Task
from redraft.graphs.strategies import Strategy, strategy_named
from redraft.order import AnyOrder
from redraft.runs.open_runs import OpenRuns
from redraft.settings import AUTO, GIVEN_STRATEGY
from redraft.store.checkpoints import Checkpoints, thread_of
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.text.sanitizer import one_line

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
        is_over = answer is None and run.status != "done" and _at_its_end(snapshot)
        if is_over and not await off_loop(runs.store.runs.gaps.of, run.id):
            # Another process has worked on it since and left it open: there is nothing else to do.
            await runs.finish(run.id, "", snapshot.values["stop"], snapshot.values.get("why", ""))
            return
    if answer is not None and question is None:
        raise _no_question(run)
    if question is not None and answer is None:
        answer = await _review(reviewer, question[1])
    resumed = snapshot.created_at is not None
    entry: Any = None if resumed else {"order": {"recorded": run.id}}
    if _at_its_end(snapshot):
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


def _no_question(run: Run) -> RunError:
    if run.status == "waiting":
        hint = (
            "answer there: `await graph.ainvoke(Command(resume=...), config, context=session)`, where"
            " `(await graph.aget_state(config)).interrupts` has the question; or resume it here without an answer: it"
            " begins anew, with the stored replies"
        )
        return RunError(f"run {run.id} waits in a thread of a graph of your own, not in the session's", hint=hint)
    return RunError(
        f"run {run.id} is not waiting for an answer", fix=(f"it is {run.status}: see ", RunCommand("show", run.id))
    )


def _at_its_end(snapshot: StateSnapshot) -> bool:
    """Return whether a graph has started and ended. An empty `next` is not enough: if a process died between a node's
    writes and the next checkpoint, the node is still among the tasks."""
    return snapshot.created_at is not None and not snapshot.tasks


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
