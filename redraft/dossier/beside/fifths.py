"""The document in five parts of equal length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from redraft.dossier.beside.sides import Side
from redraft.dossier.contents import Item

FIFTHS = 5


def shares_by_fifth(sides: Sequence[Side]) -> tuple[float, ...]:
    """Which share of the summaries comes from each fifth, on average; empty where no sentence of any is traced."""
    told = [side.positions.bins for side in sides if side.positions]
    if not told:
        return ()
    each = len(told[0]) // FIFTHS
    return tuple(fmean(sum(bins[at * each : (at + 1) * each]) for bins in told) for at in range(FIFTHS))


def counted_by_fifth(items: Sequence[Item], metric: str, fifth: int) -> Mapping[str, float]:
    """By key what the items of a fifth count that have a verdict."""
    return {
        item.key: item.value
        for item in items
        if item.metric == metric and item.value is not None and item.place and fifth_of(item.place.percent) == fifth
    }


def fifth_of(percent: int) -> int:
    """The fifth in which something stands, from 0."""
    return min(FIFTHS - 1, percent * FIFTHS // 100)
