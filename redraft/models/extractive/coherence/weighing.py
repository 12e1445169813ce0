"""How likely it is that people find a sentence confusing, from its signs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

from redraft.models.extractive.coherence.signs import Sign, Signs

Part = Literal["omission", "break", "repetition"]
"""Three kinds of confusion, each weighed by itself: something is left out; it does not follow; it is said twice."""

DIRECTIONS: Mapping[Part, Mapping[Sign, int]] = {
    "omission": {
        "stakes": 1,
        "verbs": 1,
        "absent": 1,
        "bare": 1,
        "hardly": 1,
        "names": 1,
        "introduced again": 1,
        "place": -1,
        "general": -1,
        "relative": 1,
        "kin": 1,
        "happening": 1,
        "taken up": 1,
        "shared": 1,
    },
    "break": {
        "absent": 1,
        "bare": 1,
        "hardly": 1,
        "introduced again": 1,
        "place": -1,
        "happening": 1,
        "taken up": 1,
        "shared": 1,
    },
    "repetition": {"shared": 1, "alike": 1, "runs": 1, "stock": 1},
}
"""What each part looks at, and whether more of it means more confusion or less. Weights never say the opposite."""


class Weights(NamedTuple):
    """A logistic model: what holds without any sign, and what each sign adds."""

    base: float
    slopes: Mapping[Sign, float]


# Fitted to what people marked in the summaries of one half of the books of BooookScore, and for omissions, at a tenth
# of the weight, to what GPT-4 marked there: python -m benchmarks.confusion --fit
_WEIGHTS: Mapping[Part, Weights] = {
    "omission": Weights(
        -3.003,
        {
            "stakes": 0.290,
            "verbs": 0.078,
            "absent": 0.262,
            "bare": 0.812,
            "hardly": 1.187,
            "names": 0.000,
            "introduced again": 0.000,
            "place": -0.084,
            "general": -5.676,
            "relative": 0.308,
            "kin": 0.057,
            "happening": 0.043,
            "taken up": 0.000,
            "shared": 0.000,
        },
    ),
    "break": Weights(
        -3.521,
        {
            "absent": 0.000,
            "bare": 0.449,
            "hardly": 1.306,
            "introduced again": 0.143,
            "place": -0.046,
            "happening": 0.816,
            "taken up": 0.039,
            "shared": 0.045,
        },
    ),
    "repetition": Weights(
        -6.086,
        {
            "shared": 0.126,
            "alike": 4.864,
            "runs": 0.099,
            "stock": 0.589,
        },
    ),
}


THRESHOLD = 0.21
"""From this score on a sentence is called confusing: with it about as many are as people mark."""
BASES: Mapping[Part, float] = {"omission": 0.07, "break": 0.05, "repetition": 0.02}
"""What share of sentences has each kind of confusion."""


def chances(signs: Signs) -> dict[Part, float]:
    """How likely each kind of confusion is."""
    return {part: _logistic(weights, signs) for part, weights in _WEIGHTS.items()}


def pulls(part: Part, signs: Signs) -> list[Sign]:
    """The signs that speak for a kind of confusion, the strongest first."""
    slopes = _WEIGHTS[part].slopes
    return sorted((sign for sign in slopes if slopes[sign] * signs[sign] > 0), key=lambda s: -slopes[s] * signs[s])


def _logistic(weights: Weights, signs: Signs) -> float:
    return 1 / (1 + math.exp(-weights.base - sum(slope * signs[sign] for sign, slope in weights.slopes.items())))
