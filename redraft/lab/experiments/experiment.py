"""An experiment: cells that are run, items that come of them, and one path that runs, plans and reports them all."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from redraft.agents.judge import gather_all
from redraft.domain import Document, Evaluation, Totals, record_json
from redraft.errors import BudgetError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.figures import MIN_VALUES, RESAMPLES
from redraft.evaluators.metric_info import COMPARES_WORDS
from redraft.events import StageStarted
from redraft.lab.experiments.frames import Frame, as_table, frame_of, spent
from redraft.lab.experiments.orders import Asked, QaOrder, ReadingOrder
from redraft.lab.experiments.plan import cost_table, plan_steps
from redraft.lab.experiments.runner import Cell, Certificate, Item, RunBatch
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


class Cost(NamedTuple):
    """What the runs of one stage and one system used."""

    step: str
    by: str
    runs: int
    totals: tuple[Totals, ...]


JudgedPart = tuple[str, Evaluation, str]
"""One of the runs that judged by a metric, the counts of all verdicts, and the judge if the run has several, or ""."""


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
    costs: tuple[Cost, ...] = ()

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        done = all(item.status == "done" for item in self.items) and not any(cell.failures for cell in self.cells)
        return self.stopped is None and done

    @property
    def documents(self) -> list[Document]:
        """The documents, each once."""
        return list({cell.document.id: cell.document for cell in self.cells}.values())


class Experiment(ABC, Generic[D, C, I]):
    """An experiment: plans, runs and reports the cells of a design."""

    name: ClassVar[str]
    """The name in its runs, and the command that repeats it."""
    title: ClassVar[str]
    item: ClassVar[str]
    """What an item is, in words."""

    def design(self, _request: Asked) -> D:
        """Return the design that a door was asked for; raise `UsageError` for what is wrong with it."""
        raise NotImplementedError

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
        return _names(getattr(design, "models", ()) or getattr(design, "writers", ()))

    def judges(self, design: D) -> Iterable[str]:
        """Return the names of the models that judge."""
        return _names(getattr(design, "judges", ()) or getattr(design, "judge", ()))

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
        return Outcome(design, tuple(cells), tuple(items), runner.stopped, tuple(certificates), costs)

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
        about = [*self._about(outcome), *partial]
        headline = [*self.headline(outcome, {table.name: table for table in tables}), self._counted(outcome), *partial]
        items, settings = [record_json(item) for item in outcome.items], self.settings(outcome)
        return Report(
            self.name, self.title, tuple(about), settings, tables, items, tuple(headline), verdict(self.name, tables)
        )

    def all_tables(self, outcome: Outcome[D, C, I]) -> Iterator[Table]:
        """Yield the tables of an outcome, with those of cost and failures."""
        yield from self.tables(outcome)
        basis = self.basis(outcome.items)
        if costs := outcome.costs:
            rows = [{"step": cost.step, "by": cost.by, "runs": cost.runs, **spent(cost.totals)} for cost in costs]
            every = spent(total for cost in costs for total in cost.totals)
            rows.append({"step": "total", "by": "", "runs": sum(cost.runs for cost in costs), **every})
            yield as_table(self.name, "cost", frame_of(rows), basis)
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
        certificates = [record_json(certificate) for certificate in outcome.certificates]
        return {**record_json(outcome.design), "documents": list(cells.values()), "certificates": certificates}

    def _about(self, outcome: Outcome[D, C, I]) -> Iterator[str]:
        for role, names in (("models", self.writers(outcome.design)), ("judged by", self.judges(outcome.design))):
            if models := "; ".join(map(plain, dict.fromkeys(names))):
                yield f"{role}: {models}"
        if outcome.documents:
            yield f"documents: {', '.join(plain(document.title) for document in outcome.documents)}"
        yield from self.notes(outcome)
        yield from (
            f"{judge_certificate.metric} is judged by {line(judge_certificate.line())}"
            for judge_certificate in outcome.certificates
        )
        yield self._counted(outcome)
        yield "– means not measured"
        if outcome.stopped is not None:
            yield "partial results are below, and the same command with a higher limit continues"

    def _counted(self, outcome: Outcome[D, C, I]) -> str:
        status = Counter(item.status for item in outcome.items)
        return f"items: {len(outcome.items)} ({self.item}): {', '.join(f'{status[name]} {name}' for name in STATUSES)}"


def _names(models: object) -> list[str]:
    """Return the names of a model or of several, or the names themselves."""
    listed = models if isinstance(models, tuple) else (models,)
    return [model if isinstance(model, str) else model.name for model in listed]


def certificates_of(parts: Iterable[JudgedPart], runner: ExperimentRunner) -> list[Certificate]:
    """Return the certificates of verdicts, over all items together."""
    certificates = []
    for run_id, evaluation, judge in parts:
        run = runner.store.runs.get(run_id)
        if judge and run.judging is not None:
            run = run.with_order(judging=run.judging.model_copy(update={"judges": (judge,)}))
        share = evaluation.judged_share
        by = judged_by(run, {evaluation.metric: evaluation})[evaluation.metric]
        certificates.append(Certificate(evaluation.metric, by, None if share is None else 1 - share))
    return certificates


def judged_part(run: str, metric: type[Evaluator], decided: int, missing: int) -> JudgedPart:
    """Return the counts of verdicts by a metric that one judge gave in a run and others like it."""
    return run, Evaluation(metric.name, metric.version, "scored", None, decided, missing), ""


def _costs(cells: Sequence[Cell], items: Sequence[Item], runner: ExperimentRunner) -> tuple[Cost, ...]:
    """Return what every stage used by system, each run counted once."""
    runs: dict[tuple[str, str], dict[str, None]] = {}
    for by, parts in (*(("", cell.runs) for cell in cells), *((item.by, item.runs) for item in items)):
        for stage, run in parts.items():
            runs.setdefault((stage, by), {})[run] = None
    totals = {run: runner.store.calls.totals(run) for stage in runs.values() for run in stage}
    return tuple(Cost(*stage, len(keys), tuple(totals[run] for run in keys)) for stage, keys in runs.items())


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
    halves = [outcome] if isinstance(outcome, Outcome) else [outcome.context, outcome.qa]
    rows = [row for half in halves for row in _failures(half).itertuples(index=False, name=None)]
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
