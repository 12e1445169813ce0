"""How likely it is that people find a sentence confusing, from its signs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

from redraft.builtin.coherence.signs import Sign, Signs

Part = Literal["omission", "break", "repetition"]
"""Three kinds of confusion, each weighed by itself: something is left out; it does not follow; it is said twice."""

DIRECTIONS: Mapping[Part, Mapping[Sign, int]] = {
    "omission": {
        "stakes": 1,
        "strain": 1,
        "verbs": 1,
        "absent": 1,
        "bare": 1,
        "hardly": 1,
        "newcomers": 1,
        "portrait": 1,
        "elsewhere": 1,
        "happening": 1,
        "place": -1,
        "late": 1,
        "general": -1,
        "relative": 1,
    },
    "break": {
        "bare": 1,
        "hardly": 1,
        "portrait": 1,
        "taken up": 1,
        "place": -1,
        "late": 1,
        "summing up": 1,
    },
    "repetition": {
        "shared": 1,
        "alike": 1,
        "stock": 1,
        "length": 1,
        "late": 1,
        "company": -1,
    },
}
"""What each part looks at, and whether more of it means more confusion or less. Weights never say the opposite."""


class Weights(NamedTuple):
    """A logistic model: what holds without any sign, and what each sign adds."""

    base: float
    slopes: Mapping[Sign, float]


Weighing = Mapping[Part, Weights]
"""The weights of all parts."""

# Fitted to what people marked in summaries of the hundred books of BooookScore: python -m benchmarks.confusion --fit
WEIGHTS: Weighing = {
    "omission": Weights(
        -3.201,
        {
            "stakes": 0.105,
            "strain": 0.166,
            "verbs": 0.103,
            "absent": 0.129,
            "bare": 0.663,
            "hardly": 1.045,
            "newcomers": 0.410,
            "portrait": 0.768,
            "elsewhere": 0.275,
            "happening": 0.456,
            "place": -0.075,
            "late": 0.049,
            "general": -3.460,
            "relative": 0.437,
        },
    ),
    "break": Weights(
        -3.328,
        {
            "bare": 0.462,
            "hardly": 1.090,
            "portrait": 0.863,
            "taken up": 0.024,
            "place": -0.081,
            "late": 0.053,
            "summing up": 0.564,
        },
    ),
    "repetition": Weights(
        -6.691,
        {
            "shared": 0.116,
            "alike": 5.225,
            "stock": 0.342,
            "length": 0.222,
            "late": 0.056,
            "company": -0.063,
        },
    ),
}


THRESHOLD = 0.21
"""From this score on a sentence is called confusing: with it about as many are as people mark."""
BASES: Mapping[Part, float] = {"omission": 0.07, "break": 0.05, "repetition": 0.02}
"""What share of sentences has each kind of confusion."""


def chances(signs: Signs, weighing: Weighing = WEIGHTS) -> dict[Part, float]:
    """How likely each kind of confusion is."""
    return {part: _logistic(weights, signs) for part, weights in weighing.items()}


def pulls(part: Part, signs: Signs) -> list[Sign]:
    """The signs that speak for a kind of confusion, the strongest first."""
    slopes = WEIGHTS[part].slopes
    return sorted((sign for sign in slopes if slopes[sign] * signs[sign] > 0), key=lambda s: -slopes[s] * signs[s])


def _logistic(weights: Weights, signs: Signs) -> float:
    return 1 / (1 + math.exp(-weights.base - sum(slope * signs[sign] for sign, slope in weights.slopes.items())))
