"""Driving the graph of a run to its end, or to a stop, and on from there in whichever process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Protocol, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot

from redraft.errors import BudgetError, RunError, StoreError
from redraft.graphs import assembly
from redraft.graphs.reviewing import ReviewQuestion
from redraft.graphs.working import Shop
from redraft.runs.savers import open_saver
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.threads import off_loop

Reviewer = Callable[[ReviewQuestion], Awaitable[Mapping[str, Any] | None]]
"""Answers the questions of a run, as `redraft.ReviewAnswer` has it; None leaves it waiting."""


class Watcher(Protocol):
    """Told of a run that something has ended besides its nodes."""

    async def stopped(self, run: str, error: BaseException) -> None:
        """An error has."""

    async def left(self, run: str) -> None:
        """It was cancelled."""


# LangGraph's own limit is for graphs that loop by mistake: a node a chunk, and twice that with compression.
_STEPS_A_CHUNK, _STEPS_A_ROUND, _STEPS = 3, 24, 100

Graph = CompiledStateGraph[Any, Any, Any, Any]


class Driver:
    """Drives the graphs of one workshop, with checkpoints in the store."""

    def __init__(self, store: Store, shop: Shop, reviewer: Reviewer | None, watcher: Watcher) -> None:
        self._store = store
        self._shop = shop
        self._reviewer = reviewer
        self._watcher = watcher
        self._closing = AsyncExitStack()
        self._saver: BaseCheckpointSaver[Any] | None = None

    async def saver(self) -> BaseCheckpointSaver[Any]:
        """LangGraph's saver, opened when it is first needed."""
        if self._saver is None:
            self._saver = await open_saver(self._store.checkpoints, self._closing)
        return self._saver

    async def aclose(self) -> None:
        """Let go of the checkpoints."""
        await self._closing.aclose()
        self._saver = None

    async def drive(self, run: Run, answer: Mapping[str, Any] | None = None) -> None:
        """Work on a run until it is done, or waits, or has used up its budget with a draft to show for it."""
        try:
            with self._store.checkpoints.explained():
                await self._go_on(run, answer)
        except asyncio.CancelledError:
            await asyncio.shield(self._watcher.left(run.id))
            raise
        except BudgetError:
            kept = (await off_loop(self._store.runs.get, run.id)).draft is not None
            if not kept or run.kind == "evaluate":
                raise
        except StoreError as error:
            # It may have come to this between two nodes, when nobody was at work who would put it on record.
            await self._watcher.stopped(run.id, error)
            raise

    async def _go_on(self, run: Run, answer: Mapping[str, Any] | None) -> None:
        graph, config = await self._graph(run), await self._config(run)
        snapshot = await graph.aget_state(config)
        if answer is None and await self._ended(run, snapshot):
            # Somebody has worked on it since, and left it open: there is nothing else to be done.
            await self._shop.finish(run.id, "", snapshot.values["stop"], snapshot.values.get("why", ""))
            return
        entry = await self._entry(run, snapshot, config, answer)
        while True:
            await graph.ainvoke(entry, config, context=self._shop, durability="sync")
            question = _question(await graph.aget_state(config))
            reply = await self._reviewer(question[1]) if question and self._reviewer else None
            if question is None or reply is None:
                return
            # By its id: LangGraph takes an empty answer without one for no answer, and would ask for ever.
            entry = Command(resume={question[0]: reply})

    async def question(self, run: Run) -> ReviewQuestion | None:
        """What a run wants to know; None where it does not wait."""
        if run.status != "waiting":
            return None
        found = _question(await (await self._graph(run)).aget_state(await self._config(run)))
        return found[1] if found else None

    async def _graph(self, run: Run) -> Graph:
        strategy = run.settings.drafting
        if run.settings.drafts > 1:
            graph = assembly.chooser(strategy, run.kind)
        elif run.kind == "refine":
            graph = assembly.refine() if strategy == "given" else assembly.summarizer(strategy)
        else:
            graph = assembly.judge(strategy) if run.kind == "evaluate" else assembly.draft(strategy)
        return graph.compile(checkpointer=await self.saver())

    async def _config(self, run: Run) -> RunnableConfig:
        chunks = await off_loop(self._store.chunks, run)
        rounds = run.refinement.rounds if run.refinement else 0
        steps = _STEPS + _STEPS_A_CHUNK * len(chunks) + _STEPS_A_ROUND * rounds
        return {"configurable": {"thread_id": f"run-{run.id}"}, "recursion_limit": steps}

    async def _ended(self, run: Run, snapshot: StateSnapshot) -> bool:
        """Whether the graph has come to its end and lacks nothing. A run that is done is driven for what it lacks."""
        whole = run.status != "done" and _at_its_end(snapshot)
        return whole and not await off_loop(self._store.runs.gaps, run.id)

    async def _entry(
        self, run: Run, snapshot: StateSnapshot, config: RunnableConfig, answer: Mapping[str, Any] | None
    ) -> Any:
        """Where to go in: at the beginning, or where the run stopped."""
        question = _question(snapshot)
        if answer is not None:
            if question is None:
                raise _no_question(run)
            return Command(resume={question[0]: dict(answer)})
        begun = snapshot.created_at is not None
        if _at_its_end(snapshot):
            # It went to its end, and lacks something: it runs again, and only what is missing is asked.
            await (await self.saver()).adelete_thread(str(config["configurable"]["thread_id"]))
            begun = False
        if question is not None:
            reply = await self._reviewer(question[1]) if self._reviewer else None
            return Command(resume={question[0]: reply}) if reply is not None else None
        return None if begun else {"recorded": run.id}


def _no_question(run: Run) -> RunError:
    if run.status == "waiting":
        hint = "answer there, with Command(resume=...); or go on here without an answer, from its beginning"
        return RunError(f"run {run.id} waits in a graph that has another checkpointer", hint=hint)
    return RunError(f"run {run.id} waits for no answer", hint=f"it is {run.status}: redraft show {run.id}")


def _at_its_end(snapshot: StateSnapshot) -> bool:
    """Whether a graph was begun and has ended.

    That no node is next does not mean that: a process may have died between what a node has written and the checkpoint
    after it, and then the node is still among the tasks.
    """
    return snapshot.created_at is not None and not snapshot.tasks


def _question(snapshot: StateSnapshot) -> tuple[str, ReviewQuestion] | None:
    """The id of the question that a graph waits with, and the question."""
    asked = next(iter(snapshot.interrupts), None)
    return None if asked is None else (asked.id, cast(ReviewQuestion, asked.value))
