"""Results of experiments as a standalone HTML file: every table with its pictures and its data."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, NamedTuple

from markupsafe import Markup

from redraft.report.pages.assets import assets, template
from redraft.report.tables import Table
from redraft.report.tables import figure as number
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
    table: Table
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: str
    figures: tuple[Markup, ...]
    undrawn: str
    file: str
    data: str
    size: str


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
    pictures = sum(len(panel.figures) for section in report_sections for line in section.lines for panel in line.panels)
    tables = sum(len(result.tables) for result in results)
    return template("report.html").render(
        sections=report_sections,
        assets=assets(STYLES, SCRIPT),
        title=", ".join(section.title for section in report_sections),
        line=f"{count(len(results), 'set')} of results, {count(tables, 'table')}, {count(pictures, 'picture')}",
    )


def sections(results: Sequence[Results]) -> tuple[ReportSection, ...]:
    """Group the results by experiment; tables of the same name are side by side."""
    by_name: dict[str, list[ResultSet]] = {}
    for at, one in enumerate(results):
        by_name.setdefault(one.experiment, []).append(ResultSet(_letter(at), one))
    return tuple(_section(f"e{at}", sets) for at, sets in enumerate(by_name.values(), 1))


def _letter(at: int) -> str:
    """Return the letter of an index: A, B ... Z, A2, B2 ..."""
    turn, place = divmod(at, len(ascii_uppercase))
    return f"{ascii_uppercase[place]}{turn + 1 if turn else ''}"


def _section(anchor: str, sets: Sequence[ResultSet]) -> ReportSection:
    names = dict.fromkeys(table.table.name for result_set in sets for table in result_set.results.tables)
    lines = tuple(_line(f"{anchor}-t{at}", name, sets) for at, name in enumerate(names, 1))
    return ReportSection(anchor, one_line(sets[0].results.title, _TITLE), tuple(sets), lines)


def _line(anchor: str, name: str, sets: Sequence[ResultSet]) -> ReportRow:
    found = [
        (result_set, table) for result_set in sets for table in result_set.results.tables if table.table.name == name
    ]
    panels = tuple(_panel(f"{anchor}-{at}", result_set, table) for at, (result_set, table) in enumerate(found, 1))
    return ReportRow(anchor, one_line(found[0][1].table.title), panels)


def _panel(anchor: str, one: ResultSet, shown: ShownTable) -> ReportPanel:
    table = shown.table
    rows = table.rows[:_MAX_ROWS]
    left = len(table.rows) - len(rows)
    said = f"{count(left, 'more row')} {'is' if left == 1 else 'are'} in the file." if left else ""
    return ReportPanel(
        anchor,
        one.letter,
        table,
        tuple(bool(rows) and not any(isinstance(row[at], str) for row in rows) for at in range(len(table.columns))),
        tuple(tuple(cell if isinstance(cell, str) else number(cell, _DIGITS) for cell in row) for row in rows),
        said,
        shown.pictures,
        shown.undrawn,
        f"{_file_name(one.results.experiment)}-{_file_name(table.name)}.csv",
        f"data:text/csv;charset=utf-8;base64,{base64.b64encode(table.to_csv().encode()).decode()}",
        count(len(table.rows), "row"),
    )


def _file_name(name: str) -> str:
    return _FILE_NAME.sub("-", name.lower()).strip("-")[:_FILE] or "table"
