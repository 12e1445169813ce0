"""What every experiment is, and its tables: declared columns over generators of rows."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from statistics import fmean, stdev
from typing import Any, Generic, Protocol, TypeVar, TypeVarTuple

from redraft.domain import Document, Totals
from redraft.errors import BudgetError
from redraft.evaluators.consensus import RESAMPLES
from redraft.llm.prices import PriceTable
from redraft.report.dossier.comparison.sides import LEAST, interval_of_mean
from redraft.report.tables import Cell, Report, Table, mean, plain
from redraft.runs.experiment_runner import ExperimentRunner

Ts = TypeVarTuple("Ts")
Row = tuple[Cell, ...]
Record = Mapping[str, Cell]
"""A row, each cell by its column's name."""
ENDS = ("95% from", "95% to")
"""The columns of an interval."""
INTERVAL = (
    f"The interval holds 95 % of the means of {RESAMPLES:,} resamples of the documents{{}}; from fewer than {LEAST}"
    " {}there is none."
)
AGAIN = "Repeat the command to try it again; what is done is not done again."
"""The caption of a table of failures."""
SPENT = ("calls", "cached", "prompt_tokens", "completion_tokens")
"""What calls come to, besides their price."""


def table(
    name: str,
    title: str | Callable[[*Ts], str],
    caption: str | Callable[[*Ts], str],
    columns: Sequence[str] | Callable[[*Ts], Sequence[str]],
    basis: Callable[[*Ts], str],
) -> Callable[[Callable[[*Ts], Iterable[Row]]], Callable[[*Ts], Table]]:
    """Declare a table by a function that yields its rows. Title, caption and columns may depend on its arguments."""

    def declared(rows: Callable[[*Ts], Iterable[Row]]) -> Callable[[*Ts], Table]:
        @wraps(rows)
        def made(*args: *Ts) -> Table:
            named, said = (one if isinstance(one, str) else one(*args) for one in (title, caption))
            heads = columns(*args) if callable(columns) else columns
            return Table(name, named, said, basis(*args), tuple(heads), tuple(rows(*args)))

        made.__doc__ = title if isinstance(title, str) else name
        return made

    return declared


def ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The cells of `ENDS`: the interval of the mean of one value a document, by drawing other documents."""
    found = interval_of_mean(values)
    return (found.low, found.high) if found else (None, None)


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation, where there is any."""
    return stdev(values) if len(values) > 1 else None


def by_document(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """By document the mean of its values: what comes of one document is drawn together."""
    found: dict[str, list[float]] = {}
    for document, value in values:
        found.setdefault(document, []).append(value)
    return {document: fmean(some) for document, some in found.items()}


def summed(some: Iterable[Totals | None], names: Sequence[str] = SPENT) -> Row:
    """The sums of what was used, and of its price; without a price where one of them has none."""
    used = [one for one in some if one is not None]
    price = None if _unpriced(used) else sum((one.cost_usd or 0.0 for one in used), 0.0)
    return (*(sum(getattr(one, name) for one in used) for name in names), price)


def averaged(some: Iterable[Totals | None], names: Sequence[str] = SPENT) -> Row:
    """The means of what was used, and of its price; without a price where one of them has none."""
    used = [one for one in some if one is not None]
    price = None if _unpriced(used) else mean([one.cost_usd for one in used])
    return (*(mean([getattr(one, name) for one in used]) for name in names), price)


def tokens_and_price(some: Iterable[Totals | None]) -> Row:
    """The mean tokens of what was used, read and written, and its mean price."""
    used = [one for one in some if one is not None]
    return (mean([one.prompt_tokens + one.completion_tokens for one in used]), averaged(used, ())[-1])


def _unpriced(used: Sequence[Totals]) -> bool:
    return any(one.cost_usd is None for one in used)


def records_of(table: Table) -> list[Record]:
    """The rows, each by its columns' names."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def melted(table: Table, columns: Sequence[str]) -> list[Record]:
    """A record for each of some columns of each row: the cell as its `value`, the name of the column as `column`."""
    records = records_of(table)
    return [{**one, "column": column, "value": one[column]} for one in records for column in columns]


def different(records: Iterable[Record], column: str) -> list[Cell]:
    """The different cells of a column, in the order in which they come first."""
    return list(dict.fromkeys(one[column] for one in records))


def number(cell: Cell) -> float | None:
    """The number in a cell; None where it has none."""
    return float(cell) if isinstance(cell, int | float) else None


class ExperimentOutcome(Protocol):
    """What came of an experiment."""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""

    @property
    def stopped(self) -> BudgetError | None:
        """Why it ended before its time."""


D = TypeVar("D")
O = TypeVar("O", bound=ExperimentOutcome)  # noqa: E741


@dataclass(frozen=True, slots=True)
class Experiment(Generic[D, O]):
    """A design is run on documents and leaves an outcome, of which a report is made."""

    name: str
    title: str
    run: Callable[[Sequence[Document], D, ExperimentRunner], Coroutine[Any, Any, O]]
    plan: Callable[[Sequence[Document], D, PriceTable], Table]
    """What it would come to, for `--dry-run`."""
    is_some: Callable[[O], bool]
    """Whether anything came of it, if it is not complete."""
    about: Callable[[O], Iterable[str]]
    """What was compared, and how far it came, a line each."""
    settings: Callable[[O], Mapping[str, object]]
    tables: Callable[[O], Iterable[Table]]
    items: Callable[[O], Iterable[Mapping[str, object]]]
    headline: Callable[[O, Sequence[Table]], Iterable[str]]
    """What matters, in ten lines at most."""

    def report(self, outcome: O) -> Report:
        """The report of what came of it."""
        tables, stopped = tuple(self.tables(outcome)), outcome.stopped
        about, headline = list(self.about(outcome)), list(self.headline(outcome, tables))
        if stopped is not None:
            headline.append(f"stopped: {plain(stopped.message)}")
            about.append(f"{headline[-1]}; what is there is below, and the same command with a higher limit goes on")
        settings, items = self.settings(outcome), list(self.items(outcome))
        return Report(self.name, self.title, tuple(about), settings, tables, items, tuple(headline))
