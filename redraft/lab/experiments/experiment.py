"""An experiment: a design, the cells that are run of it, and its outcome: their items, with the path from these to a
report."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, Generic, TypeVar

from redraft.agents.judge import gather_all
from redraft.domain import Document, Evaluation, record_json
from redraft.errors import BudgetError
from redraft.evaluators.metric_info import COMPARES_WORDS
from redraft.evaluators.statistics import MIN_VALUES, RESAMPLES
from redraft.events import StageStarted
from redraft.lab.experiments.frames import Frame, as_table, frame_of, spent
from redraft.lab.experiments.orders import QaOrder, ReadingOrder
from redraft.lab.experiments.runner import Cell, Item, RunBatch, cost_table, plan_steps
from redraft.lab.verdict import verdict
from redraft.llm.budget import PriceTable
from redraft.report.history.judges import judged_by
from redraft.report.tables import Report, Table, line, plain
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import EXTRACTIVE

AGAIN = "Repeat the command to try it again; finished work is not repeated."
"""The caption of a table of failures."""
UNDECIDED = "undecided"
"""The code of a failure that is a judge's last word: it cannot decide, whenever it is asked."""
MAX_LINES = 8
"""The most systems in a headline."""
_COUNTED = (
    "Counted by running the experiment with models that answer at once, so each number is approximate. Refining goes"
    " through all its rounds."
)
_CAPTIONS = {
    "interval": f"The interval contains 95% of the means of {RESAMPLES:,} resamples",
    "few": f"with fewer than {MIN_VALUES}",
}


JudgedPart = tuple[str, str, int, int, int]
"""One of the runs that judged by a metric, the name and version of the metric, and the numbers of all verdicts that
were given and that are missing."""
NamedFrame = tuple[str, Frame]
"""A table: its name in `tables.toml`, and its rows."""


Certificate = Mapping[str, str | float | None]
"""Who gave the scores of an experiment by a metric (`judged_by`), and the share of items without a verdict."""
C = TypeVar("C", bound=Cell)
I = TypeVar("I", bound=Item)  # noqa: E741
T = TypeVar("T")


class Experiment(ABC, Generic[C, I]):
    """The design of an experiment: everything but the documents and the limits. It is run, planned and reported."""

    name: ClassVar[str]
    """The name in its runs, and the command that repeats it."""
    title: ClassVar[str]
    item: ClassVar[str]
    """What an item is, in words."""
    has_lists: ClassVar[bool] = True
    """Whether its report lists every document and every run; where there are hundreds, only the items do."""

    def taking_part(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the models that write, as `models`, and of those that judge, under `judged by`."""
        return {}

    @abstractmethod
    async def cells(self, documents: Sequence[Document], runner: ExperimentRunner) -> list[C]:
        """Return what is to be run. Raise, before anything is paid for, for what cannot be."""

    @abstractmethod
    async def run_cell(self, cell: C, batch: RunBatch) -> tuple[C, list[I]]:
        """Run what is not done yet, and return the cell and its items. A failure is recorded and stops nothing else."""

    @abstractmethod
    def frames(self, items: Sequence[I], cells: Sequence[C]) -> Iterable[NamedFrame]:
        """Return the tables, without those of cost and failures."""

    def captions(self, _cells: Sequence[C]) -> Mapping[str, object]:
        """Return what the captions of the tables are filled in with."""
        return {}

    def judged_parts(self, _items: Sequence[I], _cells: Sequence[C]) -> Iterable[JudgedPart]:
        """Return what was judged, for the certificates of the verdicts."""
        return ()

    def notes(self, _items: Sequence[I], _cells: Sequence[C]) -> Iterable[str]:
        """Return the lines that say what was compared."""
        return ()

    def headline(self, _items: Sequence[I], _tables: Mapping[str, Table]) -> Iterable[str]:
        """Return the main results, in at most ten lines."""
        return ()

    async def run(self, documents: Sequence[Document], runner: ExperimentRunner) -> Outcome[C, I]:
        """Run what is not done yet, within the limits."""
        runner.share_budget(self.name, repr(self), *(document.id for document in documents))
        cells = await self.cells(documents, runner)
        if cells:
            runner.observer(StageStarted(self.item, 0))
        batch = RunBatch(runner, 0)
        results = await gather_all(self.run_cell(cell, batch) for cell in cells)
        cells, items = [cell for cell, _ in results], [item for _, items in results for item in items]
        certificates = await asyncio.to_thread(certificates_of, self.judged_parts(items, cells), runner)
        costs = await asyncio.to_thread(_costs, cells, items, runner)
        return Outcome(self, tuple(cells), tuple(items), runner.stopped, tuple(certificates), tuple(costs))

    def plan(self, documents: Sequence[Document], prices: PriceTable) -> Table:
        """Return the approximate cost, for `--dry-run`."""
        return plan_of(without_embeddings(self).run, documents, prices)

    def settings_of(self, outcome: Outcome[C, I]) -> Mapping[str, object]:
        """Return the settings behind the results."""
        cells = {(cell.document.id, cell.key): cell for cell in outcome.cells}.values()
        documents = [{"id": cell.document.id, "title": cell.document.title, **cell.about} for cell in cells]
        return {**record_json(self), "documents": documents, "certificates": list(outcome.certificates)}


@dataclass(frozen=True, slots=True)
class Outcome(Generic[C, I]):
    """What came of an experiment."""

    design: Experiment[C, I]
    cells: tuple[C, ...]
    items: tuple[I, ...]
    stopped: BudgetError | None = None
    """The error that stopped the experiment early, if any."""
    certificates: tuple[Certificate, ...] = ()
    """The certificates of the judges' verdicts, over all items together."""
    costs: tuple[Mapping[str, object], ...] = ()
    """The rows of the table of cost."""

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        done = all(item.status == "done" for item in self.items) and not any(cell.failures for cell in self.cells)
        return self.stopped is None and done

    @property
    def basis(self) -> str:
        """What tables are based on, in a sentence."""
        status = Counter(item.status for item in self.items)
        present, missing = (sum(item.verdicts[side] for item in self.items) for side in (0, 1))
        verdicts = f"; {missing:,} of {present + missing:,} verdicts are missing" if present + missing else ""
        undecided = f" {status[UNDECIDED]} undecided," if status[UNDECIDED] else ""
        return (
            f"Based on {status['done']} of {len(self.items)} items ({self.design.item});{undecided} {status['failed']}"
            f" failed, {status['not made']} not made{verdicts}."
        )

    @property
    def failures(self) -> Frame:
        """What failed, each once."""
        parts = [(cell.document.title, cell.key, cell.failures) for cell in self.cells]
        parts += [(item.title, item.label, tuple(item.failures)) for item in self.items]
        rows = [(title, label, *astuple(failure)) for title, label, failures in parts for failure in failures]
        return Frame(rows, columns=["document", "item", "stage", "code", "message"], dtype=object).drop_duplicates()

    def frames(self) -> Iterator[NamedFrame]:
        """Yield all tables, with those of cost, runs and failures."""
        yield from self.design.frames(self.items, self.cells)
        if self.costs:
            yield "cost", frame_of(self.costs)
        listed = self.items if self.design.has_lists else ()
        if runs := [(row.title, row.label, step, row.status, run) for row in listed for step, run in row.runs.items()]:
            yield "runs", Frame(runs, columns=["document", "item", "step", "status", "run"], dtype=object)
        yield "failures", self.failures

    def report(self) -> Report:
        """Return the report."""
        design, status, partial = self.design, Counter(item.status for item in self.items), list[str]()
        captions: dict[str, object] = {**_CAPTIONS, "again": "Nothing failed." if self.failures.empty else AGAIN}
        captions |= design.captions(self.cells)
        tables = tuple(as_table(design.name, name, frame, self.basis, **captions) for name, frame in self.frames())
        seats = design.taking_part()
        for name in dict.fromkeys(seats.get("judged by", ())):
            if name in seats.get("models", ()):
                favor = f"{plain(name)} judged texts of its own, too, and may favor them."
                partial.append(COMPARES_WORDS if name == EXTRACTIVE else favor)
        if self.stopped is not None:
            partial.append(f"stopped: {plain(self.stopped.message)}")
        states = ", ".join(f"{status[name]} {name}" for name in ("done", "failed", "not made"))
        counted = f"items: {len(self.items)} ({design.item}): {states}"
        about = [*self._about(), counted, "– means not measured"]
        if self.stopped is not None:
            about.append("partial results are below, and the same command with a higher limit continues")
        headline = [*design.headline(self.items, {table.name: table for table in tables}), counted, *partial]
        items, settings = [record_json(item) for item in self.items], design.settings_of(self)
        head = design.name, design.title, (*about, *partial)
        return Report(*head, settings, tables, items, tuple(headline), verdict(design.name, tables))

    def _about(self) -> Iterator[str]:
        for role, names in self.design.taking_part().items():
            if models := "; ".join(map(plain, dict.fromkeys(names))):
                yield f"{role}: {models}"
        titles = {cell.document.id: cell.document.title for cell in self.cells if self.design.has_lists}
        if titles:
            yield f"documents: {', '.join(map(plain, titles.values()))}"
        yield from self.design.notes(self.items, self.cells)
        for certificate in self.certificates:
            share = certificate["unjudged_share"]
            unjudged = f"; {share:.0%} without a verdict" if share else ""
            yield f"{certificate['metric']} is judged by {line(str(certificate['judged_by']))}{unjudged}"


def certificates_of(parts: Iterable[JudgedPart], runner: ExperimentRunner) -> list[Certificate]:
    """Return the certificates of verdicts, over all items together."""
    certificates = list[Certificate]()
    for run_id, metric, version, decided, missing in parts:
        run = runner.store.runs.get(run_id)
        evaluation = Evaluation(metric, version, "scored", None, decided, missing)
        unjudged = None if evaluation.judged_share is None else 1 - evaluation.judged_share
        by = judged_by(run, {metric: evaluation})[metric]
        certificates.append({"metric": metric, "judged_by": by, "unjudged_share": unjudged})
    return certificates


def _costs(cells: Sequence[Cell], items: Sequence[Item], runner: ExperimentRunner) -> list[Mapping[str, object]]:
    """Return what every stage used by system, each run counted once, and the total."""
    runs: dict[tuple[str, str], dict[str, None]] = {}
    for by, parts in (*(("", cell.runs) for cell in cells), *((item.by, item.runs) for item in items)):
        for stage, run in parts.items():
            runs.setdefault((stage, by), {})[run] = None
    stages = {key: [runner.store.calls.totals(run) for run in keys] for key, keys in runs.items()}
    rows = [{"step": step, "by": by, "runs": len(totals), **spent(totals)} for (step, by), totals in stages.items()]
    every = spent(total for totals in stages.values() for total in totals)
    return [*rows, {"step": "total", "by": "", "runs": sum(map(len, runs.values())), **every}] if rows else []


def plan_of(
    run: Callable[[Sequence[Document], ExperimentRunner], Coroutine[Any, Any, Outcome[Any, Any]]],
    documents: Sequence[Document],
    prices: PriceTable,
) -> Table:
    """Return the approximate cost of an experiment, counted by running it with models that answer at once."""
    outcome, steps = plan_steps(lambda runner: run(documents, runner), documents, prices)
    rows = outcome.failures.itertuples(index=False, name=None)
    return cost_table(steps, _COUNTED, [", ".join(str(cell) for cell in row if cell) for row in rows])


def is_undecided(report: Report) -> bool:
    """Return whether nothing failed except that judges could not decide."""
    failures = [table for table in report.tables if table.name.endswith("failures") and "code" in table.columns]
    return {row[table.columns.index("code")] for table in failures for row in table.rows} == {UNDECIDED}


def without_embeddings(design: T) -> T:
    """Return a design without embeddings: they call no model and only take time."""
    if not isinstance(design, ReadingOrder) or not design.embeddings:
        return design
    similarity = {"similarity": "rouge1"} if isinstance(design, QaOrder) else {}
    return design.model_copy(update={"embeddings": None, **similarity})
