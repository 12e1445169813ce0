"""The pictures of a comparison: what contestants differ by, what that costs, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup

from redraft.report.dossier.comparison.contents import ComparedRuns, FifthDifference, RunsBeside
from redraft.report.pages.comparison_tables import measure_said, metrics
from redraft.report.pages.formatting import capitalized, spaced
from redraft.report.plots.costs import CostPoint as Priced
from redraft.report.plots.costs import ScoreAgainstCost
from redraft.report.plots.curves import Curve, Densities
from redraft.report.plots.differences import Differences, PlottedDifference
from redraft.report.plots.figure import figure
from redraft.report.plots.picture import Plot
from redraft.report.plots.shares import ShareBar, Shares

# Pictures of more pairs than that say less than the tables do.
_MOST_PAIRS = 6


class ComparisonPictures(NamedTuple):
    """By part of the page."""

    scores: tuple[Markup, ...]
    costs: tuple[Markup, ...]
    places: tuple[Markup, ...]


def pictures(beside: RunsBeside) -> ComparisonPictures:
    """What there is to draw of a comparison."""
    return ComparisonPictures(
        _drawn("score", _of_scores(beside)), _drawn("cost", _of_costs(beside)), _drawn("place", _of_places(beside))
    )


def _drawn(prefix: str, plots: Iterator[Plot]) -> tuple[Markup, ...]:
    # What a picture says of others it escapes itself.
    return tuple(Markup(figure(plot, f"{prefix}-{at}")) for at, plot in enumerate(plots))  # noqa: S704


def _of_scores(beside: RunsBeside) -> Iterator[Plot]:
    names = {one.letter: _named(one) for one in beside.contestants}
    drawn = [one for one in beside.differences if one.interval is not None]
    for first, second in list(dict.fromkeys((one.first, one.second) for one in drawn))[:_MOST_PAIRS]:
        rows = [
            PlottedDifference(
                spaced(one.metric),
                one.difference,
                one.interval.low if one.interval else None,
                one.interval.high if one.interval else None,
                one.pairs,
            )
            for one in drawn
            if (one.first, one.second) == (first, second)
        ]
        yield Differences(rows, names[first], names[second], "score", f"Paired differences, {first} minus {second}")


def _named(one: ComparedRuns) -> str:
    return f"{one.letter}: {one.label}"


def _of_costs(beside: RunsBeside) -> Iterator[Plot]:
    """By metric the score against money, or against tokens where nothing that was used has a price."""
    priced = any(one.cost_usd for one in beside.contestants)
    said = "cost of a run, in US dollars" if priced else "tokens of a run, since none of it has a price"
    if not any(_cost(one, priced=priced) for one in beside.contestants):
        return
    for metric in metrics(beside):
        told = [
            Priced(
                _named(one),
                _cost(one, priced=priced),
                found.mean,
                found.interval.low if found.interval else None,
                found.interval.high if found.interval else None,
            )
            for one in beside.contestants
            for found in one.scores
            if found.metric == metric
        ]
        yield ScoreAgainstCost(told, spaced(metric), said, f"{capitalized(spaced(metric))} against cost")


def _cost(one: ComparedRuns, *, priced: bool) -> float | None:
    return one.cost_usd if priced else one.tokens


def _of_places(beside: RunsBeside) -> Iterator[Plot]:
    traced = [run for run in beside.runs if run.positions]
    if len(beside.documents) == 1 and traced:
        names = {one.letter: _named(one) for one in beside.contestants}
        yield Densities([Curve(names[run.name], run.positions.density) for run in traced if run.positions])
        yield Shares([ShareBar(names[run.name], run.positions.thirds) for run in traced if run.positions])
    elif traced:
        parts = tuple(f"{20 * at} to {20 * at + 20} %" for at in range(5))
        splits = [ShareBar(_named(one), one.fifths) for one in beside.contestants if one.fifths]
        yield Shares(splits, parts, "Which fifth of their documents the summaries come from")
        yield from _fifths(beside)


def _fifths(beside: RunsBeside) -> Iterator[Plot]:
    names = {one.letter: _named(one) for one in beside.contestants}
    keys = list(dict.fromkeys((one.first, one.second, one.measure) for one in beside.fifths))
    for first, second, measure in keys[: 2 * _MOST_PAIRS]:
        rows = [
            _fifth(one) for one in beside.fifths if (one.first, one.second, one.measure) == (first, second, measure)
        ]
        title = f"{capitalized(measure_said(measure))}, {first} minus {second}"
        yield Differences(rows, names[first], names[second], "share" if measure == "share" else "score", title)


def _fifth(one: FifthDifference) -> PlottedDifference:
    low, high = (one.interval.low, one.interval.high) if one.interval else (None, None)
    return PlottedDifference(f"{20 * (one.fifth - 1)} to {20 * one.fifth} %", one.difference, low, high, one.pairs)
