"""The definition of an experiment and of its tables, which are declared columns over generators of rows."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Generic, Protocol, TypeVar, TypeVarTuple

from redraft.domain import Document
from redraft.errors import BudgetError
from redraft.evaluators.metric_info import NOT_QUALITY
from redraft.lab.experiments.frames import Row
from redraft.lab.experiments.plan import plan_steps, table_of
from redraft.llm.prices import PriceTable
from redraft.report.tables import Report, Table, plain
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import EXTRACTIVE

Ts = TypeVarTuple("Ts")
AGAIN = "Repeat the command to try it again; finished work is not repeated."
"""The caption of a table of failures."""
UNDECIDED = "undecided"
"""The code of a failure that is a judge's last word: it cannot decide, whenever it is asked."""
SET = "set"
"""The column of the dataset, where datasets are told apart."""


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


def and_more(count: int, most: int, what: str) -> Iterator[str]:
    """Yield the line of a headline that says how many entries are not listed."""
    if count > most:
        yield f"and {count - most} more {what}"


def is_undecided(report: Report) -> bool:
    """Return whether nothing failed except that judges could not decide."""
    failures = (one for one in report.tables if one.name == "failures" and "code" in one.columns)
    return {row[one.columns.index("code")] for one in failures for row in one.rows} == {UNDECIDED}


def judged_own(writers: Iterable[str], judges: Iterable[str]) -> Iterator[str]:
    """Yield a sentence about each model that judged texts of its own."""
    wrote = frozenset(writers)
    for name in dict.fromkeys(judges):
        if name in wrote:
            own = f"{plain(name)} judged texts of its own, too, and may favor them."
            yield NOT_QUALITY if name == EXTRACTIVE else own


def models_and_judge(outcome: Any) -> tuple[Iterable[str], Iterable[str]]:
    """Return the models of a `ModelsDesign`, and its judge."""
    return [one.name for one in outcome.design.models], [outcome.design.judge.name]


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
    " through all its rounds; the expected columns count one revision, and 60% of the reasoning budget."
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
    items: Callable[[O], Iterable[Mapping[str, object]]]
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
            skipped = [", ".join(str(cell) for cell in row if cell is not None) for one in failures for row in one.rows]
        return table_of(steps, _COUNTED, prices, skipped)

    def report(self, outcome: O) -> Report:
        """Return the report of an outcome."""
        tables, stopped = tuple(self.tables(outcome)), outcome.stopped
        partial = [*judged_own(*self.who(outcome))]
        about, headline = [*self.about(outcome), *partial], [*self.headline(outcome, tables), *partial]
        if stopped is not None:
            headline.append(f"stopped: {plain(stopped.message)}")
            about.append(
                f"{headline[-1]}; partial results are below, and the same command with a higher limit continues"
            )
        settings, items = self.settings(outcome), list(self.items(outcome))
        return Report(self.name, self.title, tuple(about), settings, tables, items, tuple(headline))
