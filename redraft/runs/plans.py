"""What a run would take: calls, tokens, cost and time, before any model is asked."""

from __future__ import annotations

from math import ceil
from typing import Annotated

from pydantic import Field

from redraft.domain import GIVEN, OTHER, Document
from redraft.graphs.plan import Level
from redraft.llm.budget import PriceTable, builtin_prices
from redraft.report.entry import Entry
from redraft.report.history.results import document_read
from redraft.report.history.summaries import shown_names
from redraft.runs.dry_run import DRAFTING, CostEstimate, Stage, dry_run
from redraft.runs.manager import RunManager
from redraft.runs.prepare import RunSpec, check_judging, prepare
from redraft.runs.roster import known_window, with_windows
from redraft.settings import DraftConfig, Limits, reads_prompts
from redraft.store.runs import Run
from redraft.store.store import Store


class PlannedSource(Entry):
    """The document of a plan."""

    id: str
    title: str
    tokens: int
    words: int
    chunks: int


class RunPlan(Entry):
    """What a run takes, retries not included: what the command's `--dry-run --json` prints."""

    source: PlannedSource
    model: str
    judges: tuple[str, ...]
    validator: str | None
    tokenizer: str
    strategy: str
    chunks: int
    words: int
    tokens_per_word: float
    levels: tuple[Level, ...]
    label_tokens: int
    lead_tokens: int
    outlines: int
    compressions: int
    drafting: Stage
    stages: tuple[Stage, ...]
    """What follows the draft, by stage: what is built, then each metric, then the refinement."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    """The most tokens that models may use for reasoning, besides the replies."""
    cost_usd: float | None
    """Without reasoning; None if the price of a model is unknown."""
    max_cost_usd: float | None
    """With as much reasoning as there is room for."""
    unpriced: tuple[str, ...]
    """The models whose price is unknown."""
    seconds: float | None
    """From the pace of each model's latest answers in the store; None if a model has not answered yet."""
    warnings: tuple[str, ...]
    """Remarks on the document and the models, in sentences."""
    shown_names: Annotated[dict[str, str], Field(default={}, exclude=True)]
    """The names of its models for people."""
    chapters: Annotated[tuple[RunPlan, ...], Field(exclude_if=lambda some: not some)] = ()
    """The plans of chapters that are drafted separately; all totals include them."""

    def __repr__(self) -> str:
        cost = "unknown" if self.cost_usd is None else f"{self.cost_usd:.4f}"
        tokens = f"prompt_tokens={self.prompt_tokens}, completion_tokens={self.completion_tokens}"
        return f"RunPlan(calls={self.calls}, {tokens}, cost_usd={cost}, seconds={self.seconds})"


def run_plan(spending: CostEstimate, seconds: float | None = None) -> RunPlan:
    """Return an estimate as a plan."""
    prepared, judging = spending.prepared, spending.order.judging
    plan, document = prepared.plan, prepared.document
    return RunPlan.of(
        spending,
        plan,
        source=PlannedSource.of(document, plan, tokens=plan.document_tokens, words=plan.document_words),
        model=prepared.settings.model,
        judges=(judging.judges or (prepared.settings.model,)) if judging else (),
        validator=spending.pool["validator"].model if judging else None,
        tokenizer=prepared.tokenizer.name,
        seconds=seconds,
        shown_names=shown_names(prepared.settings, judging),
        chapters=tuple(map(run_plan, spending.chapters)),
    )


def planned_run(manager: RunManager, document: Document, settings: DraftConfig, order: RunSpec) -> RunPlan:
    """Return the plan of a run by a session. No model is asked, and nothing is stored."""
    roles, limits = manager.model_roles, manager.limits or Limits()
    settings, order, notes = with_windows(order.settled(settings), order, known_window, roles.objects)
    prepared = prepare(document, settings, roles.objects.get(roles.model or ""), order.given)
    check_judging(order, prepared, manager.store)
    prices = manager.prices or builtin_prices()
    spending = dry_run(prepared, order, prices.for_jobs() if limits.provider_batch else prices, notes, roles)
    return run_plan(spending, seconds_of(manager.store, spending, limits.concurrency))


def estimate_again(store: Store, run: Run, prices: PriceTable) -> CostEstimate:
    """Estimate the cost of a stored run from its start."""
    drafts = {one.node: one.text for one in reversed(store.runs.drafts(run.id))}
    order = RunSpec(run.purpose, given=drafts.get(GIVEN), other=drafts.get(OTHER))
    return dry_run(prepare(document_read(store, run), run.settings, given=order.given), order, prices)


def seconds_of(store: Store, spending: CostEstimate, at_once: int) -> float | None:
    """Estimate the seconds from the pace of each model's latest answers; None if a model has not answered yet.

    Parts of drafts are written in parallel, then merged; judges wait for each draft, and revisions for the judges.
    """
    rounds = 1 + (spending.order.refinement.rounds if spending.order.refinement else 0)
    total = 0.0
    for one in spending.work:
        known, seconds = store.calls.pace(one.settings.model)
        if not known and one.calls:
            return None
        turns = 1 if one.name == DRAFTING else rounds
        width = at_once if reads_prompts(one.settings.model) else 1
        total += seconds * turns * ceil(one.calls / turns / width)
    return total + sum(seconds_of(store, each, at_once) or 0.0 for each in (*spending.chapters, *spending.others))
