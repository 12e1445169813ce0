"""Results of experiments as a standalone HTML file: every table with its pictures and its data."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from redraft.report.dossier.comparison import letters
from redraft.report.pages.assets import assets, template
from redraft.report.tables import Table, figure
from redraft.text.sanitizer import one_line
from redraft.text.words import count

STYLES = ("plots.css", "base.css", "report.css")
SCRIPT = "report.js"
_MAX_ROWS = 300
_FILE_NAME = re.compile(r"[^a-z0-9-]+")
_TITLE, _FILE, _DIGITS = 80, 60, 2


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table with the pictures drawn from it, or the reason why expected ones are missing."""

    table: Table
    pictures: tuple[Markup, ...] = ()
    undrawn: str = ""


@dataclass(frozen=True, slots=True)
class Results:
    """The stored results of an experiment. All of them are untrusted."""

    experiment: str
    place: str
    """The path they were read from, as the reader gave it."""
    title: str
    about: tuple[str, ...]
    headline: tuple[str, ...]
    settings: Mapping[str, Any]
    tables: tuple[ShownTable, ...]
    verdict: str = ""


class ReportPanel(NamedTuple):
    """A table of one set of results, as the page shows it."""

    anchor: str
    letter: str
    experiment: str
    shown: ShownTable

    @property
    def rows(self) -> list[list[str]]:
        """The rows on the page, with numbers rounded."""
        rows = self.shown.table.rows[:_MAX_ROWS]
        return [[cell if isinstance(cell, str) else figure(cell, _DIGITS) for cell in row] for row in rows]

    @property
    def numeric(self) -> list[bool]:
        """Whether each column has only numbers."""
        columns = zip(*self.shown.table.rows[:_MAX_ROWS], strict=True)
        return [not any(isinstance(cell, str) for cell in column) for column in columns]

    @property
    def file(self) -> str:
        """The name of the file with all rows."""
        names = (_FILE_NAME.sub("-", name.lower()).strip("-") for name in (self.experiment, self.shown.table.name))
        return f"{'-'.join(name[:_FILE] or 'table' for name in names)}.csv"

    @property
    def data(self) -> str:
        """That file as an address."""
        content = base64.b64encode(self.shown.table.to_csv().encode()).decode()
        return f"data:text/csv;charset=utf-8;base64,{content}"


class ReportRow(NamedTuple):
    """The tables of the same name from all sets of results, side by side."""

    anchor: str
    title: str
    panels: tuple[ReportPanel, ...]


class ResultSet(NamedTuple):
    """A set of results."""

    letter: str
    results: Results


class ReportSection(NamedTuple):
    """All results of one experiment."""

    anchor: str
    title: str
    sets: tuple[ResultSet, ...]
    lines: tuple[ReportRow, ...]


def report_page(results: Sequence[Results]) -> str:
    """Return the page, with its styles, its script and its data."""
    report_sections = sections(results)
    tables = [table for of_one in results for table in of_one.tables]
    pictures = count(sum(len(table.pictures) for table in tables), "picture")
    return template("report.html").render(
        sections=report_sections,
        assets=assets(STYLES, SCRIPT),
        title=", ".join(section.title for section in report_sections),
        line=f"{count(len(results), 'set')} of results, {count(len(tables), 'table')}, {pictures}",
    )


def sections(results: Sequence[Results]) -> tuple[ReportSection, ...]:
    """Group the results by experiment; tables of the same name are side by side."""
    by_name: dict[str, list[ResultSet]] = {}
    for at, of_one in enumerate(results):
        by_name.setdefault(of_one.experiment, []).append(ResultSet(letters(at), of_one))
    return tuple(
        ReportSection(f"e{at}", one_line(sets[0].results.title, _TITLE), tuple(sets), tuple(_rows(f"e{at}", sets)))
        for at, sets in enumerate(by_name.values(), 1)
    )


def _rows(anchor: str, sets: Sequence[ResultSet]) -> Iterator[ReportRow]:
    """Yield the tables of each name."""
    tables: dict[str, list[tuple[ResultSet, ShownTable]]] = {}
    for result_set in sets:
        for table in result_set.results.tables:
            tables.setdefault(table.table.name, []).append((result_set, table))
    for at, same_name in enumerate(tables.values(), 1):
        panels = (
            ReportPanel(f"{anchor}-t{at}-{place}", result_set.letter, result_set.results.experiment, table)
            for place, (result_set, table) in enumerate(same_name, 1)
        )
        yield ReportRow(f"{anchor}-t{at}", one_line(same_name[0][1].table.title), tuple(panels))
