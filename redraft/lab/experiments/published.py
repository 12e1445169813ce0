"""Stored and published results of experiments, read from `tables.json`, and their page as one HTML file. All of it is
untrusted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, model_validator

from redraft.errors import UsageError
from redraft.lab.experiments.pictures import draw_pictures
from redraft.lab.verdict import verdict
from redraft.report.pages.formatting import ReportRow, ShownTable, assets, environment
from redraft.report.tables import Cell, Report, Table, drop_repeats, without_marks
from redraft.sources import MAX_BYTES, read_file
from redraft.text.sanitizer import one_line
from redraft.text.words import count

TABLES = "tables.json"
TEMPLATES = "redraft.lab.studio"
"""The package with the templates of the page."""
_STYLES, _SCRIPT = ("base.css", "report.css"), "report.js"
_HINT = "write results with redraft experiment NAME -o DIR"
_LARGEST, _TITLE = 2**63, 80
_UNDRAWN = "No picture: this table has a different form than its picture needs."


def _cell(value: object) -> Cell:
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise ValueError("a text, a number or null was expected")
    if isinstance(value, int | float) and (not math.isfinite(value) or abs(value) >= _LARGEST):
        raise ValueError("the number is too large, or not a number")
    return value


def _text(text: str) -> str:
    return without_marks(one_line(text))


class StoredTable(BaseModel):
    """A table as stored, each row a mapping by column name."""

    model_config = ConfigDict(strict=True)
    name: str
    title: str = ""
    caption: str = ""
    basis: str = ""
    columns: tuple[str, ...]
    rows: tuple[dict[str, Annotated[Cell, PlainValidator(_cell)]], ...]

    @model_validator(mode="after")
    def _fits(self) -> StoredTable:
        if len({*self.columns}) < len(self.columns):
            raise ValueError("two columns have the same name")
        for number, row in enumerate(self.rows):
            if unknown := row.keys() - {*self.columns}:
                raise ValueError(f"row {number} has {sorted(unknown)[0]!r}, which is not a column")
        return self

    def table(self) -> Table:
        """Return the table; a cell missing from a row was not measured."""
        cells = [[row.get(name) for name in self.columns] for row in self.rows]
        rows = tuple(tuple(one_line(cell) if isinstance(cell, str) else cell for cell in row) for row in cells)
        name, title, caption, basis = map(_text, (self.name, self.title or self.name, self.caption, self.basis))
        return Table(name, title, caption, basis, tuple(map(one_line, self.columns)), rows)


class StoredResults(BaseModel):
    """The content of `tables.json`. Older files have no title; items, as in the output of `--json`, are ignored."""

    model_config = ConfigDict(strict=True)
    experiment: str = ""
    title: str = ""
    about: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    settings: dict[str, Any] = {}
    tables: tuple[StoredTable, ...]


@dataclass(frozen=True, slots=True)
class Results(Report):
    """The results of an experiment as they are shown."""

    place: str = ""
    """The path they were read from, as the reader gave it."""
    shown: tuple[ShownTable, ...] = ()
    letter: str = ""
    """What names them on a page."""


def read_results(places: Iterable[str]) -> list[Results]:
    """Return the results at some paths: a folder with `tables.json`, a folder of such folders, or the file itself."""
    results = []
    for place in places:
        path = Path(place).expanduser()
        if not path.is_dir():
            results.append(read_file_of_results(path, place))
            continue
        folders = [path, *sorted(folder for folder in path.iterdir() if folder.is_dir())]
        files = [folder / TABLES for folder in folders if (folder / TABLES).is_file()]
        if not files:
            raise UsageError(f"there is no {TABLES} in it or in its folders", place=place, hint=_HINT)
        for file in files:
            called = place if file.parent == path else f"{place.rstrip('/')}/{file.parent.name}"
            results.append(read_file_of_results(file, called))
    return results


def read_file_of_results(path: Path, called: str, rename: Callable[[Table], Table] = lambda table: table) -> Results:
    """Return the results in a file; `rename` gives the tables other names before pictures are drawn. An error names the
    file and the field."""
    try:
        stored = StoredResults.model_validate_json(read_file(path, MAX_BYTES))
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}", place=str(path), hint=_HINT) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field, problem = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
        message = f"{f'{field}: ' if field else ''}{problem[:1].lower()}{problem[1:]}"
        raise UsageError(f"these are not results of an experiment: {message}", place=str(path), hint=_HINT) from error
    about, headline = tuple(map(_text, stored.about)), tuple(map(_text, stored.headline))
    tables = [rename(table) for table in drop_repeats((table.table() for table in stored.tables), (*about, *headline))]
    shown = []
    for table in tables:
        try:
            charts = draw_pictures(stored.experiment, [table]).values()
            shown.append(ShownTable(table, tuple(chart.html() for chart in charts)))
        except Exception:  # noqa: BLE001 - a table from outside may lack anything, and can be read without a chart
            shown.append(ShownTable(table, undrawn=_UNDRAWN))
    title, better = _text(stored.title or stored.experiment or called), verdict(stored.experiment, tables)
    head = (one_line(stored.experiment), title, about, stored.settings, tuple(tables), (), headline, better)
    return Results(*head, one_line(called), tuple(shown))


class ReportSection(NamedTuple):
    """All results of one experiment; tables of the same name are side by side."""

    anchor: str
    title: str
    sets: tuple[Results, ...]
    lines: tuple[ReportRow, ...]


def report_page(results: Sequence[Results]) -> str:
    """Return the page, with its styles, its script and its data."""
    report_sections, tables = sections(results), [table for of_one in results for table in of_one.shown]
    pictures = count(sum(len(table.pictures) for table in tables), "picture")
    template = environment(TEMPLATES).get_template("report.html")
    return template.render(
        sections=report_sections,
        assets=assets(_STYLES, _SCRIPT),
        title=", ".join(section.title for section in report_sections),
        line=f"{count(len(results), 'set')} of results, {count(len(tables), 'table')}, {pictures}",
    )


def sections(results: Sequence[Results]) -> tuple[ReportSection, ...]:
    """Group the results by experiment, and their tables by name."""
    by_name: dict[str, list[Results]] = {}
    for at, of_one in enumerate(results):
        letter = ascii_uppercase[at] if at < len(ascii_uppercase) else f"{at + 1}"
        by_name.setdefault(of_one.name, []).append(replace(of_one, letter=letter))
    by_experiment = []
    for at, sets in enumerate(by_name.values(), 1):
        tables: dict[str, list[tuple[Results, ShownTable]]] = {}
        for of_one in sets:
            for table in of_one.shown:
                tables.setdefault(table.table.name, []).append((of_one, table))
        rows = []
        for number, same_name in enumerate(tables.values(), 1):
            anchor, title = f"e{at}-t{number}", one_line(same_name[0][1].table.title)
            panels = (replace(table, experiment=of_one.name, letter=of_one.letter) for of_one, table in same_name)
            rows.append(ReportRow(anchor, title, tuple(panels)))
        by_experiment.append(ReportSection(f"e{at}", one_line(sets[0].title, _TITLE), tuple(sets), tuple(rows)))
    return tuple(by_experiment)
