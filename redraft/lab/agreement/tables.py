"""The tables of an agreement report: judges against people, against each other, and against themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from statistics import fmean, pstdev

import pandas as pd

from redraft.evaluators.figures import Interval
from redraft.evaluators.reference.keyfacts import share
from redraft.lab.agreement.correlation import (
    BIGRAMS,
    bigram_baseline,
    filled_series,
    has_systems,
    score_series,
    sentence_separation,
    sentence_series,
)
from redraft.lab.agreement.measures import (
    PERMUTATIONS,
    ClassSeparation,
    Correlation,
    area_under_curve,
    between_systems,
    class_scores,
    cohens_kappa,
    compare_verdicts,
    correlate,
    gwets_ac1,
    krippendorffs_alpha,
    percent_agreement,
    tau_b,
    threshold_verdicts,
    within_documents,
)
from redraft.lab.agreement.people import Ratings
from redraft.lab.agreement.trial import SIMILARITY, AgreementOutcome, Column
from redraft.lab.declared import Row, sum_fields, table
from redraft.lab.experiments.experiment import AGAIN
from redraft.lab.experiments.frames import ENDS
from redraft.lab.experiments.runner import failure_cells
from redraft.report.tables import Cell, Table

_OF_CLASSES = ("precision wrong", "recall wrong", "precision right", "recall right")
PEOPLE = "people"
SUMMARIES, SYSTEMS = "summaries", "systems"
_P_BY = (
    f"it is exact where all orders can be counted, else from {PERMUTATIONS} permutations (no less than"
    f" {2 / (PERMUTATIONS + 1):g}), else the normal approximation with ties, as `p by` says."
)


def basis(outcome: AgreementOutcome) -> str:
    """Return a sentence on what the tables are based on."""
    items, field = outcome.dataset.items, outcome.design.human
    there = sum(field in item.people for item in items)
    statuses = [outcome.status for column in outcome.columns for outcome in column.said]
    counts = (f"{statuses.count(status)} {status}" for status in ("unjudged", "not applicable", "failed", "not made"))
    return f"Based on {there} of {len(items)} items and {len(statuses)} judgments: {', '.join(counts)}."


def _all(outcome: AgreementOutcome) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield each judge's scores, as they are and with missing ones filled in, then those of the baseline."""
    for column in outcome.columns:
        yield column.name, score_series(outcome, column), filled_series(outcome, column)
    baseline = bigram_baseline(outcome)
    yield BIGRAMS, baseline, baseline


def _rated(outcome: AgreementOutcome) -> int:
    return sum(outcome.design.human in item.people for item in outcome.dataset.items)


def best_rating(outcome: AgreementOutcome) -> float | None:
    """Return the rating of a summary without errors; None if people were asked something else."""
    return outcome.dataset.fields[outcome.design.human].best


def verdict_pairs(outcome: AgreementOutcome, series: pd.DataFrame) -> tuple[list[bool], list[bool] | None]:
    """Return whether people find each summary free of errors, and the judge's verdicts by its score."""
    best = best_rating(outcome)
    people = [best is not None and value >= best for value in series["people"]]
    return people, threshold_verdicts(series["ours"], people, series["documents"])


def interval_ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """Return the ends of an interval; None for both if there is none."""
    return (interval.low, interval.high) if interval else (None, None)


def _figures(found: Correlation) -> Row:
    return (found.tau, *interval_ends(found.interval), found.p, found.p_by, found.spearman, found.pearson)


def systems_correlation(series: pd.DataFrame) -> Correlation:
    """Return the correlation of the systems' means."""
    return between_systems(series["ours"], series["people"], series["systems"], series["documents"])


@table(
    "agreement",
    lambda outcome: f"Scores compared with people's {outcome.design.human}",
    "Kendall's tau-b over all summaries with a score, with the interval that contains 95% of resamples by"
    f" document, and p, the probability of reaching it by chance; {_P_BY} Spearman's and Pearson's correlation."
    " `tau, all` is over all summaries: one without a score gets the mean of the others. The last row needs no judge:"
    f" it is the {BIGRAMS}.",
    ("judge", "summaries", "of", "tau-b", *ENDS, "p", "p by", "Spearman", "Pearson", "tau, all"),
    basis,
)
def correlation_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for name, series, everything in _all(outcome):
        found = correlate(series["ours"], series["people"], series["documents"])
        yield (name, found.n, _rated(outcome), *_figures(found), tau_b(everything["ours"], everything["people"]))


@table(
    "documents",
    "Within documents",
    "Mean of tau-b over documents, each over its own summaries, with intervals from resampled documents. A"
    " document whose summaries are all rated alike, by people or by the judge, is left out.",
    ("judge", "documents", "of", "tau-b", *ENDS),
    basis,
)
def document_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for name, series, _ in _all(outcome):
        documents = within_documents(series["ours"], series["people"], series["documents"])
        yield (name, documents.documents, documents.of, documents.tau, *interval_ends(documents.interval))


@table(
    "systems",
    "Between systems",
    "Correlation of the systems' means, with intervals from resampled documents; p as above. `tau, all` is over all"
    " summaries: one without a score gets the mean of the others.",
    ("judge", "systems", "tau-b", *ENDS, "p", "p by", "Spearman", "Pearson", "tau, all"),
    basis,
)
def system_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for name, series, everything in _all(outcome):
        found = systems_correlation(series)
        yield (name, found.n, *_figures(found), systems_correlation(everything).tau)


@table(
    "classes",
    "Right and wrong summaries",
    lambda outcome: (
        f"People find nothing wrong where {outcome.design.human} is {best_rating(outcome) or 0.0:g}. A judge finds"
        " nothing wrong from a threshold that was chosen on other documents (five-fold). Balanced accuracy is the"
        " mean of the two recalls; AUC is the probability that a right summary scores higher than a wrong one,"
        " without any threshold."
    ),
    ("judge", "summaries", "of", "wrong", "balanced accuracy", *ENDS, *_OF_CLASSES, "AUC"),
    basis,
)
def class_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for name, series, _ in _all(outcome):
        people, said = verdict_pairs(outcome, series)
        found = _separated(compare_verdicts(said, people, series["documents"])) if said is not None else (None,) * 7
        counts = (len(people), _rated(outcome), len(people) - sum(people))
        yield (name, *counts, *found, area_under_curve(series["ours"], people))


def _separated(found: ClassSeparation) -> Row:
    """Return balanced accuracy with its interval, then precision and recall of the wrong and the right class."""
    classes = (found.wrong.precision, found.wrong.recall, found.right.precision, found.right.recall)
    return (found.balanced, *interval_ends(found.interval), *classes)


@table(
    "sentences",
    "Right and wrong sentences",
    "Over the sentences rated by people for which the judge has a verdict; wrong is how many of them people find"
    " wrong. Found of all: the share of wrong sentences that the judge finds, including those without a verdict."
    " Kappa (Cohen), AC1 (Gwet) and alpha (Krippendorff) are agreement beyond chance.",
    ("judge", "judged", "of", "wrong", "balanced accuracy", *ENDS, *_OF_CLASSES, "found of all", "kappa", "AC1",
     "alpha"),
    basis,
)  # fmt: skip
def sentence_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for column in outcome.columns:
        if (sentences := sentence_series(outcome.dataset, column)) is None:
            continue
        judged = sentences.dropna(subset="ours")
        said, people = judged["ours"].astype(bool).tolist(), judged["people"].astype(bool).tolist()
        wrong = [not label for label in sentences["people"]]
        found_of_all = class_scores([verdict is False for verdict in sentences["ours"]], wrong).recall
        pairs = list(zip(people, said, strict=True))
        beyond_chance = (cohens_kappa(people, said), gwets_ac1(pairs), krippendorffs_alpha(pairs))
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
    for one, other in combinations([column for column in outcome.columns if not column.setting], 2):
        both = _known_pairs(zip(one.scores, other.scores, strict=True))
        yield (one.name, other.name, len(both), *_beyond_chance(both), _kappa(one, other), _tau(both), None)
    for column in outcome.columns:
        times = [outcome.each for outcome in column.said if sum(score is not None for score in outcome.each) > 1]
        if times:
            spread = fmean(pstdev([score for score in each if score is not None]) for each in times)
            again = _tau(_known_pairs((each[0], each[1]) for each in times))
            yield (column.name, "itself", len(times), *_beyond_chance(times), None, again, spread)
    if votes := [row for item in outcome.dataset.items for row in item.votes]:
        yield (PEOPLE, "each other", len(votes), *_beyond_chance(votes), None, None, None)


def _known_pairs(scores: Iterable[tuple[float | None, float | None]]) -> list[tuple[float, float]]:
    return [(one, other) for one, other in scores if one is not None and other is not None]


def _tau(both: Sequence[tuple[float, float]]) -> float | None:
    return tau_b([one for one, _ in both], [other for _, other in both])


def _kappa(one: Column, other: Column) -> float | None:
    """Return Cohen's kappa of two judges' verdicts on single sentences."""
    pairs = [
        (a, b)
        for first, second in zip(one.said, other.said, strict=True)
        for a, b in zip(first.sentences, second.sentences, strict=False)
        if a is not None and b is not None
    ]
    return cohens_kappa([a for a, _ in pairs], [b for _, b in pairs])


def _beyond_chance(ratings: Ratings) -> tuple[float | None, ...]:
    return percent_agreement(ratings), gwets_ac1(ratings), krippendorffs_alpha(ratings, "interval")


_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
STARRED = (
    f"* p < 0.05, ** p < 0.01, *** p < 0.001, where p is exact, from {PERMUTATIONS} permutations, or normal where none"
    " reaches tau"
)


def sweep_tables(outcome: AgreementOutcome) -> list[Table]:
    """Return the tables of a sweep (LongSumEval, tables V to VII): tau-b per summary, and per system, if any."""
    values = outcome.design.sweep.values
    if not values:
        return []
    across = SIMILARITY if SIMILARITY in values and len(values) > 1 else None
    down = [name for name in values if name != across]
    tables = [_pivot(outcome, down, across, SUMMARIES)]
    if has_systems(score_series(outcome, outcome.columns[0])):
        tables.append(_pivot(outcome, down, across, SYSTEMS))
    return tables


def _pivot(outcome: AgreementOutcome, down: Sequence[str], across: str | None, per: str) -> Table:
    values = outcome.design.sweep.values
    columns = values[across] if across else ("tau-b",)
    rows: dict[tuple[str, ...], dict[str, Cell]] = {}
    for column in outcome.columns:
        setting = dict(column.setting)
        key = (column.judge, *(setting[name] for name in down))
        rows.setdefault(key, {})[setting[across] if across else "tau-b"] = _starred(outcome, column, per)
    return Table(
        f"sweep-{per}",
        f"Sensitivity: Kendall's tau-b with people's {outcome.design.human}, per {per[:-1].replace('ie', 'y')}",
        f"As in tables V to VII of LongSumEval: {STARRED}. Similarity and threshold"
        " reinterpret the same answers without new calls; picking the best of many settings also picks up chance.",
        basis(outcome),
        ("judge", *down, *columns),
        tuple((*key, *(found.get(name) for name in columns)) for key, found in rows.items()),
    )


def _starred(outcome: AgreementOutcome, column: Column, per: str) -> Cell:
    series = score_series(outcome, column)
    if per == SYSTEMS:
        return with_stars(systems_correlation(series))
    return with_stars(correlate(series["ours"], series["people"], series["documents"]))


def with_stars(found: Correlation) -> Cell:
    """Return tau-b with its stars; None where it is undefined."""
    if found.tau is None:
        return None
    return f"{found.tau:.3f}" + next((stars for least, stars in _STARS if found.p is not None and found.p < least), "")


@table(
    "counts",
    "What the figures are based on",
    "A summary is unjudged where fewer than half of its items have a verdict, and not applicable where there is"
    " nothing to judge. Items unjudged: share of all items (questions, claims, sentences) without a verdict."
    " Ties: share of all pairs of summaries with the same score.",
    ("by", "items", "figures", "unjudged", "not applicable", "failed", "not made", "items unjudged", "ties"),
    lambda outcome: f"{len(outcome.dataset.troubles)} entries of the file could not be read.",
)
def count_table(outcome: AgreementOutcome) -> Iterator[Row]:
    field = outcome.design.human
    people = [item.people[field] for item in outcome.dataset.items if field in item.people]
    yield (PEOPLE, len(outcome.dataset.items), len(people), *[None] * 4, None, _ties(people))
    for column in outcome.columns:
        statuses = [outcome.status for outcome in column.said]
        counts = [statuses.count(status) for status in ("scored", "unjudged", "not applicable", "failed", "not made")]
        left, judged = (
            sum(outcome.unjudged for outcome in column.said),
            sum(outcome.judged for outcome in column.said),
        )
        known = [score for score in column.scores if score is not None]
        yield (column.name, len(statuses), *counts, share(left, left + judged), _ties(known))


def _ties(values: Sequence[float]) -> float | None:
    counts = pd.Series(values).value_counts()
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
        for item, item_outcome in zip(outcome.dataset.items, column.said, strict=True):
            if item_outcome.failure is not None:
                yield (item.id, column.name, *failure_cells(item_outcome.failure))


def agreement_tables(outcome: AgreementOutcome) -> Iterator[Table]:
    """Yield the tables that there is data for; the last ones describe that data."""
    first = score_series(outcome, outcome.columns[0])
    yield from sweep_tables(outcome)
    yield correlation_table(outcome)
    if first["documents"].duplicated().any():
        yield document_table(outcome)
    if has_systems(first):
        yield system_table(outcome)
    if best_rating(outcome) is not None:
        yield class_table(outcome)
    yield from (found for found in (sentence_table(outcome), rater_table(outcome)) if found.rows)
    yield from (count_table(outcome), cost_table(outcome), trouble_table(outcome))
