"""Where a name may stand beside its mark, without lying upon other marks and names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Point = tuple[float, float]
_GAP = 9.0
# As bad as to cover so much: a name that seems to be another mark's.
_UNCLEAR = 60.0


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> float:
        """The height of its middle."""
        return (self.top + self.bottom) / 2

    def nearest(self, point: Point) -> Point:
        """The point of it that is nearest to another."""
        return max(self.left, min(point[0], self.right)), max(self.top, min(point[1], self.bottom))

    def far(self, point: Point) -> float:
        """How far a point is from it."""
        return math.dist(point, self.nearest(point))

    def shared(self, other: Box) -> float:
        """How much of it another one covers."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide * high if wide > 0 and high > 0 else 0.0


def beside(mark: Point, width: float, height: float, bounds: Box, taken: Sequence[Box], others: Sequence[Point]) -> Box:
    """The first place around a mark where nothing else is, and that is nearer to it than to others.

    Where there is none, that which covers least.
    """
    best, least = None, 0.0
    for box in _around(mark, width, height):
        inside = _within(box, bounds)
        covered = sum(inside.shared(other) for other in taken) + (abs(inside.left - box.left) if inside != box else 0)
        own = inside.far(mark)
        covered += sum(_UNCLEAR for other in others if inside.far(other) <= own + 2)
        if not covered:
            return inside
        if best is None or covered < least:
            best, least = inside, covered
    assert best is not None
    return best


def _around(mark: Point, width: float, height: float) -> Iterator[Box]:
    x, y = mark
    for far in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0):
        up = far * height
        for left, top in (
            (x + _GAP, y - height / 2 - up),
            (x + _GAP, y - height / 2 + up),
            (x + _GAP, y - height - 3 - up),
            (x + _GAP, y + 3 + up),
            (x - _GAP - width, y - height / 2 - up),
            (x - _GAP - width, y - height / 2 + up),
            (x - _GAP - width, y - height - 3 - up),
            (x - _GAP - width, y + 3 + up),
            (x - width / 2, y - height - _GAP - up),
            (x - width / 2, y + _GAP + up),
        ):
            yield Box(left, top, left + width, top + height)


def _within(box: Box, bounds: Box) -> Box:
    """The box, moved so that it is within bounds."""
    left = max(bounds.left, min(box.left, bounds.right - (box.right - box.left)))
    top = max(bounds.top, min(box.top, bounds.bottom - (box.bottom - box.top)))
    return Box(left, top, left + box.right - box.left, top + box.bottom - box.top)
