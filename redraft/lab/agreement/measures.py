"""Agreement between raters, correlations with their intervals, and classes told apart: rows of tables, by column."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.metrics import (
    balanced_accuracy_score,
    cohen_kappa_score,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)

from redraft.evaluators.figures import (
    SEED,
    Floats,
    Interval,
    Whole,
    draws,
    interval,
    interval_of_share,
    places,
)
from redraft.lab.agreement.people import Rating, Ratings
from redraft.lab.experiments.frames import ENDS, end_cells, spread_of_mean
from redraft.report.tables import Cell

Level = Literal["nominal", "ordinal", "interval"]
"""How two ratings are compared: whether they are equal, by how many ranks they differ, or by how much."""
Cells = dict[str, Any]
"""Figures by the columns of a table; None where one is not defined."""
PERMUTATIONS = 999
"""The number of permutations for the p-value of few pairs with ties."""
# For more pairs the normal approximation is good enough, and scipy's variance takes ties into account.
_FEW = 170
_BLOCK = 512
_FOLDS = 5


def share_cells(name: str, part: int, total: int) -> Cells:
    """Return the cells of a share, under its name, and of its Wilson interval; None if the whole is empty."""
    share = part / total if total else None
    return {name: share, **end_cells(None if share is None else interval_of_share(share, total))}


def cohens_kappa(first: Sequence[Rating], second: Sequence[Rating]) -> float | None:
    """Return Cohen's kappa of two raters of the same items; None if chance alone would make them always agree."""
    return float(cohen_kappa_score(first, second)) if len({*first, *second}) > 1 else None


def tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; None if one series is constant."""
    varied = len({*first}) > 1 and len({*second}) > 1
    return float(stats.kendalltau(first, second).statistic) if varied else None


def beyond_chance(ratings: Ratings, level: Level = "nominal") -> Cells:
    """Return how far raters agree, by row of items: equal ratings, Gwet's AC1 and Krippendorff's alpha."""
    alpha = krippendorffs_alpha(ratings, level)
    return {"equal": percent_agreement(ratings), "AC1": gwets_ac1(ratings), "alpha": alpha}


def percent_agreement(ratings: Ratings) -> float | None:
    """Return the share of equal ratings over all pairs of raters of an item, averaged over items."""
    counts = _counts(ratings, minimum=2).to_numpy(float)
    raters = counts.sum(axis=1)
    return float(((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))).mean()) if len(counts) else None


def gwets_ac1(ratings: Ratings) -> float | None:
    """Return Gwet's AC1 (2008), which is stable when nearly all ratings are equal; 1 if all are."""
    if (equal := percent_agreement(ratings)) is None:
        return None
    counts = _counts(ratings).to_numpy(float)
    if counts.shape[1] < 2:
        return 1.0
    # The probability of each kind: the mean over items of the share of raters who chose it.
    likely = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
    chance = float((likely * (1 - likely)).sum()) / (len(likely) - 1)
    return (equal - chance) / (1 - chance)


def krippendorffs_alpha(ratings: Ratings, level: Level = "nominal") -> float | None:
    """Return Krippendorff's alpha (2011) from the coincidence table; None if all ratings are equal."""
    counts = _counts(ratings, minimum=2)
    kinds, weights = counts.columns, counts.to_numpy(float)
    weights = weights / (weights.sum(axis=1, keepdims=True) - 1)
    table = weights.T @ counts.to_numpy(float) - np.diag(weights.sum(axis=0))
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


def _counts(ratings: Ratings, minimum: int = 1) -> pd.DataFrame:
    """Return how many raters gave each kind of rating, a row for each item with at least so many."""
    present = [(at, rating) for at, row in enumerate(ratings) for rating in row if rating is not None]
    frame = pd.DataFrame(present, columns=["item", "rating"])
    counts = pd.crosstab(frame["item"], frame["rating"])
    return counts[counts.sum(axis=1) >= minimum]


def correlate(ours: Sequence[float], figures: Sequence[float], groups: Sequence[str]) -> Cells:
    """Return the number of pairs and their correlations, with a bootstrap interval over groups, such as documents."""
    x, y = np.asarray(ours, dtype=np.float64), np.asarray(figures, dtype=np.float64)
    numbers = places(groups)
    count = int(numbers.max()) + 1 if len(numbers) else 0
    return _correlation(x, y, interval(taus(x, y, numbers, draws(count))) if count > 1 else None)


def _correlation(x: Floats, y: Floats, span: Interval | None) -> Cells:
    """Return the correlations of two series; None where one is constant or too short."""
    row = {"n": len(x), "tau-b": tau_b(x.tolist(), y.tolist())}
    if row["tau-b"] is None:
        return {**row, **dict.fromkeys((*ENDS, "p", "p by", "Spearman", "Pearson"))}
    p, p_by = p_value(x, y)
    coefficients = {
        "Spearman": float(stats.spearmanr(x, y).statistic),
        "Pearson": float(stats.pearsonr(x, y).statistic),
    }
    return {**row, **end_cells(span), "p": p, "p by": p_by, **coefficients}


def p_value(x: Floats, y: Floats) -> tuple[float, str]:
    """Return the two-sided p-value of tau, and what it is from: without ties the exact distribution; for few pairs a
    sample of permutations; and for many, or for what no permutation of the sample reaches, the normal approximation."""
    if len(x) <= _FEW and len(np.unique(x)) == len(np.unique(y)) == len(x):
        return float(stats.kendalltau(x, y, method="exact").pvalue), "exact"
    if len(x) <= _FEW:
        p = stats.permutation_test(
            (y,),
            lambda order: stats.kendalltau(x, order).statistic,
            permutation_type="pairings",
            n_resamples=PERMUTATIONS,
            rng=np.random.default_rng(SEED),
        ).pvalue
        # The least that a sample can show, counted on both sides.
        if p > 2 / (PERMUTATIONS + 1) + 1e-9:
            return float(p), "permutation"
    return float(stats.kendalltau(x, y, method="asymptotic").pvalue), "normal"


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


def within_documents(ours: Sequence[float], figures: Sequence[float], documents: Sequence[str]) -> Cells:
    """Return how well the summaries of each document are ranked: the mean of tau-b over the documents for which it is
    defined, their number, and that of all documents."""
    frame = pd.DataFrame({"ours": [*ours], "people": [*figures], "document": [*documents]})
    of_each = [tau_b(rows["ours"], rows["people"]) for _, rows in frame.groupby("document", sort=False)]
    values = [tau for tau in of_each if tau is not None]
    spread = {name: spread_of_mean(values)[name] for name in ENDS}
    return {"documents": len(values), "of": len(of_each), "tau-b": fmean(values) if values else None, **spread}


def between_systems(
    ours: Sequence[float], figures: Sequence[float], systems: Sequence[str], documents: Sequence[str]
) -> Cells:
    """Return the correlation of the systems' means, with an interval that resamples documents, not systems."""
    frame = pd.DataFrame({"ours": [*ours], "people": [*figures], "system": [*systems], "document": [*documents]})
    if frame.empty:
        return _correlation(np.zeros(0), np.zeros(0), None)
    cells = frame.groupby(["document", "system"])[["ours", "people"]].agg(["sum", "size"]).unstack(fill_value=0)
    counts, *sums = (cells[name].to_numpy(float) for name in (("ours", "size"), ("ours", "sum"), ("people", "sum")))
    means = [values.sum(axis=0) / counts.sum(axis=0) for values in sums]
    if len(counts) < 2 or tau_b(*means) is None:
        return _correlation(means[0], means[1], None)
    drawn = draws(len(counts))
    x, y = (_ratio(drawn @ values, drawn @ counts) for values in sums)
    first, second = np.triu_indices(len(means[0]), 1)
    dx, dy = np.sign(x[:, first] - x[:, second]), np.sign(y[:, first] - y[:, second])
    resampled = _ratio((dx * dy).sum(axis=1), np.sqrt((dx * dx).sum(axis=1) * (dy * dy).sum(axis=1)))
    return _correlation(means[0], means[1], interval(resampled))


def compare_verdicts(
    verdicts: Sequence[bool], labels: Sequence[bool], groups: Sequence[str], yes: str = "right", no: str = "wrong"
) -> Cells:
    """Compare verdicts with people's: balanced accuracy with its bootstrap interval over groups, which needs both
    classes among people's verdicts, then precision and recall of both, by their names."""
    ours, theirs = np.asarray(verdicts, dtype=bool), np.asarray(labels, dtype=bool)
    balanced, span = None, None
    if theirs.any() and not theirs.all():
        flags = {"hit": theirs & ours, "right": theirs, "cleared": ~theirs & ~ours, "wrong": ~theirs}
        sums = pd.DataFrame(flags).groupby(places(groups)).sum().to_numpy(float)
        hit, present, cleared, wrong = (draws(len(sums)) @ sums).T
        span = interval((_ratio(hit, present) + _ratio(cleared, wrong)) / 2) if len(sums) > 1 else None
        balanced = float(balanced_accuracy_score(theirs, ours))
    row: Cells = {"balanced accuracy": balanced, **end_cells(span)}
    for name, says, is_of in ((no, ~ours, ~theirs), (yes, ours, theirs)):
        row |= dict(zip((f"precision {name}", f"recall {name}"), precision_and_recall(says, is_of), strict=True))
    return row


def precision_and_recall(verdicts: Sequence[bool] | Any, labels: Sequence[bool] | Any) -> tuple[Cell, Cell]:
    """Return precision and recall of the positive class; None if the denominator is zero."""
    if not len(labels):
        return None, None
    precision, recall, _, _ = precision_recall_fscore_support(
        labels, verdicts, pos_label=True, average="binary", zero_division=0.0
    )
    return float(precision) if np.any(verdicts) else None, float(recall) if np.any(labels) else None


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
