"""How the first, the second and the tenth series look: colour, dash, marker and hatching, so that no two are alike."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from redraft.plots.styles import SERIES

Marker = Literal["circle", "square", "triangle", "diamond", "wedge", "hexagon"]
Hatch = Literal["plain", "rising", "dots", "crossed", "falling", "level"]

_MARKERS: tuple[Marker, ...] = ("circle", "square", "triangle", "diamond", "wedge", "hexagon")
_DASHES = ("", "7 3", "2 2.5", "9 3 2 3", "12 4", "5 2 1.5 2 1.5 2")
_HATCHES: tuple[Hatch, ...] = ("plain", "rising", "dots", "crossed", "falling", "level")
GOAL = "5 4"
"""The dashes of what is no series: a goal, an even spread."""
# Corners by their angle, in parts of a full turn from the top, and how far out they lie.
_CORNERS: dict[Marker, tuple[tuple[float, ...], float]] = {
    "square": ((0.125, 0.375, 0.625, 0.875), 1.25),
    "triangle": ((0, 1 / 3, 2 / 3), 1.4),
    "diamond": ((0, 0.25, 0.5, 0.75), 1.35),
    "wedge": ((0.5, 5 / 6, 1 / 6), 1.4),
    "hexagon": ((0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6), 1.15),
}


class Series(NamedTuple):
    """The look of one series."""

    colour: int
    dash: str
    marker: Marker
    hatch: Hatch


def series(at: int) -> Series:
    """The look of a series by its number. The same colour comes again after six, with another dash and marker."""
    turn = at // SERIES
    dash, marker = _DASHES[(at + turn) % len(_DASHES)], _MARKERS[(at + 2 * turn) % len(_MARKERS)]
    return Series(at % SERIES + 1, dash, marker, _HATCHES[(at + turn) % len(_HATCHES)])


def corners(marker: Marker, x: float, y: float, radius: float) -> list[tuple[float, float]]:
    """The corners of a marker; a circle has none."""
    if marker == "circle":
        return []
    angles, far = _CORNERS[marker]
    return [
        (x + radius * far * math.sin(math.tau * turn), y - radius * far * math.cos(math.tau * turn)) for turn in angles
    ]
