"""How much a figure would differ if others had been drawn: other summaries, or other documents with all of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import quantiles, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
"""BooookScore's (appendix G), and as many as an interval of 95 % wants."""
SEED = 0
# Cuts of which the first and the last have 95 % between them.
_CUTS = 40
_OUTER = (2.5, 97.5)
# A figure that exists in fewer resamples than this share of them has no interval worth the name.
_LEAST = 0.5

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Interval(NamedTuple):
    """What holds 95 % of the resamples."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Deviation:
    """The standard deviation of the means of resamples, and the interval that holds 95 % of them."""

    sd: float
    low: float
    high: float


def spread_of_mean(values: Sequence[float]) -> Deviation | None:
    """The spread of the mean by bootstrap, the same for the same values in any order; None for fewer than two."""
    if len(values) < 2:
        return None
    ordered, size = sorted(values), len(values)
    draw = Random(SEED)
    means = [sum(draw.choices(ordered, k=size)) / size for _ in range(RESAMPLES)]
    cuts = quantiles(means, n=_CUTS)
    return Deviation(stdev(means), cuts[0], cuts[-1])


def places(groups: Sequence[str]) -> Whole:
    """The groups as numbers, each group's from its name alone, so that the order of the items makes no difference."""
    return np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)


def draws(groups: int, resamples: int = RESAMPLES) -> Floats:
    """How often each group is drawn in each resample: as many draws as there are groups."""
    generator = np.random.default_rng(SEED)
    return generator.multinomial(groups, np.full(groups, 1 / groups), size=resamples).astype(np.float64)


def interval(values: Any) -> Interval | None:
    """The interval of resampled values; None where too many resamples have no value, or all have the same for want of
    groups to draw from."""
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if len(known) < _LEAST * len(values) or len(values) < 2:
        return None
    low, high = np.percentile(known, _OUTER)
    return Interval(float(low), float(high))
