"""Labels beside marks: kept apart from each other where the marks are near together."""

from __future__ import annotations

from collections.abc import Sequence


def spaced(wanted: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Places as near to those wanted as may be, so far apart, and within bounds if there is room for all of them."""
    order = sorted(range(len(wanted)), key=lambda at: (wanted[at], at))
    places = [0.0] * len(wanted)
    floor = low
    for at in order:
        places[at] = max(wanted[at], floor)
        floor = places[at] + least
    ceiling = high
    for at in reversed(order):
        places[at] = max(low, min(places[at], ceiling))
        ceiling = places[at] - least
    return places
