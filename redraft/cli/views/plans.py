"""How a plan looks: what a command would do and cost at most, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from redraft.cli.terminal import say
from redraft.cli.views.render import count, echo_json, in_words
from redraft.domain import Document
from redraft.llm.prices import PriceTable
from redraft.runs.forecast import Spending, spending_of
from redraft.runs.models import under_name
from redraft.runs.prepare import Prepared, RunSpec
from redraft.settings import DraftConfig, JudgeConfig, Limits, reads_prompts
from redraft.text.cleaning import one_line

_DONE = 0
_TIDIED = ("hierarchical", "incremental")


def show_plan(
    source: str | Sequence[str] | Document,
    settings: DraftConfig,
    order: RunSpec,
    prices: PriceTable,
    limits: Limits,
    *,
    as_json: bool,
) -> int:
    """Print to stdout what a command would do."""
    spending = spending_of(source, settings, order, prices.for_jobs() if limits.provider_batch else prices)
    if as_json:
        echo_json(spending.to_json())
        return _DONE
    for note in spending.notes:
        say(f"note: {note}")
    rows = [*_what(spending), *_how_much(spending, limits)]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}} {value}")
    click.echo("\nReplies that must be asked for again come on top.")
    return _DONE


def _what(spending: Spending) -> list[tuple[str, str]]:
    prepared, order = spending.prepared, spending.order
    it, settings = prepared.plan, prepared.settings
    first = "the first " if settings.until is not None else ""
    rows = [
        ("document", f"{prepared.document.title}: {first}{it.document_words:,} words, {it.document_tokens:,} tokens"),
        ("model", f"{settings.model}, window {settings.context_tokens:,} tokens, tokens by {prepared.tokenizer.name}"),
    ]
    if spending.chapters:
        rows += [
            ("strategy", f"{settings.strategy} for each chapter, merged into at most {it.words} words"),
            *_chapters(spending),
            *_levels(prepared),
        ]
    elif it.calls:
        rows += [
            ("strategy", f"{it.strategy}, at most {it.words} words"),
            ("chunks", f"{it.chunks} of at most {settings.chunk_budget:,} tokens"),
            *_levels(prepared),
        ]
    for number, one in enumerate(spending.others, 2):
        rows.append(
            (f"draft {number}", f"{one.prepared.plan.strategy}, at most {count(one.prepared.plan.calls, 'call')}")
        )
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


def _chapters(spending: Spending) -> Iterator[tuple[str, str]]:
    """What each chapter comes to."""
    named = zip(spending.prepared.chapters, spending.chapters, strict=True)
    for number, (stretch, one) in enumerate(named, 1):
        it = one.prepared.plan
        what = f"at most {it.words} words of {it.document_words:,}, {count(one.calls, 'call')}"
        yield f"part {number}", f"{what}: {one_line(stretch.title, 60)}"


def _roomy(name: str, judging: JudgeConfig, settings: DraftConfig) -> str:
    """Somebody who judges or decides, with the window that they have."""
    it = under_name(name, settings, judging)
    window = f", window {it.context_tokens:,} tokens" if reads_prompts(it.model) else ""
    return f"{in_words(name, judging)}{window}"


def _how_much(spending: Spending, limits: Limits) -> list[tuple[str, str]]:
    reasoning = spending.reasoning
    bound = _bound(spending.forecast.about)
    at_most = f"{bound} " if spending.forecast.calls or spending.prepared.plan.compressions else ""
    tokens = f"{bound} {spending.prompt_tokens:,} in, {spending.completion_tokens:,} out"
    how = "in jobs of the provider's" if limits.provider_batch else f"up to {limits.concurrency} at once"
    return [
        ("calls", f"{at_most}{spending.calls:,}, {how}"),
        ("tokens", f"{tokens}, and {reasoning:,} to reason" if reasoning else tokens),
        ("cost", _cost_line(spending)),
    ]


def _bound(about: bool) -> str:
    return "about" if about else "at most"


def _cost_line(spending: Spending) -> str:
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
    asked = plan.levels[1:] if prepared.chapters else plan.levels
    after = plan.calls - plan.compressions - sum(level.pieces for level in asked)
    tidying = [("tidying", f"at most {count(after, 'call')}")] if after > 0 and plan.strategy in _TIDIED else []
    if plan.compressions:
        return [("compressing", f"at most {count(plan.compressions, 'call')}"), *tidying]
    if plan.strategy != "hierarchical":
        return tidying
    return [
        (f"level {number}", f"{count(level.pieces, 'merge' if number else 'summary')} of at most {level.words} words")
        for number, level in enumerate(plan.levels)
        if level in asked
    ] + tidying
