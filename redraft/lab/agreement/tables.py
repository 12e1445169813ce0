"""The tables of an agreement report: judges against people, against each other, and against themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from statistics import fmean, pstdev

import numpy as np

from redraft.evaluators.consensus import Interval
from redraft.evaluators.reference.keyfacts import share
from redraft.lab.agreement.correlation import (
    BIGRAMS,
    PERMUTATIONS,
    ClassScores,
    ClassSeparation,
    Correlation,
    ScoreSeries,
    area_under_curve,
    area_under_risk,
    between_systems,
    bigram_baseline,
    class_scores,
    compare_verdicts,
    correlate,
    filled_series,
    risk_coverage_curve,
    score_series,
    sentence_series,
    threshold_verdicts,
    within_documents,
)
from redraft.lab.agreement.people import Ratings, cohens_kappa, gwets_ac1, krippendorffs_alpha, percent_agreement, tau_b
from redraft.lab.agreement.trial import SIMILARITY, AgreementOutcome, Column
from redraft.lab.experiments.experiment import AGAIN, ENDS, Row, sum_fields, table
from redraft.lab.experiments.runner import failure_cells
from redraft.report.tables import Cell, Table

# The least share of a summary's items with a verdict, for each row.
_SHARES = (1.0, 0.9, 0.8, 0.65, 0.5)
_THIRDS = ("first third", "second third", "last third")
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


def _all(outcome: AgreementOutcome) -> Iterator[tuple[ScoreSeries, ScoreSeries]]:
    """Yield each judge's scores, as they are and with missing ones filled in, then those of the baseline."""
    yield from ((score_series(outcome, column), filled_series(outcome, column)) for column in outcome.columns)
    yield (bigram_baseline(outcome),) * 2


def best_rating(outcome: AgreementOutcome) -> float | None:
    """Return the rating of a summary without errors; None if people were asked something else."""
    return outcome.dataset.fields[outcome.design.human].best


def verdict_pairs(outcome: AgreementOutcome, one: ScoreSeries) -> tuple[list[bool], list[bool] | None]:
    """Return whether people find each summary free of errors, and the judge's verdicts by its score."""
    best = best_rating(outcome)
    people = [best is not None and value >= best for value in one.people]
    return people, threshold_verdicts(one.ours, people, one.documents)


def interval_ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """Return the ends of an interval; None for both if there is none."""
    return (interval.low, interval.high) if interval else (None, None)


def _figures(found: Correlation) -> Row:
    return (found.tau, *interval_ends(found.interval), found.p, found.p_by, found.spearman, found.pearson)


def systems_correlation(one: ScoreSeries) -> Correlation:
    """Return the correlation of the systems' means."""
    return between_systems(one.ours, one.people, one.systems, one.documents)


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
    for series, everything in _all(outcome):
        correlation = correlate(series.ours, series.people, series.documents)
        yield (series.name, correlation.n, series.of, *_figures(correlation), tau_b(everything.ours, everything.people))


@table(
    "documents",
    "Within documents",
    "Mean of tau-b over documents, each over its own summaries, with intervals from resampled documents. A"
    " document whose summaries are all rated alike, by people or by the judge, is left out.",
    ("judge", "documents", "of", "tau-b", *ENDS),
    basis,
)
def document_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for series, _ in _all(outcome):
        documents = within_documents(series.ours, series.people, series.documents)
        yield (series.name, documents.documents, documents.of, documents.tau, *interval_ends(documents.interval))


@table(
    "systems",
    "Between systems",
    "Correlation of the systems' means, with intervals from resampled documents; p as above. `tau, all` is over all"
    " summaries: one without a score gets the mean of the others.",
    ("judge", "systems", "tau-b", *ENDS, "p", "p by", "Spearman", "Pearson", "tau, all"),
    basis,
)
def system_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for series, everything in _all(outcome):
        correlation = systems_correlation(series)
        yield (series.name, correlation.n, *_figures(correlation), systems_correlation(everything).tau)


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
    for series, _ in _all(outcome):
        people, said = verdict_pairs(outcome, series)
        found = _separated(compare_verdicts(said, people, series.documents)) if said is not None else (None,) * 7
        counts = (len(people), series.of, len(people) - sum(people))
        yield (series.name, *counts, *found, area_under_curve(series.ours, people))


def _separated(found: ClassSeparation) -> Row:
    """Return balanced accuracy with its interval, then precision and recall of the wrong and the right class."""
    return (found.balanced, *interval_ends(found.interval), *_shares(found.wrong), *_shares(found.right))


def _shares(one: ClassScores) -> tuple[float | None, float | None]:
    return one.precision, one.recall


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
        if (series := sentence_series(outcome.dataset, column)) is None:
            continue
        judged = series.judged
        said, people = [bool(series.said[n]) for n in judged], [series.people[n] for n in judged]
        wrong = class_scores([verdict is False for verdict in series.said], [not label for label in series.people])
        pairs = list(zip(people, said, strict=True))
        counts = (len(judged), len(series.people), len(series.people) - sum(series.people))
        beyond_chance = (cohens_kappa(people, said), gwets_ac1(pairs), krippendorffs_alpha(pairs))
        yield (column.name, *counts, *_separated(series.separation), wrong.recall, *beyond_chance)


@table(
    "places",
    "Right and wrong sentences by place in the summary",
    "Over the rated sentences of summaries with at least three. Found, missed, open: the wrong sentences that the judge"
    " finds wrong, right, or has no verdict on. Accused: the right sentences that it finds wrong.",
    ("judge", "place", "sentences", "wrong", "share wrong", "found", "missed", "open", "accused"),
    basis,
)
def place_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for column in outcome.columns:
        if (series := sentence_series(outcome.dataset, column)) is None or not any(series.thirds):
            continue
        for third, name in enumerate(_THIRDS):
            there = [n for n, its in enumerate(series.thirds) if its == third]
            wrong = [series.said[n] for n in there if not series.people[n]]
            counts = (len(there), len(wrong), share(len(wrong), len(there)))
            accused = sum(series.people[n] and series.said[n] is False for n in there)
            yield (column.name, name, *counts, *(wrong.count(said) for said in (False, True, None)), accused)


@table(
    "risk",
    "Mistakes by coverage",
    "Summaries in which at least this share of the items has a verdict: their share of all summaries (coverage),"
    " and how often the judge is wrong about them (risk). The last row of a judge covers everything it scores,"
    " with the mean risk over all coverages. A judge that knows what it cannot tell makes fewer mistakes at lower"
    " coverage.",
    ("judge", "least share judged", "coverage", "risk", "mean risk"),
    basis,
)
def risk_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for column in outcome.columns:
        series = score_series(outcome, column)
        people, said = verdict_pairs(outcome, series)
        if said is None:
            continue
        wrong = [verdict != label for verdict, label in zip(said, people, strict=True)]
        shares = [column.said[n].judged_share for n in series.places]
        curve = risk_coverage_curve(wrong, shares, series.of)
        for least in _SHARES:
            accuracies = [step for step in curve if step.least >= least]
            yield (
                column.name,
                least,
                *((accuracies[-1].coverage, accuracies[-1].risk) if accuracies else (0.0, None)),
                None,
            )
        whole = (share(len(wrong), series.of), share(sum(wrong), len(wrong)))
        yield (column.name, None, *whole, area_under_risk(wrong, shares))


@table(
    "pairs",
    "The better of two summaries",
    "Shares of the pairs for which both have a score.",
    ("judge", "pairs", "of", "better one above", "tied", "below"),
    basis,
)
def pair_table(outcome: AgreementOutcome) -> Iterator[Row]:
    items, field = outcome.dataset.items, outcome.design.human
    pairs: dict[str, list[int]] = {}
    for n, item in enumerate(items):
        if item.pair:
            pairs.setdefault(item.pair, []).append(n)
    two = [sorted(some, key=lambda n: -items[n].people[field]) for some in pairs.values() if len(some) == 2]
    for series, _ in _all(outcome) if two else ():
        scores = dict(zip(series.places, series.ours, strict=True))
        yield (series.name, *_ordered([(scores.get(better), scores.get(worse)) for better, worse in two]))


def _ordered(scores: Sequence[tuple[float | None, float | None]]) -> Row:
    known = [(one, other) for one, other in scores if one is not None and other is not None]
    if not known:
        return (0, len(scores), None, None, None)
    parts = [sum(test) / len(known) for test in zip(*((a > b, a == b, a < b) for a, b in known), strict=True)]
    return (len(known), len(scores), *parts)


@table(
    "kinds",
    "Errors found, by type",
    "Share of the summaries with this type of error, by people's ratings, that the judge finds wrong, with the"
    " thresholds of the table of right and wrong summaries.",
    ("judge", "kind", "wrong", "judged", "found"),
    basis,
)
def kind_table(outcome: AgreementOutcome) -> Iterator[Row]:
    items, field, best = outcome.dataset.items, outcome.design.human, best_rating(outcome)
    kinds = sorted({kind for item in items for kind in item.kinds})
    for series, _ in _all(outcome) if kinds else ():
        verdict = dict(zip(series.places, verdict_pairs(outcome, series)[1] or (), strict=False))
        for kind in kinds:
            wrong = [n for n, item in enumerate(items) if kind in item.kinds and item.people[field] < (best or 0.0)]
            judged = [n for n in wrong if n in verdict]
            found = sum(not verdict[n] for n in judged)
            yield (series.name, kind, len(wrong), len(judged), share(found, len(judged)))


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
    if score_series(outcome, outcome.columns[0]).has_systems:
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
    return with_stars(
        systems_correlation(series) if per == SYSTEMS else correlate(series.ours, series.people, series.documents)
    )


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
    if len(values) < 2:
        return None
    counts = np.unique(np.asarray(values), return_counts=True)[1]
    return float((counts * (counts - 1)).sum() / (len(values) * (len(values) - 1)))


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
    first, has_best = score_series(outcome, outcome.columns[0]), best_rating(outcome) is not None
    yield from sweep_tables(outcome)
    yield correlation_table(outcome)
    if len(set(first.documents)) < len(first.documents):
        yield document_table(outcome)
    if first.has_systems:
        yield system_table(outcome)
    if has_best:
        yield class_table(outcome)
    optional = (
        kind_table(outcome) if has_best else None,
        sentence_table(outcome),
        place_table(outcome),
        pair_table(outcome),
    )
    yield from (one for one in optional if one is not None and one.rows)
    if has_best:
        yield risk_table(outcome)
    yield from (one for one in (rater_table(outcome),) if one.rows)
    yield from (count_table(outcome), cost_table(outcome), trouble_table(outcome))
