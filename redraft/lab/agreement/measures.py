"""Agreement between raters, correlations with their intervals, and classes told apart."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, sqrt
from random import Random
from statistics import fmean, quantiles, stdev
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import (
    balanced_accuracy_score,
    cohen_kappa_score,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)

from redraft.evaluators.figures import RESAMPLES, SEED, Floats, Interval, Whole, draws, interval, places
from redraft.lab.agreement.people import Rating, Ratings

Level = Literal["nominal", "ordinal", "interval"]
"""How two ratings are compared: whether they are equal, by how many ranks they differ, or by how much."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """The standard deviation and 95% interval of resampled means."""

    sd: float
    low: float
    high: float


def spread_of_mean(values: Sequence[float]) -> Deviation | None:
    """Return the bootstrap spread of the mean, independent of the values' order; None for fewer than two values."""
    if len(values) < 2:
        return None
    ordered, size = sorted(values), len(values)
    draw = Random(SEED)
    means = [sum(draw.choices(ordered, k=size)) / size for _ in range(RESAMPLES)]
    cuts = quantiles(means, n=40)
    return Deviation(stdev(means), cuts[0], cuts[-1])


def cohens_kappa(one: Sequence[Rating], other: Sequence[Rating]) -> float | None:
    """Return Cohen's kappa of two raters of the same items; None if chance alone would make them always agree."""
    return float(cohen_kappa_score(one, other)) if len({*one, *other}) > 1 else None


def tau_b(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; None if one series is constant."""
    return float(stats.kendalltau(one, other).statistic) if len({*one}) > 1 and len({*other}) > 1 else None


def percent_agreement(ratings: Ratings) -> float | None:
    """Return the share of equal ratings over all pairs of raters of an item, averaged over items."""
    shares = [
        sum(count * (count - 1) for count in Counter(row).values()) / (len(row) * (len(row) - 1))
        for row in _paired(ratings)
    ]
    return sum(shares) / len(shares) if shares else None


def gwets_ac1(ratings: Ratings) -> float | None:
    """Return Gwet's AC1 (2008), which is stable when nearly all ratings are equal; 1 if all are."""
    equal = percent_agreement(ratings)
    known = [[rating for rating in row if rating is not None] for row in ratings]
    known = [row for row in known if row]
    kinds = {rating for row in known for rating in row}
    if equal is None:
        return None
    if len(kinds) < 2:
        return 1.0
    # The probability of each kind: the mean over items of the share of raters who chose it.
    likely = [sum(row.count(kind) / len(row) for row in known) / len(known) for kind in kinds]
    chance = sum(one * (1 - one) for one in likely) / (len(kinds) - 1)
    return (equal - chance) / (1 - chance)


def krippendorffs_alpha(ratings: Ratings, level: Level = "nominal") -> float | None:
    """Return Krippendorff's alpha (2011) from the coincidence table; None if all ratings are equal."""
    rows = list(_paired(ratings))
    kinds = sorted({rating for row in rows for rating in row}, key=lambda one: (str(type(one)), one))
    if len(kinds) < 2:
        return None
    place = {kind: n for n, kind in enumerate(kinds)}
    table = np.zeros((len(kinds), len(kinds)))
    for row in rows:
        counts = np.zeros(len(kinds))
        for rating in row:
            counts[place[rating]] += 1
        table += (np.outer(counts, counts) - np.diag(counts)) / (len(row) - 1)
    totals = table.sum(axis=1)
    apart = _distances(level, kinds, totals)
    expected = (np.outer(totals, totals) * apart).sum() / (totals.sum() - 1)
    return float(1 - (table * apart).sum() / expected) if expected else None


def _paired(ratings: Ratings) -> list[list[Rating]]:
    """Return the items with at least two ratings."""
    known = ([rating for rating in row if rating is not None] for row in ratings)
    return [row for row in known if len(row) > 1]


def _distances(level: Level, kinds: Sequence[Rating], totals: np.ndarray) -> np.ndarray:
    """Return the distance between each two kinds: for ordinal ones the squared number of ratings between them, each end
    counting half."""
    if level == "nominal":
        return 1 - np.eye(len(kinds))
    places = np.cumsum(totals) - totals / 2 if level == "ordinal" else np.asarray([float(kind) for kind in kinds])
    return np.asarray((places[:, None] - places[None, :]) ** 2)


PERMUTATIONS = 999
"""The number of permutations for the p-value, where there are more than `_COUNTED`."""
# All orders of seven pairs.
_COUNTED = 5_040
# Without ties, tau's distribution is known; for more pairs it takes too long to compute.
_EXACT = 170
# With more pairs no permutations are drawn: the normal approximation is good enough, and scipy's variance takes ties
# into account.
_DRAWN = 2_000
# With more pairs the interval is computed on a sample of the documents, and narrowed to the size of all of them.
_COMPARED = 8_000
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Correlation:
    """The correlation of two series; None if a figure is undefined."""

    n: int
    tau: float | None = None
    interval: Interval | None = None
    p: float | None = None
    p_by: str | None = None
    """`exact`, `permutation` or `normal`."""
    spearman: float | None = None
    pearson: float | None = None


def correlate(ours: Sequence[float], people: Sequence[float], groups: Sequence[str]) -> Correlation:
    """Return the correlation of pairs of scores, with a bootstrap interval over groups, such as documents."""
    x, y = np.asarray(ours, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if not is_varied(x) or not is_varied(y):
        return Correlation(len(x))
    tau = float(stats.kendalltau(x, y).statistic)
    return Correlation(
        len(x),
        tau,
        _interval(x, y, places(groups), tau),
        *p_value(x, y),
        float(stats.spearmanr(x, y).statistic),
        float(stats.pearsonr(x, y).statistic),
    )


def is_varied(values: Floats) -> bool:
    """Return whether there are at least two different values."""
    return len(values) > 1 and bool(np.any(values != values[0]))


def p_value(x: Floats, y: Floats) -> tuple[float, str]:
    """Return the two-sided p-value of tau, and what it is from: the exact distribution, a sample of permutations, or
    the normal approximation for many pairs and for what no permutation of the sample reaches."""
    if len(x) <= _EXACT and len(np.unique(x)) == len(np.unique(y)) == len(x):
        return float(stats.kendalltau(x, y, method="exact").pvalue), "exact"
    counts_all = factorial(min(len(x), 20)) <= _COUNTED
    if len(x) <= _DRAWN:
        found = stats.permutation_test(
            (y,),
            lambda order: stats.kendalltau(x, order).statistic,
            permutation_type="pairings",
            n_resamples=_COUNTED if counts_all else PERMUTATIONS,
            rng=np.random.default_rng(SEED),
        )
        if counts_all:
            return float(found.pvalue), "exact"
        # The least that a sample can show, counted on both sides.
        if found.pvalue > 2 / (PERMUTATIONS + 1) + 1e-9:
            return float(found.pvalue), "permutation"
    return float(stats.kendalltau(x, y, method="asymptotic").pvalue), "normal"


def _interval(x: Floats, y: Floats, groups: Whole, tau: float) -> Interval | None:
    chosen, share = _some(groups)
    groups = np.unique(groups[chosen], return_inverse=True)[1]
    if (count := int(groups.max()) + 1) < 2:
        return None
    found = interval(taus(x[chosen], y[chosen], groups, draws(count)))
    if found is None or share == 1:
        return found
    middle = tau_b(x[chosen].tolist(), y[chosen].tolist()) or 0.0
    low, high = (tau + (end - middle) * sqrt(share) for end in found)
    return Interval(max(-1.0, low), min(1.0, high))


def _some(groups: Whole) -> tuple[Whole, float]:
    """Return the indexes of all pairs, or of a sample of groups if there are many, and the share of the groups in it.

    Large groups are sampled as well, which makes the interval no narrower.
    """
    everything = np.arange(len(groups))
    if len(groups) <= _COMPARED:
        return everything, 1.0
    generator = np.random.default_rng(SEED)
    count = int(groups.max()) + 1
    kept = max(min(count, 100), count * _COMPARED // len(groups))
    inside = np.isin(groups, generator.permutation(count)[:kept])
    chosen = everything[inside]
    if len(chosen) > _COMPARED:
        chosen = np.sort(generator.choice(chosen, _COMPARED, replace=False))
    return chosen, len(np.unique(groups[chosen])) / count


def taus(x: Floats, y: Floats, groups: Whole, drawn: Floats) -> Floats:
    """Return tau-b for each resample, in which each group counts as often as it is drawn.

    For each pair of groups, three sums over all pairs of items are computed once: the direction of their differences,
    and whether they differ in either series. A resample weights these sums.
    """
    order = np.argsort(groups, kind="stable")
    x, y, groups = x[order], y[order], groups[order]
    starts = np.flatnonzero(np.r_[True, np.diff(groups) > 0])
    sums = np.zeros((3, len(starts), len(starts)))
    for at in range(0, len(x), _BLOCK):
        end = at + _BLOCK
        dx = np.sign(x[at:end, None] - x[None, :]).astype(np.int8)
        dy = np.sign(y[at:end, None] - y[None, :]).astype(np.int8)
        for which, table in enumerate((dx * dy, dx * dx, dy * dy)):
            columns = np.add.reduceat(table, starts, axis=1, dtype=np.int64)
            np.add.at(sums[which], groups[at:end], columns)
    same, differs, others = (np.einsum("bi,ij,bj->b", drawn, table, drawn, optimize=True) for table in sums)
    scale = np.sqrt(differs * others)
    found: Floats = np.divide(same, scale, out=np.full(len(drawn), np.nan), where=scale > 0)
    return found


@dataclass(frozen=True, slots=True)
class WithinDocuments:
    """The mean of tau-b over the documents for which it is defined."""

    documents: int
    of: int
    """The number of documents, including those without a tau-b because all summaries have the same score."""
    tau: float | None
    interval: Interval | None


def within_documents(ours: Sequence[float], people: Sequence[float], documents: Sequence[str]) -> WithinDocuments:
    """Return how well the summaries of each document are ranked, averaged over documents."""
    places_of: dict[str, list[int]] = defaultdict(list)
    for n, document in enumerate(documents):
        places_of[document].append(n)
    found = [tau_b([ours[n] for n in those], [people[n] for n in those]) for those in places_of.values()]
    known = [one for one in found if one is not None]
    spread = spread_of_mean(known)
    whole = Interval(spread.low, spread.high) if spread else None
    return WithinDocuments(len(known), len(found), fmean(known) if known else None, whole)


def between_systems(
    ours: Sequence[float], people: Sequence[float], systems: Sequence[str], documents: Sequence[str]
) -> Correlation:
    """Return the correlation of the systems' means, with an interval that resamples documents, not systems."""
    system, document = places(systems), places(documents)
    counts = np.zeros((int(document.max()) + 1, int(system.max()) + 1)) if len(system) else np.zeros((0, 0))
    sums = np.zeros((2, *counts.shape))
    np.add.at(counts, (document, system), 1)
    for which, values in enumerate((ours, people)):
        np.add.at(sums[which], (document, system), np.asarray(values, dtype=np.float64))
    if counts.shape[1] < 2:
        return Correlation(counts.shape[1])
    means = sums.sum(axis=1) / counts.sum(axis=0)
    drawn = draws(len(counts))
    weights = drawn @ counts
    resampled = [
        np.divide(drawn @ part, weights, out=np.full_like(weights, np.nan), where=weights > 0) for part in sums
    ]
    tau = tau_b(*means.tolist())
    if tau is None:
        return Correlation(counts.shape[1])
    return Correlation(
        counts.shape[1],
        tau,
        interval(_taus(*resampled)) if len(counts) > 1 else None,
        *p_value(*means),
        float(stats.spearmanr(*means).statistic),
        float(stats.pearsonr(*means).statistic),
    )


def _taus(x: Floats, y: Floats) -> Floats:
    """Return tau-b for each row, over all pairs of columns; NaN if a column has no value."""
    one, other = np.triu_indices(x.shape[1], 1)
    dx, dy = np.sign(x[:, one] - x[:, other]), np.sign(y[:, one] - y[:, other])
    scale = np.sqrt((dx * dx).sum(axis=1) * (dy * dy).sum(axis=1))
    found: Floats = np.divide((dx * dy).sum(axis=1), scale, out=np.full(len(x), np.nan), where=scale > 0)
    return found


_FOLDS = 5
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The precision and recall of a class, and how many items are of it according to people."""

    precision: float | None
    recall: float | None
    there: int


@dataclass(frozen=True, slots=True)
class ClassSeparation:
    """How well two classes are separated."""

    n: int
    right: ClassScores
    wrong: ClassScores
    balanced: float | None = None
    interval: Interval | None = None


def compare_verdicts(said: Sequence[bool], people: Sequence[bool], groups: Sequence[str]) -> ClassSeparation:
    """Compare verdicts with people's; balanced accuracy needs both classes among people's verdicts."""
    ours, theirs = np.asarray(said, dtype=bool), np.asarray(people, dtype=bool)
    right, wrong = class_scores(ours, theirs), class_scores(~ours, ~theirs)
    if not (right.there and wrong.there):
        return ClassSeparation(len(ours), right, wrong)
    return ClassSeparation(
        len(ours),
        right,
        wrong,
        float(balanced_accuracy_score(theirs, ours)),
        _interval_of_classes(ours, theirs, groups),
    )


def class_scores(said: Sequence[bool] | Flags, people: Sequence[bool] | Flags) -> ClassScores:
    """Return precision and recall of the positive class; None if the denominator is zero."""
    if not len(people):
        return ClassScores(None, None, 0)
    precision, recall, _, _ = precision_recall_fscore_support(
        people, said, pos_label=True, average="binary", zero_division=0.0
    )
    there = int(np.sum(people))
    return ClassScores(float(precision) if np.any(said) else None, float(recall) if there else None, there)


def _interval_of_classes(said: Flags, people: Flags, groups: Sequence[str]) -> Interval | None:
    """Return the bootstrap interval of balanced accuracy over groups, from the counts of each class and of its hits."""
    place = places(groups)
    if (count := int(place.max()) + 1) < 2:
        return None
    sums = np.zeros((4, count))
    for which, those in enumerate((people & said, people, ~people & ~said, ~people)):
        np.add.at(sums[which], place, those.astype(np.float64))
    found, there, cleared, others = sums @ draws(count).T
    both = (there > 0) & (others > 0)
    halves = np.full(len(there), np.nan)
    halves[both] = (found[both] / there[both] + cleared[both] / others[both]) / 2
    return interval(halves)


def area_under_curve(scores: Sequence[float], people: Sequence[bool]) -> float | None:
    """Return the area under the ROC curve, ties counting half; None if there is only one class."""
    return float(roc_auc_score(people, scores)) if len(set(people)) == 2 else None


def threshold_verdicts(scores: Sequence[float], people: Sequence[bool], groups: Sequence[str]) -> list[bool] | None:
    """Return scores as verdicts, by a threshold that separates the classes best in the other folds of groups.

    None if there are too few groups, or the other folds have only one class.
    """
    values, theirs = np.asarray(scores, dtype=np.float64), np.asarray(people, dtype=bool)
    said = np.zeros(len(values), dtype=bool)
    folds = validation_folds(groups)
    for out in folds:
        if len(set(theirs[~out].tolist())) < 2:
            return None
        said[out] = values[out] >= _best_threshold(values[~out], theirs[~out])
    return said.tolist() if folds else None


def validation_folds(groups: Sequence[str]) -> list[Flags]:
    """Return the items of each of five folds of whole groups, as flags; none for fewer than two groups."""
    place = places(groups)
    count = int(place.max()) + 1 if len(place) else 0
    if count < 2:
        return []
    folds = np.random.default_rng(0).permutation(count) % min(_FOLDS, count)
    return [folds[place] == fold for fold in range(min(_FOLDS, count))]


def _best_threshold(scores: Floats, people: Flags) -> float:
    false, true, cuts = roc_curve(people, scores, drop_intermediate=False)
    return float(cuts[int(np.argmax(true - false))])
