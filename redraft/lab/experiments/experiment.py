"""An experiment: its records as table rows, and its tables, declared as columns over generators of rows."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from operator import attrgetter
from statistics import fmean, stdev
from typing import Any, Generic, Protocol, TypeVar, TypeVarTuple

from redraft.domain import Document, Totals, record_json
from redraft.errors import BudgetError
from redraft.evaluators.figures import MIN_VALUES, RESAMPLES, interval_of_mean
from redraft.evaluators.metric_info import COMPARES_WORDS
from redraft.evaluators.reference.keyfacts import ALL
from redraft.lab.experiments.plan import cost_table, plan_steps
from redraft.lab.verdict import verdict
from redraft.llm.budget import PriceTable
from redraft.report.tables import Cell, Record, Report, Table, mean, plain
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import EXTRACTIVE

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
Row = tuple[Cell, ...]
ENDS = ("95% from", "95% to")
"""The columns of an interval."""
INTERVAL = (
    f"The interval contains 95% of the means of {RESAMPLES:,} resamples of the documents{{}}; with fewer than"
    f" {MIN_VALUES} {{}}there is none."
)
SPENT = ("calls", "cached", "prompt_tokens", "completion_tokens")
"""The fields of `Totals` that cost tables show, besides the price."""


def where(items: Iterable[T], **wanted: object) -> list[T]:
    """Return the items whose attributes have these values; `ALL` matches any value."""
    names = [name for name, value in wanted.items() if value != ALL]
    return [item for item in items if all(getattr(item, name) == wanted[name] for name in names)]


def distinct(items: Iterable[object], name: str) -> list[Any]:
    """Return the distinct values of an attribute, in order of first occurrence."""
    return list(dict.fromkeys(map(attrgetter(name), items)))


def group_by(items: Iterable[T], *names: str) -> dict[Any, list[T]]:
    """Return the items grouped by the value of one or several attributes, in order of first occurrence."""
    found: dict[Any, list[T]] = {}
    key = attrgetter(*names)
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def with_all(names: Sequence[str], label: str) -> list[str]:
    """Return the names, and if there are several, a label for all of them together."""
    return [*names, label] if len(names) > 1 else list(names)


def common_pairs(first: Mapping[K, V], second: Mapping[K, V]) -> list[tuple[K, V, V]]:
    """Return the keys that both mappings have, each with its two values."""
    return [(key, value, second[key]) for key, value in first.items() if key in second]


def interval_cells(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the cells of `ENDS` for the mean of one value per document."""
    found = interval_of_mean(values)
    return (found.low, found.high) if found else (None, None)


def percent_change(first: float | None, last: float | None) -> float | None:
    """Return the change in % of the first value."""
    return 100 * (last - first) / first if first and last is not None else None


def standard_deviation(values: Sequence[float]) -> float | None:
    """Return the standard deviation; None for fewer than two values."""
    return stdev(values) if len(values) > 1 else None


def document_means(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the mean of each document's values, since an interval resamples whole documents."""
    found: dict[str, list[float]] = {}
    for document, value in values:
        found.setdefault(document, []).append(value)
    return {document: fmean(some) for document, some in found.items()}


def sum_fields(some: Iterable[Totals | None], names: Sequence[str] = SPENT) -> Row:
    """Return the sums of some fields and of the price; the price is None if any price is unknown."""
    used = [totals for totals in some if totals is not None]
    prices = _prices(used)
    return (
        *(sum(getattr(totals, name) for totals in used) for name in names),
        None if prices is None else sum(prices, 0.0),
    )


def average_fields(some: Iterable[Totals | None], names: Sequence[str] = SPENT) -> Row:
    """Return the means of some fields and of the price; the price is None if any price is unknown."""
    used = [totals for totals in some if totals is not None]
    return (*(mean([getattr(totals, name) for totals in used]) for name in names), mean(_prices(used) or ()))


def tokens_and_price(some: Iterable[Totals | None]) -> Row:
    """Return the mean of all tokens (prompt and reply) and the mean price."""
    totals = [one for one in some if one is not None]
    return (mean([total.prompt_tokens + total.completion_tokens for total in totals]), average_fields(totals, ())[-1])


def _prices(used: Sequence[Totals]) -> list[float] | None:
    """Return the prices; None if any is unknown."""
    known = [totals.cost_usd for totals in used if totals.cost_usd is not None]
    return known if len(known) == len(used) else None


def melt(table: Table, columns: Sequence[str]) -> list[Record]:
    """Return one record per row and given column, with the cell as `value` and the column's name as `column`."""
    return [{**record, "column": column, "value": record[column]} for record in table.records for column in columns]


def distinct_cells(records: Iterable[Record], column: str) -> list[Cell]:
    """Return the distinct cells of a column, in order of first occurrence."""
    return list(dict.fromkeys(record[column] for record in records))


Ts = TypeVarTuple("Ts")
AGAIN = "Repeat the command to try it again; finished work is not repeated."
"""The caption of a table of failures."""
UNDECIDED = "undecided"
"""The code of a failure that is a judge's last word: it cannot decide, whenever it is asked."""
SET = "set"
"""The column of the dataset, if results are given per dataset."""


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
            found = tuple(rows(*args))
            said = said if found else said.replace(AGAIN, "Nothing failed.")
            return Table(name, named, said, basis(*args), tuple(heads), found)

        made.__doc__ = title if isinstance(title, str) else name
        return made

    return declared


def by_set(
    sets: Mapping[str, str], made: Callable[..., Table], records: Sequence[Sequence[Any]], *more: object
) -> Table:
    """Return a table of all records; if `sets` has the datasets of documents, each by itself, in a first column."""
    whole = made(*records, *more)
    if not sets:
        return whole
    rows = [
        (name, *row)
        for name in dict.fromkeys(sets.values())
        for row in made(*([one for one in some if sets[one.document] == name] for some in records), *more).rows
    ]
    return replace(whole, columns=(SET, *whole.columns), rows=tuple(rows))


def more_line(count: int, most: int, what: str) -> Iterator[str]:
    """Yield the line of a headline that says how many entries are not listed."""
    if count > most:
        yield f"and {count - most} more {what}"


def is_undecided(report: Report) -> bool:
    """Return whether nothing failed except that judges could not decide."""
    failures = (one for one in report.tables if one.name == "failures" and "code" in one.columns)
    return {row[failure.columns.index("code")] for failure in failures for row in failure.rows} == {UNDECIDED}


def self_judging_notes(writers: Iterable[str], judges: Iterable[str]) -> Iterator[str]:
    """Yield a sentence about each model that judged texts of its own."""
    wrote = frozenset(writers)
    for name in dict.fromkeys(judges):
        if name in wrote:
            own = f"{plain(name)} judged texts of its own, too, and may favor them."
            yield COMPARES_WORDS if name == EXTRACTIVE else own


def models_and_judge(outcome: Any) -> tuple[Iterable[str], Iterable[str]]:
    """Return the models of a `ModelsDesign`, and its judge."""
    return [model.name for model in outcome.design.models], [outcome.design.judge.name]


class ExperimentOutcome(Protocol):
    """The outcome of an experiment."""

    @property
    def complete(self) -> bool:
        """True if nothing is missing."""

    @property
    def stopped(self) -> BudgetError | None:
        """The error that stopped the experiment early, if any."""


_COUNTED = (
    "Counted by running the experiment with models that answer at once, so each number is approximate. Refining goes"
    " through all its rounds."
)
D = TypeVar("D")
O = TypeVar("O", bound=ExperimentOutcome)  # noqa: E741


def _without_embeddings(design: D) -> D:
    """Return a design, and those in it, without embeddings: they call no model and only take time."""
    changes: dict[str, object] = {"embeddings": None} if getattr(design, "embeddings", None) else {}
    changes |= {"similarity": "rouge1"} if changes and hasattr(design, "similarity") else {}
    parts = {name: getattr(design, name) for name in getattr(design, "__dataclass_fields__", ())}
    changes |= {name: _without_embeddings(part) for name, part in parts.items() if hasattr(part, "embeddings")}
    return replace(design, **changes) if changes else design  # type: ignore[type-var]


@dataclass(frozen=True, slots=True)
class Experiment(Generic[D, O]):
    """An experiment: runs a design on documents, and reports the outcome."""

    name: str
    title: str
    run: Callable[[Sequence[Document], D, ExperimentRunner], Coroutine[Any, Any, O]]
    is_some: Callable[[O], bool]
    """Returns True if an incomplete outcome has any result."""
    about: Callable[[O], Iterable[str]]
    """Returns lines that say what was compared and how far it got."""
    settings: Callable[[O], Mapping[str, object]]
    tables: Callable[[O], Iterable[Table]]
    items: Callable[[O], Iterable[object]]
    """Returns the records for `items.json`."""
    headline: Callable[[O, Sequence[Table]], Iterable[str]]
    """Returns the main results, in at most ten lines."""
    who: Callable[[O], tuple[Iterable[str], Iterable[str]]] = lambda _: ((), ())
    """Returns the names of the models that wrote, and of those that judged."""

    def plan(self, documents: Sequence[Document], design: D, prices: PriceTable) -> Table:
        """Return the approximate cost, for `--dry-run`."""
        planned = _without_embeddings(design)
        outcome, steps = plan_steps(lambda runner: self.run(documents, planned, runner), documents, prices)
        skipped: list[str] = []
        if not outcome.complete:
            failures = [one for one in self.tables(outcome) if one.name == "failures"]
            skipped = [
                ", ".join(str(cell) for cell in row if cell is not None) for failure in failures for row in failure.rows
            ]
        return cost_table(steps, _COUNTED, prices, skipped)

    def report(self, outcome: O) -> Report:
        """Return the report of an outcome."""
        tables, stopped = tuple(self.tables(outcome)), outcome.stopped
        partial = [*self_judging_notes(*self.who(outcome))]
        about, headline = [*self.about(outcome), *partial], [*self.headline(outcome, tables), *partial]
        if stopped is not None:
            headline.append(f"stopped: {plain(stopped.message)}")
            about.append(
                f"{headline[-1]}; partial results are below, and the same command with a higher limit continues"
            )
        settings, items = self.settings(outcome), [record_json(one) for one in self.items(outcome)]
        said = verdict(self.name, tables)
        return Report(self.name, self.title, tuple(about), settings, tables, items, tuple(headline), said)
