"""How large a sample has to be, and how far off a share of one may be (Cochran, 1977, with the finite population)."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from random import Random
from statistics import NormalDist
from typing import TypeVar

from redraft.evaluators.resampling import Interval

CONFIDENCE = 0.95
MARGINS = (0.03, 0.05, 0.1)
# A share of a half is the hardest to tell.
_HALF = 0.5

T = TypeVar("T")


def drawn(everything: Sequence[T], size: int, seed: int) -> list[T]:
    """So many at random, in their order; the same for the same seed."""
    if size >= len(everything):
        return list(everything)
    return [everything[n] for n in sorted(Random(seed).sample(range(len(everything)), size))]


def needed(population: int, margin: float, confidence: float = CONFIDENCE) -> int:
    """How many of a population have to be looked at, so that a share is off by no more than a margin."""
    z = _z(confidence)
    of_many = z * z * _HALF * (1 - _HALF) / margin**2
    # Half a thing cannot be looked at; what is over by the last bits is no other thing.
    return min(population, ceil(round(of_many / (1 + (of_many - 1) / population), 6)))


def margin_of(size: int, population: int, confidence: float = CONFIDENCE) -> float | None:
    """By how much a share of a sample may be off; None of nothing, 0 where everything was looked at."""
    if not size:
        return None
    z = _z(confidence)
    left = (population - size) / (population - 1) if population > 1 else 0.0
    return z * sqrt(_HALF * (1 - _HALF) / size * max(0.0, left))


def share_of(part: int, whole: int) -> tuple[float | None, Interval | None]:
    """A share with its interval (Wilson's); none of nothing."""
    if not whole:
        return None, None
    share, z = part / whole, _z(CONFIDENCE)
    middle, half = share + z * z / (2 * whole), z * sqrt(share * (1 - share) / whole + (z / (2 * whole)) ** 2)
    low, high = ((middle + side) / (1 + z * z / whole) for side in (-half, half))
    return share, Interval(low if part else 0.0, high if part < whole else 1.0)


def _z(confidence: float) -> float:
    """By how many standard deviations a normal figure may be off, with this confidence."""
    return NormalDist().inv_cdf((1 + confidence) / 2)
