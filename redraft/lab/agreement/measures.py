"""Agreement between raters, correlations with their intervals, and classes told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, sqrt
from random import Random
from statistics import fmean, quantiles, stdev
from typing import Any, Literal

import numpy as np
import pandas as pd
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

Flags = NDArray[np.bool_]
Level = Literal["nominal", "ordinal", "interval"]
"""How two ratings are compared: whether they are equal, by how many ranks they differ, or by how much."""
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
_FOLDS = 5


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


def cohens_kappa(first: Sequence[Rating], second: Sequence[Rating]) -> float | None:
    """Return Cohen's kappa of two raters of the same items; None if chance alone would make them always agree."""
    return float(cohen_kappa_score(first, second)) if len({*first, *second}) > 1 else None


def tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; None if one series is constant."""
    varied = len({*first}) > 1 and len({*second}) > 1
    return float(stats.kendalltau(first, second).statistic) if varied else None


def percent_agreement(ratings: Ratings) -> float | None:
    """Return the share of equal ratings over all pairs of raters of an item, averaged over items."""
    counts, _ = _counts(ratings)
    # Only items with at least two ratings can agree.
    counts = counts[counts.sum(axis=1) > 1]
    raters = counts.sum(axis=1)
    return float(((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))).mean()) if len(counts) else None


def gwets_ac1(ratings: Ratings) -> float | None:
    """Return Gwet's AC1 (2008), which is stable when nearly all ratings are equal; 1 if all are."""
    if (equal := percent_agreement(ratings)) is None:
        return None
    counts, kinds = _counts(ratings)
    if len(kinds) < 2:
        return 1.0
    raters = counts.sum(axis=1, keepdims=True)
    # The probability of each kind: the mean over items of the share of raters who chose it.
    likely = (counts / np.maximum(raters, 1))[raters[:, 0] > 0].mean(axis=0)
    chance = float((likely * (1 - likely)).sum()) / (len(kinds) - 1)
    return (equal - chance) / (1 - chance)


def krippendorffs_alpha(ratings: Ratings, level: Level = "nominal") -> float | None:
    """Return Krippendorff's alpha (2011) from the coincidence table; None if all ratings are equal."""
    counts, kinds = _counts(ratings)
    counts = counts[counts.sum(axis=1) > 1]
    weights = counts / (counts.sum(axis=1, keepdims=True) - 1)
    table = weights.T @ counts - np.diag(weights.sum(axis=0))
    totals = table.sum(axis=1)
    if (totals > 0).sum() < 2:
        return None
    if level == "nominal":
        distances = 1 - np.eye(len(kinds))
    else:
        # Ordinal kinds differ by the number of ratings between them, each end counting half.
        ranks = np.cumsum(totals) - totals / 2 if level == "ordinal" else np.asarray([float(kind) for kind in kinds])
        distances = (ranks[:, None] - ranks[None, :]) ** 2
    expected = (np.outer(totals, totals) * distances).sum() / (totals.sum() - 1)
    return float(1 - (table * distances).sum() / expected) if expected else None


def _counts(ratings: Ratings) -> tuple[Floats, list[Rating]]:
    """Return how many raters gave each kind of rating, by item, and the kinds."""
    present = [[rating for rating in row if rating is not None] for row in ratings]
    kinds = sorted({rating for row in present for rating in row}, key=lambda kind: (str(type(kind)), kind))
    places_of = {kind: at for at, kind in enumerate(kinds)}
    counts = np.zeros((len(present), len(kinds)))
    for at, row in enumerate(present):
        for kind, count in Counter(row).items():
            counts[at, places_of[kind]] = count
    return counts, kinds


@dataclass(frozen=True, slots=True)
class Correlation:
    """Correlations of two series; None where a series is constant or too short."""

    n: int
    tau: float | None = None
    interval: Interval | None = None
    """The bootstrap interval of tau."""
    p: float | None = None
    p_by: str | None = None
    """What p is from: exact, permutation or normal."""
    spearman: float | None = None
    pearson: float | None = None


def correlate(ours: Sequence[float], figures: Sequence[float], groups: Sequence[str]) -> Correlation:
    """Return the correlations, with a bootstrap interval over groups, such as documents."""
    x, y = np.asarray(ours, dtype=np.float64), np.asarray(figures, dtype=np.float64)
    tau = tau_b(x, y)  # type: ignore[arg-type]
    return Correlation(len(x)) if tau is None else _correlation(x, y, tau, _interval(x, y, places(groups), tau))


def _correlation(x: Floats, y: Floats, tau: float, span: Interval | None) -> Correlation:
    other_coefficients = float(stats.spearmanr(x, y).statistic), float(stats.pearsonr(x, y).statistic)
    return Correlation(len(x), tau, span, *p_value(x, y), *other_coefficients)


def p_value(x: Floats, y: Floats) -> tuple[float, str]:
    """Return the two-sided p-value of tau, and what it is from: the exact distribution, a sample of permutations, or
    the normal approximation for many pairs and for what no permutation of the sample reaches."""
    if len(x) <= _EXACT and len(np.unique(x)) == len(np.unique(y)) == len(x):
        return float(stats.kendalltau(x, y, method="exact").pvalue), "exact"
    counts_all = factorial(min(len(x), 20)) <= _COUNTED
    if len(x) <= _DRAWN:
        test = stats.permutation_test(
            (y,),
            lambda order: stats.kendalltau(x, order).statistic,
            permutation_type="pairings",
            n_resamples=_COUNTED if counts_all else PERMUTATIONS,
            rng=np.random.default_rng(SEED),
        )
        # The least that a sample can show, counted on both sides.
        if counts_all or test.pvalue > 2 / (PERMUTATIONS + 1) + 1e-9:
            return float(test.pvalue), "exact" if counts_all else "permutation"
    return float(stats.kendalltau(x, y, method="asymptotic").pvalue), "normal"


def _interval(x: Floats, y: Floats, groups: Whole, tau: float) -> Interval | None:
    """Return the bootstrap interval of tau, of many pairs from a sample of the groups (and of the items of large ones,
    which makes it no narrower)."""
    chosen, count = np.arange(len(groups)), int(groups.max()) + 1
    if len(groups) > _COMPARED:
        generator = np.random.default_rng(SEED)
        size = max(min(count, 100), count * _COMPARED // len(groups))
        chosen = chosen[np.isin(groups, generator.permutation(count)[:size])]
        if len(chosen) > _COMPARED:
            chosen = np.sort(generator.choice(chosen, _COMPARED, replace=False))
    numbers, drawn = np.unique(groups[chosen], return_inverse=True)
    if len(numbers) < 2:
        return None
    span = interval(taus(x[chosen], y[chosen], drawn, draws(len(numbers))))
    if span is None or len(chosen) == len(groups):
        return span
    middle, share = tau_b(x[chosen].tolist(), y[chosen].tolist()) or 0.0, len(numbers) / count
    low, high = (tau + (end - middle) * sqrt(share) for end in span)
    return Interval(max(-1.0, low), min(1.0, high))


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
    same, differs, differing = (np.einsum("bi,ij,bj->b", drawn, table, drawn, optimize=True) for table in sums)
    return _ratio(same, np.sqrt(differs * differing))


def _ratio(part: Floats, total: Floats) -> Floats:
    """Return the quotients; NaN where the whole is zero."""
    quotients: Floats = np.divide(part, total, out=np.full_like(total, np.nan), where=total > 0)
    return quotients


@dataclass(frozen=True, slots=True)
class WithinDocuments:
    """The mean of tau-b over the documents for which it is defined."""

    documents: int
    of: int
    """The number of documents, including those without a tau-b because all summaries have the same score."""
    tau: float | None
    interval: Interval | None


def within_documents(ours: Sequence[float], figures: Sequence[float], documents: Sequence[str]) -> WithinDocuments:
    """Return how well the summaries of each document are ranked, averaged over documents."""
    frame = pd.DataFrame({"ours": [*ours], "people": [*figures], "document": [*documents]})
    of_each = [tau_b(rows["ours"], rows["people"]) for _, rows in frame.groupby("document", sort=False)]
    values = [tau for tau in of_each if tau is not None]
    spread = spread_of_mean(values)
    span = Interval(spread.low, spread.high) if spread else None
    return WithinDocuments(len(values), len(of_each), fmean(values) if values else None, span)


def between_systems(
    ours: Sequence[float], figures: Sequence[float], systems: Sequence[str], documents: Sequence[str]
) -> Correlation:
    """Return the correlation of the systems' means, with an interval that resamples documents, not systems."""
    frame = pd.DataFrame({"ours": [*ours], "people": [*figures], "system": [*systems], "document": [*documents]})
    cells = frame.groupby(["document", "system"])[["ours", "people"]].agg(["sum", "size"]).unstack(fill_value=0)
    count = frame["system"].nunique()
    if count < 2:
        return Correlation(count)
    counts, *sums = (cells[name].to_numpy(float) for name in (("ours", "size"), ("ours", "sum"), ("people", "sum")))
    means = [values.sum(axis=0) / counts.sum(axis=0) for values in sums]
    if (tau := tau_b(*means)) is None:
        return Correlation(count)
    drawn = draws(len(counts))
    x, y = (_ratio(drawn @ values, drawn @ counts) for values in sums)
    first, second = np.triu_indices(count, 1)
    dx, dy = np.sign(x[:, first] - x[:, second]), np.sign(y[:, first] - y[:, second])
    resampled = _ratio((dx * dy).sum(axis=1), np.sqrt((dx * dx).sum(axis=1) * (dy * dy).sum(axis=1)))
    return _correlation(means[0], means[1], tau, interval(resampled) if len(counts) > 1 else None)


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


def compare_verdicts(verdicts: Sequence[bool], labels: Sequence[bool], groups: Sequence[str]) -> ClassSeparation:
    """Compare verdicts with people's; balanced accuracy needs both classes among people's verdicts. Its bootstrap
    interval is over groups."""
    ours, theirs = np.asarray(verdicts, dtype=bool), np.asarray(labels, dtype=bool)
    right, wrong = class_scores(ours, theirs), class_scores(~ours, ~theirs)
    if not (right.there and wrong.there):
        return ClassSeparation(len(ours), right, wrong)
    flags = {"hit": theirs & ours, "right": theirs, "cleared": ~theirs & ~ours, "wrong": ~theirs}
    sums = pd.DataFrame(flags).groupby(places(groups)).sum().to_numpy(float)
    hit, present, cleared, wrong_count = (draws(len(sums)) @ sums).T
    halves = (_ratio(hit, present) + _ratio(cleared, wrong_count)) / 2
    span = interval(halves) if len(sums) > 1 else None
    return ClassSeparation(len(ours), right, wrong, float(balanced_accuracy_score(theirs, ours)), span)


def class_scores(verdicts: Sequence[bool] | Flags, labels: Sequence[bool] | Flags) -> ClassScores:
    """Return precision and recall of the positive class; None if the denominator is zero."""
    if not len(labels):
        return ClassScores(None, None, 0)
    precision, recall, _, _ = precision_recall_fscore_support(
        labels, verdicts, pos_label=True, average="binary", zero_division=0.0
    )
    positives = int(np.sum(labels))
    return ClassScores(float(precision) if np.any(verdicts) else None, float(recall) if positives else None, positives)


def area_under_curve(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the area under the ROC curve, ties counting half; None if there is only one class."""
    return float(roc_auc_score(labels, scores)) if len(set(labels)) == 2 else None


def threshold_verdicts(scores: Sequence[float], labels: Sequence[bool], groups: Sequence[str]) -> list[bool] | None:
    """Return scores as verdicts, by a threshold that separates the classes best in the other folds of groups.

    None if there are too few groups, or the other folds have only one class.
    """
    values, theirs, place = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=bool), places(groups)
    count = int(place.max()) + 1 if len(place) else 0
    if count < 2:
        return None
    fold_of: Any = np.random.default_rng(0).permutation(count) % min(_FOLDS, count)
    verdicts = np.zeros(len(values), dtype=bool)
    for fold in range(min(_FOLDS, count)):
        outside = fold_of[place] == fold
        if len(set(theirs[~outside].tolist())) < 2:
            return None
        false, true, cuts = roc_curve(theirs[~outside], values[~outside], drop_intermediate=False)
        verdicts[outside] = values[outside] >= cuts[int(np.argmax(true - false))]
    return verdicts.tolist()
