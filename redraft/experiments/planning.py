"""What the experiment of HAMLET comes to, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redraft.domain import Document, Usage
from redraft.experiments.hamlet import QUERY, Design
from redraft.experiments.records import DRAFTING, JUDGING, KEYFACTS
from redraft.models.prices import PriceTable
from redraft.reports.tables import Cell, Table
from redraft.runs.forecast import Forecast, forecast
from redraft.runs.opening import price_of, reasoning_reserve, resolve
from redraft.runs.preparing import Order, prepare
from redraft.runs.staff import hire, under_settings
from redraft.settings import Evaluate, Judging, Limits, Settings

_TREES = "finding key facts"
_VERDICTS = ("keyfact_recall", "faithfulness")


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of work of one model on one document."""

    document: str
    name: str
    model: Settings
    times: int
    calls: int
    usage: Usage

    def cost(self, prices: PriceTable) -> float | None:
        """What it costs at most, thinking included; None where the price is not known."""
        price = price_of(self.model, prices)
        thinking = self.calls * reasoning_reserve(self.model)
        used = Usage(self.usage.prompt_tokens, self.usage.completion_tokens + thinking)
        return None if price is None else price.of(used)


def plan_table(documents: Sequence[Document], design: Design, prices: PriceTable) -> Table:
    """What there is to do, and what it may cost."""
    about = (
        "Each item is one query put to one model. How many key facts there are, and how many sentences an answer has,"
        " is not known before: validation and judging come to about so much, the rest to so much at most."
    )
    return table_of([step for document in documents for step in _steps(document, design)], about, prices)


def table_of(steps: Sequence[Step], about: str, prices: PriceTable) -> Table:
    """The steps with their sum. `about` says what an item is."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(one.document, one.name, one.model.model, one.times, one.calls),
            *(one.usage.prompt_tokens, one.usage.completion_tokens, one.cost(prices)),
        )
        for one in steps
    ]
    costs = [step.cost(prices) for step in steps]
    total = None if None in costs else sum(cost or 0.0 for cost in costs)
    sums = [sum(step.calls for step in steps)]
    sums += [sum(step.usage.prompt_tokens for step in steps), sum(step.usage.completion_tokens for step in steps)]
    return Table(
        "plan",
        "What it comes to",
        f"{about} Replies that must be asked for again come on top, and so do those in which a model thinks; their"
        " price is in USD.",
        "Nothing was asked and nothing stored; what is known already costs nothing.",
        ("document", "step", "model", "times", "calls", "prompt tokens", "reply tokens", "USD"),
        (*rows, ("total", "", "", None, *sums, total)),
    )


def _steps(document: Document, design: Design) -> Iterator[Step]:
    order = design.building()
    grown = forecast(prepare(document, design.judging()), order)
    trees = next(stage.calls for stage in grown.stages if stage.name == _TREES)
    staff = under_settings(hire(resolve(design.judging()), order.judging, Limits(), None))
    judge = staff["judge"]
    for settings, by in ((judge, "judge"), (staff["validator"], "validator")):
        found = Forecast(tuple(stage for stage in grown.stages if stage.by == by))
        name = KEYFACTS if by == "judge" else f"{KEYFACTS}: validation"
        yield Step(document.title, name, settings, 1, found.calls, _usage(found))
    queries = min(design.queries or trees, trees)
    verdict = Evaluate(judging=Judging(metrics=_VERDICTS, perspective=design.perspective))
    for model in design.models:
        prepared = prepare(document, design.drafting(model, QUERY))
        it, times = prepared.plan, queries
        used = Usage(times * it.prompt_tokens, times * it.completion_tokens)
        yield Step(document.title, DRAFTING, prepared.settings, times, times * it.calls, used)
        stages = forecast(prepared, Order(verdict)).stages
        found = Forecast(tuple(stage for stage in stages if stage.name in _VERDICTS))
        yield Step(document.title, f"{JUDGING} {model}", judge, times, times * found.calls, _usage(found, times))


def _usage(found: Forecast, times: int = 1) -> Usage:
    return Usage(times * found.prompt_tokens, times * found.completion_tokens)
