"""The items of an experiment as lines of JSON, and as a table for spreadsheets."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence

from redraft.reports.tables import Cell, in_csv

Item = Mapping[str, object]


def items_jsonl(items: Sequence[Item]) -> str:
    """Each item on a line of its own."""
    return "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in items)


def items_csv(items: Sequence[Item]) -> str:
    """Each item as a row. What stands within another thing is named after both: `usage.drafting.calls`.

    A list stands in one cell, as JSON. A column is there as soon as one item has it.
    """
    rows = [dict(_flat(item)) for item in items]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    # What is nothing in one item, and has parts in others, is a column only of its parts.
    columns = [name for name in columns if not _only_whole(name, columns, rows)]
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([in_csv(name) for name in columns])
    writer.writerows([in_csv(row.get(name)) for name in columns] for row in rows)
    return written.getvalue()


def _flat(item: Mapping[str, object], before: str = "") -> Iterator[tuple[str, Cell]]:
    for name, value in item.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", _cell(value)


def _cell(value: object) -> Cell:
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        return json.dumps(value, ensure_ascii=False)
    return value


def _only_whole(name: str, columns: Sequence[str], rows: Sequence[Mapping[str, Cell]]) -> bool:
    parted = any(other.startswith(f"{name}.") for other in columns)
    return parted and all(row.get(name) is None for row in rows)
