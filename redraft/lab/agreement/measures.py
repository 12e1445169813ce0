"""Agreement between raters, correlations with their intervals, and classes told apart: rows of tables, by column."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, precision_recall_fscore_support

from redraft.evaluators.statistics import draws, interval, interval_of_share
from redraft.lab.agreement.people import Rating, Ratings
from redraft.lab.experiments.frames import ENDS, end_cells, spread_of_mean
from redraft.report.tables import Cell

Level = Literal["nominal", "interval"]
"""How two ratings are compared: whether they are equal, or by how much they differ."""
Cells = dict[str, Any]
"""Figures by the columns of a table; None where one is not defined."""


def share_cells(name: str, part: int, total: int) -> Cells:
    """Return the cells of a share, under its name, and of its Wilson interval; None if the whole is empty."""
    share = part / total if total else None
    return {name: share, **end_cells(None if share is None else interval_of_share(share, total))}


def cohens_kappa(first: Sequence[Rating], second: Sequence[Rating]) -> float | None:
    """Return Cohen's kappa of two raters of the same items; None if chance alone would make them always agree."""
    return float(cohen_kappa_score(first, second)) if len({*first, *second}) > 1 else None


def tau_b(first: Any, second: Any) -> float | None:
    """Return Kendall's tau-b of two series of numbers; None if one is constant or has a single value."""
    tau = float(stats.kendalltau(first, second).statistic) if len(first) > 1 else np.nan
    return None if np.isnan(tau) else tau


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
    values = np.arange(len(kinds)) if level == "nominal" else np.asarray([float(kind) for kind in kinds])
    distances = (values[:, None] - values[None, :]) ** 2
    distances = np.sign(distances) if level == "nominal" else distances
    expected = (np.outer(totals, totals) * distances).sum() / (totals.sum() - 1)
    return float(1 - (table * distances).sum() / expected) if expected else None


def _counts(ratings: Ratings, minimum: int = 1) -> pd.DataFrame:
    """Return how many raters gave each kind of rating, a row for each item with at least so many."""
    present = [(at, rating) for at, row in enumerate(ratings) for rating in row if rating is not None]
    frame = pd.DataFrame(present, columns=["item", "rating"])
    counts = pd.crosstab(frame["item"], frame["rating"])
    return counts[counts.sum(axis=1) >= minimum]


def places(groups: Sequence[str]) -> NDArray[np.int64]:
    """Return the groups as numbers that depend only on their names, so that item order makes no difference."""
    return np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)


def correlate(ours: Sequence[float], figures: Sequence[float], groups: Sequence[str] = ()) -> Cells:
    """Return the number of pairs and their correlations, None where a series is constant or too short; with a bootstrap
    interval over groups of pairs, such as documents, if there are several. The p-value is exact for few pairs without
    ties, else from the normal approximation."""
    x, y = np.asarray(ours, dtype=np.float64), np.asarray(figures, dtype=np.float64)
    row: Cells = {"n": len(x), "tau-b": tau_b(x, y)}
    if row["tau-b"] is None:
        return {**row, **dict.fromkeys((*ENDS, "p", "Spearman", "Pearson"))}
    numbers, span = places(groups), None
    if len(set(groups)) > 1:
        weights = draws(int(numbers.max()) + 1).astype(int)[:, numbers]
        resamples = (np.repeat(np.arange(len(x)), drawn) for drawn in weights)
        span = interval([tau_b(x[drawn], y[drawn]) for drawn in resamples])
    rest = (stats.kendalltau(x, y).pvalue, stats.spearmanr(x, y).statistic, stats.pearsonr(x, y).statistic)
    return {**row, **end_cells(span), **dict(zip(("p", "Spearman", "Pearson"), map(float, rest), strict=True))}


def within_documents(ours: Sequence[float], figures: Sequence[float], documents: Sequence[str]) -> Cells:
    """Return how well the summaries of each document are ranked: the mean of tau-b over the documents for which it is
    defined, their number, and that of all documents."""
    frame = pd.DataFrame({"ours": [*ours], "people": [*figures], "document": [*documents]})
    of_each = [tau_b(rows["ours"], rows["people"]) for _, rows in frame.groupby("document", sort=False)]
    values = [tau for tau in of_each if tau is not None]
    spread = {name: spread_of_mean(values)[name] for name in ENDS}
    return {"documents": len(values), "of": len(of_each), "tau-b": fmean(values) if values else None, **spread}


def between_systems(
    ours: Sequence[float], figures: Sequence[float], systems: Sequence[str], documents: Sequence[str] = ()
) -> Cells:
    """Return the correlation of the systems' means; with several documents, an interval that resamples these."""
    frame = pd.DataFrame({"ours": [*ours], "people": [*figures], "system": [*systems]})
    frame["document"] = [*documents] or ""
    if frame.empty:
        return correlate([], [])
    cells = frame.groupby(["document", "system"])[["ours", "people"]].agg(["sum", "size"]).unstack(fill_value=0)
    counts, *sums = (cells[name].to_numpy(float) for name in (("ours", "size"), ("ours", "sum"), ("people", "sum")))
    row = correlate(*(values.sum(axis=0) / counts.sum(axis=0) for values in sums))
    if len(counts) < 2 or row["tau-b"] is None:
        return row
    drawn = draws(len(counts))
    with np.errstate(invalid="ignore"):
        means = [drawn @ values / (drawn @ counts) for values in sums]
    return row | end_cells(interval([tau_b(x, y) for x, y in zip(*means, strict=True)]))


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
        with np.errstate(invalid="ignore"):
            span = interval((hit / present + cleared / wrong) / 2) if len(sums) > 1 else None
        balanced = float(balanced_accuracy_score(theirs, ours))
    row: Cells = {"balanced accuracy": balanced, **end_cells(span)}
    for name, says, is_of in ((no, ~ours, ~theirs), (yes, ours, theirs)):
        row |= dict(zip((f"precision {name}", f"recall {name}"), precision_and_recall(says, is_of), strict=True))
    return row


def precision_and_recall(verdicts: Sequence[bool] | Any, labels: Sequence[bool] | Any) -> tuple[Cell, Cell]:
    """Return precision and recall of the positive class; None if the denominator is zero."""
    if not len(labels):
        return None, None
    precision, recall, *_ = precision_recall_fscore_support(labels, verdicts, average="binary", zero_division=0.0)
    return float(precision) if np.any(verdicts) else None, float(recall) if np.any(labels) else None
