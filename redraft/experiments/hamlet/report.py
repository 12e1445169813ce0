"""The report of the experiment of HAMLET: its tables, its items, and what it is about."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.experiments.cells import number
from redraft.experiments.hamlet.counting import WHOLE, Tally
from redraft.experiments.hamlet.difference_table import difference_table
from redraft.experiments.hamlet.experiment import Outcome
from redraft.experiments.hamlet.faithfulness_tables import error_table, faithfulness_table, summary_table
from redraft.experiments.hamlet.other_tables import cost_table, failure_table, pruning_table, size_table
from redraft.experiments.hamlet.recall_tables import gap_table, length_table, recall_table
from redraft.packs.keyfacts import ALL
from redraft.reports.report import Report
from redraft.reports.tables import figure, plain, unmarked


def hamlet_report(outcome: Outcome) -> Report:
    """The report of the experiment of HAMLET."""
    subjects, items, design = outcome.subjects, outcome.items, outcome.design
    return Report(
        "hamlet",
        "HAMLET: recall and faithfulness by level, perspective and position",
        tuple(_about(outcome)),
        {
            "models": [one.name for one in design.models],
            "judge": design.judge.name,
            "validator": design.validator,
            "perspective": design.perspective,
            "queries": design.queries,
            "seed": design.seed,
            "drafting": {one.name: one.to_json() for one in design.models},
            "documents": [subject.to_json() for subject in subjects],
            "certificates": [one.to_json() for one in outcome.certificates],
        },
        (
            summary_table(items),
            recall_table(items),
            gap_table(items),
            faithfulness_table(items),
            error_table(items),
            length_table(items),
            cost_table(subjects, items),
            size_table(subjects, design.perspectives),
            pruning_table(subjects, design.perspectives),
            *([difference_table(items)] if len(design.models) > 1 else []),
            failure_table(subjects, items),
        ),
        [item.to_json() for item in items],
        tuple(_headline(outcome)),
    )


_MOST_MODELS = 6


def _headline(outcome: Outcome) -> Iterator[str]:
    """By model how much of the key facts its summaries keep, and how much of them is borne out; what is missing."""
    found, gaps = Tally(outcome.items, "recall"), gap_table(outcome.items)
    for model in found.models[:_MOST_MODELS]:
        recall, faithful = found.of(model=model), Tally(outcome.items, "faithfulness").of(model=model)
        by_place = [number(row[gaps.columns.index(WHOLE)]) for row in gaps.rows if row[1] == model]
        gap = max((one for one in by_place if one is not None), default=None)
        stated, borne = recall.share(ALL), faithful.share(ALL)
        yield (
            f"{plain(model)}: recall {figure(stated.value)} of {stated.whole:,} key facts, faithful"
            f" {figure(borne.value)} of {borne.whole:,} sentences, largest gap between fifths {figure(gap)}"
        )
    if (more := len(found.models) - _MOST_MODELS) > 0:
        yield f"and {more} more models"
    yield _counted(outcome)
    if outcome.stopped is not None:
        yield f"stopped: {plain(outcome.stopped.message)}"


def _counted(outcome: Outcome) -> str:
    items = outcome.items
    by_status = {status: sum(item.status == status for item in items) for status in ("done", "failed", "not made")}
    return f"items: {len(items)} (queries × models): " + ", ".join(f"{n} {status}" for status, n in by_status.items())


def _about(outcome: Outcome) -> list[str]:
    design, items = outcome.design, outcome.items
    settings = design.models[0].settings
    limit = f"at most {settings.words} words" if settings.words else "as long as suits the document"
    lines = [
        f"models: {', '.join(plain(one.name) for one in design.models)}",
        f"judge: {plain(design.judge.name)}; key facts validated by {plain(design.validator or design.judge.name)}",
        *(f"{one.metric} is judged by {unmarked(one.line())}" for one in outcome.certificates),
        f"documents: {', '.join(plain(subject.document.title) for subject in outcome.subjects)}",
        f"summaries: {settings.strategy}, {limit}, each of the whole document and answering one query",
        _counted(outcome),
    ]
    if lost := len(outcome.lost):
        lines.append(f"without key facts, and so without items: {lost} of {len(outcome.subjects)} documents")
    if gaps := sum(item.gaps > 0 for item in items):
        lines.append(f"summaries that leave out chunks that their model could not summarize: {gaps}")
    lines.append(
        "in every row: the items that it rests on, of how many, how many failed, and verdicts that were not given"
        " (unjudged); – is what was not measured"
    )
    if outcome.stopped is not None:
        lines.append(
            f"stopped: {plain(outcome.stopped.message)}; what is there is below, and the same command with a higher"
            " limit goes on"
        )
    return lines
