"""The tables of an agreement report: judges against people, against each other, and against themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from statistics import fmean, pstdev

import pandas as pd

from redraft.evaluators.consensus import Interval
from redraft.evaluators.reference.keyfacts import share
from redraft.lab.agreement.frames import (
    BIGRAMS,
    by_judge,
    has_systems,
    judged_frame,
    scored,
    sentence_frame,
    sentence_separation,
    summary_correlation,
    system_correlation,
)
from redraft.lab.agreement.measures import (
    PERMUTATIONS,
    ClassSeparation,
    Correlation,
    area_under_curve,
    class_scores,
    cohens_kappa,
    compare_verdicts,
    gwets_ac1,
    krippendorffs_alpha,
    percent_agreement,
    tau_b,
    threshold_verdicts,
    within_documents,
)
from redraft.lab.agreement.people import Ratings
from redraft.lab.agreement.trial import SIMILARITY, AgreementOutcome
from redraft.lab.experiments.experiment import AGAIN, ENDS, Row, sum_fields, table
from redraft.lab.experiments.runner import failure_cells
from redraft.report.tables import Cell, Table

_CLASSES = ("precision wrong", "recall wrong", "precision right", "recall right")
_P = ("p", "p by", "Spearman", "Pearson", "tau, all")
_STATUSES = ("unjudged", "not applicable", "failed", "not made")
PEOPLE = "people"
SUMMARIES, SYSTEMS = "summaries", "systems"
_P_BY = (
    f"it is exact where all orders can be counted, else from {PERMUTATIONS} permutations (no less than"
    f" {2 / (PERMUTATIONS + 1):g}), else the normal approximation with ties, as `p by` says."
)
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
STARRED = (
    f"* p < 0.05, ** p < 0.01, *** p < 0.001, where p is exact, from {PERMUTATIONS} permutations, or normal where none"
    " reaches tau"
)


def agreement_tables(outcome: AgreementOutcome) -> Iterator[Table]:
    """Yield the tables that there is data for; the last ones describe that data."""
    frame = judged_frame(outcome)
    first = by_judge(frame)[0][1] if len(frame) else frame
    yield from _sweep_tables(outcome, frame)
    yield correlation_table(outcome, frame)
    if scored(first)["document"].duplicated().any():
        yield document_table(outcome, frame)
    if has_systems(first):
        yield system_table(outcome, frame)
    if best_rating(outcome) is not None:
        yield class_table(outcome, frame)
    yield from (made for made in (sentence_table(outcome), rater_table(outcome)) if made.rows)
    yield from (count_table(outcome), cost_table(outcome), trouble_table(outcome))


def basis(outcome: AgreementOutcome) -> str:
    """Return a sentence on what the tables are based on."""
    statuses = [each.status for each in outcome.outcomes]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in _STATUSES)
    return f"Based on {_rated(outcome)} of {len(outcome.dataset.items)} items and {len(statuses)} judgments: {counts}."


def _basis(outcome: AgreementOutcome, _: pd.DataFrame) -> str:
    return basis(outcome)


def _rated(outcome: AgreementOutcome) -> int:
    return sum(outcome.design.human in item.people for item in outcome.dataset.items)


def best_rating(outcome: AgreementOutcome) -> float | None:
    """Return the rating of a summary without errors; None if people were asked something else."""
    return outcome.dataset.fields[outcome.design.human].best


def verdict_pairs(outcome: AgreementOutcome, rows: pd.DataFrame) -> tuple[list[bool], list[bool] | None]:
    """Return whether people find each summary free of errors, and the judge's verdicts by its score."""
    best = best_rating(outcome)
    people = [best is not None and value >= best for value in rows["people"]]
    return people, threshold_verdicts(rows["ours"], people, rows["document"])


def interval_ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """Return the ends of an interval; None for both if there is none."""
    return (interval.low, interval.high) if interval else (None, None)


def _figures(result: Correlation) -> Row:
    return (result.tau, *interval_ends(result.interval), result.p, result.p_by, result.spearman, result.pearson)


def _separated(result: ClassSeparation) -> Row:
    """Return balanced accuracy with its interval, then precision and recall of the wrong and the right class."""
    classes = (result.wrong.precision, result.wrong.recall, result.right.precision, result.right.recall)
    return (result.balanced, *interval_ends(result.interval), *classes)


def _beyond_chance(ratings: Ratings) -> tuple[float | None, ...]:
    return percent_agreement(ratings), gwets_ac1(ratings), krippendorffs_alpha(ratings, "interval")


@table(
    "agreement",
    lambda outcome, _: f"Scores compared with people's {outcome.design.human}",
    "Kendall's tau-b over all summaries with a score, with the interval that contains 95% of resamples by"
    f" document, and p, the probability of reaching it by chance; {_P_BY} Spearman's and Pearson's correlation."
    " `tau, all` is over all summaries: one without a score gets the mean of the others. The last row needs no judge:"
    f" it is the {BIGRAMS}.",
    ("judge", "summaries", "of", "tau-b", *ENDS, *_P),
    _basis,
)
def correlation_table(outcome: AgreementOutcome, frame: pd.DataFrame) -> Iterator[Row]:
    for judge, rows in by_judge(frame):
        result = summary_correlation(rows)
        yield (judge, result.n, _rated(outcome), *_figures(result), tau_b(rows["filled"].dropna(), rows["people"]))


@table(
    "documents",
    "Within documents",
    "Mean of tau-b over documents, each over its own summaries, with intervals from resampled documents. A"
    " document whose summaries are all rated alike, by people or by the judge, is left out.",
    ("judge", "documents", "of", "tau-b", *ENDS),
    _basis,
)
def document_table(_: AgreementOutcome, frame: pd.DataFrame) -> Iterator[Row]:
    for judge, rows in by_judge(scored(frame)):
        result = within_documents(rows["ours"], rows["people"], rows["document"])
        yield (judge, result.documents, result.of, result.tau, *interval_ends(result.interval))


@table(
    "systems",
    "Between systems",
    "Correlation of the systems' means, with intervals from resampled documents; p as above. `tau, all` is over all"
    " summaries: one without a score gets the mean of the others.",
    ("judge", "systems", "tau-b", *ENDS, *_P),
    _basis,
)
def system_table(_: AgreementOutcome, frame: pd.DataFrame) -> Iterator[Row]:
    for judge, rows in by_judge(frame):
        result = system_correlation(rows)
        yield (judge, result.n, *_figures(result), system_correlation(rows, "filled").tau)


@table(
    "classes",
    "Right and wrong summaries",
    lambda outcome, _: (
        f"People find nothing wrong where {outcome.design.human} is {best_rating(outcome) or 0.0:g}. A judge finds"
        " nothing wrong from a threshold that was chosen on other documents (five-fold). Balanced accuracy is the"
        " mean of the two recalls; AUC is the probability that a right summary scores higher than a wrong one,"
        " without any threshold."
    ),
    ("judge", "summaries", "of", "wrong", "balanced accuracy", *ENDS, *_CLASSES, "AUC"),
    _basis,
)
def class_table(outcome: AgreementOutcome, frame: pd.DataFrame) -> Iterator[Row]:
    for judge, all_rows in by_judge(frame):
        rows = scored(all_rows)
        people, verdicts = verdict_pairs(outcome, rows)
        separation = compare_verdicts(verdicts, people, rows["document"]) if verdicts is not None else None
        counts = (len(people), _rated(outcome), len(people) - sum(people))
        figures = _separated(separation) if separation else (None,) * 7
        yield (judge, *counts, *figures, area_under_curve(rows["ours"], people))


@table(
    "sentences",
    "Right and wrong sentences",
    "Over the sentences rated by people for which the judge has a verdict; wrong is how many of them people find"
    " wrong. Found of all: the share of wrong sentences that the judge finds, including those without a verdict."
    " Kappa (Cohen), AC1 (Gwet) and alpha (Krippendorff) are agreement beyond chance.",
    ("judge", "judged", "of", "wrong", "balanced accuracy", *ENDS, *_CLASSES, "found of all", "kappa", "AC1", "alpha"),
    basis,
)
def sentence_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for column in outcome.columns:
        if (sentences := sentence_frame(outcome.dataset, column)) is None:
            continue
        judged = scored(sentences)
        ours, people = judged["ours"].astype(bool).tolist(), judged["people"].astype(bool).tolist()
        wrong = [not label for label in sentences["people"]]
        found_of_all = class_scores([verdict is False for verdict in sentences["ours"]], wrong).recall
        pairs = list(zip(people, ours, strict=True))
        beyond_chance = (cohens_kappa(people, ours), gwets_ac1(pairs), krippendorffs_alpha(pairs))
        separated = _separated(sentence_separation(sentences))
        yield (column.name, len(judged), len(sentences), sum(wrong), *separated, found_of_all, *beyond_chance)


@table(
    "raters",
    "Agreement of judges with each other and with themselves",
    "Two judges: tau-b of their scores over the summaries scored by both. One judge several times: mean over"
    " summaries of the standard deviation of its scores, and tau-b of the first and second time. People: over"
    " everything that several of them rated. Equal ratings, AC1 (Gwet) and alpha (Krippendorff) use scores and"
    " ratings as they are; alpha weights differences by their size.",
    ("one", "other", "items", "equal", "AC1", "alpha", "kappa", "tau-b", "sd"),
    basis,
)
def rater_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for first, second in combinations([column for column in outcome.columns if not column.setting], 2):
        both = _both(zip(first.scores, second.scores, strict=True))
        verdicts = [
            pair
            for one, other in zip(first.said, second.said, strict=True)
            for pair in _both(zip(one.sentences, other.sentences, strict=False))
        ]
        kappa = cohens_kappa([one for one, _ in verdicts], [other for _, other in verdicts])
        yield (first.name, second.name, len(both), *_beyond_chance(both), kappa, _tau(both), None)
    for column in outcome.columns:
        times = [each.each for each in column.said if sum(score is not None for score in each.each) > 1]
        if times:
            spread = fmean(pstdev([score for score in scores if score is not None]) for scores in times)
            again = _tau(_both((scores[0], scores[1]) for scores in times))
            yield (column.name, "itself", len(times), *_beyond_chance(times), None, again, spread)
    if votes := [row for item in outcome.dataset.items for row in item.votes]:
        yield (PEOPLE, "each other", len(votes), *_beyond_chance(votes), None, None, None)


def _both(pairs: Iterable[tuple[float | None, float | None]]) -> list[tuple[float, float]]:
    return [(first, second) for first, second in pairs if first is not None and second is not None]


def _tau(pairs: Sequence[tuple[float, float]]) -> float | None:
    return tau_b([first for first, _ in pairs], [second for _, second in pairs])


def _sweep_tables(outcome: AgreementOutcome, frame: pd.DataFrame) -> Iterator[Table]:
    """Yield the tables of a sweep (LongSumEval, tables V to VII): tau-b per summary, and per system, if any."""
    values = outcome.design.sweep.values
    across = SIMILARITY if SIMILARITY in values and len(values) > 1 else None
    down = [name for name in values if name != across]
    columns = values[across] if across else ("tau-b",)
    rows_of = dict(by_judge(frame))
    for per, correlation in ((SUMMARIES, summary_correlation), (SYSTEMS, system_correlation)) if values else ():
        cells: dict[tuple[str, ...], dict[str, Cell]] = {}
        for column in outcome.columns:
            setting, rows = dict(column.setting), rows_of.get(column.name, frame)
            key = (column.judge, *(setting[name] for name in down))
            cells.setdefault(key, {})[setting[across] if across else "tau-b"] = with_stars(correlation(rows))
        if per == SUMMARIES or has_systems(rows_of.get(outcome.columns[0].name, frame)):
            yield Table(
                f"sweep-{per}",
                f"Sensitivity: Kendall's tau-b with people's {outcome.design.human}, per"
                f" {'summary' if per == SUMMARIES else 'system'}",
                f"As in tables V to VII of LongSumEval: {STARRED}. Similarity and threshold reinterpret the same"
                " answers without new calls; picking the best of many settings also picks up chance.",
                basis(outcome),
                ("judge", *down, *columns),
                tuple((*key, *(row.get(name) for name in columns)) for key, row in cells.items()),
            )


def with_stars(result: Correlation) -> Cell:
    """Return tau-b with its stars; None where it is undefined."""
    if result.tau is None or result.p is None:
        return None
    p = result.p
    return f"{result.tau:.3f}" + next((stars for least, stars in _STARS if p < least), "")


@table(
    "counts",
    "What the figures are based on",
    "A summary is unjudged where fewer than half of its items have a verdict, and not applicable where there is"
    " nothing to judge. Items unjudged: share of all items (questions, claims, sentences) without a verdict."
    " Ties: share of all pairs of summaries with the same score.",
    ("by", "items", "figures", *_STATUSES, "items unjudged", "ties"),
    lambda outcome: f"{len(outcome.dataset.troubles)} entries of the file could not be read.",
)
def count_table(outcome: AgreementOutcome) -> Iterator[Row]:
    field = outcome.design.human
    people = [item.people[field] for item in outcome.dataset.items if field in item.people]
    yield (PEOPLE, len(outcome.dataset.items), len(people), *[None] * 5, _ties(people))
    for column in outcome.columns:
        statuses = [each.status for each in column.said]
        counts = [statuses.count(status) for status in ("scored", *_STATUSES)]
        unjudged, judged = (sum(getattr(each, name) for each in column.said) for name in ("unjudged", "judged"))
        scores = [score for score in column.scores if score is not None]
        yield (column.name, len(statuses), *counts, share(unjudged, unjudged + judged), _ties(scores))


def _ties(values: Sequence[float]) -> float | None:
    counts = pd.Series(values, dtype=float).value_counts()
    pairs = len(values) * (len(values) - 1)
    return float((counts * (counts - 1)).sum() / pairs) if pairs else None


@table(
    "cost",
    "Cost",
    "Everything the runs of a judge used; cached answers are counted separately and cost nothing. Settings that"
    " reinterpret the same answers have no row of their own.",
    ("judge", "setting", "runs", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
    basis,
)
def cost_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for column in outcome.columns:
        if column.usage:
            setting = ", ".join(f"{name} {value}" for name, value in column.setting)
            yield (column.judge, setting, len(column.usage), *sum_fields(column.usage))


@table(
    "troubles",
    "Unreadable entries and failures",
    f"Everything else was completed. {AGAIN}",
    ("place", "judge", "stage", "code", "message"),
    basis,
)
def trouble_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for problem in outcome.dataset.troubles:
        yield (problem.place, "", "reading", "", problem.message)
    for column in outcome.columns:
        for item, each in zip(outcome.dataset.items, column.said, strict=True):
            if each.failure is not None:
                yield (item.id, column.name, *failure_cells(each.failure))
