"""A sheet for people, as CSV: what is asked of them with an empty column for each, and what they have written there."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from redraft.errors import UsageError
from redraft.lab.agreement.entries import content
from redraft.lab.agreement.people import FileProblem
from redraft.lab.agreement.sheets.questions import ASKED, KINDS, SheetRow, What
from redraft.report.reports.tables import in_csv
from redraft.text.cleaning import one_line

_ID, _ASKED, _PERSON = "id", "asked", "person"
_YES = frozenset({"yes", "y", "true", "1", "ja", "oui", "si", "sí"})
_NO = frozenset({"no", "n", "false", "0", "nein", "non"})
_UNSURE = frozenset({"", "?", "unsure", "cannot tell"})
_SHOWN = 40


def written(
    questions: Sequence[SheetRow], what: What, people: int, answers: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The sheet. What the judge has said is not in it, so that it sways nobody; no cell is taken for a formula.

    `answers` are those of the first person that are known already, by row.
    """
    names = list(questions[0].shown)
    persons = [f"{_PERSON} {n}" for n in range(1, people + 1)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([_ID, *names, _ASKED, *persons])
    asked = f"{ASKED[what]} (yes, no, or ? where you cannot tell)"
    for one in questions:
        shown = [in_csv(text, lines=True) for text in one.shown.values()]
        writer.writerow([one.id, *shown, asked, answers.get(one.id, ""), *[""] * (people - 1)])
    # Spreadsheets take a file without the mark for one in the encoding of the country.
    return "\ufeff" + out.getvalue()


@dataclass(frozen=True, slots=True)
class SheetAnswers:
    """What people have answered, by the id of the row: one answer for each column of each file."""

    what: What
    by_row: dict[str, list[bool | None]]
    troubles: tuple[FileProblem, ...]

    @property
    def runs(self) -> list[str]:
        """The runs that the rows are of."""
        return list(dict.fromkeys(name.partition("/")[0] for name in self.by_row))


def read_sheets(paths: Sequence[str]) -> SheetAnswers:
    """All sheets of some people together; a row that cannot be read is reported, and the others count."""
    by_row: dict[str, list[bool | None]] = {}
    troubles: list[FileProblem] = []
    columns = 0
    for path in paths:
        rows = list(_rows(path))
        persons = [name for name in (rows[0][1] if rows else {}) if name.lower().startswith(_PERSON)]
        if not persons:
            raise UsageError(
                "it has no column for a person's answers", place=path, hint="give a sheet of `agree sheet`"
            )
        for place, row in rows:
            found = by_row.setdefault(row.get(_ID, "").strip(), [])
            found += [None] * (columns - len(found)) + [_answer(row[name], place, troubles) for name in persons]
        columns += len(persons)
    named = {name.split("/")[1] if name.count("/") == 2 else "" for name in by_row}
    known: list[What] = [kind for kind in KINDS if kind in named]
    if len(known) != 1 or len(named) != 1:
        raise UsageError(
            "the rows are not all of one kind of sheet", place=paths[0], hint="leave the column `id` alone"
        )
    whole = {name: [*found, *[None] * (columns - len(found))] for name, found in by_row.items()}
    return SheetAnswers(known[0], whole, tuple(troubles))


def _rows(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows by the names of their columns; in some countries spreadsheets part them by semicolons, or by tabs."""
    text = content(path)
    head = text.partition("\n")[0]
    mark = max(",;\t", key=head.count)
    # A cell may have as much in it as a chapter.
    csv.field_size_limit(10_000_000)
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline=""), delimiter=mark), 2):
            yield (
                f"{one_line(Path(path).name, _SHOWN)}, row {number}",
                {str(name).strip(): value or "" for name, value in row.items()},
            )
    except csv.Error as error:
        raise UsageError(f"it is no table: {error}", place=path, hint="save it as CSV") from error


def _answer(said: str, place: str, troubles: list[FileProblem]) -> bool | None:
    word = said.strip().lower().rstrip(".")
    if word in _YES or word in _NO:
        return word in _YES
    if word not in _UNSURE:
        troubles.append(FileProblem(place, f"the answer {one_line(said, _SHOWN)!r} is neither yes nor no"))
    return None


def majority(answers: Sequence[bool | None]) -> bool | None:
    """What more than half of those say who have answered; None where it is nobody, or half of them."""
    known = [one for one in answers if one is not None]
    yes = sum(known)
    return None if 2 * yes == len(known) else 2 * yes > len(known)
