"""Sheets for people as CSV: written and read; and how many rows a sample needs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist
from types import MappingProxyType
from typing import Generic, TypeVar

from redraft.errors import UsageError
from redraft.evaluators.figures import Interval, interval_of_share
from redraft.lab.agreement.people import FileProblem, read_text
from redraft.report.tables import in_csv
from redraft.text.sanitizer import one_line

ID, ASKED_COLUMN, PERSON = "id", "asked", "person"
CHOICES: Mapping[str, tuple[str, ...]] = {
    "annotations": ("agree", "partly", "disagree"),
    "preferences": ("1", "2", "tie"),
}
"""The answers to each kind of question; yes and no for the others."""
MARK_COLUMNS = ("span", "question", "types", "second span")
"""The columns of a sheet of marks that people fill in."""
AS_ABOVE = "(as above)"
"""In place of a text that is in a row above."""
_ABOVE = frozenset({"passage", "passages", "facts", "summary", "summary 1", "summary 2"})
"""The columns whose long texts are in the first of their rows only."""
_MEANINGS: Mapping[str, bool | None] = {
    **dict.fromkeys(("yes", "y", "true", "1", "ja", "oui", "si", "sí"), True),
    **dict.fromkeys(("no", "n", "false", "0", "nein", "non"), False),
    **dict.fromkeys(("", "?", "unsure", "cannot tell"), None),
}
# Spreadsheets truncate longer cells.
_LONGEST = 32_000
_SHOWN = 40
CONFIDENCE = 0.95
MARGINS = (0.03, 0.05, 0.1)
# The share with the largest variance.
_HALF = 0.5
T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of a sheet: what people see, and the judge's verdict."""

    id: str
    """The run, the kind of sheet, and a hash of the words: the same each time the run is read."""
    shown: Mapping[str, str]
    said: bool | None
    """The judge's yes or no; None if it was not judged, such as a query."""
    group: str
    """The group in which the row is counted, such as the dimension of a fact or the kind of an error."""
    asked: str = ""
    """What people are asked."""
    judge: str = ""
    """Whose verdict it is."""

    @property
    def content(self) -> str:
        """What the row is about: the same for all judges of it."""
        return self.id.rpartition("/")[2]


def draw_sample(everything: Sequence[T], size: int, seed: int) -> list[T]:
    """Return a random sample of this size in the original order, the same for the same seed."""
    if size >= len(everything):
        return list(everything)
    return [everything[n] for n in sorted(Random(seed).sample(range(len(everything)), size))]


def sample_size(population: int, margin: float, confidence: float = CONFIDENCE) -> int:
    """Return the sample size that keeps the error of a share within the margin."""
    of_many = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 * _HALF * (1 - _HALF) / margin**2
    # Round up to whole items, ignoring floating-point noise.
    return min(population, ceil(round(of_many / (1 + (of_many - 1) / population), 6)))


def margin_of_error(size: int, population: int, confidence: float = CONFIDENCE) -> float | None:
    """Return the margin of error of a sample's share; None for an empty sample, 0 if it is the whole population."""
    if not size:
        return None
    correction = (population - size) / (population - 1) if population > 1 else 0.0
    return NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(_HALF * (1 - _HALF) / size * max(0.0, correction))


def share_interval(part: int, total: int) -> tuple[float | None, Interval | None]:
    """Return a share with its Wilson interval; None for both if the whole is empty."""
    return (part / total, interval_of_share(part / total, total)) if total else (None, None)


def majority(answers: Sequence[bool | None]) -> bool | None:
    """Return the majority of the answers given; None if there are none, or a tie."""
    votes = [answer for answer in answers if answer is not None]
    return None if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)


def person_columns(count: int) -> list[str]:
    """Return the names of the columns for the answers of so many people."""
    return [f"{PERSON} {n}" for n in range(1, count + 1)]


def sheet_file(
    rows: Sequence[SheetRow], columns: Sequence[str], answers: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return rows as CSV without the judge's verdicts, so that they influence no one, with empty columns for what
    people say, but for known `answers` in the first of them, by row.

    No cell is read as a formula, and a long text is in the first of its rows only.
    """
    lines = [[ID, *rows[0].shown, ASKED_COLUMN, *columns]]
    above: Mapping[str, str] = {}
    for row in rows:
        repeated = {name for name in _ABOVE.intersection(row.shown) if row.shown[name] == above.get(name)}
        cells = [
            AS_ABOVE if name in repeated else str(in_csv(text[:_LONGEST], lines=True))
            for name, text in row.shown.items()
        ]
        lines.append([row.id, *cells, row.asked, answers.get(row.id, ""), *[""] * (len(columns) - 1)])
        above = row.shown
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(lines)
    # Without a byte order mark spreadsheets assume the local encoding.
    return "\ufeff" + out.getvalue()


def sheet_kinds(ids: Iterable[str]) -> set[str]:
    """Return the kinds of sheets that these ids of rows are from."""
    return {name.split("/")[1] for name in ids if name.count("/") == 2}


def cell_text(cell: str) -> str:
    """Return what a person wrote, without the mark that keeps a spreadsheet from reading it as a formula."""
    text = cell.strip()
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@") else text


def sheet_rows(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a sheet by column name, each with its place."""
    try:
        text = read_text(path)
        mark = max(",;\t", key=text.partition("\n")[0].count)
        # A cell may be as long as a chapter.
        csv.field_size_limit(10_000_000)
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline=""), delimiter=mark), 2):
            place = f"{one_line(Path(path).name, _SHOWN)}, row {number}"
            yield place, {str(name).strip(): value or "" for name, value in row.items()}
    except csv.Error as error:
        raise UsageError(f"it is not a table: {error}", place=path, hint="save it as CSV") from error


@dataclass(frozen=True, slots=True)
class SheetAnswers(Generic[A]):
    """People's answers by row id, one for each column of each file, and what could not be read."""

    by_row: Mapping[str, Sequence[A | None]]
    troubles: tuple[FileProblem, ...] = ()

    @property
    def runs(self) -> list[str]:
        """The runs that the rows are about."""
        return list(dict.fromkeys(name.partition("/")[0] for name in self.by_row))


def combined_answers(paths: Sequence[str], meanings: Mapping[str, A | None], expected: str) -> SheetAnswers[A]:
    """Return the answers in the sheets of several people combined, by what each word means; an answer that means
    nothing, where something else was `expected`, is reported and does not count."""
    by_row: dict[str, list[A | None]] = {}
    troubles: list[FileProblem] = []
    columns = 0
    for path in paths:
        rows = list(sheet_rows(path))
        person_names = [name for name in (rows[0][1] if rows else {}) if name.lower().startswith(PERSON)]
        if not person_names:
            hint = "give a sheet written by `agree sheet`"
            raise UsageError("it has no column for a person's answers", place=path, hint=hint)
        for place, row in rows:
            answers = by_row.setdefault(row.get(ID, "").strip(), [])
            words = [row[name].strip().lower().rstrip(".") for name in person_names]
            answers += [None] * (columns - len(answers)) + [meanings.get(word) for word in words]
            unknown = (row[name] for name, word in zip(person_names, words, strict=True) if word not in meanings)
            troubles += (FileProblem(place, f"{one_line(cell, _SHOWN)!r} is {expected}") for cell in unknown)
        columns += len(person_names)
    padded = {name: [*answers, *[None] * (columns - len(answers))] for name, answers in by_row.items()}
    return SheetAnswers(padded, tuple(troubles))


def yes_or_no_answers(paths: Sequence[str]) -> tuple[str, SheetAnswers[bool]]:
    """Return the kind of the sheets of several people, and their answers combined."""
    answers = combined_answers(paths, _MEANINGS, "neither yes nor no")
    kinds = sheet_kinds(answers.by_row)
    if len(kinds) != 1 or any(name.count("/") != 2 for name in answers.by_row):
        hint = "leave the column `id` alone"
        raise UsageError("the rows come from different kinds of sheets", place=paths[0], hint=hint)
    return kinds.pop(), answers
