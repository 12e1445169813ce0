"""Sheets as people fill them in, and the tables that a command prints of them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.command import Completed

Rows = list[dict[str, str]]


def rows_of(path: Path) -> Rows:
    """The rows of a sheet."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, answer: Callable[[dict[str, str]], Mapping[str, str] | bool]) -> Rows:
    """Write what a person says of each row into a sheet: cells by column, or yes or no. Returns the rows."""
    rows = rows_of(path)
    for row in rows:
        says = answer(row)
        row |= {"person 1": "yes" if says else "no"} if isinstance(says, bool) else says
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def tables(done: Completed, code: int = 0) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table that a command has printed as JSON, by its name."""
    assert done.code == code, done.err
    return {table["name"]: table["rows"] for table in done.json["tables"]}
