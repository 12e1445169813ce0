"""The record of what a run would take: calls, tokens, cost and time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Annotated

from pydantic import Field, InstanceOf

from redraft.domain import Usage
from redraft.llm.budget import PriceTable
from redraft.order import Order, Summarize
from redraft.report.tables import Entry
from redraft.runs.models import price_of, reasoning_reserve
from redraft.settings import DraftConfig, Role, reads_prompts
from redraft.store.store import Store

DRAFTING = "drafting"


@dataclass(slots=True)
class Stage:
    """One kind of work over all rounds: estimated calls and tokens, and the role of the model."""

    name: str
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    by: Role = "judge"

    def add(self, calls: int, usage: Usage | Stage) -> None:
        """Count more calls, with their tokens."""
        self.calls += calls
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens


@dataclass(slots=True, kw_only=True)
class StageUsage(Stage):
    """The counted usage of one model in one stage."""

    settings: DraftConfig
    spare_prompt_tokens: int = 0
    spare_completion_tokens: int = 0
    """How many more tokens than are estimated a budget reserves for one of the calls, at most."""

    def count(self, usage: Usage, most: Usage) -> None:
        """Count a call by its estimate, and by the `most` that it can be."""
        self.add(1, usage)
        self.spare_prompt_tokens = max(self.spare_prompt_tokens, most.prompt_tokens - usage.prompt_tokens)
        spare = most.completion_tokens - usage.completion_tokens
        self.spare_completion_tokens = max(self.spare_completion_tokens, spare)

    @property
    def reasoning_tokens(self) -> int:
        """Return the most tokens that the model may use for reasoning, besides its replies."""
        return self.calls * reasoning_reserve(self.settings)

    def cost(self, prices: PriceTable, reasoning: int = 0) -> float | None:
        """Return the cost with this many tokens of reasoning; None if the price of the model is unknown."""
        price = price_of(self.settings, prices)
        return None if price is None else price.of(Usage(self.prompt_tokens, self.completion_tokens + reasoning))

    def spare_cost(self, prices: PriceTable) -> float:
        """Return what a budget reserves for the last call beyond its estimate; earlier ones have been settled."""
        price = price_of(self.settings, prices)
        return price.of(Usage(self.spare_prompt_tokens, self.spare_completion_tokens)) if price is not None else 0.0


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of some costs; None if one is unknown."""
    summands = list(costs)
    return None if None in summands else sum((cost or 0.0 for cost in summands), 0.0)


class PlannedSource(Entry):
    """The document of a plan."""

    id: str
    title: str
    tokens: int
    words: int
    chunks: int


class PlannedModel(Entry):
    """A model that is named for a role. Its window is None if it reads no prompts."""

    role: Role
    name: str
    model: str
    context_tokens: int | None


class RunPlan(Entry):
    """What a run takes, retries not included: what the command's `--dry-run` prints, with or without `--json`."""

    source: PlannedSource
    model: str
    judges: tuple[str, ...]
    validator: str | None
    models: tuple[PlannedModel, ...]
    """The models that are named to judge and decide."""
    tokenizer: str
    strategy: str
    chunks: int
    words: int
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
    """With as much reasoning as there is room for, and what a limit of cost has to reserve for the last call: a run
    with this limit, in which nothing is asked twice, does not reach it."""
    unpriced: tuple[str, ...]
    """The models whose price is unknown."""
    seconds: float | None
    """From the pace of each model's latest answers in the store; None if a model has not answered yet."""
    warnings: tuple[str, ...]
    """Remarks on the document and the models, in sentences."""
    chapters: Annotated[tuple[RunPlan, ...], Field(exclude_if=lambda plans: not plans)] = ()
    """The plans of chapters that are drafted separately; all totals include them."""
    order: Annotated[Order, Field(exclude=True)] = Summarize()
    work: Annotated[tuple[InstanceOf[StageUsage], ...], Field(exclude=True)] = ()
    """What is counted of each model in each stage, without chapters."""

    @property
    def settings(self) -> DraftConfig:
        """Return the settings of the run, as prepared for its document."""
        return self.order.settings

    def __repr__(self) -> str:
        cost = "unknown" if self.cost_usd is None else f"{self.cost_usd:.4f}"
        tokens = f"prompt_tokens={self.prompt_tokens}, completion_tokens={self.completion_tokens}"
        return f"RunPlan(calls={self.calls}, {tokens}, cost_usd={cost}, seconds={self.seconds})"


def seconds_of(store: Store, plan: RunPlan, at_once: int) -> float | None:
    """Estimate the seconds from the pace of each model's latest answers; None if a model has not answered yet.

    Parts of drafts are written in parallel, then merged; judges wait for each draft, and revisions for the judges.
    """
    rounds = 1 + (plan.order.refinement.rounds if plan.order.refinement else 0)
    total = 0.0
    for usage in plan.work:
        answers, seconds = store.calls.pace(usage.settings.model)
        if not answers and usage.calls:
            return None
        turns = 1 if usage.name == DRAFTING else rounds
        width = at_once if reads_prompts(usage.settings.model) else 1
        total += seconds * turns * ceil(usage.calls / turns / width)
    return total + sum(seconds_of(store, plan, at_once) or 0.0 for plan in plan.chapters)
