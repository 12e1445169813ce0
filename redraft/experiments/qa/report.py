"""The report of the experiment on questions: its tables, its items, and what matters in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.experiments.qa.counting import Tally
from redraft.experiments.qa.design import DIRECT
from redraft.experiments.qa.experiment import Outcome
from redraft.experiments.qa.other_tables import (
    abstention_table,
    agreement_table,
    cost_table,
    failure_table,
    question_table,
    reading_table,
    yes_no_table,
)
from redraft.experiments.qa.tables import accuracy_table, difference_table, length_table, place_table, third_table
from redraft.packs.keyfacts import share
from redraft.questions import THIRDS
from redraft.reports.report import Report
from redraft.reports.tables import figure, plain

_MOST_MODELS = 4


def qa_report(outcome: Outcome) -> Report:
    """The report of the experiment on questions."""
    subjects, cells, items, design = outcome.subjects, outcome.cells, outcome.items, outcome.design
    return Report(
        "qa",
        "Questions: accuracy by type, place and length",
        tuple(_about(outcome)),
        {
            "models": [one.name for one in design.models],
            "strategies": list(design.strategies),
            "words": design.words,
            "judge": design.judge.name,
            "steps": list(design.steps) if design.steps else None,
            "per_third": design.per_third,
            "at_once": design.at_once,
            "similarity": design.similarity,
            "threshold": design.threshold,
            "embeddings": design.embeddings,
            "answering": {one.name: one.to_json() for one in design.models},
            "documents": [subject.to_json() for subject in subjects],
        },
        (
            accuracy_table(items),
            third_table(items),
            length_table(items),
            place_table(items),
            reading_table(items),
            abstention_table(items),
            yes_no_table(items),
            agreement_table(items, design.threshold, _measure(outcome)),
            difference_table(items),
            question_table(subjects),
            cost_table(subjects, cells),
            failure_table(subjects, cells),
        ),
        [item.to_json() for item in items],
        tuple(_headline(outcome)),
    )


def _measure(outcome: Outcome) -> str:
    design = outcome.design
    return f"{design.similarity}, {design.embeddings}" if design.embeddings else design.similarity


def _headline(outcome: Outcome) -> Iterator[str]:
    """By model how often it did right by what it had read, and by what it could not know; what is missing."""
    tally = Tally(outcome.items)
    for model in tally.models[:_MOST_MODELS]:
        own = tally.only(model=model)
        accuracy, low, high, right, judged, *_ = own.read.counts
        between = f" [{figure(_number(low))}, {figure(_number(high))}]" if low is not None else ""
        thirds = ", ".join(f"{third} {figure(_number(own.read.only(third=third).counts[0]))}" for third in THIRDS)
        told = [one for one in own.items if one.should_abstain and one.response]
        abstained = sum(bool(one.abstained) for one in told)
        yield (
            f"{plain(model)}: accuracy {figure(_number(accuracy))}{between} ({right} of {judged}; {thirds}); abstained"
            f" rightly {figure(share(abstained, len(told)))} ({abstained} of {len(told)})"
        )
    if (more := len(tally.models) - _MOST_MODELS) > 0:
        yield f"and {more} more models"
    for first, second, of_type, difference, low, high, questions in difference_table(outcome.items).rows[:1]:
        between = f" [{figure(_number(low))}, {figure(_number(high))}]" if low is not None else ""
        yield f"{first} minus {second}: {figure(_number(difference))}{between}, {of_type} {questions} questions"
    yield _counted(outcome)
    if missing := sum(len(one.questions.missing) for one in outcome.subjects if one.questions):
        yield f"questions that could not be had: {missing}"
    if outcome.stopped is not None:
        yield f"stopped: {plain(outcome.stopped.message)}"


def _source(strategy: str) -> str:
    return "all that is read" if strategy == DIRECT else f"their {strategy} summary of that"


def _number(cell: object) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None


def _counted(outcome: Outcome) -> str:
    items = outcome.items
    silent = sum(item.response is None for item in items)
    unjudged = sum(item.pair is not None and item.judged_right is None for item in items)
    return f"questions put: {len(items)}, {silent} without an answer; {unjudged} answers without a verdict"


def _about(outcome: Outcome) -> Iterator[str]:
    design, cells = outcome.design, outcome.cells
    yield f"models: {', '.join(plain(one.name) for one in design.models)}"
    yield f"from what they answer: {', '.join(_source(strategy) for strategy in design.strategies)}"
    itself = " (one of the models that are judged)" if design.judge.name in [one.name for one in design.models] else ""
    yield f"questions and verdicts by {plain(design.judge.name)}{itself}"
    for subject in outcome.subjects:
        asked = len(subject.questions.questions) if subject.questions else 0
        steps = ", ".join(f"{step.tokens:,}" for step in subject.steps)
        yield f"{plain(subject.document.title)}: {asked} questions, read up to {steps} tokens"
    yield f"similarity: {_measure(outcome)}, alike above {design.threshold}; questions asked at once: {design.at_once}"
    by_status = {status: sum(cell.status == status for cell in cells) for status in ("done", "failed", "not made")}
    told = ", ".join(f"{count} {status}" for status, count in by_status.items())
    yield f"models × steps × documents: {len(cells)} ({told})"
    yield _counted(outcome)
    yield "– is what was not measured"
    if outcome.stopped is not None:
        yield (
            f"stopped: {plain(outcome.stopped.message)}; what is there is below, and the same command with a higher"
            " limit goes on"
        )
