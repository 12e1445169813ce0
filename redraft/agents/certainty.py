"""When a judge's probability is a verdict: calibrated, beyond two cuts; between them the judge cannot tell."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from pydantic import BaseModel

from redraft.prompts.contract import UNSURE
from redraft.settings import Calibration

Odds = Mapping[str, float]

LOW, HIGH = 0.2, 0.8
"""The probability of the fine answer up to which a judge objects, and from which it agrees: the cuts of a judge without
calibration, set in advance. A calibration moves what the judge itself says at them."""
# A probability of 0 or 1 has no finite odds.
_LEAST = 1e-6


class LikelyAnswer(BaseModel):
    """An answer, as stored, with the probability of each label if the judge gives any."""

    odds: dict[str, float] | None = None


def calibrated(probability: float, calibration: Calibration | None) -> float:
    """Return the probability after a calibration, if there is one."""
    if calibration is None:
        return probability
    within = min(1 - _LEAST, max(_LEAST, probability))
    return 1 / (1 + math.exp(-(calibration.slope * math.log(within / (1 - within)) + calibration.intercept)))


def fit_deviation(probabilities: Collection[float], calibration: Calibration | None) -> float:
    """Return the standard deviation that the fit of a calibration gives the mean of probabilities calibrated by it."""
    if calibration is None or not probabilities:
        return 0.0
    by_slope = by_intercept = 0.0
    for one in probabilities:
        within = min(1 - _LEAST, max(_LEAST, one))
        weight = within * (1 - within) / len(probabilities)
        said = (math.log(within / (1 - within)) - calibration.intercept) / calibration.slope
        by_slope, by_intercept = by_slope + weight * said, by_intercept + weight
    slope, both, intercept = calibration.covariance
    return math.sqrt(max(0.0, by_slope**2 * slope + 2 * by_slope * by_intercept * both + by_intercept**2 * intercept))


def raw_cut(probability: float, calibration: Calibration) -> float:
    """Return what the judge says where the calibrated probability is this one."""
    at = (math.log(probability / (1 - probability)) - calibration.intercept) / calibration.slope
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, at))))


def verdict(odds: Odds, said: str, fine: str, calibration: Calibration | None) -> str:
    """Return the verdict of a judge that `said` something and gives these probabilities, `fine` being the answer
    without fault: the side of the calibrated probability, or `UNSURE` between the cuts."""
    likely = calibrated(odds.get(fine, 0.0), calibration)
    if likely >= HIGH:
        return fine
    others = [name for name in odds if name != fine]
    if likely > LOW or not others:
        return UNSURE
    return said if said != fine else max(others, key=lambda name: odds[name])
