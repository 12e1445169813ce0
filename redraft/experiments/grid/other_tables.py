"""The tables of a grid about what it takes, and about what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.domain import Totals
from redraft.experiments.grid.counting import basis
from redraft.experiments.grid.records import GridOutcome, Judged
from redraft.reports.tables import Cell, Table, mean


def cost_table(outcome: GridOutcome) -> Table:
    """What a summary of each contestant takes, and what judging it took."""
    rows: list[tuple[Cell, ...]] = []
    for one in outcome.contestants:
        own = [it.taken for it in outcome.summaries if it.contestant == one.name and it.taken is not None]
        if one.settings is not None:
            rows.append((f"summaries by {one.name}", len(own), *_means(own), *_sums(own)))
    if outcome.built is not None:
        rows.append(("what summaries are judged by", None, None, None, None, None, *_sums([outcome.built])))
    rows += [
        (f"verdicts by {judge}", None, None, None, None, None, *_sums([taken]))
        for judge, taken in outcome.judging.items()
    ]
    rows.append(("all, each answer once", None, None, None, None, None, *_sums([outcome.whole])))
    return Table(
        "cost",
        "What it takes",
        "What a summary takes by itself, as if nothing had been known before: the means of one summary, then the sums."
        " A refined one has its first draft in it, and the verdicts that it was refined by. Verdicts on what two"
        " summaries share are asked once. Prices are in USD; where one is not known, neither is the cost.",
        basis(outcome),
        (
            *("what", "summaries", "calls each", "prompt tokens each", "reply tokens each", "USD each"),
            *("calls", "prompt tokens", "reply tokens", "USD"),
        ),
        tuple(rows),
    )


def _means(some: Sequence[Totals]) -> tuple[Cell, ...]:
    return (
        mean([one.calls for one in some]),
        mean([one.prompt_tokens for one in some]),
        mean([one.completion_tokens for one in some]),
        None if _unpriced(some) else mean([one.cost_usd for one in some]),
    )


def _sums(some: Sequence[Totals]) -> tuple[Cell, ...]:
    return (
        sum(one.calls for one in some),
        sum(one.prompt_tokens for one in some),
        sum(one.completion_tokens for one in some),
        None if _unpriced(some) else sum((one.cost_usd or 0.0 for one in some), 0.0),
    )


def _unpriced(some: Sequence[Totals]) -> bool:
    return any(one.cost_usd is None for one in some)


def failure_table(outcome: GridOutcome) -> Table:
    """What failed, and why."""
    rows: list[tuple[Cell, ...]] = [
        (one.title, "", "", one.part, one.failure.code, one.failure.message) for one in outcome.troubles
    ]
    rows += [
        (one.title, one.contestant, "", lost.stage, lost.code, lost.message)
        for one in outcome.summaries
        if (lost := one.failure) is not None
    ]
    for one in outcome.judged:
        rows += _of_verdicts(one)
    rows += [
        (one.title, f"{one.first} or {one.second}", one.judge, lost.stage, lost.code, lost.message)
        for one in outcome.preferred
        if (lost := one.failure) is not None
    ]
    missing = [one.status for one in outcome.judged] + [one.status for one in outcome.preferred]
    return Table(
        "failures",
        "What failed",
        "Repeat the command to try it again; what is done is not done again. A metric without a score has failed where"
        " too few verdicts were given.",
        f"{basis(outcome)} {missing.count('not made')} were not made.",
        ("document", "contestant", "judge", "stage", "code", "message"),
        tuple(rows),
    )


def _of_verdicts(one: Judged) -> Iterator[tuple[Cell, ...]]:
    """What went wrong with a summary before a judge: all of it, or one metric."""
    who = (one.summary.title, one.summary.contestant, one.judge)
    if one.failure is not None:
        yield (*who, one.failure.stage, one.failure.code, one.failure.message)
    for metric, found in one.scores.items():
        if found.outcome == "failed":
            yield (*who, metric, "no score", found.reason)
