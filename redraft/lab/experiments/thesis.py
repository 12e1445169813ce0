"""The experiments of the traceability thesis in one run: growing context and questions, with tables 6.1 and 6.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redraft.domain import Document
from redraft.errors import BudgetError
from redraft.lab.experiments import context, qa
from redraft.lab.experiments.context import ContextDesign, ContextOutcome
from redraft.lab.experiments.experiment import plan_of, without_embeddings
from redraft.lab.experiments.orders import Asked
from redraft.lab.experiments.qa import QaDesign, QaOutcome
from redraft.lab.verdict import verdict
from redraft.llm.budget import PriceTable
from redraft.report.tables import Report, Table
from redraft.runs.experiment_runner import ExperimentRunner

_BOTH = ("cost", "runs", "failures")
# The lines of each half's headline.
_LINES = 4


@dataclass(frozen=True, slots=True)
class ThesisDesign:
    """Both designs, on the same documents."""

    context: ContextDesign
    qa: QaDesign


@dataclass(frozen=True, slots=True)
class ThesisOutcome:
    """Both outcomes."""

    context: ContextOutcome
    qa: QaOutcome

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        return self.context.complete and self.qa.complete

    @property
    def stopped(self) -> BudgetError | None:
        """The error that stopped either early, if any."""
        return self.context.stopped or self.qa.stopped


class ThesisExperiment:
    """Both experiments, one after the other, within the same limits."""

    name = "thesis"

    def design(self, request: Asked) -> ThesisDesign:
        """Return both designs; by default, summaries are drafted from all that is read, like answers."""
        strategies = request.values.get("strategies") or ("direct",)
        drafting = replace(request, values={**request.values, "strategies": strategies})
        return ThesisDesign(context.EXPERIMENT.design(drafting), qa.EXPERIMENT.design(request))

    async def run(self, documents: Sequence[Document], design: ThesisDesign, runner: ExperimentRunner) -> ThesisOutcome:
        """Run what is not done yet, within the limits."""
        summaries = await context.EXPERIMENT.run(documents, design.context, runner)
        return ThesisOutcome(summaries, await qa.EXPERIMENT.run(documents, design.qa, runner))

    def plan(self, documents: Sequence[Document], design: ThesisDesign, prices: PriceTable) -> Table:
        """Return the approximate cost, for `--dry-run`."""
        halves = ThesisDesign(without_embeddings(design.context), without_embeddings(design.qa))
        return plan_of(self.run, documents, halves, prices)

    def is_some(self, outcome: ThesisOutcome) -> bool:
        """Return True if an incomplete outcome has any result."""
        return context.EXPERIMENT.is_some(outcome.context) or qa.EXPERIMENT.is_some(outcome.qa)

    def report(self, outcome: ThesisOutcome) -> Report:
        """Return both reports as one; tables that both have are named by their experiment."""
        reports = [context.EXPERIMENT.report(outcome.context), qa.EXPERIMENT.report(outcome.qa)]
        first, second = reports
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
