"""When a judge's probability is a verdict: calibrated, beyond two cuts; between them the judge cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping

from redraft.settings import Calibration

Odds = Mapping[str, float]

LOW, HIGH = 0.2, 0.8
"""The probability of the fine answer up to which a judge objects, and from which it agrees; set in advance."""
# A probability of 0 or 1 has no finite odds.
_LEAST = 1e-6


def calibrated(probability: float, calibration: Calibration | None) -> float:
    """Return the probability after a calibration, if there is one."""
    if calibration is None:
        return probability
    within = min(1 - _LEAST, max(_LEAST, probability))
    return 1 / (1 + math.exp(-(calibration.slope * math.log(within / (1 - within)) + calibration.intercept)))


def raw_cut(probability: float, calibration: Calibration) -> float:
    """Return what the judge says where the calibrated probability is this one."""
    at = (math.log(probability / (1 - probability)) - calibration.intercept) / calibration.slope
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, at))))


def decides(odds: Odds | None, fine: str, calibration: Calibration | None) -> bool:
    """Return whether these probabilities are a verdict, `fine` being the answer without fault. An answer without any is
    one."""
    return odds is None or not LOW < calibrated(odds.get(fine, 0.0), calibration) < HIGH
