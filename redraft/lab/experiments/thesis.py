"""The experiments of the traceability thesis in one run: growing context and questions, with tables 6.1 and 6.2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from redraft.domain import Document
from redraft.errors import BudgetError
from redraft.lab.experiments.context import tables as of_context
from redraft.lab.experiments.context.experiment import ContextOutcome, context
from redraft.lab.experiments.context.records import ContextDesign
from redraft.lab.experiments.legacy import Experiment, models_and_judge
from redraft.lab.experiments.qa import tables as of_qa
from redraft.lab.experiments.qa.experiment import QaDesign, QaOutcome, qa
from redraft.report.tables import Table
from redraft.runs.experiment_runner import ExperimentRunner

THESIS = "thesis"
"""The experiment's name, and the command that repeats it."""
_BOTH = ("cost", "failures")
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


async def thesis(documents: Sequence[Document], design: ThesisDesign, runner: ExperimentRunner) -> ThesisOutcome:
    """Run one after the other, within the same limits."""
    summaries = await context(documents, design.context, runner)
    return ThesisOutcome(summaries, await qa(documents, design.qa, runner))


def _tables(outcome: ThesisOutcome) -> Iterator[Table]:
    """Yield the tables of both; those that both have are named by their experiment."""
    yield from of_context.EXPERIMENT.tables(outcome.context)
    for table in of_qa.EXPERIMENT.tables(outcome.qa):
        yield replace(table, name=f"{of_qa.EXPERIMENT.name}_{table.name}") if table.name in _BOTH else table


def _settings(outcome: ThesisOutcome) -> Mapping[str, object]:
    return {
        of_context.EXPERIMENT.name: of_context.EXPERIMENT.settings(outcome.context),
        of_qa.EXPERIMENT.name: of_qa.EXPERIMENT.settings(outcome.qa),
    }


def _headline(outcome: ThesisOutcome, tables: Sequence[Table]) -> Iterable[str]:
    positions = list(of_context.EXPERIMENT.headline(outcome.context, tables))
    return [*positions[:_LINES], *list(of_qa.EXPERIMENT.headline(outcome.qa, tables))[:_LINES]]


EXPERIMENT: Experiment[ThesisDesign, ThesisOutcome] = Experiment(
    THESIS,
    "Traceability: the sources of summaries, their facts, and answers to questions",
    run=thesis,
    is_some=lambda it: of_context.EXPERIMENT.is_some(it.context) or of_qa.EXPERIMENT.is_some(it.qa),
    about=lambda it: [*of_context.EXPERIMENT.about(it.context), *of_qa.EXPERIMENT.about(it.qa)],
    settings=_settings,
    tables=_tables,
    items=lambda it: [*of_context.EXPERIMENT.items(it.context), *of_qa.EXPERIMENT.items(it.qa)],
    headline=_headline,
    who=lambda it: models_and_judge(it.qa),
)
