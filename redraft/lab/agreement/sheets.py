"""Sheets for people as CSV: written and read; and how many rows a sample needs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, TypeVar

from redraft.errors import UsageError
from redraft.lab.agreement.people import FileProblem, json_of, read_text
from redraft.lab.declared import declared
from redraft.report.tables import in_csv
from redraft.text.sanitizer import one_line

_ID, _PERSON = "id", "person"
_AS_ABOVE = "(as above)"
"""In place of a text that is in a row above."""
_ABOVE = frozenset({"passage", "passages", "facts", "summary", "summary 1", "summary 2"})
"""The columns whose long texts are in the first of their rows only."""
_MEANINGS = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}
# Spreadsheets truncate longer cells.
_LONGEST = 32_000
_SHOWN = 40
CONFIDENCE = 0.95
MARGINS = (0.03, 0.05, 0.1)
# The share with the largest variance.
_HALF = 0.5
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SheetKind:
    """A kind of sheet, as `sheets.toml` declares it."""

    title: str
    needs: str
    asked: str = ""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    shares: str = ""
    choices: Sequence[str] = ()
    columns: Sequence[str] = ()
    files: int = 0
    """How many files of summaries it is made of, if it is about coherence and not about a run."""
    annotated: bool = False
    """Whether it is made of annotations, too."""
    metric: str = ""
    finding: Mapping[str, str] = field(default_factory=dict)


KINDS: Mapping[str, SheetKind] = {name: SheetKind(**entry) for name, entry in declared("sheets").items()}


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of a sheet: what people see, and the judge's verdict."""

    id: str
    """The run, the kind of sheet, and a hash of the words: the same each time the run is read."""
    shown: Mapping[str, str]
    verdict: bool | None = None
    """The judge's yes or no; None if it was not judged, such as a query."""
    group: str = ""
    """The group in which the row is counted, such as the dimension of a fact or the kind of an error."""
    asked: str = ""
    """What people are asked."""
    judge: str = ""
    """Whose verdict it is."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """What a choice means in this row, where it is not its own word."""

    @property
    def content(self) -> str:
        """What the row is about: the same for all judges of it."""
        return self.id.rpartition("/")[2]


def unique_rows(rows: Iterable[SheetRow], what: str, lacking: str) -> list[SheetRow]:
    """Return the rows in order, each once even if several judges answered it; raise if there are none."""
    unique: dict[str, SheetRow] = {}
    for row in rows:
        unique.setdefault(row.content, row)
    if not unique:
        raise UsageError(lacking, hint=KINDS[what].needs)
    return list(unique.values())


def draw_sample(everything: Sequence[T], size: int) -> list[T]:
    """Return a random sample of at most this size in the original order, always the same."""
    return [everything[n] for n in sorted(Random(0).sample(range(len(everything)), min(size, len(everything))))]


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


def majority(answers: Sequence[bool | None]) -> bool | None:
    """Return the majority of the answers given; None if there are none, or a tie."""
    votes = [answer for answer in answers if answer is not None]
    return None if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)


def sheet_csv(rows: Sequence[SheetRow], person_count: int, answers: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return rows as CSV without the judge's verdicts, so that they influence no one, with empty columns for what so
    many people say, but for known `answers` in the first of them, by row.

    No cell is read as a formula, and a long text is in the first of its rows only.
    """
    kind = KINDS[rows[0].id.split("/")[1]]
    columns = kind.columns or [f"{_PERSON} {n}" for n in range(1, person_count + 1)]
    how = "" if kind.columns or kind.choices else " (yes, no, or ? where you cannot tell)"
    lines = [[_ID, *rows[0].shown, "asked", *columns]]
    above: Mapping[str, str] = {}
    for row in rows:
        cells = [
            _AS_ABOVE if name in _ABOVE and text == above.get(name) else str(in_csv(text[:_LONGEST], lines=True))
            for name, text in row.shown.items()
        ]
        lines.append([row.id, *cells, f"{row.asked}{how}", answers.get(row.id, ""), *[""] * (len(columns) - 1)])
        above = row.shown
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(lines)
    # Without a byte order mark spreadsheets assume the local encoding.
    return "\ufeff" + out.getvalue()


def rows_of_sheet(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a sheet by column name, each with its place. A mark that keeps a spreadsheet from reading a
    cell as a formula is no part of it."""
    try:
        text = read_text(path)
        mark = max(",;\t", key=text.partition("\n")[0].count)
        # A cell may be as long as a chapter.
        csv.field_size_limit(10_000_000)
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline=""), delimiter=mark), 2):
            cells = {str(name).strip(): (value or "").strip() for name, value in row.items()}
            plain = {name: cell[cell[:2] in ("'=", "'+", "'-", "'@") :] for name, cell in cells.items()}
            yield f"{one_line(Path(path).name, _SHOWN)}, row {number}", plain
    except csv.Error as error:
        raise UsageError(f"it is not a table: {error}", place=path, hint="save it as CSV") from error


def is_released(path: str) -> bool:
    """Return whether a file has answers that BooookScore released, and is no sheet."""
    return Path(path).suffix.lower() == ".json"


def sheet_kind(paths: Sequence[str]) -> str:
    """Return the kind of the sheets of several people, or of what BooookScore released. Raise if they are of several
    kinds, or of none."""
    sheets = [path for path in paths if not is_released(path)]
    if not sheets:
        return "preferences" if isinstance(json_of(paths[0]), list) else "annotations"
    rows = [row.get(_ID, "").split("/") for path in sheets for _, row in rows_of_sheet(path)]
    kinds = {parts[1] if len(parts) == 3 else "" for parts in rows}
    if len(kinds) > 1 or not kinds <= KINDS.keys():
        hint = "leave the column `id` alone"
        raise UsageError("the rows come from different kinds of sheets", place=paths[0], hint=hint)
    return kinds.pop() if kinds else ""


def read_answers(paths: Sequence[str], kind: str) -> tuple[dict[str, list[Any]], list[FileProblem]]:
    """Return the answers in the sheets of several people by row id, one for each column of each file: True, False or
    one of the kind's choices, None for no answer; and the answers that mean nothing, which do not count."""
    choices = KINDS[kind].choices if kind else ()
    meanings: dict[str, Any] = {"": None, "?": None, **(dict(zip(choices, choices, strict=True)) or _MEANINGS)}
    expected = f"none of {', '.join(choices)}" if choices else "neither yes nor no"
    by_row: dict[str, list[Any]] = {}
    problems: list[FileProblem] = []
    columns = 0
    for path in paths:
        rows = [] if is_released(path) else list(rows_of_sheet(path))
        person_names = [name for name in (rows[0][1] if rows else {}) if name.lower().startswith(_PERSON)]
        if not person_names and not is_released(path):
            hint = "give a sheet written by `agree sheet`"
            raise UsageError("it has no column for a person's answers", place=path, hint=hint)
        for place, row in rows:
            answers = by_row.setdefault(row.get(_ID, ""), [])
            answers += [None] * (columns - len(answers))
            for name in person_names:
                word = row[name].lower().rstrip(".")
                answers.append(meanings.get(word))
                if word not in meanings:
                    problems.append(FileProblem(place, f"{one_line(row[name], _SHOWN)!r} is {expected}"))
        columns += len(person_names)
    return {name: [*answers, *[None] * (columns - len(answers))] for name, answers in by_row.items()}, problems
