"""Making a summary: from a source and settings to a stored run, and from a stored run to its result."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from redraft.agents.writer import Writer
from redraft.domain import Chunk, Document
from redraft.errors import BudgetError, DocumentError, PromptError, RedraftError, RunError, UsageError
from redraft.events import Noted, Observer, RunStarted, StageStarted, unobserved
from redraft.graphs.context import DraftingContext
from redraft.graphs.direct import direct_graph
from redraft.graphs.hierarchical import hierarchical_graph
from redraft.graphs.incremental import incremental_graph
from redraft.graphs.partial import best_so_far
from redraft.graphs.plan import Plan, Planner, fitting_words
from redraft.models.base import Model
from redraft.models.budget import Budget
from redraft.models.limiter import shared_limiter
from redraft.models.opening import open_model, price_of, resolve, tokenizer_of
from redraft.models.prices import Price, PriceTable, builtin_prices
from redraft.models.recorded import RecordedModel
from redraft.prompts.book import PromptBook, prompt_choice
from redraft.prompts.drafting import STRATEGIES
from redraft.results import Result, read_result
from redraft.settings import Limits, Settings
from redraft.store.connection import BUSY_SECONDS, store_error
from redraft.store.runs import Run, new_run_id
from redraft.store.store import Store
from redraft.text.chunks import chunk
from redraft.text.documents import load
from redraft.text.tokens import EstimatingTokenizer, Tokenizer, tokenizer_named
from redraft.text.words import count_words

_GRAPHS: dict[str, Callable[[], StateGraph[Any, DraftingContext, Any, Any]]] = {
    "hierarchical": hierarchical_graph,
    "incremental": incremental_graph,
    "direct": direct_graph,
}
# A node a chunk, and twice that with compression; LangGraph's own limit is for graphs that loop by mistake.
_STEPS_A_CHUNK = 3


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document with all that is decided before the first call."""

    document: Document
    settings: Settings
    chunks: Sequence[Chunk]
    tokenizer: Tokenizer
    book: PromptBook
    plan: Plan
    warnings: tuple[str, ...] = ()


def prepare(source: str | Document, settings: Settings, model: Model | None = None) -> Prepared:
    """Read, measure, cut and plan; nothing is stored and nobody is asked."""
    settings = resolve(settings) if model is None else settings.model_copy(update={"model": model.identity})
    settings = settings.model_copy(update={"prompts": prompt_choice(settings.prompts)})
    document = load(source) if isinstance(source, str) else source
    words = count_words(document.text)
    if not words:
        raise DocumentError("there is not one word in the document", place=document.source)
    settings = settings.model_copy(update={"words": fitting_words(settings.words, words)})
    tokenizer, warning = tokenizer_of(settings) if model is None else (EstimatingTokenizer(), "")
    chunks = chunk(document, tokenizer, settings.chunk_budget)
    book = PromptBook(settings.prompts)
    plan = Planner(document, chunks, settings, tokenizer).plan(book)
    return Prepared(document, settings, chunks, tokenizer, book, plan, (warning,) if warning else ())


async def summarize(
    source: str | Document,
    settings: Settings | None = None,
    *,
    store: Store,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    model: Model | None = None,
    observer: Observer = unobserved,
) -> Result:
    """Summarize a document in a new run. `model` takes the place of the one that the settings name."""
    prepared = await asyncio.to_thread(prepare, source, settings or Settings(), model)
    limits = limits or Limits()
    price = _price(prepared.settings, limits, prices)
    run = _record(prepared, limits, store)
    with store.claim(run.id):
        return await _Session(store, run, prepared, price, model, observer).go()


async def resume(
    key: str,
    *,
    store: Store,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    model: Model | None = None,
    observer: Observer = unobserved,
) -> Result:
    """Go on with a run where it stopped, under the settings that it began with. Other limits replace its own.

    A run that is done stays as it is; but the chunks that it had to leave out are tried again.
    """
    run = store.runs.get(key)
    if model is None:
        resolve(run.settings)
    elif model.identity != run.settings.model:
        raise RunError(f"run {run.id} was begun with the model {run.settings.model}, not {model.identity}")
    if run.status == "done" and not store.runs.gaps(run.id):
        return read_result(store, run.id)
    with store.claim(run.id):
        if limits is not None:
            store.runs.set_limits(run.id, limits)
        prepared = await asyncio.to_thread(_recall, store, run)
        run = store.runs.get(run.id)
        price = _price(run.settings, run.limits, prices)
        return await _Session(store, run, prepared, price, model, observer).go()


def _price(settings: Settings, limits: Limits, prices: PriceTable | None) -> Price | None:
    price = price_of(settings, prices or builtin_prices())
    if price is None and limits.max_cost is not None:
        raise UsageError(
            f"the price of {settings.model} is not known, so --max-cost cannot be kept",
            hint="give its price with --prices FILE, or use --max-calls",
        )
    return price


def _record(prepared: Prepared, limits: Limits, store: Store) -> Run:
    """Store the document, its chunks and the new run."""
    document, settings, tokenizer = prepared.document, prepared.settings, prepared.tokenizer.name
    hashes = _prompt_hashes(prepared.book, settings)
    store.documents.add(document)
    store.documents.add_chunks(document.id, tokenizer, settings.chunk_budget, prepared.chunks)
    run = Run(
        id=new_run_id(),
        identity=settings.identity(document.id, tokenizer, hashes),
        document=document.id,
        settings=settings,
        limits=limits,
        prompt_hashes=hashes,
        tokenizer=tokenizer,
        version=version("redraft"),
    )
    store.runs.add(run)
    return run


def _recall(store: Store, run: Run) -> Prepared:
    """The preparation of a stored run: the same chunks, the same prompts, or an error that says what has changed."""
    document = store.documents.get(run.document)
    tokenizer = tokenizer_named(run.tokenizer)
    book = PromptBook(run.settings.prompts)
    if changed := sorted(dict(_prompt_hashes(book, run.settings).items() ^ run.prompt_hashes.items())):
        raise PromptError(
            f"the prompts of run {run.id} have changed since it began: {', '.join(changed)}",
            hint="put the templates back, or start a new run",
        )
    chunks = store.documents.chunks(run.document, run.tokenizer, run.settings.chunk_budget)
    if not chunks:
        raise RunError(f"the chunks of run {run.id} are gone from the database", hint="start a new run")
    plan = Planner(document, chunks, run.settings, tokenizer).plan(book)
    warning = f"the vocabulary {run.tokenizer} is gone; tokens are estimated, and merges may be grouped differently"
    warnings = () if tokenizer.name == run.tokenizer else (warning,)
    return Prepared(document, run.settings, chunks, tokenizer, book, plan, warnings)


def _prompt_hashes(book: PromptBook, settings: Settings) -> dict[str, str]:
    """The hashes of the prompts that a run of these settings uses: others may come and go."""
    return {prompt.name: book.hash(prompt) for prompt in STRATEGIES[settings.strategy]}


class _Session:
    """One stretch of work on a run, from its start or its resumption until it is done or stopped."""

    def __init__(
        self,
        store: Store,
        run: Run,
        prepared: Prepared,
        price: Price | None,
        model: Model | None,
        observer: Observer,
    ) -> None:
        self._store = store
        self._run = run
        self._prepared = prepared
        self._price = price
        self._model = model
        self._observer = observer

    async def go(self) -> Result:
        """Work until the graph is done; whatever ends it sooner is recorded with the run."""
        run, began = self._run, time.monotonic()
        self._observer(RunStarted(run.id))
        for warning in self._prepared.warnings:
            self._observer(Noted(warning))
        self._store.runs.set_status(run.id, "running")
        try:
            await self._draft()
        except BudgetError as error:
            if not self._keep_partial(error):
                self._store.runs.set_status(run.id, "stopped", stop_reason="budget", error=_described(error))
                raise
            self._store.runs.set_status(run.id, "stopped", stop_reason="budget", error=_described(error))
        except RedraftError as error:
            self._store.runs.set_status(run.id, "failed", stop_reason=error.code, error=_described(error))
            raise
        except (asyncio.CancelledError, KeyboardInterrupt):
            self._store.runs.set_status(run.id, "interrupted", stop_reason="interrupted")
            raise
        except Exception as error:
            described = {"code": "bug", "message": f"{type(error).__name__}: {error}", "hint": "please report it"}
            self._store.runs.set_status(run.id, "failed", stop_reason="bug", error=described)
            raise
        else:
            gaps = self._store.runs.gaps(run.id)
            self._store.runs.set_status(run.id, "done", stop_reason="gaps" if gaps else "complete")
        finally:
            self._store.runs.add_seconds(run.id, time.monotonic() - began)
        return read_result(self._store, run.id)

    async def _draft(self) -> None:
        run, prepared = self._run, self._prepared
        self._observer(StageStarted(run.settings.strategy, prepared.plan.calls))
        async with self._opened() as model, _checkpointer(self._store) as saver:
            graph = _GRAPHS[run.settings.strategy]().compile(checkpointer=saver)
            context = DraftingContext(
                run=run.id,
                store=self._store,
                document=prepared.document,
                chunks=prepared.chunks,
                plan=prepared.plan,
                writer=self._writer(model),
                tokenizer=prepared.tokenizer,
                observer=self._observer,
                concurrency=run.limits.concurrency,
            )
            config: RunnableConfig = {
                "configurable": {"thread_id": run.id},
                "recursion_limit": 100 + _STEPS_A_CHUNK * len(prepared.chunks),
            }
            await graph.ainvoke(
                await _entry(graph, saver, run.id, config),
                config,
                context=context,
                durability="sync",
            )

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Model]:
        if self._model is not None:
            yield self._model
            return
        async with open_model(self._run.settings, self._prepared.book, seconds=self._run.limits.timeout) as model:
            yield model

    def _writer(self, model: Model) -> Writer:
        limits, settings = self._run.limits, self._run.settings
        used = self._store.calls.totals(self._run.id)
        recorded = RecordedModel(
            model,
            book=self._prepared.book,
            store=self._store,
            limiter=shared_limiter(
                settings.base_url or settings.model,
                limits.concurrency,
                requests_per_minute=limits.requests_per_minute,
                tokens_per_minute=limits.tokens_per_minute,
            ),
            run=self._run.id,
            budget=Budget(
                max_calls=limits.max_calls, max_cost=limits.max_cost, calls=used.calls, cost=used.cost_usd or 0.0
            ),
            price=self._price,
            observer=self._observer,
        )
        return Writer(
            recorded,
            query=settings.query,
            temperature=settings.temperature,
            sample=settings.sample,
            tokens_per_word=self._prepared.plan.tokens_per_word,
        )

    def _keep_partial(self, error: BudgetError) -> bool:
        """Keep the best text so far as the run's draft, and say what it covers; False when there is none."""
        plan = self._prepared.plan
        partial = best_so_far(self._store.runs.pieces(self._run.id), plan.words)
        if partial is None:
            return False
        note = f"the budget was used up when {partial.covered} of {plan.chunks} chunks were covered: {error.message}"
        self._store.runs.keep_draft(self._run.id, partial.text, count_words(partial.text), "partial", (note,))
        return True


async def _entry(
    graph: CompiledStateGraph[Any, Any, Any, Any], saver: AsyncSqliteSaver, run: str, config: RunnableConfig
) -> dict[str, str] | None:
    """What to start the graph with: nothing when it has a checkpoint to go on from."""
    snapshot = await graph.aget_state(config)
    if snapshot.next:
        return None
    if snapshot.created_at is not None:
        # It went to its end, with gaps: it runs again, and only what is missing is asked.
        await saver.adelete_thread(run)
    return {"run": run}


@asynccontextmanager
async def _checkpointer(store: Store) -> AsyncIterator[AsyncSqliteSaver]:
    try:
        async with aiosqlite.connect(store.checkpoints_path, timeout=BUSY_SECONDS) as connection:
            saver = AsyncSqliteSaver(connection)
            await saver.setup()
            yield saver
    except sqlite3.Error as error:
        raise store_error(error, store.checkpoints_path) from error


def _described(error: RedraftError) -> dict[str, str]:
    return {"code": error.code, "message": str(error), "hint": error.hint}
