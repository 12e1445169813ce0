"""Figures over items: means, sums, and 95% intervals, by resampling as in BooookScore (appendix G) or Wilson's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import fsum, sqrt
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
"""BooookScore's number; enough for a 95% interval."""
SEED = 0
_OUTER = (2.5, 97.5)
_QUANTILE = NormalDist().inv_cdf(0.975)
# A figure that is defined in fewer resamples than this share has no useful interval.
_MIN = 0.5

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Interval(NamedTuple):
    """A 95% interval."""

    low: float
    high: float


def places(groups: Sequence[str]) -> Whole:
    """Return the groups as numbers that depend only on their names, so that item order makes no difference."""
    return np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)


def draws(groups: int, resamples: int = RESAMPLES) -> Floats:
    """Return how often each group is drawn in each resample."""
    generator = np.random.default_rng(SEED)
    return generator.multinomial(groups, np.full(groups, 1 / groups), size=resamples).astype(np.float64)


def interval(values: Any) -> Interval | None:
    """Return the interval of resampled values; None where too many have no value, or where there are too few groups."""
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    if len(finite) < _MIN * len(values) or len(values) < 2:
        return None
    low, high = np.percentile(finite, _OUTER)
    return Interval(float(low), float(high))


MIN_VALUES = 5
"""With fewer values there is no interval of their mean: it would hardly exceed the range of the values."""
_DIGITS = 6


def interval_of_mean(values: Sequence[float]) -> Interval | None:
    """Return the interval of resampled means, regardless of the order of the values; None for fewer than 5."""
    if len(values) < MIN_VALUES:
        return None
    ends = interval(draws(len(values)) @ np.sort(np.asarray(values, dtype=np.float64)) / len(values))
    return Interval(round(ends.low, _DIGITS), round(ends.high, _DIGITS)) if ends else None


def interval_of_share(share: float, count: int) -> Interval:
    """Return the Wilson interval of a share of so many items."""
    z = _QUANTILE
    middle, half = share + z * z / (2 * count), z * sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    low, high = ((middle + side) / (1 + z * z / count) for side in (-half, half))
    return Interval(low if share else 0.0, high if share < 1 else 1.0)


def mean(values: Collection[float]) -> float | None:
    """Return the mean, or None for no values."""
    return fmean(values) if values else None


def total(values: Iterable[float]) -> float | int:
    """Return the sum of the items' values: an integer wherever no judges differ."""
    result = fsum(values)
    return int(result) if result.is_integer() else result
