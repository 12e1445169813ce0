"""A sheet for people as a form: its columns, the answers to choose from, and the sheet with answers filled in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from redraft.errors import UsageError
from redraft.report.tables import in_csv
from redraft.text.sanitizer import one_line

ID, ASKED, PERSON = "id", "asked", "person"
CHOICES: Mapping[str, tuple[str, ...]] = {
    "annotations": ("agree", "partly", "disagree"),
    "preferences": ("1", "2", "tie"),
}
"""The answers to each kind of question."""
MARK_COLUMNS = ("span", "question", "types", "second span")
"""The columns of a sheet of marks that people fill in."""
AS_ABOVE = "(as above)"
"""In place of a text that is in a row above."""
_ABOVE = frozenset({"passage", "passages", "facts", "summary", "summary 1", "summary 2"})
"""The columns whose long texts are in the first of their rows only."""
_A_SHEET = "give a CSV file written by `redraft agree sheet`"


def unrepeated(rows: Iterable[Mapping[str, str]]) -> Iterator[list[str]]:
    """Yield the cells of what people see, without texts that are also in the row above."""
    above: Mapping[str, str] = {}
    for row in rows:
        again = {name for name in _ABOVE.intersection(row) if row[name] == above.get(name)}
        yield [AS_ABOVE if name in again else str(in_csv(text, lines=True)) for name, text in row.items()]
        above = row


def written_in(cell: str) -> str:
    """Return what a person wrote, without the mark that keeps a spreadsheet from reading it as a formula."""
    text = cell.strip()
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@") else text


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of any kind, as a page shows it."""

    kind: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]

    @property
    def answers(self) -> tuple[str, ...]:
        """The columns that people fill in."""
        persons = tuple(name for name in self.columns if name.lower().startswith(PERSON))
        return persons or tuple(name for name in self.columns if name in MARK_COLUMNS)

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers to choose from; none where people write."""
        return () if self.kind == "marks" else CHOICES.get(self.kind, ("yes", "no", "?"))


def sheet_of(text: str) -> Sheet:
    """Return a sheet that is given as text; raise if it is none."""
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    mark = max(",;\t", key=text.partition("\n")[0].count)
    csv.field_size_limit(10_000_000)
    read = csv.DictReader(lines, delimiter=mark)
    columns = tuple(read.fieldnames or ())
    try:
        rows = tuple({name: row.get(name) or "" for name in columns} for row in read)
    except csv.Error as error:
        raise UsageError(f"it is not a table: {error}", hint=_A_SHEET) from error
    kinds = {row[ID].split("/")[1] for row in rows if row.get(ID, "").count("/") == 2}
    sheet = Sheet(min(kinds, default=""), columns, rows)
    if len(kinds) != 1 or not sheet.answers:
        raise UsageError("it is not a sheet for people", hint=_A_SHEET)
    return sheet


def filled(sheet: Sheet, answers: Mapping[int, Mapping[str, str]]) -> str:
    """Return a sheet with answers filled in, by the number of the row and the name of the column."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(sheet.columns)
    for number, row in enumerate(sheet.rows):
        given = answers.get(number, {})
        said = {name: str(in_csv(one_line(text))) for name, text in given.items() if name in sheet.answers}
        writer.writerow([said.get(name, row[name]) for name in sheet.columns])
    return "\ufeff" + out.getvalue()
