"""The pictures of experiments, drawn from their tables."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.plots.grids import Grid, Grids
from redraft.plots.parts import Part, Parts
from redraft.reports.tables import Cell, Table


def recall_by_place(table: Table, level: str) -> Grids:
    """By perspective how much each model keeps of each fifth of the documents."""
    at = {name: table.columns.index(name) for name in ("perspective", "model", "position", level)}
    perspectives, models, places = (_named(table, at[name]) for name in ("perspective", "model", "position"))
    known = {(row[at["perspective"]], row[at["model"]], row[at["position"]]): row[at[level]] for row in table.rows}
    grids = [
        Grid(perspective, [[_number(known.get((perspective, model, place))) for place in places] for model in models])
        for perspective in perspectives
    ]
    return Grids(grids, models, places, "model", "place in the document", "recall of key facts", "Recall by place")


def scores_of_systems(table: Table) -> Parts:
    """The score of each system, with its interval, and with what was not judged."""
    at = {name: table.columns.index(name) for name in ("system", "score", "judged", "unjudged", "95% from", "95% to")}
    parts = [
        Part(
            str(row[at["system"]]),
            _number(row[at["score"]]),
            int(_number(row[at["judged"]]) or 0),
            int(_number(row[at["unjudged"]]) or 0),
            _number(row[at["95% from"]]),
            _number(row[at["95% to"]]),
        )
        for row in table.rows
    ]
    return Parts(parts, "share of sentences that do not confuse", "BooookScore by system")


def marks_by_size(table: Table, marks: Sequence[str]) -> Grids:
    """The marks of chunks of each size, by judge."""
    size, judge = table.columns.index("size"), table.columns.index("judge")
    columns = [table.columns.index(mark) for mark in marks]
    judges, sizes = _named(table, judge), _named(table, size)
    known = {(str(row[judge]), str(row[size])): row for row in table.rows}
    grids = [
        Grid(
            name,
            [
                [_number(known[name, one][column]) if (name, one) in known else None for column in columns]
                for one in sizes
            ],
        )
        for name in judges
    ]
    return Grids(grids, sizes, list(marks), "tokens of a chunk", "mark", "a mean mark from 1 to 5", "Marks by size")


def _named(table: Table, column: int) -> list[str]:
    return list(dict.fromkeys(str(row[column]) for row in table.rows))


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None
