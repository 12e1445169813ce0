"""An experiment: cells that are run, items that come of them, and one path that runs, plans and reports them all."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

from redraft.agents.judge import gather_all
from redraft.domain import Document, Evaluation, record_json
from redraft.errors import BudgetError
from redraft.evaluators.figures import MIN_VALUES, RESAMPLES
from redraft.evaluators.metric_info import COMPARES_WORDS
from redraft.events import StageStarted
from redraft.lab.experiments.frames import Frame, as_table, frame_of, spent
from redraft.lab.experiments.orders import QaOrder, ReadingOrder
from redraft.lab.experiments.plan import cost_table, plan_steps
from redraft.lab.experiments.runner import Cell, Item, RunBatch
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
STATUSES = ("done", "failed", "not made")
MAX_LINES = 8
"""The most systems in a headline."""
_COUNTED = (
    "Counted by running the experiment with models that answer at once, so each number is approximate. Refining goes"
    " through all its rounds."
)


JudgedPart = tuple[str, str, int, int, int, str]
"""One of the runs that judged by a metric, the name and version of the metric, the numbers of all verdicts that were
given and that are missing, and the judge if the run has several, or ""."""


Certificate = Mapping[str, str | float | None]
"""Who gave the scores of an experiment by a metric (`judged_by`), and the share of items without a verdict."""
D = TypeVar("D")
C = TypeVar("C", bound=Cell)
I = TypeVar("I", bound=Item)  # noqa: E741


@dataclass(frozen=True, slots=True)
class Outcome(Generic[D, C, I]):
    """What came of an experiment."""

    design: D
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


class Experiment(ABC, Generic[D, C, I]):
    """An experiment: plans, runs and reports the cells of a design."""

    name: ClassVar[str]
    """The name in its runs, and the command that repeats it."""
    title: ClassVar[str]
    item: ClassVar[str]
    """What an item is, in words."""

    @abstractmethod
    async def cells(self, documents: Sequence[Document], design: D, runner: ExperimentRunner) -> list[C]:
        """Return what is to be run. Raise, before anything is paid for, for what cannot be."""

    @abstractmethod
    async def run_cell(self, cell: C, design: D, batch: RunBatch) -> tuple[C, list[I]]:
        """Run what is not done yet, and return the cell and its items. A failure is recorded and stops nothing else."""

    @abstractmethod
    def tables(self, outcome: Outcome[D, C, I]) -> Iterable[Table]:
        """Return the tables, without those of cost and failures."""

    def judged_parts(self, _items: Sequence[I], _cells: Sequence[C]) -> Iterable[JudgedPart]:
        """Return what was judged, for the certificates of the verdicts."""
        return ()

    def notes(self, _outcome: Outcome[D, C, I]) -> Iterable[str]:
        """Return the lines that say what was compared."""
        return ()

    def headline(self, _outcome: Outcome[D, C, I], _tables: Mapping[str, Table]) -> Iterable[str]:
        """Return the main results, in at most ten lines."""
        return ()

    def writers(self, design: D) -> Iterable[str]:
        """Return the names of the models that write."""
        return [model.name for model in getattr(design, "models", ()) or getattr(design, "writers", ())]

    def judges(self, design: D) -> Iterable[str]:
        """Return the names of the models that judge."""
        named = getattr(design, "judges", ()) or getattr(design, "judge", ())
        judges = named if isinstance(named, tuple) else (named,)
        return [judge if isinstance(judge, str) else judge.name for judge in judges]

    async def run(self, documents: Sequence[Document], design: D, runner: ExperimentRunner) -> Outcome[D, C, I]:
        """Run what is not done yet, within the limits."""
        runner.share_budget(self.name, repr(design), *(document.id for document in documents))
        cells = await self.cells(documents, design, runner)
        runner.observer(StageStarted(self.item, 0))
        batch = RunBatch(runner, 0)
        results = await gather_all(self.run_cell(cell, design, batch) for cell in cells)
        cells, items = [cell for cell, _ in results], [item for _, items in results for item in items]
        certificates = await asyncio.to_thread(certificates_of, self.judged_parts(items, cells), runner)
        costs = await asyncio.to_thread(_costs, cells, items, runner)
        return Outcome(design, tuple(cells), tuple(items), runner.stopped, tuple(certificates), tuple(costs))

    def plan(self, documents: Sequence[Document], design: D, prices: PriceTable) -> Table:
        """Return the approximate cost, for `--dry-run`."""
        return plan_of(self.run, documents, without_embeddings(design), prices)

    def report(self, outcome: Outcome[D, C, I]) -> Report:
        """Return the report of an outcome."""
        tables, partial = tuple(self.all_tables(outcome)), list[str]()
        for name in dict.fromkeys(self.judges(outcome.design)):
            if name in {*self.writers(outcome.design)}:
                favor = f"{plain(name)} judged texts of its own, too, and may favor them."
                partial.append(COMPARES_WORDS if name == EXTRACTIVE else favor)
        if outcome.stopped is not None:
            partial.append(f"stopped: {plain(outcome.stopped.message)}")
        status = Counter(item.status for item in outcome.items)
        states = ", ".join(f"{status[name]} {name}" for name in STATUSES)
        counted = f"items: {len(outcome.items)} ({self.item}): {states}"
        about = [*self._about(outcome), counted, "– means not measured"]
        if outcome.stopped is not None:
            about.append("partial results are below, and the same command with a higher limit continues")
        headline = [*self.headline(outcome, {table.name: table for table in tables}), counted, *partial]
        items, settings = [record_json(item) for item in outcome.items], self.settings(outcome)
        better = verdict(self.name, tables)
        return Report(self.name, self.title, (*about, *partial), settings, tables, items, tuple(headline), better)

    def all_tables(self, outcome: Outcome[D, C, I]) -> Iterator[Table]:
        """Yield the tables of an outcome, with those of cost and failures."""
        yield from self.tables(outcome)
        basis = self.basis(outcome.items)
        if outcome.costs:
            yield as_table(self.name, "cost", frame_of(outcome.costs), basis)
        if runs := [
            {"document": row.title, "item": row.label, "step": step, "status": row.status, "run": run}
            for row in outcome.items
            for step, run in row.runs.items()
        ]:
            yield as_table(self.name, "runs", frame_of(runs), basis)
        failures = _failures(outcome)
        yield as_table(self.name, "failures", failures, basis, again=AGAIN if len(failures) else "Nothing failed.")

    def table(self, name: str, frame: Frame, outcome: Outcome[D, C, I], **values: object) -> Table:
        """Return a frame as a table of this experiment."""
        interval = f"The interval contains 95% of the means of {RESAMPLES:,} resamples"
        few = f"with fewer than {MIN_VALUES}"
        return as_table(self.name, name, frame, self.basis(outcome.items), interval=interval, few=few, **values)

    def basis(self, items: Sequence[I]) -> str:
        """Return what tables are based on, in a sentence."""
        status = Counter(item.status for item in items)
        present, missing = (sum(item.verdicts[side] for item in items) for side in (0, 1))
        verdicts = f"; {missing:,} of {present + missing:,} verdicts are missing" if present + missing else ""
        undecided = f" {status[UNDECIDED]} undecided," if status[UNDECIDED] else ""
        return (
            f"Based on {status['done']} of {len(items)} items ({self.item});{undecided} {status['failed']} failed,"
            f" {status['not made']} not made{verdicts}."
        )

    def is_some(self, outcome: Outcome[D, C, I]) -> bool:
        """Return True if an incomplete outcome has any result."""
        return any(item.is_made for item in outcome.items)

    def settings(self, outcome: Outcome[D, C, I]) -> Mapping[str, object]:
        """Return the settings behind the results."""
        cells = {(cell.document.id, cell.key): cell.as_json() for cell in outcome.cells}
        more = {"documents": list(cells.values()), "certificates": list(outcome.certificates)}
        return {**record_json(outcome.design), **more}

    def _about(self, outcome: Outcome[D, C, I]) -> Iterator[str]:
        for role, names in (("models", self.writers(outcome.design)), ("judged by", self.judges(outcome.design))):
            if models := "; ".join(map(plain, dict.fromkeys(names))):
                yield f"{role}: {models}"
        if titles := {cell.document.id: cell.document.title for cell in outcome.cells}:
            yield f"documents: {', '.join(map(plain, titles.values()))}"
        yield from self.notes(outcome)
        for certificate in outcome.certificates:
            share = certificate["unjudged_share"]
            unjudged = f"; {share:.0%} without a verdict" if share else ""
            yield f"{certificate['metric']} is judged by {line(str(certificate['judged_by']))}{unjudged}"


def certificates_of(parts: Iterable[JudgedPart], runner: ExperimentRunner) -> list[Certificate]:
    """Return the certificates of verdicts, over all items together."""
    certificates = list[Certificate]()
    for run_id, metric, version, decided, missing, judge in parts:
        run = runner.store.runs.get(run_id)
        if judge and run.judging is not None:
            judging = run.judging.model_copy(update={"judges": (judge,)})
            run = replace(run, order=run.order.model_copy(update={"judging": judging}))
        evaluation = Evaluation(metric, version, "scored", None, decided, missing)
        share = evaluation.judged_share
        by = judged_by(run, {metric: evaluation})[metric]
        unjudged = None if share is None else 1 - share
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


def _failures(outcome: Outcome[Any, Any, Any]) -> Frame:
    rows = [
        {"document": title, "item": label, "stage": failure.stage, "code": failure.code, "message": failure.message}
        for title, label, failures in (
            *((cell.document.title, cell.key, cell.failures) for cell in outcome.cells),
            *((item.title, item.label, item.failures) for item in outcome.items),
        )
        for failure in failures
    ]
    return frame_of(rows, ("document", "item", "stage", "code", "message")).drop_duplicates()


def plan_of(
    run: Callable[[Sequence[Document], D, ExperimentRunner], Coroutine[Any, Any, Any]],
    documents: Sequence[Document],
    design: D,
    prices: PriceTable,
) -> Table:
    """Return the approximate cost of an experiment, counted by running it with models that answer at once."""
    outcome, steps = plan_steps(lambda runner: run(documents, design, runner), documents, prices)
    rows = _failures(outcome).itertuples(index=False, name=None)
    return cost_table(steps, _COUNTED, prices, [", ".join(str(cell) for cell in row if cell) for row in rows])


def is_undecided(report: Report) -> bool:
    """Return whether nothing failed except that judges could not decide."""
    failures = [table for table in report.tables if table.name.endswith("failures") and "code" in table.columns]
    return {row[table.columns.index("code")] for table in failures for row in table.rows} == {UNDECIDED}


def without_embeddings(design: D) -> D:
    """Return a design without embeddings: they call no model and only take time."""
    if not isinstance(design, ReadingOrder) or not design.embeddings:
        return design
    return design.model_copy(
        update={"embeddings": None, **({"similarity": "rouge1"} if isinstance(design, QaOrder) else {})}
    )
