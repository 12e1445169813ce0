"""When a probability is a verdict: beyond two cuts; between them the judge cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Odds = Mapping[str, float]


class Cuts(NamedTuple):
    """The probability of the fine answer up to which a judge objects, and from which it agrees."""

    low: float
    high: float

    def decide(self, odds: Odds | None, fine: str) -> bool:
        """Return whether these probabilities are a verdict. An answer without any is one."""
        return odds is None or not self.low < odds.get(fine, 0.0) < self.high


USUAL_CUTS = Cuts(0.2, 0.8)
"""The cuts of a judge for which none were fitted; set in advance."""
