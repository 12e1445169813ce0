"""Stored and published results of experiments, read from `tables.json`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, model_validator

from redraft.errors import UsageError
from redraft.lab.experiments.pictures import draw_pictures
from redraft.lab.experiments.report_page import Results
from redraft.lab.verdict import verdict
from redraft.report.pages.tables import ShownTable
from redraft.report.tables import Cell, Table, drop_repeats, without_marks
from redraft.sources import MAX_BYTES, read_file
from redraft.text.sanitizer import one_line

TABLES = "tables.json"
_HINT = "write results with redraft experiment NAME -o DIR"
_LARGEST = 2**63
_UNDRAWN = "No picture: this table has a different form than its picture needs."


def _cell(value: object) -> Cell:
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise ValueError("a text, a number or null was expected")
    if isinstance(value, int | float) and (not math.isfinite(value) or abs(value) >= _LARGEST):
        raise ValueError("the number is too large, or not a number")
    return value


def _said(text: str) -> str:
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
        name, title, caption, basis = map(_said, (self.name, self.title or self.name, self.caption, self.basis))
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


def read_results(places: Iterable[str]) -> list[Results]:
    """Return the results at some paths: a folder with `tables.json`, a folder of such folders, or the file itself."""
    return [read_file_of_results(file, called) for place in places for file, called in _files(place)]


def _files(place: str) -> Iterator[tuple[Path, str]]:
    """Yield the result files at a path, each with its display name."""
    path = Path(place).expanduser()
    if not path.is_dir():
        yield path, place
        return
    paths = [
        folder_path / TABLES
        for folder_path in (path, *sorted(folder_path for folder_path in path.iterdir() if folder_path.is_dir()))
    ]
    existing = [folder_path for folder_path in paths if folder_path.is_file()]
    if not existing:
        raise UsageError(f"there is no {TABLES} in it or in its folders", place=place, hint=_HINT)
    for folder_path in existing:
        yield folder_path, place if folder_path.parent == path else f"{place.rstrip('/')}/{folder_path.parent.name}"


def read_file_of_results(path: Path, called: str, rename: Callable[[Table], Table] = lambda table: table) -> Results:
    """Return the results in a file; `rename` gives the tables other names before pictures are drawn. An error names the
    file and the field."""
    try:
        stored = StoredResults.model_validate_json(read_file(path, MAX_BYTES))
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}", place=str(path), hint=_HINT) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        problem = first["msg"].removeprefix("Value error, ")
        raise UsageError(
            f"these are not results of an experiment: {f'{field}: ' if field else ''}{problem[:1].lower()}"
            f"{problem[1:]}",
            place=str(path),
            hint=_HINT,
        ) from error
    title = _said(stored.title or stored.experiment or called)
    about, headline = tuple(map(_said, stored.about)), tuple(map(_said, stored.headline))
    tables = [rename(table) for table in drop_repeats((table.table() for table in stored.tables), (*about, *headline))]
    shown_tables = tuple(_shown(stored.experiment, table) for table in tables)
    conclusion = verdict(stored.experiment, tables)
    name = one_line(stored.experiment)
    return Results(name, one_line(called), title, about, headline, stored.settings, shown_tables, conclusion)


def _shown(experiment: str, table: Table) -> ShownTable:
    try:
        pictures = tuple(chart.html() for chart in draw_pictures(experiment, [table]).values())
    except Exception:  # noqa: BLE001 - a table from outside may lack anything, and can be read without a chart
        return ShownTable(table, undrawn=_UNDRAWN)
    return ShownTable(table, pictures)
