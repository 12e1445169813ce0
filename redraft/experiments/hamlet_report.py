"""The report of the experiment of HAMLET: its tables, its items, and what it is about."""

from __future__ import annotations

from redraft.experiments.counting import WHOLE
from redraft.experiments.faithfulness_tables import error_table, faithfulness_table, summary_table
from redraft.experiments.hamlet import Outcome
from redraft.experiments.other_tables import cost_table, failure_table, pruning_table, size_table
from redraft.experiments.pictures import recall_by_place
from redraft.experiments.recall_tables import gap_table, length_table, recall_table
from redraft.reports.report import Report
from redraft.reports.tables import plain, unmarked


def hamlet_report(outcome: Outcome) -> Report:
    """The report of the experiment of HAMLET."""
    subjects, items, design = outcome.subjects, outcome.items, outcome.design
    return Report(
        "hamlet",
        "HAMLET: recall and faithfulness by level, perspective and position",
        tuple(_about(outcome)),
        {
            "models": list(design.models),
            "judge": design.judge,
            "validator": design.validator,
            "perspective": design.perspective,
            "queries": design.queries,
            "seed": design.seed,
            "drafting": design.settings.model_dump(mode="json", exclude={"model", "query", "base_url", "key_env"}),
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
            failure_table(subjects, items),
        ),
        [item.to_json() for item in items],
        {"recall_by_place": recall_by_place(recall_table(items), WHOLE)},
    )


def _about(outcome: Outcome) -> list[str]:
    design, items = outcome.design, outcome.items
    settings = design.settings
    by_status = {status: sum(item.status == status for item in items) for status in ("done", "failed", "not made")}
    limit = f"at most {settings.words} words" if settings.words else "as long as suits the document"
    lines = [
        f"models: {', '.join(plain(model) for model in design.models)}",
        f"judge: {plain(design.judge)}; key facts validated by {plain(design.validator or design.judge)}",
        *(f"{one.metric} is judged by {unmarked(one.line())}" for one in outcome.certificates),
        f"documents: {', '.join(plain(subject.document.title) for subject in outcome.subjects)}",
        f"summaries: {settings.strategy}, {limit}, each of the whole document and answering one query",
        f"items: {len(items)} (queries × models): " + ", ".join(f"{n} {status}" for status, n in by_status.items()),
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
