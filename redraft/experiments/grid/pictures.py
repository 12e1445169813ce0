"""The pictures of a grid, drawn from its tables."""

from __future__ import annotations

import re

from redraft.experiments.cells import against_cost, named, number, pair_pictures, rows_of
from redraft.plots.grids import Grid, Grids
from redraft.plots.picture import Plot
from redraft.reports.tables import Cell, Table

_NO_NAME = re.compile(r"[^\w-]+")


def score_pictures(table: Table) -> dict[str, Plot]:
    """All scores at a glance, and each metric against what a summary costs."""
    metrics, contestants, judges = (_names(table, column) for column in ("metric", "contestant", "judge"))
    known = {(row["metric"], row["contestant"], row["judge"]): row for row in rows_of(table)}
    grids = [
        Grid(
            f"judged by {judge}",
            [[number(known[metric, one, judge]["score"]) for metric in metrics] for one in contestants],
        )
        for judge in judges
    ]
    drawn: dict[str, Plot] = {
        "scores": Grids(grids, contestants, metrics, "contestant", "metric", "mean score", "Scores by contestant")
    }
    for metric in metrics:
        own = [row for row in rows_of(table) if (row["metric"], row["judge"]) == (metric, judges[0])]
        if plot := against_cost(own, "contestant", "score", metric):
            drawn[f"cost_{_file(metric)}"] = plot
    return drawn


def difference_pictures(table: Table) -> dict[str, Plot]:
    """The paired differences of each two contestants by every metric, with their intervals; all judges together where
    there are several."""
    judge = _names(table, "judge")[-1] if table.rows else ""
    rows = [row for row in rows_of(table) if row["judge"] == judge]
    return pair_pictures("differences", rows, ["metric"], "difference", "documents", "score")


def preference_pictures(table: Table) -> dict[str, Plot]:
    """How far each two contestants are apart in what the first judge prefers, by aspect."""
    judge = _names(table, "judge")[0] if table.rows else ""
    rows = [row for row in rows_of(table) if row["judge"] == judge]
    return pair_pictures("preferences", rows, ["aspect"], "balance", "verdicts", "the shares that prefer them")


def summary_pictures(table: Table) -> dict[str, Plot]:
    """The score of every contestant on every document, by metric, with the holes where there is none."""
    at = table.columns.index("words") + 1
    metrics, judges = table.columns[at:], _names(table, "judge")
    documents, contestants = (_names(table, column) for column in ("document", "contestant"))
    known: dict[tuple[Cell, Cell], dict[str, Cell]] = {}
    for row in rows_of(table):
        if row["judge"] == judges[0]:
            known.setdefault((row["document"], row["contestant"]), row)
    grids = [
        Grid(
            metric,
            [[number(known.get((one, name), {}).get(metric)) for name in contestants] for one in documents],
        )
        for metric in metrics
    ]
    about = ("document", "contestant", "score", f"Scores by document, judged by {judges[0]}" if judges else "Scores")
    return {"documents": Grids(grids, documents, contestants, *about)}


def _names(table: Table, column: str) -> list[str]:
    return named(table, table.columns.index(column))


def _file(name: str) -> str:
    return _NO_NAME.sub("_", name)
