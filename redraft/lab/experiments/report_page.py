"""Results of experiments as a standalone HTML file: every table with its pictures and its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from redraft.report.dossier.comparison import letters
from redraft.report.pages.assets import assets, environment
from redraft.report.pages.tables import ReportPanel, ReportRow, ShownTable
from redraft.text.sanitizer import one_line
from redraft.text.words import count

STYLES = ("plots.css", "base.css", "report.css")
SCRIPT = "report.js"
TEMPLATES = "redraft.lab.studio"
"""The package with the templates of the page."""
_TITLE = 80


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
    return (
        environment(TEMPLATES)
        .get_template("report.html")
        .render(
            sections=report_sections,
            assets=assets(STYLES, SCRIPT),
            title=", ".join(section.title for section in report_sections),
            line=f"{count(len(results), 'set')} of results, {count(len(tables), 'table')}, {pictures}",
        )
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
