"""Tables on pages: rounded for people, with their pictures, and as files with all their rows."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from markupsafe import Markup

from redraft.report.tables import Table, figure

_MAX_ROWS = 300
_FILE_NAME = re.compile(r"[^a-z0-9-]+")
_FILE, _DIGITS = 60, 2


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table with the pictures drawn from it, or the reason why expected ones are missing."""

    table: Table
    pictures: tuple[Markup, ...] = ()
    undrawn: str = ""
    addresses: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Where cells lead to, by row and column."""


class ReportPanel(NamedTuple):
    """A table of one set of results, as the page shows it."""

    anchor: str
    letter: str
    shown: ShownTable
    rows: list[list[str]]
    """The rows on the page, with numbers rounded."""
    numeric: list[bool]
    """Whether each column has only numbers."""
    file: str
    """The name of the file with all rows."""
    data: str
    """That file as an address."""


def report_panel(anchor: str, letter: str, experiment: str, shown_table: ShownTable) -> ReportPanel:
    """Return a table as the page shows it, with the file of its rows."""
    table = shown_table.table
    rows = table.rows[:_MAX_ROWS]
    names = (_FILE_NAME.sub("-", name.lower()).strip("-") for name in (experiment, table.name))
    return ReportPanel(
        anchor,
        letter,
        shown_table,
        [[cell if isinstance(cell, str) else figure(cell, _DIGITS) for cell in row] for row in rows],
        [not any(isinstance(cell, str) for cell in column) for column in zip(*rows, strict=True)],
        f"{'-'.join(name[:_FILE] or 'table' for name in names)}.csv",
        f"data:text/csv;charset=utf-8;base64,{base64.b64encode(table.to_csv().encode()).decode()}",
    )


class ReportRow(NamedTuple):
    """The tables of the same name from all sets of results, side by side."""

    anchor: str
    title: str
    panels: tuple[ReportPanel, ...]


def report_rows(experiment: str, tables: Iterable[Table]) -> tuple[ReportRow, ...]:
    """Return the tables of one set of results, each on a row of its own."""
    return tuple(
        ReportRow(f"t{at}", table.title, (report_panel(f"t{at}-1", "", experiment, ShownTable(table)),))
        for at, table in enumerate(tables, 1)
    )
