"""How far two series of numbers go together: Kendall's tau-b with its interval and p-value, Spearman's and Pearson's.

Nothing is said of a series that has one value throughout, or of fewer than two pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats

from redraft.evaluators.resampling import SEED, Floats, Interval, Whole, draws, interval, places

PERMUTATIONS = 999
"""How many orders the p-value rests on, where there are more."""
# Above so many pairs the orders are not drawn: their distribution is as good as normal, and scipy has its variance with
# ties taken into account.
_DRAWN = 2_000
# Above so many pairs the interval is that of a part of the documents, narrowed to what all of them would have.
_COMPARED = 8_000
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Correlation:
    """What two series have in common. None is what there is not."""

    n: int
    tau: float | None = None
    interval: Interval | None = None
    p: float | None = None
    spearman: float | None = None
    pearson: float | None = None


def correlate(ours: Sequence[float], people: Sequence[float], groups: Sequence[str]) -> Correlation:
    """All of it for pairs of numbers; the interval is by drawing other groups, such as documents."""
    x, y = np.asarray(ours, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if not is_varied(x) or not is_varied(y):
        return Correlation(len(x))
    tau = float(stats.kendalltau(x, y).statistic)
    return Correlation(
        len(x),
        tau,
        _interval(x, y, places(groups), tau),
        _p_value(x, y),
        float(stats.spearmanr(x, y).statistic),
        float(stats.pearsonr(x, y).statistic),
    )


def tau_b(ours: Sequence[float], people: Sequence[float]) -> float | None:
    """Kendall's tau-b alone."""
    x, y = np.asarray(ours, dtype=np.float64), np.asarray(people, dtype=np.float64)
    return float(stats.kendalltau(x, y).statistic) if is_varied(x) and is_varied(y) else None


def is_varied(values: Floats) -> bool:
    """Whether there are two different values at least."""
    return len(values) > 1 and bool(np.any(values != values[0]))


def _p_value(x: Floats, y: Floats) -> float:
    """How often chance alone brings the two as close together, or as far apart: over all orders of the one, or many."""
    if len(x) > _DRAWN:
        return float(stats.kendalltau(x, y).pvalue)
    found = stats.permutation_test(
        (y,),
        lambda order: stats.kendalltau(x, order).statistic,
        permutation_type="pairings",
        n_resamples=PERMUTATIONS,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


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
    """The places of all pairs, or those of some groups where there are many pairs; and which share of the groups it
    is. Of groups that are large themselves there are only some of the pairs, which makes the interval no narrower."""
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
    """Tau-b of each resample, in which each group stands as often as it is drawn.

    Of all pairs of items three things are added up for each pair of groups: which way they go, and whether they differ
    in the one and in the other. A resample weighs these sums.
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
