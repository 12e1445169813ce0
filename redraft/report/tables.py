"""Reports and tables: as text, Markdown, CSV and JSON, and in notebooks; and the base of report models, which take
fields from records and whose text is safe to show."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_serializer, field_validator
from rich.cells import cell_len

from redraft.domain import record_json
from redraft.errors import UsageError
from redraft.text.sanitizer import one_line

Line = Annotated[str, AfterValidator(one_line)]
"""Text on one line."""


class Entry(BaseModel):
    """A value of a contract."""

    model_config = ConfigDict(frozen=True)


Cell = str | int | float | None
"""None is a value that was not measured: empty in CSV, null in JSON, a dash in Markdown."""
Record = Mapping[str, Cell]
"""A row: cells by column name."""

_NOTHING = "–"
# Spreadsheets treat such a cell as a formula, and would run what a document has as its title.
_FORMULA = re.compile(r"^\s*[=+\-@]")
_MARKUP = re.compile(r"([\\`*_|<>\[\]])")
_MARKED = re.compile(r"\\" + _MARKUP.pattern)
_LONGEST, _LARGE = 80, 100


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The caption says how its numbers were obtained, and `basis` what they are based on."""

    name: str
    title: str
    caption: str
    basis: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def records(self) -> list[Record]:
        """The rows as records."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    @field_validator("rows", mode="before")
    @classmethod
    def _of_records(cls, rows: Sequence[Sequence[Cell] | Record], info: ValidationInfo) -> list[Sequence[Cell]]:
        columns = info.data.get("columns", ())
        return [[row.get(name) for name in columns] if isinstance(row, Mapping) else row for row in rows]

    @field_serializer("rows")
    def _as_records(self, _: object) -> list[Record]:
        return self.records

    def to_csv(self) -> str:
        """Return the table as CSV, unrounded and with no text that a spreadsheet treats as a formula."""
        written = io.StringIO()
        rows = ([in_csv(cell) for cell in row] for row in (self.columns, *self.rows))
        csv.writer(written, lineterminator="\n").writerows(rows)
        return written.getvalue()

    def to_markdown(self) -> str:
        """Return the table as Markdown, with columns that also align as plain text."""
        rows = [[plain(cell) if isinstance(cell, str) else figure(cell) for cell in row] for row in self.rows]
        numeric = [all(not isinstance(row[at], str) for row in self.rows) for at in range(len(self.columns))]
        body = aligned_rows([self.columns, *rows], numeric) if rows else "None."
        return f"## {self.title}\n\n{f'{self.caption} {self.basis}'.strip()}\n\n{body}\n"


def aligned_rows(rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """Return rows of Markdown as a table, the first of them as its head, with columns that also align as plain text;
    numeric columns are aligned to the right."""
    widths = [max(1, *(cell_len(without_marks(row[at])) for row in rows)) for at in range(len(rows[0]))]
    rule = ["-" * (width - right) + ":" * right for width, right in zip(widths, numeric, strict=True)]
    lines = (
        " | ".join(
            # The escapes are not seen where the text is plain, and Markdown ignores the width.
            spaces + cell if right else cell + spaces
            for cell, width, right in zip(row, widths, numeric, strict=True)
            for spaces in [" " * (width - cell_len(without_marks(cell)))]
        )
        for row in (rows[0], rule, *rows[1:])
    )
    return "\n".join(f"| {row} |" for row in lines)


def drop_repeats(tables: Iterable[Table], texts: Iterable[str]) -> Iterator[Table]:
    """Yield the tables, each without the part of its basis that is among `texts` or the basis of an earlier table."""
    repeated = list(texts)
    for table in tables:
        basis = table.basis
        for text in repeated:
            basis = basis.removeprefix(text).strip()
        yield replace(table, basis=basis)
        repeated.append(table.basis)


def plain(text: str) -> str:
    """Return untrusted text for Markdown: one line, escaped, and shortened in its middle, which keeps names apart."""
    return line(one_line(text, _LONGEST, middle=True))


def line(text: str, width: int = 0) -> str:
    """Return untrusted text for Markdown: one line, escaped, shortened to `width` if that is not 0."""
    return _MARKUP.sub(r"\\\1", one_line(text, width))


def without_marks(text: str) -> str:
    """Return such a text without the escapes, where it is not read as Markdown."""
    return _MARKED.sub(r"\1", text)


def number(cell: Cell) -> float | None:
    """Return the number in a cell; None if it is not a number."""
    return float(cell) if isinstance(cell, int | float) else None


def in_csv(cell: Cell, *, lines: bool = False) -> Cell:
    """Return a cell for spreadsheets: text is one line unless `lines` is set, and is never treated as a formula."""
    if not isinstance(cell, str):
        return cell
    text = cell if lines else one_line(cell)
    return f"'{text}" if _FORMULA.match(text) else text


def figure(value: float | None, digits: int = 3) -> str:
    """Return a number at three decimals, or as many as asked for, or a dash for None."""
    if value is None:
        return _NOTHING
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= _LARGE:
        return f"{value:,.1f}"
    text = f"{value:.{digits}f}"
    # A small value that is not zero must not be shown as zero.
    return text if float(text) or not value else f"{value:.2g}"


Item = Mapping[str, object]


def items_csv(items: Sequence[Item]) -> str:
    """Return the items as CSV, one row each. A nested value is named by its path, such as `usage.drafting.calls`.

    A list of plain values is one cell. A list of records is their number, with the number of those that are true in
    each field of yes or no, such as `facts.supported`. There is a column for every name that any item has.
    """
    rows = [dict(_flat(item)) for item in items]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    # A name that is empty in one item and has parts in others is a column only for its parts.
    parted = {name for name in columns if any(column.startswith(f"{name}.") for column in columns)}
    columns = [name for name in columns if name not in parted or any(row.get(name) is not None for row in rows)]
    cells = tuple(tuple(row.get(name) for name in columns) for row in rows)
    return Table("items", "", "", "", tuple(columns), cells).to_csv()


def _flat(item: Mapping[str, object], before: str = "") -> Iterator[tuple[str, Cell]]:
    """Yield the cells of an item by their paths."""
    for name, value in item.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
            continue
        yield f"{before}{name}", _cell(value)
        records = [record for record in value if isinstance(record, Mapping)] if isinstance(value, list | tuple) else []
        flags = dict.fromkeys(key for record in records for key, flag in record.items() if isinstance(flag, bool))
        yield from ((f"{before}{name}.{key}", sum(record.get(key) is True for record in records)) for key in flags)


def _cell(value: object) -> Cell:
    if isinstance(value, list | tuple):
        is_plain = all(isinstance(part, str | int | float | None) for part in value)
        return "; ".join("" if part is None else str(_cell(part)) for part in value) if is_plain else len(value)
    return json.dumps(value) if isinstance(value, bool) or not isinstance(value, str | int | float | None) else value


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an experiment for people and programs, identical to the byte whenever it is rebuilt."""

    name: Annotated[str, Field(serialization_alias="experiment")]
    title: str
    about: tuple[str, ...]
    """What was compared and how far the experiment got, one line each."""
    settings: Mapping[str, object]
    tables: tuple[Table, ...]
    items: Sequence[Mapping[str, object]]
    headline: tuple[str, ...] = ()
    """The main results in at most ten lines, shown where the tables themselves go to files."""
    verdict: str = ""
    """Which system is better, in one sentence; empty if no systems are compared."""

    def to_markdown(self) -> str:
        """Return the report as Markdown, with its tables at three decimals."""
        head, tables = replace(self, headline=()).brief(), drop_repeats(self.tables, self.about)
        return "\n".join((head, *(table.to_markdown() for table in tables)))

    def brief(self) -> str:
        """Return the title and the verdict with the headline, or with `about` if there is none."""
        lines = self.headline or self.about
        verdict = [f"{line(self.verdict)}\n"] if self.verdict else []
        return "\n".join((f"# {self.title}\n", *verdict, *(f"- {text}" for text in lines))) + "\n"

    def files(self) -> dict[str, str]:
        """Return the contents of the files by name."""
        content = record_json(self)
        items = content.pop("items")
        return {
            **{f"{table.name}.csv": table.to_csv() for table in self.tables},
            "items.json": f"{json.dumps(items, ensure_ascii=False, indent=2)}\n",
            "items.jsonl": "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in self.items),
            "items.csv": items_csv(self.items),
            "tables.json": f"{json.dumps(content, ensure_ascii=False, indent=2)}\n",
            "report.md": self.to_markdown(),
        }


def data_frame(rows: Iterable[Mapping[str, object]]) -> Any:
    """Return a data frame of pandas."""
    if find_spec("pandas") is None:
        raise UsageError("a data frame needs pandas, which is not installed", hint="pip install pandas")
    return import_module("pandas").DataFrame(rows)
