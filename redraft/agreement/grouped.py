"""Agreement within documents and between systems: whose summaries are better, and of one document which is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from scipy import stats

from redraft.agreement.correlation import Correlation, tau_b
from redraft.evaluators.resampling import Floats, Interval, draws, interval, places, spread_of_mean


@dataclass(frozen=True, slots=True)
class WithinDocuments:
    """The mean of tau-b over documents, over those that have one."""

    documents: int
    of: int
    """How many documents there are: one whose summaries are all alike to either says nothing."""
    tau: float | None
    interval: Interval | None


def within_documents(ours: Sequence[float], people: Sequence[float], documents: Sequence[str]) -> WithinDocuments:
    """Of each document alone, which of its summaries is better."""
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
    """The correlation of the systems' means. The interval is by drawing other documents, not other systems."""
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
        float(stats.kendalltau(*means).pvalue),
        float(stats.spearmanr(*means).statistic),
        float(stats.pearsonr(*means).statistic),
    )


def _taus(x: Floats, y: Floats) -> Floats:
    """Tau-b along each row, by all pairs of columns; none where a column has no value."""
    one, other = np.triu_indices(x.shape[1], 1)
    dx, dy = np.sign(x[:, one] - x[:, other]), np.sign(y[:, one] - y[:, other])
    scale = np.sqrt((dx * dx).sum(axis=1) * (dy * dy).sum(axis=1))
    found: Floats = np.divide((dx * dy).sum(axis=1), scale, out=np.full(len(x), np.nan), where=scale > 0)
    return found
