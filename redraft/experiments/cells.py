"""The rows of a table as tidy records, each cell by its column's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from redraft.reports.tables import Cell, Table

Record = Mapping[str, Cell]


def records_of(table: Table) -> list[Record]:
    """The rows, each by its columns' names."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def melted(table: Table, columns: Sequence[str]) -> list[Record]:
    """A record for each of some columns of each row: the cell as its `value`, the name of the column as `column`."""
    records = records_of(table)
    return [{**one, "column": column, "value": one[column]} for one in records for column in columns]


def different(records: Iterable[Record], column: str) -> list[Cell]:
    """The different cells of a column, in the order in which they come first."""
    return list(dict.fromkeys(one[column] for one in records))


def number(cell: Cell) -> float | None:
    """The number in a cell; None where it has none."""
    return float(cell) if isinstance(cell, int | float) else None
