"""How much a mean would differ if other summaries had been drawn (BooookScore, appendix G)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import quantiles, stdev

RESAMPLES = 1000
"""The paper's."""
SEED = 0
# Cuts of which the first and the last have 95 % between them.
_CUTS = 40


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard deviation of the means of resamples, and the interval that holds 95 % of them."""

    sd: float
    low: float
    high: float


def spread_of_mean(values: Sequence[float]) -> Spread | None:
    """The spread of the mean by bootstrap, the same for the same values in any order; None for fewer than two."""
    if len(values) < 2:
        return None
    ordered, size = sorted(values), len(values)
    draw = Random(SEED)
    means = [sum(draw.choices(ordered, k=size)) / size for _ in range(RESAMPLES)]
    cuts = quantiles(means, n=_CUTS)
    return Spread(stdev(means), cuts[0], cuts[-1])
