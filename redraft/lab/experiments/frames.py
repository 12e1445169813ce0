"""Records as table rows: filter, group and pair them, and reduce groups to means, intervals and totals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from statistics import fmean, stdev
from typing import Any, TypeVar

from redraft.domain import Totals
from redraft.evaluators.consensus import RESAMPLES
from redraft.evaluators.reference.keyfacts import ALL
from redraft.report.dossier.comparison.sides import LEAST, interval_of_mean
from redraft.report.tables import Cell, Table, mean

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
Row = tuple[Cell, ...]
Record = Mapping[str, Cell]
"""A row: cells by column name."""
ENDS = ("95% from", "95% to")
"""The columns of an interval."""
INTERVAL = (
    f"The interval contains 95 % of the means of {RESAMPLES:,} resamples of the documents{{}}; with fewer than"
    f" {LEAST} {{}}there is none."
)
SPENT = ("calls", "cached", "prompt_tokens", "completion_tokens")
"""The fields of `Totals` that cost tables show, besides the price."""


def where(items: Iterable[T], **wanted: object) -> list[T]:
    """Return the items whose attributes have these values; `ALL` matches any value."""
    names = [name for name, value in wanted.items() if value != ALL]
    return [item for item in items if all(getattr(item, name) == wanted[name] for name in names)]


def distinct(items: Iterable[object], name: str) -> list[Any]:
    """Return the distinct values of an attribute, in order of first occurrence."""
    return list(dict.fromkeys(map(attrgetter(name), items)))


def group_by(items: Iterable[T], *names: str) -> dict[Any, list[T]]:
    """Return the items grouped by the value of one or several attributes, in order of first occurrence."""
    found: dict[Any, list[T]] = {}
    key = attrgetter(*names)
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def with_all(names: Sequence[str], label: str) -> list[str]:
    """Return the names, and if there are several, a label for all of them together."""
    return [*names, label] if len(names) > 1 else list(names)


def paired(first: Mapping[K, V], second: Mapping[K, V]) -> list[tuple[K, V, V]]:
    """Return the keys that both mappings have, each with its two values."""
    return [(key, value, second[key]) for key, value in first.items() if key in second]


def ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the cells of `ENDS` for the mean of one value per document."""
    found = interval_of_mean(values)
    return (found.low, found.high) if found else (None, None)


def change(first: float | None, last: float | None) -> float | None:
    """Return the change in % of the first value."""
    return 100 * (last - first) / first if first and last is not None else None


def deviation(values: Sequence[float]) -> float | None:
    """Return the standard deviation; None for fewer than two values."""
    return stdev(values) if len(values) > 1 else None


def by_document(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the mean of each document's values, since an interval resamples whole documents."""
    found: dict[str, list[float]] = {}
    for document, value in values:
        found.setdefault(document, []).append(value)
    return {document: fmean(some) for document, some in found.items()}


def summed(some: Iterable[Totals | None], names: Sequence[str] = SPENT) -> Row:
    """Return the sums of some fields and of the price; the price is None if any price is unknown."""
    used = [one for one in some if one is not None]
    prices = _prices(used)
    return (*(sum(getattr(one, name) for one in used) for name in names), None if prices is None else sum(prices, 0.0))


def averaged(some: Iterable[Totals | None], names: Sequence[str] = SPENT) -> Row:
    """Return the means of some fields and of the price; the price is None if any price is unknown."""
    used = [one for one in some if one is not None]
    return (*(mean([getattr(one, name) for one in used]) for name in names), mean(_prices(used) or ()))


def tokens_and_price(some: Iterable[Totals | None]) -> Row:
    """Return the mean of all tokens (prompt and reply) and the mean price."""
    used = [one for one in some if one is not None]
    return (mean([one.prompt_tokens + one.completion_tokens for one in used]), averaged(used, ())[-1])


def _prices(used: Sequence[Totals]) -> list[float] | None:
    """Return the prices; None if any is unknown."""
    known = [one.cost_usd for one in used if one.cost_usd is not None]
    return known if len(known) == len(used) else None


def records_of(table: Table) -> list[Record]:
    """Return the rows of a table as records by column name."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def melted(table: Table, columns: Sequence[str]) -> list[Record]:
    """Return one record per row and given column, with the cell as `value` and the column's name as `column`."""
    records = records_of(table)
    return [{**one, "column": column, "value": one[column]} for one in records for column in columns]


def different(records: Iterable[Record], column: str) -> list[Cell]:
    """Return the distinct cells of a column, in order of first occurrence."""
    return list(dict.fromkeys(one[column] for one in records))


def number(cell: Cell) -> float | None:
    """Return the number in a cell; None if it is not a number."""
    return float(cell) if isinstance(cell, int | float) else None
