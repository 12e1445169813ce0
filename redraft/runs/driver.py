"""Runs the graph of a run to its end or to a stop, and resumes it in any process."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache
from inspect import isawaitable
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.errors import EmptyInputError, InvalidUpdateError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot
from pydantic import TypeAdapter
from typing_extensions import override

from redraft.domain import ReviewQuestion
from redraft.errors import BudgetError, CheckpointError, RunCommand, RunError, StoreError, UsageError
from redraft.events import Event, StageStarted, stream_to
from redraft.graphs import assembly
from redraft.graphs.job import Job
from redraft.graphs.review import ReviewAnswer
from redraft.graphs.state import GraphSession, Scope, Task
from redraft.graphs.strategies import Strategy, strategy_named
from redraft.runs.manager import RunManager
from redraft.settings import AUTO, GIVEN_STRATEGY
from redraft.store.checkpoints import Checkpoints, SqliteCheckpoints, thread_of
from redraft.store.connection import BUSY_SECONDS, off_loop
from redraft.store.plain_serializer import PlainSerializer
from redraft.store.runs import Run
from redraft.store.sqlite import explained
from redraft.store.store import Store
from redraft.text.sanitizer import one_line


async def open_saver(checkpoints: Checkpoints, closing: AsyncExitStack) -> BaseCheckpointSaver[Any]:
    """Open the checkpoint saver of a store; the stack closes it."""
    if isinstance(checkpoints, SqliteCheckpoints):
        with explained(checkpoints.path):
            return await _in_a_file(checkpoints, closing)
    from redraft.store.postgres import on_a_server

    with checkpoints.explained():
        return await on_a_server(checkpoints, closing)


_TO_STOP = 5.0
"""Seconds in which the thread of a saver ends."""


class FileSaver(AsyncSqliteSaver):
    """LangGraph's SQLite saver with integers as channel versions. LangGraph's own versions are texts of 49 characters,
    more than half of a step's size, which keep the channels of forks apart where each is stored by itself. Here every
    checkpoint holds all of its channels. A thread that was started with texts continues with texts."""

    @override
    def get_next_version(self, current: Any, channel: None) -> Any:
        if isinstance(current, str):
            return super().get_next_version(current, channel)
        return BaseCheckpointSaver.get_next_version(self, current, channel)


async def _in_a_file(checkpoints: SqliteCheckpoints, closing: AsyncExitStack) -> FileSaver:
    address = await off_loop(checkpoints.address)
    connecting = aiosqlite.connect(address, uri=True, timeout=BUSY_SECONDS)
    # Otherwise its thread would keep a process alive that forgets to close its session.
    connecting._thread.daemon = True
    try:
        saver = FileSaver(await connecting, serde=PlainSerializer(checkpoints.place))
    except sqlite3.Error:
        # Its thread answers the event loop once more, which must not be closed by then.
        await off_loop(connecting._thread.join, _TO_STOP)
        raise
    closing.push_async_callback(_close, saver)
    await _set_up(saver)
    await off_loop(checkpoints.watch)
    return saver


async def _close(saver: FileSaver) -> None:
    """Close a saver's connection once nothing is written through it, and roll back an interrupted write. A cancelled
    run continues for a moment to finish its writes. What it leaves half done would hold on to the connection, and with
    it to the lock on the file, until its remains are collected.
    """
    async with saver.lock:
        with suppress(sqlite3.Error):
            await saver.conn.rollback()
        await saver.conn.close()


def stop_saver(saver: BaseCheckpointSaver[Any]) -> None:
    """Close a saver that can no longer be awaited."""
    if isinstance(saver, FileSaver):
        saver.conn.stop()
        saver.conn._thread.join(_TO_STOP)


def close_forgotten(place: tuple[str, int], store: Store | None, savers: list[BaseCheckpointSaver[Any]]) -> None:
    """Close what a session left open that was collected, or was still open at the end of the process."""
    if store is not None or savers:
        warnings.warn_explicit(
            "a redraft.Session was never closed: use it as `async with redraft.Session(...) as session`",
            ResourceWarning,
            *place,
        )
    for saver in savers:
        stop_saver(saver)
    if store is not None:
        store.close()


async def _set_up(saver: FileSaver) -> None:
    """Create the tables, retrying: SQLite does not wait when several processes create them in one new file."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return await saver.setup()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.01)


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


class Driver:
    """Runs the graphs of one session with checkpoints in the store."""

    def __init__(self, store: Store, session: GraphSession, reviewer: Reviewer | None, manager: RunManager) -> None:
        self._store = store
        self._session = session
        self._reviewer = reviewer
        self._manager = manager
        self._closing = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.savers: list[BaseCheckpointSaver[Any]] = []
        """The open saver, if there is one."""

    async def saver(self) -> BaseCheckpointSaver[Any]:
        """Return LangGraph's saver, opened on first use. Raises `UsageError` in another event loop than before."""
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise UsageError(
                "the session was used in another event loop before",
                hint="open one session in each: async with redraft.Session(...) as session",
            )
        if not self.savers:
            self._loop = loop
            self.savers.append(await open_saver(self._store.checkpoints, self._closing))
        return self.savers[0]

    async def aclose(self) -> None:
        """Let go of the checkpoints."""
        await self._closing.aclose()
        self.savers.clear()
        self._loop = None

    async def drive(self, run: Run, answer: AnswerLike | None = None) -> None:
        """Work on a run until it is done, waits, or has used up its budget after making a draft."""
        try:
            with self._store.checkpoints.explained():
                await self._go_on(run, answer)
        except asyncio.CancelledError:
            await asyncio.shield(self._manager.release(run.id))
            raise
        except BudgetError:
            has_draft = (await off_loop(self._store.runs.get, run.id)).draft is not None
            if not has_draft or run.kind == "evaluate":
                raise
        except StoreError as error:
            # It may have stopped between two nodes, when nothing was running that could record it.
            await self._manager.record_error(run.id, error)
            raise

    async def _go_on(self, run: Run, answer: AnswerLike | None) -> None:
        graph, config, session = await self._graph(run), await self._config(run), _SessionOfRun(self._session, run.id)
        with named_in_errors(run.id, self._store.checkpoints):
            snapshot = await graph.aget_state(config)
            question = _question(snapshot)
            if answer is None and await self._ended(run, snapshot):
                # Another process has worked on it since and left it open: there is nothing else to do.
                await self._session.finish(run.id, "", snapshot.values["stop"], snapshot.values.get("why", ""))
                return
        entry = await self._entry(run, snapshot, question, answer)
        if entry is None and (stages := [_STAGES[name] for name in snapshot.next if name in _STAGES]):
            self._manager.observe(StageStarted(stages[0], 0))
        resumed = snapshot.created_at is not None
        refused = 0
        while True:
            with named_in_errors(run.id, self._store.checkpoints) if resumed else nullcontext():
                await graph.ainvoke(entry, config, context=session, durability="sync")
                question = _question(await graph.aget_state(config))
            refused = refused + 1 if question and question[1]["problem"] else 0
            reply = await self._review(question[1]) if question and refused < _MAX_REFUSED else None
            if question is None or reply is None:
                return
            # By id: LangGraph treats an empty answer without one as no answer, and would ask forever.
            entry = _reply(question[0], reply)

    async def _review(self, question: ReviewQuestion) -> AnswerLike | None:
        """Return the reviewer's answer, also that of a plain function; None without a reviewer."""
        answer: Any = self._reviewer(question) if self._reviewer else None
        reply: AnswerLike | None = await answer if isawaitable(answer) else answer
        return reply

    async def question(self, run: Run) -> ReviewQuestion | None:
        """Return the question of a waiting run, or None."""
        if run.status != "waiting":
            return None
        graph, config = await self._graph(run), await self._config(run)
        with named_in_errors(run.id, self._store.checkpoints):
            question = _question(await graph.aget_state(config))
        return question[1] if question else None

    async def _graph(self, run: Run) -> Graph:
        strategy = run.settings.draft_strategy
        by_name = strategy in (AUTO, GIVEN_STRATEGY)
        graph = _compiled(strategy, None if by_name else strategy_named(strategy), run.kind, bool(run.judging))
        return graph.copy(update={"checkpointer": await self.saver()})

    async def _config(self, run: Run) -> RunnableConfig:
        chunks = await off_loop(self._store.chunks, run)
        rounds = run.refinement.rounds if run.refinement else 0
        steps = _STEPS + _STEPS_A_CHUNK * len(chunks) + _STEPS_A_ROUND * rounds
        return {"configurable": {"thread_id": thread_of(run.id)}, "recursion_limit": steps}

    async def _ended(self, run: Run, snapshot: StateSnapshot) -> bool:
        """Return whether the graph has ended and the run lacks nothing. A done run with gaps is run again for them."""
        at_end = run.status != "done" and _at_its_end(snapshot)
        return at_end and not await off_loop(self._store.runs.gaps, run.id)

    async def _entry(
        self, run: Run, snapshot: StateSnapshot, question: Question | None, answer: AnswerLike | None
    ) -> Any:
        """Return the graph input that starts the run, or continues it where it stopped."""
        if answer is not None:
            if question is None:
                raise _no_question(run)
            return _reply(question[0], answer)
        has_begun = snapshot.created_at is not None
        if _at_its_end(snapshot):
            # It ended with gaps: it runs again, and only what is missing is requested.
            await (await self.saver()).adelete_thread(thread_of(run.id))
            has_begun = False
        if question is not None:
            reply = await self._review(question[1])
            return _reply(question[0], reply) if reply is not None else None
        return None if has_begun else {"order": {"recorded": run.id}}


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
        hint = "answer there, with Command(resume=...); or resume it here from the beginning, without an answer"
        return RunError(f"run {run.id} waits in a graph that has another checkpointer", hint=hint)
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

    def __init__(self, session: GraphSession, run: str) -> None:
        self._session = session
        self._run = run

    @override
    async def begin(self, task: Task, scope: Scope) -> str:
        raise CheckpointError("it would begin another run")

    @override
    def at_work(self, run: str) -> AbstractAsyncContextManager[Job]:
        self._check(run)
        return self._session.at_work(run)

    @override
    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        self._check(run)
        return await self._session.finish(run, draft, reason, why)

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
