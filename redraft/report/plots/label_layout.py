"""Where names stand: beside marks, in rows, and apart from each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from redraft.report.plots.canvas import MARGIN, NORMAL, Canvas, text_width
from redraft.report.plots.picture import apart

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


def spaced(wanted: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Places as near to those wanted as may be, so far apart, and within bounds if there is room for all of them."""
    order = sorted(range(len(wanted)), key=lambda at: (wanted[at], at))
    places = [0.0] * len(wanted)
    manager = low
    for at in order:
        places[at] = max(wanted[at], manager)
        manager = places[at] + least
    ceiling = high
    for at in reversed(order):
        places[at] = max(low, min(places[at], ceiling))
        ceiling = places[at] - least
    return places


MOST = 60
"""More rows are no picture any more; the table has them all."""
_NAMES = 0.34
_REACH = 12.0


@dataclass(frozen=True, slots=True)
class LabelRows:
    """The room of the rows, and where each of them is."""

    left: float
    right: float
    top: float
    step: float
    count: int
    above: bool
    """Whether the words of rows stand above them."""

    def middle(self, at: int) -> float:
        """The height at which the bar of a row lies."""
        return self.top + self.step * (at + (0.72 if self.above else 0.5))

    def cross(self, canvas: Canvas, place: float, kind: str, *, dash: str = "", thick: float = 1) -> None:
        """An upright line through the rows; where names stand above them it leaves the names out."""
        if not self.above:
            canvas.line((place, self.top), (place, self.bottom), kind, dash=dash, thick=thick)
            return
        for at in range(self.count):
            middle = self.middle(at)
            end = self.bottom if at == self.count - 1 else middle + _REACH
            canvas.line((place, middle - _REACH), (place, end), kind, dash=dash, thick=thick)

    def aside(self, at: int) -> float:
        """The height at which a row's words on the right stand."""
        return self.middle(at) - (self.step / 2 - 7 if self.above else -4.5)

    @property
    def bottom(self) -> float:
        """Where the last row ends."""
        return self.top + self.step * self.count + 4


def rows(canvas: Canvas, top: float, names: Sequence[str], *, step: float = 28, aside: float = 0) -> LabelRows:
    """Room for a row for each name, with so much kept free for words on the right, and the names written."""
    edge, brief = canvas.width - MARGIN - aside, apart(names)
    if canvas.narrow:
        edge = canvas.width - MARGIN - 4
        made = LabelRows(MARGIN + 4, edge, top, step + 16, len(names), above=True)
        for at, name in enumerate(names):
            canvas.text(
                MARGIN, made.aside(at), name, size=NORMAL, room=canvas.width - 2 * MARGIN - aside, brief=brief[name]
            )
        return made
    room = min(canvas.width * _NAMES, max((text_width(name, NORMAL) for name in names), default=0))
    made = LabelRows(MARGIN + room + 10, edge, top, step, len(names), above=False)
    for at, name in enumerate(names):
        canvas.text(
            made.left - 10, made.middle(at) + 4.5, name, size=NORMAL, anchor="end", room=room + 0.01, brief=brief[name]
        )
    return made


def left_out(canvas: Canvas, y: float, count: int) -> float:
    """A line that says how many rows are not drawn, if there are any, and where there is room below it."""
    if not count:
        return y
    words = f"{count:,} more {'is' if count == 1 else 'are'} in the table"
    canvas.text(MARGIN, y + 6, words, ink="muted", room=canvas.width - 2 * MARGIN)
    return y + 18
