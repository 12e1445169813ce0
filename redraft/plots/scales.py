"""From values to places: even scales, scales by powers of ten, and scales of names. Ticks stand at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from redraft.plots.numbers import Number, finite

# Beyond these nothing is told apart any more, and differences stay within what a float can hold.
_LARGEST, _SMALLEST = 1e300, 1e-290
# Values nearer together than this, by their size, are one value.
_NEAR = 1e-9
# The least part of 0 to 1 that a scale of scores shows.
_LEAST_SPAN = 0.2
_STEPS = (1, 2, 5, 10)
_MINUS = "−"
_SHORT = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
# A scale of powers of ten with fewer of them has ticks in between.
_FEW_POWERS = 2


@dataclass(frozen=True, slots=True)
class Linear:
    """An even scale from `low` to `high`, both round numbers, drawn from `start` to `end`."""

    low: float
    high: float
    step: float
    start: float = 0.0
    end: float = 1.0

    @classmethod
    def over(cls, values: Iterable[Number], *, ticks: int = 5, least: float = 0.0) -> Linear:
        """A scale with room for all of the values and about so many ticks, which are so far apart at least; what is not
        known takes no room."""
        low, high = _bounds(values)
        if high - low <= max(_NEAR * max(abs(low), abs(high)), _SMALLEST):
            room = abs(high) / 10 if abs(high) > _SMALLEST else 0.5
            low, high = low - room, high + room
        step = max(least, _round_step((high - low) / ticks))
        return cls(math.floor(low / step + _NEAR) * step, math.ceil(high / step - _NEAR) * step, step)

    @classmethod
    def of_scores(cls, values: Iterable[Number]) -> Linear:
        """A scale that makes no mountain of a hundredth, and has no room beyond 0 and 1 for what lies between them."""
        low, high = _bounds(values)
        if (missing := _LEAST_SPAN - (high - low)) > 0 and 0 <= low <= high <= 1:
            low, high = max(0.0, low - missing / 2), min(1.0, high + missing / 2)
        return cls.over([low, high])

    def drawn(self, start: float, end: float) -> Self:
        """The same scale from one place to another."""
        return replace(self, start=start, end=end)

    def place(self, value: float) -> float:
        """Where a value stands, within the ends of the scale."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """The round numbers on it."""
        first, last = round(self.low / self.step), round(self.high / self.step)
        return [number * self.step for number in range(first, last + 1)]

    def label(self, value: float) -> str:
        """A tick in as many digits as tell it from its neighbours."""
        value = 0.0 if abs(value) < self.step / 2 else value
        power, largest = math.floor(math.log10(self.step) + _NEAR), max(abs(self.low), abs(self.high))
        if largest >= 1e12 or power < -6:
            digits = max(0, math.floor(math.log10(largest)) - power)
            return "0" if not value else f"{value:.{digits}e}".replace("-", _MINUS).replace("e+", "e")
        for size, letter in _SHORT:
            if self.step >= size:
                return f"{value / size:,.0f}{letter if value else ''}".replace("-", _MINUS)
        return f"{value:,.{max(0, -power)}f}".replace("-", _MINUS)


@dataclass(frozen=True, slots=True)
class Log:
    """A scale on which every tenfold is equally far, between two powers of ten."""

    low: int
    high: int
    start: float = 0.0
    end: float = 1.0

    @classmethod
    def over(cls, values: Iterable[Number]) -> Log:
        """A scale with room for all of the values that are above zero."""
        low, high = _bounds(value for value in values if value is not None and value > 0)
        first = math.floor(math.log10(max(low, _SMALLEST)) + _NEAR)
        return cls(first, max(first + 1, math.ceil(math.log10(max(high, _SMALLEST)) - _NEAR)))

    def drawn(self, start: float, end: float) -> Self:
        """The same scale from one place to another."""
        return replace(self, start=start, end=end)

    def place(self, value: float) -> float:
        """Where a value stands, within the ends of the scale; zero and less stand at its lower end."""
        power = math.log10(value) if value > 0 else self.low
        share = (power - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Powers of ten, with twice and five times where there are few of them, and fewer where there are many."""
        powers = range(self.low, self.high + 1, max(1, math.ceil((self.high - self.low) / 6)))
        if len(powers) > _FEW_POWERS + 1:
            return [10.0**power for power in powers]
        ticks = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        return ticks[: len(powers) * 3 - 2]

    def label(self, value: float) -> str:
        """A tick, in plain digits where they are few."""
        if 1e-4 < value < 1e6:
            return f"{value:,.{max(0, -math.floor(math.log10(value) + _NEAR))}f}"
        return f"{value:.0e}".replace("-", _MINUS).replace("e+", "e")


@dataclass(frozen=True, slots=True)
class Bands:
    """A scale of names: for each, in their order, a band of one width, with a gap between two of them."""

    names: tuple[str, ...]
    gap: float = 0.0
    """Which share of a band and its gap is the gap."""
    start: float = 0.0
    end: float = 1.0

    def drawn(self, start: float, end: float) -> Self:
        """The same scale from one place to another."""
        return replace(self, start=start, end=end)

    @property
    def step(self) -> float:
        """How far two neighbours are apart."""
        return (self.end - self.start) / max(1, len(self.names))

    @property
    def width(self) -> float:
        """How wide a band is."""
        return self.step * (1 - self.gap)

    def begin(self, value: float) -> float:
        """Where the band of a number begins, the first of them being 0."""
        return self.start + self.step * (value + self.gap / 2)

    def place(self, value: float) -> float:
        """The middle of the band of a number."""
        return self.start + self.step * (value + 0.5)

    def ticks(self) -> list[float]:
        """A tick for each name."""
        return [float(at) for at in range(len(self.names))]

    def label(self, value: float) -> str:
        """The name at a tick."""
        return self.names[int(value)]


Scale = Linear | Log | Bands


def _bounds(values: Iterable[Number]) -> tuple[float, float]:
    known = [min(_LARGEST, max(-_LARGEST, value)) for value in map(finite, values) if value is not None]
    return (min(known), max(known)) if known else (0.0, 1.0)


def _round_step(least: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is so large."""
    power = math.floor(math.log10(least))
    unit = 10.0**power
    return next(factor for factor in _STEPS if factor * unit >= least * (1 - _NEAR)) * unit
