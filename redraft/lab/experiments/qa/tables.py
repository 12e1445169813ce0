"""The QA tables (thesis, table 6.2): accuracy by type, place, length and model, abstention, cost; and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product
from statistics import fmean
from typing import NamedTuple

from redraft.domain import THIRDS, TYPES, Totals, record_json
from redraft.evaluators.reference.keyfacts import ALL, share
from redraft.lab.experiments.legacy import (
    AGAIN,
    ENDS,
    Experiment,
    Row,
    by_set,
    distinct,
    group_by,
    interval_cells,
    models_and_judge,
    more_line,
    sum_fields,
    table,
    where,
)
from redraft.lab.experiments.plan import DRAFTING
from redraft.lab.experiments.published import interval_of_share
from redraft.lab.experiments.qa.experiment import (
    ANSWERS,
    DIRECT,
    NO_ANSWER,
    QA,
    QUESTIONS,
    VERDICTS,
    QaCell,
    QaDesign,
    QaItem,
    QaOutcome,
    QaSubject,
    qa,
)
from redraft.lab.experiments.runner import by_status, failure_cells
from redraft.report.tables import Table, figure, mean, number, plain

COUNTS = ("accuracy", *ENDS, "right", "judged", "unjudged", "no answer", "of", "similarity")
"""The columns of an accuracy and of what it is based on."""
_MAX_LENGTHS, _MAX_MODELS, _DIGITS = 13, 4, 6
_HOW = (
    "Accuracy: the share of questions handled correctly, out of those whose paragraph was read completely."
    " Correct is a right answer by the judge, the right yes or no, or saying that there is no answer where there"
    " is none. 95% intervals are bootstrapped over questions; with fewer than five there is none. Similarity:"
    " the mean similarity of the given answers to the reference."
)
_LONG = f"{_HOW} Tokens are the mean over steps of about that length."


class ReadLength(NamedTuple):
    """A rounded mean of tokens read, and the steps of about that length, each with its document."""

    tokens: int
    steps: frozenset[tuple[str, int]]


def group_by_length(read: Mapping[tuple[str, int], int]) -> list[ReadLength]:
    """Return the steps of documents grouped by the tokens they read. Short documents have other steps than long ones,
    so the nearest groups are merged until there are at most as many lengths as the thesis has steps."""
    groups = [[step for step, own in read.items() if own == tokens] for tokens in sorted({*read.values()})]
    while len(groups) > _MAX_LENGTHS:
        spans = [read[after[-1]] - read[before[0]] for before, after in pairwise(groups)]
        at = spans.index(min(spans))
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
    return [ReadLength(round(fmean(read[step] for step in group)), frozenset(group)) for group in groups]


def _counts(items: Sequence[QaItem]) -> Row:
    """Return the cells of the columns `COUNTS`."""
    known = [item.correct for item in items if item.correct is not None]
    # A question that several steps have read is resampled with all its answers.
    by_question = group_by([item for item in items if item.correct is not None], "name").values()
    spread = interval_of_share(
        [(sum(bool(item.correct) for item in qa_items), len(qa_items)) for qa_items in by_question]
    )
    silent = _silent(items)
    return (
        mean([float(one) for one in known]),
        *((round(spread.low, _DIGITS), round(spread.high, _DIGITS)) if spread else (None, None)),
        *(sum(known), len(known), len(items) - len(known) - silent, silent, len(items)),
        mean([item.similarity for item in items]),
    )


def _silent(items: Sequence[QaItem]) -> int:
    """Return the number of questions without an answer."""
    return sum(item.response is None for item in items)


def _basis(items: Sequence[QaItem]) -> str:
    read, cut = where(items, place="read"), sum(item.place == "cut" for item in items)
    unjudged = sum(item.correct is None and item.response is not None for item in read)
    return (
        f"Based on {len(read)} of {len(items)} questions asked, those whose paragraph was read; {unjudged} of"
        f" these are unjudged. Of all questions, {_silent(items)} have no answer, and {cut} were left out because"
        " a step ends inside their paragraph."
    )


def _accuracy(
    name: str,
    title: str,
    caption: str,
    by: Sequence[str],
    types: Sequence[str] = (ALL,),
    thirds: Sequence[str] = (ALL,),
) -> Callable[[Sequence[QaItem]], Table]:
    """Declare a table of each model's accuracy by some columns."""

    @table(name, title, caption, ("model", *by, *COUNTS), _basis)
    def declared(items: Sequence[QaItem]) -> Iterator[Row]:
        read = where(items, place="read")
        read_at = {(item.document, item.step): item.tokens for item in items}
        steps = group_by_length(read_at) if "tokens" in by else [None]
        for model, of_type, length, third in product(distinct(items, "model"), types, steps, thirds):
            place = "third_read" if "third read" in by else "third"
            qa_items = where(read, model=model, type=of_type, **{place: third})
            qa_items = [
                qa_item for qa_item in qa_items if length is None or (qa_item.document, qa_item.step) in length.steps
            ]
            cells = {"type": of_type, "tokens": length.tokens if length else None, "third": third, "third read": third}
            yield (model, *(cells[column] for column in by), *_counts(qa_items))

    return declared


accuracy_table = _accuracy("accuracy", "Accuracy by type", _HOW, ["type"], (*TYPES, ALL))
third_table = _accuracy(
    "type_and_third", "Accuracy by type and third of the document", _HOW, ["type", "third"], (*TYPES, ALL), THIRDS
)
length_table = _accuracy(
    "third_and_length",
    "Accuracy by length of the text read and third of the document",
    _LONG,
    ["tokens", "third"],
    thirds=(*THIRDS, ALL),
)
place_table = _accuracy(
    "place_and_length",
    "Accuracy by length of the text read and third of the text read",
    _LONG,
    ["tokens", "third read"],
    thirds=THIRDS,
)
"""The accuracy table by third of the text read; each step has different questions in its middle third."""


@table(
    "similarities",
    lambda _, measure: (
        f"Similarity of answers to references ({measure}) by type and third of the text read (thesis, table 6.2)"
    ),
    "The mean similarity of all that was said to all of the reference, whatever the verdict, for questions whose"
    f' paragraph was read completely. A reference without an answer is "{NO_ANSWER}"; so is an answer that abstains'
    " without a word. For yes or no, the answer with its reason counts, as in the thesis; below it are the share of"
    " right answers without regard to the reason, and the similarity of given reasons alone.",
    ("model", "type", "figure", *THIRDS, ALL, "answers"),
    lambda items, _: _basis(items),
)
def similarity_table(items: Sequence[QaItem], measure: str) -> Iterator[Row]:  # noqa: ARG001 - the title has it
    for model, put in group_by(where(items, place="read"), "model").items():
        for of_type in (*TYPES, ALL):
            for what, value in _SIMILARITIES.items() if of_type == "binary" else [_IN_FULL]:
                known = [(item.third_read, value(item)) for item in where(put, type=of_type)]
                values = [one for one in known if one[1] is not None]
                thirds = (mean([one for at, one in values if at == third]) for third in THIRDS)
                yield (model, of_type, what, *thirds, mean([one for _, one in values]), len(values))


_IN_FULL: tuple[str, Callable[[QaItem], float | None]] = ("similarity", lambda one: one.alike)
_SIMILARITIES: Mapping[str, Callable[[QaItem], float | None]] = {
    **dict([_IN_FULL]),
    "yes or no right": lambda one: None if one.yes_no is None else float(one.yes_no),
    "similarity of reasons": lambda one: one.similarity,
}


@table(
    "differences",
    "Paired differences between models",
    "Mean over questions of how much more often the first model was correct than the second, at the steps for"
    " which both have a verdict. 95% intervals are bootstrapped over questions; with fewer than five there is"
    " none.",
    ("first", "second", "type", "difference", *ENDS, "questions"),
    _basis,
)
def difference_table(items: Sequence[QaItem]) -> Iterator[Row]:
    for first, second in combinations(distinct(items, "model"), 2):
        for of_type in (ALL, *TYPES):
            read = where(items, place="read", type=of_type)
            found = paired_differences(where(read, model=first), where(read, model=second))
            yield (first, second, of_type, mean(found), *interval_cells(found), len(found))


def paired_differences(first: Sequence[QaItem], second: Sequence[QaItem]) -> list[float]:
    """Return for each question the mean difference over the steps at which both models have a verdict."""
    others = {(item.name, item.step): item.correct for item in second}
    found: dict[tuple[str, int], list[float]] = {}
    for item in first:
        other = others.get((item.name, item.step))
        if item.correct is not None and other is not None:
            found.setdefault(item.name, []).append(float(item.correct) - float(other))
    return [sum(one) / len(one) for one in found.values()]


def _asked(items: Sequence[QaItem]) -> str:
    silent = _silent(items)
    return (
        f"{silent} of {len(items)} questions asked have no answer: they failed, were not asked, or got an empty reply."
    )


_ABSTENTION: Mapping[str, Callable[[QaItem], bool]] = {
    "no answer in the document": lambda one: not one.question.is_answerable,
    "not read yet": lambda one: one.question.is_answerable and one.place == "ahead",
    "read": lambda one: one.question.is_answerable and one.place == "read",
    ALL: lambda one: one.place != "cut" or not one.question.is_answerable,
}


@table(
    "abstention",
    "Abstention",
    "Right: the model said that there is no answer, and there is none in the document or its paragraph was not"
    " read yet. Missed: it answered anyway. Wrong: it said that there is no answer to a question whose answer it"
    " had read. The share is of the questions for which it should have abstained. Refusals in other words count"
    " as abstaining.",
    ("model", "answer", "right", "missed", "wrong", "of", "no answer", "share right"),
    _asked,
)
def abstention_table(items: Sequence[QaItem]) -> Iterator[Row]:
    for model, put in group_by(items, "model").items():
        for name, belongs in _ABSTENTION.items():
            qa_items = [item for item in put if item.place and belongs(item)]
            told = Counter((bool(item.should_abstain), bool(item.abstained)) for item in qa_items if item.response)
            right, missed, wrong = told[True, True], told[True, False], told[False, True]
            counts = (right, missed, wrong, told.total(), len(qa_items) - told.total())
            yield (model, name, *counts, share(right, right + missed))


@table(
    "cost",
    "Cost",
    "Everything that was paid for, including failures. Cached answers cost nothing and are counted separately;"
    " where a price is unknown, so is the cost.",
    ("stage", "by", "tokens read", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
    lambda _, cells: (
        f"{sum(cell.status == 'done' for cell in cells)} of {len(cells)} sets of answers (one model, document and"
        " step each) are done."
    ),
)
def cost_table(subjects: Sequence[QaSubject], cells: Sequence[QaCell]) -> Iterator[Row]:
    everything: list[Totals] = []
    for *head, totals in _spent(subjects, cells):
        everything += totals
        yield (*head, *sum_fields(totals))
    yield ("total", "", None, *sum_fields(everything))


def _spent(
    subjects: Sequence[QaSubject], cells: Sequence[QaCell]
) -> Iterator[tuple[str, str, int | None, list[Totals]]]:
    """Yield stage, model and length with the usage there."""
    yield (
        QUESTIONS,
        "the judge",
        None,
        [subject.usage[QUESTIONS] for subject in subjects if QUESTIONS in subject.usage],
    )
    for model in dict.fromkeys(cell.model for cell in cells):
        for length in group_by_length({(cell.document, cell.step.number): cell.step.tokens for cell in cells}):
            qa_cells = [
                qa_cell
                for qa_cell in cells
                if qa_cell.model == model and (qa_cell.document, qa_cell.step.number) in length.steps
            ]
            if drafts := [qa_cell.drafting for qa_cell in qa_cells if qa_cell.drafting]:
                yield (DRAFTING, model, length.tokens, drafts)
            yield (ANSWERS, model, length.tokens, [qa_cell.usage for qa_cell in qa_cells if qa_cell.usage])
    yield (VERDICTS, "the judge", None, [subject.usage[VERDICTS] for subject in subjects if VERDICTS in subject.usage])


@table(
    "failures",
    "What failed",
    AGAIN,
    ("document", "by", "tokens read", "stage", "code", "message"),
    lambda _, cells: (
        f"{sum(one.failure is not None for one in cells)} of {len(cells)} sets of answers (one model, document and"
        f" step each) failed; {sum(one.status == 'not made' for one in cells)} were not made."
    ),
)
def failure_table(subjects: Sequence[QaSubject], cells: Sequence[QaCell]) -> Iterator[Row]:
    titles = {qa_subject.document.id: qa_subject.document.title for qa_subject in subjects}
    for subject in subjects:
        for lost in subject.failures:
            yield (subject.document.title, "the judge", None, *failure_cells(lost))
    for cell in cells:
        where = (titles[cell.document], cell.model, cell.step.tokens)
        if cell.failure:
            yield (*where, *failure_cells(cell.failure))
        elif cell.trouble:
            yield (*where, ANSWERS, "passed over", cell.trouble)


def _tables(outcome: QaOutcome) -> Iterator[Table]:
    subjects, cells, items = outcome.subjects, outcome.cells, outcome.items
    accuracies = (accuracy_table, third_table, length_table, place_table)
    sets = outcome.design.sets
    for of_items in (*accuracies, abstention_table):
        yield by_set(sets, of_items, [items])
    yield by_set(sets, similarity_table, [items], _measure(outcome))
    yield by_set(sets, difference_table, [items])
    yield cost_table(subjects, cells)
    yield failure_table(subjects, cells)


def _settings(outcome: QaOutcome) -> Mapping[str, object]:
    documents = [record_json(subject) for subject in outcome.subjects]
    return {**record_json(outcome.design), "documents": documents}


def _measure(outcome: QaOutcome) -> str:
    design = outcome.design
    return f"{design.similarity}, {design.embeddings}" if design.embeddings else design.similarity


def _headline(outcome: QaOutcome, _tables: Sequence[Table]) -> Iterator[str]:
    models = group_by(outcome.items, "model")
    for model, items in list(models.items())[:_MAX_MODELS]:
        read = where(items, place="read")
        accuracy, low, high, right, judged, *_ = _counts(read)
        thirds = ", ".join(f"{third} {_figure(_counts(where(read, third=third))[0])}" for third in THIRDS)
        qa_items = [item for item in items if item.should_abstain and item.response]
        abstained = sum(bool(item.abstained) for item in qa_items)
        yield (
            f"{plain(model)}: accuracy {_figure(accuracy)}{_between(low, high)} ({right} of {judged}; {thirds});"
            f" abstained rightly {figure(share(abstained, len(qa_items)), 2)} ({abstained} of {len(qa_items)})"
        )
    yield from more_line(len(models), _MAX_MODELS, "models")
    yield _counted(outcome)
    if missing := [one for subject in outcome.subjects if subject.questions for one in subject.questions.missing]:
        yield f"questions that could not be made: {len(missing)}"


def _figure(cell: str | float | None) -> str:
    return figure(number(cell), 2)


def _between(low: str | float | None, high: str | float | None) -> str:
    return f" [{_figure(low)}, {_figure(high)}]" if low is not None else ""


def _counted(outcome: QaOutcome) -> str:
    items = outcome.items
    unjudged = sum(item.pair is not None and item.judged_right is None for item in items)
    return f"questions asked: {len(items)}, {_silent(items)} without an answer; {unjudged} answers without a verdict"


def _about(outcome: QaOutcome) -> Iterator[str]:
    design, judge = outcome.design, outcome.design.judge.name
    sources = (
        "all that is read" if strategy == DIRECT else f"their {strategy} summary of that"
        for strategy in design.strategies
    )
    yield f"models: {', '.join(plain(model.name) for model in design.models)}"
    yield f"answers are based on: {', '.join(sources)}"
    itself = " (one of the models that are judged)" if judge in [model.name for model in design.models] else ""
    yield f"questions and verdicts by {plain(judge)}{itself}"
    for subject in outcome.subjects:
        asked = len(subject.questions.questions) if subject.questions else 0
        steps = ", ".join(f"{step.tokens:,}" for step in subject.steps)
        yield f"{plain(subject.document.title)}: {asked} questions, read up to {steps} tokens"
        if subject.questions and subject.questions.missing:
            yield f"questions that could not be made: {plain('; '.join(subject.questions.missing))}"
    yield f"similarity: {_measure(outcome)}; questions asked at once: {design.at_once}"
    yield f"models × steps × documents: {len(outcome.cells)} ({by_status(outcome.cells)})"
    yield _counted(outcome)
    yield "– means not measured"


EXPERIMENT: Experiment[QaDesign, QaOutcome] = Experiment(
    QA,
    "Questions: accuracy by type, place and length",
    run=qa,
    is_some=lambda outcome: any(cell.status == "done" for cell in outcome.cells),
    about=_about,
    settings=_settings,
    tables=_tables,
    items=lambda outcome: outcome.items,
    headline=_headline,
    who=models_and_judge,
)
