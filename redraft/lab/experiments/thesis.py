"""The experiments of the traceability thesis in one run: growing context and questions, with tables 6.1 and 6.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from redraft.domain import Document
from redraft.lab.experiments.context import ContextDesign
from redraft.lab.experiments.experiment import Outcome, plan_of, without_embeddings
from redraft.lab.experiments.orders import Asked
from redraft.lab.experiments.qa import QaDesign
from redraft.llm.budget import PriceTable
from redraft.report.tables import Report, Table
from redraft.runs.experiment_runner import ExperimentRunner

_BOTH = ("cost", "runs", "failures")
# The lines of each half's headline.
_LINES = 4


@dataclass(frozen=True, slots=True)
class ThesisOutcome(Outcome[Any, Any]):
    """What came of both experiments, together and of each."""

    halves: tuple[Outcome[Any, Any], ...] = ()

    def report(self) -> Report:
        """Return both reports as one; tables that both have are named by their experiment."""
        first, second = reports = [half.report() for half in self.halves]
        renamed = [replace(table, name=f"qa_{table.name}") if table.name in _BOTH else table for table in second.tables]
        title = "Traceability: the sources of summaries, their facts, and answers to questions"
        about = tuple(dict.fromkeys((*first.about, *second.about)))
        headline = tuple(dict.fromkeys(line for report in reports for line in report.headline[:_LINES]))
        settings, items = {report.name: report.settings for report in reports}, [*first.items, *second.items]
        return Report(ThesisDesign.name, title, about, settings, (*first.tables, *renamed), items, headline)


@dataclass(frozen=True, slots=True)
class ThesisDesign:
    """Both experiments on the same documents, one after the other, within the same limits."""

    context: ContextDesign
    qa: QaDesign
    name = "thesis"

    @classmethod
    def asked(cls, request: Asked) -> ThesisDesign:
        """Return both designs; by default, summaries are drafted from all that is read, like answers."""
        strategies = request.values.get("strategies") or ("direct",)
        drafting = replace(request, values={**request.values, "strategies": strategies})
        return cls(ContextDesign.asked(drafting), QaDesign.asked(request))

    async def run(self, documents: Sequence[Document], runner: ExperimentRunner) -> ThesisOutcome:
        """Run what is not done yet, within the limits."""
        summaries = await self.context.run(documents, runner)
        answers = await self.qa.run(documents, runner)
        cells, items = (*summaries.cells, *answers.cells), (*summaries.items, *answers.items)
        stopped = summaries.stopped or answers.stopped
        return ThesisOutcome(self.context, cells, items, stopped, halves=(summaries, answers))

    def plan(self, documents: Sequence[Document], prices: PriceTable) -> Table:
        """Return the approximate cost, for `--dry-run`."""
        halves = ThesisDesign(without_embeddings(self.context), without_embeddings(self.qa))
        return plan_of(halves.run, documents, prices)


EXPERIMENT = ThesisDesign
