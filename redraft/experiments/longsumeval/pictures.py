"""The pictures of LongSumEval's refinement, drawn from its tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redraft.experiments.cells import named, number
from redraft.plots.curves import Reading
from redraft.plots.differences import Difference, Differences
from redraft.plots.picture import Plot
from redraft.plots.trends import Trend, Trends
from redraft.reports.tables import Cell, Table

_NO_NAME = re.compile(r"[^\w-]+")
# More lines than that cannot be told apart.
_MOST_LINES = 8


def round_pictures(table: Table) -> dict[str, Plot]:
    """By metric where drafts stand after each round."""
    drawn: dict[str, Plot] = {}
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    for metric in named(table, table.columns.index("metric")):
        lines: dict[str, list[Reading]] = {}
        for row in rows:
            if row["metric"] == metric:
                cells = [number(row[name]) for name in ("score", "95% from", "95% to")]
                lines.setdefault(_line(row, rows), []).append(Reading(number(row["round"]) or 0.0, *cells))
        trends = [Trend(name, readings) for name, readings in list(lines.items())[:_MOST_LINES]]
        name = f"rounds_{_NO_NAME.sub('_', metric)}"
        drawn[name] = Trends(trends, "round", f"mean {metric} of the best drafts", f"{metric} by round")
    return drawn


def gain_pictures(table: Table) -> dict[str, Plot]:
    """What refining gains, on all summaries and on those that begin low, with intervals."""
    drawn: dict[str, Plot] = {}
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    lines = list(dict.fromkeys(_line(row, rows) for row in rows))[:_MOST_LINES]
    for at, line in enumerate(lines, 1):
        marks = [
            Difference(
                f"{row['metric']}, {row['subset']}",
                number(row["gain"]),
                number(row["95% from"]),
                number(row["95% to"]),
                int(number(row["documents"]) or 0),
            )
            for row in rows
            if _line(row, rows) == line
        ]
        title = f"What refining gains: {line}" if line else "What refining gains"
        drawn[f"gains_{at}"] = Differences(marks, "refined", "first drafts", "score", title)
    return drawn


def _line(row: dict[str, Cell], rows: Sequence[dict[str, Cell]]) -> str:
    """Whose drafts are refined by whom and how, as far as there are several."""
    parts = ("drafts by", "refined by", "thresholds", "order")
    told = [str(row[part]) for part in parts if len({other[part] for other in rows}) > 1]
    return "; ".join(dict.fromkeys(told)) or str(row["order"])
