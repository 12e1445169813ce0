"""What every experiment is: who does it, what it would come to, and what there is to say of what came of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from redraft.domain import Document
from redraft.errors import BudgetError
from redraft.models.prices import PriceTable
from redraft.reports.report import Report
from redraft.reports.tables import Table, plain
from redraft.runs.experiment_runner import Bench


class Outcome(Protocol):
    """What came of an experiment."""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""

    @property
    def stopped(self) -> BudgetError | None:
        """Why it ended before its time."""


D = TypeVar("D")
O = TypeVar("O", bound=Outcome)  # noqa: E741


@dataclass(frozen=True, slots=True)
class Experiment(Generic[D, O]):
    """A design is run on documents and leaves an outcome, of which a report is made."""

    name: str
    title: str
    run: Callable[[Sequence[Document], D, Bench], Coroutine[Any, Any, O]]
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
