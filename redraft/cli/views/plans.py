"""How a plan looks: what a command would do and cost at most, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import click

from redraft.cli.terminal import say
from redraft.cli.views.render import count, echo_json, in_words
from redraft.domain import Usage
from redraft.evaluators.forecasting import Role
from redraft.models.prices import PriceTable
from redraft.runs.forecast import Forecast, forecast
from redraft.runs.opening import price_of, reasoning_reserve
from redraft.runs.preparing import Order, Prepared, prepare
from redraft.runs.roles import located, under_name
from redraft.runs.staff import hire, under_settings
from redraft.runs.windows import known_window, with_windows
from redraft.settings import Judging, Limits, Settings, reads_prompts

_DONE = 0
_TIDIED = ("hierarchical", "incremental")


@dataclass(frozen=True, slots=True)
class _Spending:
    """What drafting and judging come to. `staff` are the settings of whoever does a stage; one judge stands for all."""

    prepared: Prepared
    forecast: Forecast
    staff: Mapping[Role, Settings]
    prices: PriceTable

    @property
    def calls(self) -> int:
        return self.prepared.plan.calls + self.forecast.calls

    @property
    def prompt_tokens(self) -> int:
        return self.prepared.plan.prompt_tokens + self.forecast.prompt_tokens

    @property
    def completion_tokens(self) -> int:
        return self.prepared.plan.completion_tokens + self.forecast.completion_tokens

    @property
    def reasoning(self) -> int:
        return sum(calls * reasoning_reserve(settings) for settings, calls, _ in self._parts())

    def cost(self, *, with_reasoning: bool) -> float | None:
        total = 0.0
        for settings, calls, usage in self._parts():
            price = price_of(settings, self.prices)
            if calls and price is None:
                return None
            if price is not None:
                thinking = calls * reasoning_reserve(settings) if with_reasoning else 0
                total += price.of(Usage(usage.prompt_tokens, usage.completion_tokens + thinking))
        return total

    def _parts(self) -> Iterator[tuple[Settings, int, Usage]]:
        """Drafting, and each stage of judging: under which settings, how many calls, and what they use."""
        it = self.prepared.plan
        yield self.staff["writer"], it.calls, Usage(it.prompt_tokens, it.completion_tokens)
        for stage in self.forecast.stages:
            yield self.staff[stage.by], stage.calls, Usage(stage.prompt_tokens, stage.completion_tokens)


def show_plan(
    source: str, settings: Settings, order: Order, prices: PriceTable, limits: Limits, *, as_json: bool
) -> int:
    """Print to stdout what a command would do."""
    settings = order.settled(settings)
    if order.judging is not None:
        there = located(order.judging, settings, order.refinement)
        order = replace(order, purpose=order.purpose.model_copy(update={"judging": there}))
    # Nobody is asked, a server for its window neither.
    settings, order, notes = with_windows(settings, order, known_window)
    prepared, judging = prepare(source, settings, given=order.given), order.judging
    # What a limit of cost would refuse is shown all the same.
    hired = hire(prepared.settings, judging, Limits(), prices, refinement=order.refinement)
    spending = _Spending(prepared, forecast(prepared, order), under_settings(hired), prices)
    if as_json:
        echo_json(_plan_json(spending, order))
        return _DONE
    for warning in (*prepared.warnings, *notes):
        say(f"note: {warning}")
    rows = [*_what(spending, order), *_how_much(spending, limits.concurrency)]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}} {value}")
    click.echo("\nReplies that must be asked for again come on top.")
    return _DONE


def _what(spending: _Spending, order: Order) -> list[tuple[str, str]]:
    prepared = spending.prepared
    it, settings = prepared.plan, prepared.settings
    rows = [
        ("document", f"{prepared.document.title}: {it.document_words:,} words, {it.document_tokens:,} tokens"),
        ("model", f"{settings.model}, window {settings.context_tokens:,} tokens, tokens by {prepared.tokenizer.name}"),
    ]
    if it.calls:
        rows += [
            ("strategy", f"{it.strategy}, at most {it.words} words"),
            ("chunks", f"{it.chunks} of at most {settings.chunk_budget:,} tokens"),
            *_levels(prepared),
        ]
    if order.judging and order.judging.judges:
        rows.append(("judges", ", ".join(_roomy(one, order.judging, settings) for one in order.judging.judges)))
    if order.judging and order.judging.validator:
        rows.append(("validator", _roomy(order.judging.validator, order.judging, settings)))
    if order.judging and order.refinement and order.refinement.decider:
        rows.append(("decider", _roomy(order.refinement.decider, order.judging, settings)))
    if order.refinement:
        goals = ", ".join(f"{metric} {least:g}" for metric, least in order.refinement.goals.items())
        rows.append(("goals", f"{goals}; at most {count(order.refinement.rounds, 'revision')}"))
    return rows + [
        (
            one.name,
            f"{_bound(one.about)} {count(one.calls, 'call')}, {one.prompt_tokens:,} in, {one.completion_tokens:,} out",
        )
        for one in spending.forecast.stages
    ]


def _roomy(name: str, judging: Judging, settings: Settings) -> str:
    """Somebody who judges or decides, with the window that they have."""
    it = under_name(name, settings, judging)
    window = f", window {it.context_tokens:,} tokens" if reads_prompts(it.model) else ""
    return f"{in_words(name, judging)}{window}"


def _how_much(spending: _Spending, concurrency: int) -> list[tuple[str, str]]:
    reasoning = spending.reasoning
    bound = _bound(spending.forecast.about)
    at_most = f"{bound} " if spending.forecast.calls or spending.prepared.plan.compressions else ""
    tokens = f"{bound} {spending.prompt_tokens:,} in, {spending.completion_tokens:,} out"
    return [
        ("calls", f"{at_most}{spending.calls:,}, up to {concurrency} at once"),
        ("tokens", f"{tokens}, and {reasoning:,} to reason" if reasoning else tokens),
        ("cost", _cost_line(spending)),
    ]


def _bound(about: bool) -> str:
    return "about" if about else "at most"


def _cost_line(spending: _Spending) -> str:
    most, plain = spending.cost(with_reasoning=True), spending.cost(with_reasoning=False)
    if most is None:
        return "unknown (give the model's price with --prices)"
    if not most:
        return "none"
    thinking = f", of which ${plain:.4f} without any reasoning" if spending.reasoning else ""
    return f"{_bound(spending.forecast.about)} ${most:.4f}{thinking}"


def _levels(prepared: Prepared) -> list[tuple[str, str]]:
    plan = prepared.plan
    # What a strategy asks when its pieces are there.
    after = plan.calls - plan.compressions - sum(level.pieces for level in plan.levels)
    tidying = [("tidying", count(after, "call"))] if after > 0 and plan.strategy in _TIDIED else []
    if plan.compressions:
        return [("compressing", f"at most {count(plan.compressions, 'call')}"), *tidying]
    if plan.strategy != "hierarchical":
        return tidying
    return [
        (f"level {number}", f"{count(level.pieces, 'merge' if number else 'summary')} of at most {level.words} words")
        for number, level in enumerate(plan.levels)
    ] + tidying


def _plan_json(spending: _Spending, order: Order) -> dict[str, object]:
    prepared, it = spending.prepared, spending.prepared.plan
    return {
        "source": {
            "id": prepared.document.id,
            "title": prepared.document.title,
            "tokens": it.document_tokens,
            "words": it.document_words,
            "chunks": it.chunks,
        },
        "model": prepared.settings.model,
        "judges": list(order.judging.judges or (prepared.settings.model,)) if order.judging else [],
        "validator": spending.staff["validator"].model if order.judging else None,
        "tokenizer": prepared.tokenizer.name,
        **{name: value for name, value in asdict(it).items() if not name.startswith("document_")},
        "stages": [asdict(stage) for stage in spending.forecast.stages],
        "calls": spending.calls,
        "prompt_tokens": spending.prompt_tokens,
        "completion_tokens": spending.completion_tokens,
        "reasoning_tokens": spending.reasoning,
        "cost_usd": spending.cost(with_reasoning=True),
        "warnings": list(prepared.warnings),
    }
