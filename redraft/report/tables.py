"""Reports and tables: as text, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from redraft.report.plots.picture import Plot
from redraft.text.columns import columns, padded
from redraft.text.sanitizer import one_line

Cell = str | int | float | None
"""None is what was not measured: it is empty in CSV, null in JSON, and a dash in Markdown."""

_NOTHING = "–"
# A spreadsheet takes a cell that begins so for a formula, and would run what a document has as its title.
_FORMULA = re.compile(r"^\s*[=+\-@]")
_MARKUP = re.compile(r"([\\`*_|<>\[\]])")
_MARKED = re.compile(r"\\" + _MARKUP.pattern)
_LONGEST = 80
_LARGE = 100


@dataclass(frozen=True, slots=True)
class Table:
    """One table. The caption says how its numbers came about, and `basis` what they rest on."""

    name: str
    title: str
    caption: str
    basis: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def to_json(self) -> dict[str, object]:
        """The table for programs, each row by its columns' names."""
        return {
            "name": self.name,
            "title": self.title,
            "caption": self.caption,
            "basis": self.basis,
            "columns": list(self.columns),
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
        }

    def to_csv(self) -> str:
        """The table for spreadsheets, with nothing rounded away and no text that they would take for a formula."""
        return _csv([self.columns, *([in_csv(cell) for cell in row] for row in self.rows)])

    def to_markdown(self) -> str:
        """The table for people, in columns that are even as plain text too."""
        head = [
            self.columns,
            *([plain(cell) if isinstance(cell, str) else figure(cell) for cell in row] for row in self.rows),
        ]
        widths = [max(columns(row[at]) for row in head) for at in range(len(self.columns))]
        numeric = [all(not isinstance(row[at], str) for row in self.rows) for at in range(len(self.columns))]
        rule = ["-" * (width - right) + ":" * right for width, right in zip(widths, numeric, strict=True)]
        lines = [
            " | ".join(
                padded(cell, width, right=right) for cell, width, right in zip(row, widths, numeric, strict=True)
            )
            for row in (head[0], rule, *head[1:])
        ]
        body = "\n".join(f"| {line} |" for line in lines) if self.rows else "None."
        return f"## {self.title}\n\n{self.caption} {self.basis}\n\n{body}\n"


def plain(text: str) -> str:
    """Foreign text in Markdown: one line without markup, not too long."""
    return unmarked(one_line(text, _LONGEST))


def unmarked(text: str) -> str:
    """Foreign text in Markdown: one line without markup."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def without_marks(text: str) -> str:
    """Such a text where it is not read as Markdown."""
    return _MARKED.sub(r"\1", text)


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of those values that there are; None where there are none."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def in_csv(cell: Cell, *, lines: bool = False) -> Cell:
    """A cell for spreadsheets: a text is one line, unless it may have several, and none is taken for a formula."""
    if not isinstance(cell, str):
        return cell
    text = cell if lines else one_line(cell)
    return f"'{text}" if _FORMULA.match(text) else text


def figure(value: float | None) -> str:
    """A number at three decimals; a dash where there is none."""
    if value is None:
        return _NOTHING
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= _LARGE:
        return f"{value:,.1f}"
    shown = f"{value:.3f}"
    # What is there, if ever so little, is not nothing.
    return shown if float(shown) or not value else f"{value:.2g}"


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
    return _csv([list(map(in_csv, columns)), *([in_csv(row.get(name)) for name in columns] for row in rows)])


def _csv(rows: Sequence[Sequence[Cell]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
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


NO_PICTURES: Mapping[str, Plot] = {}


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an experiment for people and for programs, the same to the byte whenever it is made again."""

    name: str
    title: str
    about: tuple[str, ...]
    """What was compared, and how far it came, a line each."""
    settings: Mapping[str, object]
    tables: tuple[Table, ...]
    items: Sequence[Mapping[str, object]]
    headline: tuple[str, ...] = ()
    """What matters, in ten lines at most: what is shown where the tables themselves go to files."""

    def to_json(self) -> dict[str, object]:
        """All of it."""
        return {
            "experiment": self.name,
            "settings": dict(self.settings),
            "tables": [table.to_json() for table in self.tables],
            "items": list(self.items),
        }

    def to_markdown(self) -> str:
        """The report, with its tables at three decimals."""
        head = "\n".join((f"# {self.title}\n", *(f"- {line}" for line in self.about)))
        return "\n".join((f"{head}\n", *(table.to_markdown() for table in self.tables)))

    def brief(self) -> str:
        """What matters: the title and the headline, or what it is about where there is none."""
        return "\n".join((f"# {self.title}\n", *(f"- {line}" for line in self.headline or self.about))) + "\n"

    def files(self, pictures: Mapping[str, Plot] = NO_PICTURES) -> dict[str, str]:
        """The files by name, with pictures that were drawn from the tables."""
        tables = [table.to_json() for table in self.tables]
        told = {"title": self.title, "about": list(self.about), "headline": list(self.headline)}
        content = {"experiment": self.name, **told, "settings": dict(self.settings), "tables": tables}
        return {
            **{f"{table.name}.csv": table.to_csv() for table in self.tables},
            **{f"{name}.svg": plot.picture().file() for name, plot in pictures.items()},
            "items.json": _json(list(self.items)),
            "items.jsonl": items_jsonl(self.items),
            "items.csv": items_csv(self.items),
            "tables.json": _json(content),
            "report.md": self.to_markdown(),
        }


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
