"""Reading the cells of a table for its picture."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.plots.costs import Contestant, ScoreAgainstCost
from redraft.plots.differences import Difference, Differences
from redraft.plots.grids import Grid
from redraft.plots.picture import Plot
from redraft.reports.tables import Cell, Table

# Pictures of more pairs than that say less than the table does.
_MOST_PAIRS = 10


def rows_of(table: Table) -> list[dict[str, Cell]]:
    """The rows, each by its columns' names."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def named(table: Table, column: int) -> list[str]:
    """The different texts of a column, in the order in which they come first."""
    return list(dict.fromkeys(str(row[column]) for row in table.rows))


def number(cell: Cell) -> float | None:
    """The number in a cell; None where it has none."""
    return float(cell) if isinstance(cell, int | float) else None


def by_columns(table: Table, panel: str, row: str, columns: Sequence[str]) -> list[Grid]:
    """A panel for each text of one column, in it a row for each text of another, and in that the named columns."""
    at = {name: table.columns.index(name) for name in (panel, row, *columns)}
    known = {(str(one[at[panel]]), str(one[at[row]])): one for one in table.rows}
    rows = named(table, at[row])
    return [
        Grid(name, [[_value(known.get((name, other)), at[column]) for column in columns] for other in rows])
        for name in named(table, at[panel])
    ]


def _value(row: Sequence[Cell] | None, at: int) -> float | None:
    return None if row is None else number(row[at])


def pair_pictures(
    name: str, rows: Sequence[dict[str, Cell]], what: Sequence[str], value: str, pairs: str, measure: str
) -> dict[str, Plot]:
    """By how much each two contestants differ in what some columns name, with intervals: a picture for each two."""
    drawn: dict[str, Plot] = {}
    both = dict.fromkeys((str(row["first"]), str(row["second"])) for row in rows)
    for at, (first, second) in enumerate(list(both)[:_MOST_PAIRS], 1):
        marks = [
            Difference(
                ", ".join(str(row[column]) for column in what),
                number(row[value]),
                number(row["95% from"]),
                number(row["95% to"]),
                int(number(row[pairs]) or 0),
            )
            for row in rows
            if (row["first"], row["second"]) == (first, second)
        ]
        if any(mark.value is not None for mark in marks):
            drawn[f"{name}_{at}"] = Differences(marks, first, second, measure, f"{first} beside {second}")
    return drawn


def against_cost(rows: Sequence[dict[str, Cell]], who: str, score: str, metric: str) -> ScoreAgainstCost | None:
    """The scores of contestants against what a summary of theirs costs, in tokens where none has a price; None where
    none takes anything, or none has a score."""
    column = "USD each" if any(number(row["USD each"]) for row in rows) else "tokens each"
    if not any(number(row[column]) for row in rows) or all(number(row[score]) is None for row in rows):
        return None
    marks = [
        Contestant(
            str(row[who]),
            number(row[column]),
            number(row[score]),
            number(row.get("95% from")),
            number(row.get("95% to")),
        )
        for row in rows
    ]
    dollars, tokens = "cost of a summary, in US dollars", "tokens of a summary, since none of it has a price"
    said = dollars if column == "USD each" else tokens
    return ScoreAgainstCost(marks, metric, said, f"{metric} against cost")
