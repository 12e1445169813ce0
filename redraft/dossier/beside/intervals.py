"""How much a mean would differ if others had been drawn: other items, or other documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redraft.dossier.beside.contents import Range
from redraft.evaluators.resampling import draws, interval

LEAST = 5
"""From fewer values nothing can be said of others: the interval would hardly be more than the range of these few."""
_DIGITS = 6


def interval_of_mean(values: Sequence[float]) -> Range | None:
    """What holds 95 % of the means of resamples, the same for the same values in any order; None for fewer than 5."""
    if len(values) < LEAST:
        return None
    found = interval(draws(len(values)) @ np.sort(np.asarray(values, dtype=np.float64)) / len(values))
    return Range(low=round(found.low, _DIGITS), high=round(found.high, _DIGITS)) if found else None
