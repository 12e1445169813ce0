"""The report of a grid: its tables, its items, and what it is about."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.evaluators.goals import NOT_QUALITY
from redraft.experiments.grid.counting import basis, by_document, judges_of
from redraft.experiments.grid.design import Design
from redraft.experiments.grid.other_tables import cost_table, failure_table
from redraft.experiments.grid.preference_tables import agreement_table, preference_table
from redraft.experiments.grid.records import GridOutcome
from redraft.experiments.grid.score_tables import (
    configuration_table,
    difference_table,
    score_table,
    summary_table,
)
from redraft.reports.report import Report
from redraft.reports.tables import Table, figure, mean, plain
from redraft.settings import EXTRACTIVE

_MOST_LINES = 8


def grid_report(outcome: GridOutcome) -> Report:
    """The report of a grid. Tables that it cannot have anything in are left out."""
    design = outcome.design
    tables: list[Table] = [score_table(outcome), configuration_table(outcome)]
    if design.pairs:
        tables.append(difference_table(outcome))
    if design.prefers and design.pairs:
        tables.append(preference_table(outcome))
    if len(outcome.judges) > 1:
        tables.append(agreement_table(outcome))
    tables += [summary_table(outcome), cost_table(outcome), failure_table(outcome)]
    return Report(
        "grid",
        "Grid: contestants on documents, by metrics",
        tuple(_about(outcome)),
        _settings(outcome),
        tuple(tables),
        [one.to_json() for one in outcome.judged] + [one.to_json() for one in outcome.preferred],
        tuple(_headline(outcome)),
    )


def _settings(outcome: GridOutcome) -> dict[str, object]:
    design = outcome.design
    hidden = {"base_url", "key_env", "price"}
    return {
        "contestants": [
            {
                "name": one.name,
                "refines": one.refines,
                "settings": one.settings.model_dump(mode="json", exclude=hidden) if one.settings else None,
            }
            for one in design.contestants
        ],
        "judges": outcome.judges,
        "metrics": list(design.metrics),
        "judging": design.judging.model_dump(mode="json", exclude={"judges", "models", "base_url"}),
        "refinement": design.refinement.model_dump(mode="json") if design.refinement else None,
        "preference": design.prefers,
        "against": design.against,
        "documents": [{"id": document, "title": title} for document, title in outcome.documents],
    }


def _about(outcome: GridOutcome) -> Iterator[str]:
    design = outcome.design
    yield f"contestants: {'; '.join(plain(one.name) for one in design.contestants)}"
    yield f"judges: {', '.join(map(plain, outcome.judges))}{_partial(design)}"
    if EXTRACTIVE in {one.name for one in design.judges} & {one.model for one in design.contestants}:
        yield NOT_QUALITY
    yield f"documents: {', '.join(plain(title) for _, title in outcome.documents)}"
    yield f"metrics: {', '.join(design.metrics)}"
    if design.refinement is not None:
        goals = ", ".join(f"{metric} {least:g}" for metric, least in design.refinement.goals.items())
        yield f"refined: for {goals}, in at most {design.refinement.rounds} rounds ({design.refinement.policy})"
    if strangers := design.ready.strangers:
        yield f"ready-made summaries of documents that do not take part: {strangers}"
    yield basis(outcome)
    if outcome.stopped is not None:
        yield (
            f"stopped: {plain(outcome.stopped.message)}; what is there is below, and the same command with a higher"
            " limit goes on"
        )


def _partial(design: Design) -> str:
    """Which judges have summaries of their own before them: whoever judges these is not impartial."""
    own = {one.model for one in design.contestants if one.settings}
    both = [plain(seat.name) for seat in design.judges if seat.name in own]
    return f"; {', '.join(both)} judge{'s' * (len(both) == 1)} summaries of its own too" if both else ""


def _headline(outcome: GridOutcome) -> Iterator[str]:
    """The score of each contestant by each metric, and what is missing."""
    judge = judges_of(outcome)[-1]
    for one in outcome.contestants[:_MOST_LINES]:
        scores = (
            f"{metric} {figure(mean(list(by_document(outcome, one.name, judge, metric).values())))}"
            for metric in outcome.design.metrics
        )
        yield f"{plain(one.name)}: {', '.join(scores)}"
    if (more := len(outcome.contestants) - _MOST_LINES) > 0:
        yield f"and {more} more contestants"
    yield basis(outcome)
