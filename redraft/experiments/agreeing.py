"""The picture of judges beside people, drawn from their table."""

from __future__ import annotations

from redraft.experiments.cells import named, number
from redraft.plots.curves import Reading
from redraft.plots.picture import Plot
from redraft.plots.trends import Trend, Trends
from redraft.reports.tables import Table

_RISK = ("coverage: share of the summaries that are judged", "risk: share of these that are judged wrongly")


def mistakes_by_coverage(table: Table) -> dict[str, Plot]:
    """How often each judge is wrong on the summaries of which it judges the most, on more of them, on all."""
    judge, coverage, risk = (table.columns.index(name) for name in ("judge", "coverage", "risk"))
    trends = []
    for name in named(table, judge):
        own = [(number(row[coverage]), number(row[risk])) for row in table.rows if str(row[judge]) == name]
        known = {at: said for at, said in own if at is not None and said is not None}
        trends.append(Trend(name, [Reading(at, said) for at, said in sorted(known.items())]))
    return {"risk": Trends(trends, *_RISK, "Mistakes on how much is judged")}
