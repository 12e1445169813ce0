"""The experiments of the traceability thesis in one run: growing context and questions, with tables 6.1 and 6.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from redraft.domain import Document
from redraft.lab.experiments import context, qa
from redraft.lab.experiments.context import ContextDesign, ContextOutcome
from redraft.lab.experiments.experiment import Outcome, plan_of, without_embeddings
from redraft.lab.experiments.orders import Asked
from redraft.lab.experiments.qa import QaDesign, QaOutcome
from redraft.lab.verdict import verdict
from redraft.llm.budget import PriceTable
from redraft.report.tables import Report, Table
from redraft.runs.experiment_runner import ExperimentRunner

_BOTH = ("cost", "runs", "failures")
# The lines of each half's headline.
_LINES = 4


Halves = tuple[ContextDesign, QaDesign]
"""Both designs, on the same documents."""


class ThesisExperiment:
    """Both experiments, one after the other, within the same limits."""

    name = "thesis"

    def design(self, request: Asked) -> Halves:
        """Return both designs; by default, summaries are drafted from all that is read, like answers."""
        strategies = request.values.get("strategies") or ("direct",)
        drafting = replace(request, values={**request.values, "strategies": strategies})
        return context.EXPERIMENT.design(drafting), qa.EXPERIMENT.design(request)

    async def run(
        self, documents: Sequence[Document], design: Halves, runner: ExperimentRunner
    ) -> Outcome[tuple[ContextOutcome, QaOutcome], Any, Any]:
        """Run what is not done yet, within the limits, and return both outcomes in the place of a design."""
        summaries = await context.EXPERIMENT.run(documents, design[0], runner)
        answers = await qa.EXPERIMENT.run(documents, design[1], runner)
        cells, items = (*summaries.cells, *answers.cells), (*summaries.items, *answers.items)
        return Outcome((summaries, answers), cells, items, summaries.stopped or answers.stopped)

    def plan(self, documents: Sequence[Document], design: Halves, prices: PriceTable) -> Table:
        """Return the approximate cost, for `--dry-run`."""
        halves = without_embeddings(design[0]), without_embeddings(design[1])
        return plan_of(self.run, documents, halves, prices)

    def is_some(self, outcome: Outcome[Any, Any, Any]) -> bool:
        """Return True if an incomplete outcome has any result."""
        return any(item.is_made for item in outcome.items)

    def report(self, outcome: Outcome[tuple[ContextOutcome, QaOutcome], Any, Any]) -> Report:
        """Return both reports as one; tables that both have are named by their experiment."""
        summaries, answers = outcome.design
        first, second = reports = context.EXPERIMENT.report(summaries), qa.EXPERIMENT.report(answers)
        renamed = [replace(table, name=f"qa_{table.name}") if table.name in _BOTH else table for table in second.tables]
        tables = (*first.tables, *renamed)
        return Report(
            self.name,
            "Traceability: the sources of summaries, their facts, and answers to questions",
            tuple(dict.fromkeys((*first.about, *second.about))),
            {report.name: report.settings for report in reports},
            tables,
            [*first.items, *second.items],
            tuple(dict.fromkeys(line for report in reports for line in report.headline[:_LINES])),
            verdict(self.name, tables),
        )


EXPERIMENT = ThesisExperiment()
