"""One stretch of work on a run, from its start or its resumption until it is done or stopped."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import StateGraph
from langgraph.types import Command

from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge, reply_tokens
from redraft.agents.pen import Pen
from redraft.agents.referee import Referee
from redraft.agents.reviser import Reviser
from redraft.agents.writer import Writer
from redraft.domain import GIVEN, OTHER
from redraft.errors import BudgetError, IncompleteError, RedraftError
from redraft.evaluators.base import Case, statements_of
from redraft.evaluators.catalog import evaluators
from redraft.evaluators.jury import Jury
from redraft.evaluators.preference import prefer, same
from redraft.evaluators.statistics import Statistics
from redraft.events import Noted, Observer, RunStarted, StageStarted
from redraft.graphs.context import DraftingContext
from redraft.graphs.direct import direct_graph
from redraft.graphs.hierarchical import hierarchical_graph
from redraft.graphs.incremental import incremental_graph
from redraft.graphs.partial import best_so_far
from redraft.graphs.refine import RefiningContext, refining_graph
from redraft.graphs.reviewing import ReviewAnswer, ReviewRequest
from redraft.history.results import Result, read_result
from redraft.models.base import Model
from redraft.models.budget import Budget
from redraft.runs.preparing import Prepared
from redraft.runs.staff import Hired, Staff, at_work
from redraft.settings import EXTRACTIVE, Judging
from redraft.store.connection import BUSY_SECONDS, store_error
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.embeddings import Encoder, load_encoder
from redraft.text.passages import Passages
from redraft.text.words import count_words

_GRAPHS: dict[str, Callable[[], StateGraph[Any, DraftingContext, Any, Any]]] = {
    "hierarchical": hierarchical_graph,
    "incremental": incremental_graph,
    "direct": direct_graph,
}
# A node a chunk, and twice that with compression; LangGraph's own limit is for graphs that loop by mistake.
_STEPS_A_CHUNK = 3
_STEPS_A_ROUND = 8
# What a prompt that revises says beside the document, the summary and the points, in tokens.
_REVISION_TOKENS = 2000

Reviewer = Callable[[ReviewRequest], Awaitable[ReviewAnswer]]


@dataclass(slots=True)
class Record:
    """Why a run came to its end, once it has."""

    reason: str = "complete"


@asynccontextmanager
async def on_record(store: Store, run: str) -> AsyncIterator[Record]:
    """Record that a run is being worked on, then how that ended and how long it took."""
    record, began = Record(), time.monotonic()
    store.runs.set_status(run, "running")
    try:
        yield record
    except BudgetError as error:
        store.runs.set_status(run, "stopped", stop_reason="budget", error=_described(error))
        raise
    except RedraftError as error:
        store.runs.set_status(run, "failed", stop_reason=error.code, error=_described(error))
        raise
    except (asyncio.CancelledError, KeyboardInterrupt):
        store.runs.set_status(run, "interrupted", stop_reason="cancelled")
        raise
    except Exception as error:
        described = {"code": "bug", "message": f"{type(error).__name__}: {error}", "hint": "please report it"}
        store.runs.set_status(run, "failed", stop_reason="bug", error=described)
        raise
    else:
        store.runs.set_status(run, "done", stop_reason=record.reason)
    finally:
        store.runs.add_seconds(run, time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class Session:
    """A run at work. `reviewer` is the person who looks at findings, where the run asks for one."""

    store: Store
    run: Run
    prepared: Prepared
    hired: Sequence[Hired]
    observer: Observer
    reviewer: Reviewer | None = None
    budget: Budget | None = None
    """The budget that the run shares with others, in place of one of its own."""

    async def go(self) -> Result:
        """Work until there is nothing left to do; whatever ends it sooner is recorded with the run."""
        run = self.run
        self.observer(RunStarted(run.id))
        for warning in self.prepared.warnings:
            self.observer(Noted(warning))
        try:
            async with on_record(self.store, run.id) as record:
                record.reason = await self._work()
        except BudgetError as error:
            kept = self._has_draft() or self._keep_partial(error)
            if not kept or run.kind in ("evaluate", "compare"):
                raise
        return read_result(self.store, run.id)

    async def _work(self) -> str:
        """All stages of the run; returns why it ended."""
        run = self.run
        if run.kind == "compare":
            return await self._compare()
        async with (
            at_work(self.hired, run, self.prepared.book, self.store, self.observer, self.budget) as staff,
            checkpointer(self.store) as saver,
        ):
            if run.kind in ("pack", "keyfacts"):
                return await self._build(staff)
            draft = await self._first_draft(staff, saver)
            if run.judging is not None:
                jury = await asyncio.to_thread(self._jury, staff, run.judging)
                if run.refinement is not None:
                    return await self._refine(draft, jury, staff, saver)
                self.observer(StageStarted("judging", 0))
                await jury.judge(draft)
        return "gaps" if self.store.runs.gaps(run.id) else "complete"

    async def _build(self, staff: Staff) -> str:
        """The document's questions or key facts and nothing else; the run's judging names what it came to."""
        run = self.run
        assert run.judging is not None
        jury = await asyncio.to_thread(self._jury, staff, run.judging)
        if run.kind == "pack":
            self.observer(StageStarted("questions about the document", 0))
            built = {"pack": (await jury.pack()).id}
        else:
            self.observer(StageStarted("key facts of the document", 0))
            built = {"keyfacts": (await jury.completed()).id}
        self.store.runs.set_judging(run.id, run.judging.model_copy(update=built))
        return "complete"

    async def _compare(self) -> str:
        """Which of the two summaries is better, kept with the first. Of one text twice nobody need be asked."""
        run, prepared = self.run, self.prepared
        assert run.judging is not None
        made = {draft.node: draft for draft in self.store.runs.drafts(run.id)}
        first, second = made[GIVEN], made[OTHER]
        for draft in (first, second):
            case = Case(statements_of(draft.text), (), self._desk(None), text=draft.text)
            self.store.judgments.keep(draft.id, await Statistics().evaluate(case))
        if first.text.strip() == second.text.strip():
            self.store.judgments.keep(first.id, same())
            return "complete"
        async with at_work(self.hired, run, prepared.book, self.store, self.observer, self.budget) as staff:
            referees = self._referees(staff, run.judging)
            self.observer(StageStarted("preference", 2 * len(referees)))
            document, tokens = prepared.document, prepared.plan.document_tokens
            self.store.judgments.keep(first.id, await prefer(referees, document, tokens, first.text, second.text))
        return "complete"

    async def _first_draft(self, staff: Staff, saver: AsyncSqliteSaver) -> str:
        """The draft that is given, or one that is made by the run's strategy."""
        run, prepared = self.run, self.prepared
        if run.settings.strategy == "given":
            return next(draft.id for draft in self.store.runs.drafts(run.id) if draft.node == GIVEN)
        graph = _GRAPHS[run.settings.strategy]().compile(checkpointer=saver)
        config = _config(run.id, _STEPS_A_CHUNK * len(prepared.chunks))
        snapshot = await graph.aget_state(config)
        begun = snapshot.created_at is not None
        if begun and not snapshot.next:
            if not self.store.runs.gaps(run.id):
                return str(snapshot.values["draft"])
            # It went to its end, with gaps: it runs again, and only what is missing is asked.
            await saver.adelete_thread(run.id)
            begun = False
        self.observer(StageStarted(run.settings.strategy, prepared.plan.calls))
        context = DraftingContext(
            run=run.id,
            store=self.store,
            document=prepared.document,
            chunks=prepared.chunks,
            plan=prepared.plan,
            writer=Writer(self._pen(staff), query=run.settings.query),
            tokenizer=prepared.tokenizer,
            observer=self.observer,
            concurrency=run.limits.concurrency,
        )
        state = await graph.ainvoke(None if begun else {"run": run.id}, config, context=context, durability="sync")
        return str(state["draft"])

    async def _refine(self, draft: str, jury: Jury, staff: Staff, saver: AsyncSqliteSaver) -> str:
        run, prepared = self.run, self.prepared
        assert run.refinement is not None
        assert run.settings.words is not None
        context = RefiningContext(
            jury=jury,
            reviser=Reviser(self._pen(staff), query=run.settings.query),
            refinement=run.refinement,
            words=run.settings.words,
            document=fitting_document(prepared),
        )
        graph = refining_graph().compile(checkpointer=saver)
        # Another first draft is another refinement.
        config = _config(f"{draft}-refine", _STEPS_A_ROUND * run.refinement.rounds)
        snapshot = await graph.aget_state(config)
        entry: Any = None if snapshot.created_at is not None else {"run": run.id, "draft": draft}
        while True:
            await graph.ainvoke(entry, config, context=context, durability="sync")
            snapshot = await graph.aget_state(config)
            if not snapshot.interrupts:
                return str(snapshot.values["stop"])
            waiting = snapshot.interrupts[0]
            # By its id: LangGraph takes an empty answer without one for no answer, and would ask for ever.
            entry = Command(resume={waiting.id: await self._reviewed(waiting.value)})

    async def _reviewed(self, request: ReviewRequest) -> ReviewAnswer:
        if self.reviewer is None:
            raise IncompleteError(
                f"the run waits for somebody to review round {request['round']}",
                hint=f"go on with: redraft resume {self.run.id}",
            )
        return await self.reviewer(request)

    def _jury(self, staff: Staff, judging: Judging) -> Jury:
        run = self.run
        encoder = load_encoder(judging.embeddings) if judging.embeddings else None
        panel = tuple(self._judge(model, turn) for model in staff.judges for turn in self._turns(judging))
        return Jury(
            self.store,
            self._desk(encoder),
            panel,
            evaluators(judging, encoder),
            judging,
            self.observer,
            validator=self._judge(staff.validator, self._turns(judging)[0]),
            query=run.settings.query,
        )

    def _desk(self, encoder: Encoder | None) -> EvidenceDesk:
        prepared, window = self.prepared, self.run.settings.context_tokens
        passages = Passages(prepared.document, prepared.tokenizer, encoder)
        return EvidenceDesk(prepared.document, passages, prepared.tokenizer, window, prepared.plan.document_tokens)

    def _referees(self, staff: Staff, judging: Judging) -> list[Referee]:
        """One for every judging. The extractive model has no window."""
        settings, tokenizer = self.run.settings, self.prepared.tokenizer
        names = judging.judges or (settings.model,)
        return [
            Referee(self._judge(model, turn), tokenizer, None if name == EXTRACTIVE else settings.context_tokens)
            for name, model in zip(names, staff.judges, strict=True)
            for turn in self._turns(judging)
        ]

    def _turns(self, judging: Judging) -> range:
        """The draws of each judge: as many as it judges times, others for another sample."""
        first = self.run.settings.sample * judging.repeat
        return range(first, first + judging.repeat)

    def _judge(self, model: Model, sample: int) -> Judge:
        settings = self.run.settings
        return Judge(
            model,
            self.prepared.book,
            self.store.judgments,
            sample=sample,
            temperature=settings.temperature,
            reply_tokens=reply_tokens(settings.context_tokens),
            document=self.prepared.document.id,
        )

    def _pen(self, staff: Staff) -> Pen:
        settings = self.run.settings
        return Pen(staff.writer, self.prepared.plan.tokens_per_word, settings.temperature, settings.sample)

    def _has_draft(self) -> bool:
        return self.store.runs.get(self.run.id).draft is not None

    def _keep_partial(self, error: BudgetError) -> bool:
        """Keep the best text so far as the run's draft, and say what it covers; False when there is none."""
        plan = self.prepared.plan
        partial = best_so_far(self.store.runs.pieces(self.run.id), plan.words)
        if partial is None:
            return False
        note = f"the budget was used up when {partial.covered} of {plan.chunks} chunks were covered: {error.message}"
        self.store.runs.keep_draft(self.run.id, partial.text, count_words(partial.text), "partial", (note,))
        return True


def fitting_document(prepared: Prepared) -> str | None:
    """The document's text where a prompt has room for it beside a summary, its revision and the findings.

    The extractive model has no window, and puts sentences where the document has them.
    """
    summary = (prepared.settings.words or 0) * prepared.plan.tokens_per_word
    needed = prepared.plan.document_tokens + _REVISION_TOKENS + 2 * summary
    fits = needed <= prepared.settings.context_tokens or prepared.settings.model == EXTRACTIVE
    return prepared.document.text if fits else None


def _config(thread: str, steps: int) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}, "recursion_limit": 100 + steps}


@asynccontextmanager
async def checkpointer(store: Store) -> AsyncIterator[AsyncSqliteSaver]:
    """LangGraph's saver on the store's second file."""
    try:
        async with aiosqlite.connect(store.checkpoints.address(), timeout=BUSY_SECONDS, uri=True) as connection:
            saver = AsyncSqliteSaver(connection)
            await saver.setup()
            yield saver
    except sqlite3.Error as error:
        raise store_error(error, store.checkpoints.path) from error


def _described(error: RedraftError) -> dict[str, str]:
    return {"code": error.code, "message": str(error), "hint": error.hint}
