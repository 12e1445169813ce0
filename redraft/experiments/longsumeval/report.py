"""The report of LongSumEval's refinement: its tables, its items, and what it is about."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.evaluators.goals import NOT_QUALITY
from redraft.experiments.longsumeval.records import RefinedOutcome
from redraft.experiments.longsumeval.tables import (
    ALL,
    basis,
    failure_table,
    gain_table,
    initial_table,
    order_table,
    round_table,
    threshold_table,
)
from redraft.reports.report import Report
from redraft.reports.tables import figure, plain
from redraft.settings import EXTRACTIVE

_MOST_LINES = 8


def longsumeval_report(outcome: RefinedOutcome) -> Report:
    """The report. The table of orders is left out where there is one."""
    design = outcome.design
    tables = [gain_table(outcome), initial_table(outcome), round_table(outcome), threshold_table(outcome)]
    tables += [order_table(outcome)] if len(design.orders) > 1 else []
    used = outcome.whole
    return Report(
        "longsumeval",
        "LongSumEval: refining by questions and answers",
        tuple(_about(outcome)),
        {
            "writers": {one.name: one.to_json() for one in design.writers},
            "judge": design.judge.name,
            "judging": design.judging.model_dump(mode="json", exclude={"judges", "models", "base_url"}),
            "thresholds": [dict(goals) for goals in design.thresholds],
            "orders": list(design.orders),
            "rounds": design.rounds,
            "low": design.lows,
            "documents": [{"id": document, "title": title} for document, title in outcome.documents],
            "taken": {
                "calls": used.calls,
                "prompt_tokens": used.prompt_tokens,
                "completion_tokens": used.completion_tokens,
                "cost_usd": used.cost_usd,
            },
        },
        (*tables, failure_table(outcome)),
        [one.to_json() for one in outcome.refined],
        tuple(_headline(outcome)),
    )


def _about(outcome: RefinedOutcome) -> Iterator[str]:
    design = outcome.design
    systems = "; ".join(plain(system) for system in dict.fromkeys(system for system, _ in outcome.groups))
    yield f"first drafts by: {systems}"
    yield f"refined by: {'; '.join(plain(one.name) for one in design.writers)}"
    own = " (its own drafts too)" if design.judge.name in {name for group in outcome.groups for name in group} else ""
    yield f"judged by: {plain(design.judge.name)}{own}"
    if design.judge.name == EXTRACTIVE and EXTRACTIVE in {one.name for one in design.writers}:
        yield NOT_QUALITY
    yield f"thresholds: {'; '.join(dict.fromkeys(way.thresholds for way in design.ways))}"
    yield f"order of the goals: {', '.join(design.orders)}"
    yield f"documents: {', '.join(plain(title) for _, title in outcome.documents)}"
    if strangers := design.ready.strangers:
        yield f"ready-made summaries of documents that do not take part: {strangers}"
    used = outcome.whole
    cost = "" if used.cost_usd is None else f", {figure(used.cost_usd)} USD"
    yield f"taken, each answer once: {used.calls:,} calls, {used.prompt_tokens + used.completion_tokens:,} tokens{cost}"
    yield basis(outcome)
    if outcome.stopped is not None:
        yield (
            f"stopped: {plain(outcome.stopped.message)}; what is there is below, and the same command with a higher"
            " limit goes on"
        )


def _headline(outcome: RefinedOutcome) -> Iterator[str]:
    """What refining gains on all summaries, and what is missing."""
    table = gain_table(outcome)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    told = [row for row in rows if row["subset"] == ALL]
    for row in told[:_MOST_LINES]:
        first, last, change = (row[name] for name in ("initial", "refined", "change %"))
        assert not isinstance(first, str)
        assert not isinstance(last, str)
        assert not isinstance(change, str)
        who = plain(str(row["drafts by"]))
        yield (
            f"{who}, {row['thresholds']}, {row['order']}: {row['metric']} {figure(first)} → {figure(last)}"
            f" ({figure(change)} %)"
        )
    yield basis(outcome)
