"""Axes, ticks and the layout of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from redraft.report.plots.canvas import MARGIN, NORMAL, SMALL, Canvas, Point, text_width
from redraft.report.plots.picture import Number, ends, finite, fit_names

_GAP = 9.0
# The penalty, as an area, for a label that could be taken for another mark's.
_UNCLEAR = 60.0
# A label farther from its mark than this is connected with it by a line, whose first part the mark hides.
_FAR, _LEADER_START = 24.0, 8


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> float:
        """The y of the centre."""
        return (self.top + self.bottom) / 2

    def nearest(self, point: Point) -> Point:
        """Return the point of the box that is nearest to another point."""
        return max(self.left, min(point[0], self.right)), max(self.top, min(point[1], self.bottom))

    def far(self, point: Point) -> float:
        """Return the distance of a point from the box."""
        return math.dist(point, self.nearest(point))

    def shared(self, other: Box) -> float:
        """Return the area of the overlap with another box."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide * high if wide > 0 and high > 0 else 0.0

    def leader(self, mark: Point) -> list[Box]:
        """Return the boxes along the line that connects a mark with its label, if the label is far from it."""
        end, far = self.nearest(mark), self.far(mark)
        steps = range(_LEADER_START, int(far), 2) if far > _FAR else ()
        points = ((mark[0] + (end[0] - mark[0]) * at / far, mark[1] + (end[1] - mark[1]) * at / far) for at in steps)
        return [Box(x - 2, y - 2, x + 2, y + 2) for x, y in points]


def place_label(
    mark: Point, width: float, height: float, bounds: Box, taken: Sequence[Box], others: Sequence[Point]
) -> Box:
    """Return the first free box around a mark that is nearer to it than to the other marks, and whose line to the mark
    is free.

    If there is none, return the box with the least overlap.
    """
    best, least = None, 0.0
    for box in _around(mark, width, height):
        inside = _within(box, bounds)
        covered = sum(one.shared(other) for one in (inside, *inside.leader(mark)) for other in taken)
        covered += abs(inside.left - box.left) if inside != box else 0
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
    for far in range(7):
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
    """Return the box, moved within the bounds."""
    left = max(bounds.left, min(box.left, bounds.right - (box.right - box.left)))
    top = max(bounds.top, min(box.top, bounds.bottom - (box.bottom - box.top)))
    return Box(left, top, left + box.right - box.left, top + box.bottom - box.top)


def spread_out(wanted: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Return positions close to the wanted ones, at least `least` apart, and within the bounds if there is room for
    all."""
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


MAX_ROWS = 60
"""The maximum number of rows drawn; the table has all of them."""
_NAMES, _STEP = 0.34, 28.0
_REACH = 9.0


@dataclass(frozen=True, slots=True)
class LabelRows:
    """The layout of labelled rows."""

    left: float
    right: float
    top: float
    step: float
    count: int
    above: bool
    """Whether row labels are above the bars instead of to their left."""

    def middle(self, at: int) -> float:
        """Return the y of the centre of a row's bar."""
        return self.top + self.step * (at + (0.72 if self.above else 0.5))

    def cross(self, canvas: Canvas, place: float, kind: str, *, dash: str = "", thick: float = 1) -> None:
        """Draw a vertical line through the rows, interrupted at labels that are above the bars."""
        if not self.above:
            canvas.line((place, self.top), (place, self.bottom), kind, dash=dash, thick=thick)
            return
        for at in range(self.count):
            middle = self.middle(at)
            end = self.bottom if at == self.count - 1 else middle + _REACH
            canvas.line((place, middle - _REACH), (place, end), kind, dash=dash, thick=thick)

    def aside(self, at: int) -> float:
        """Return the baseline of the text on the right of a row."""
        return self.middle(at) - (self.step / 2 - 7 if self.above else -4.5)

    @property
    def bottom(self) -> float:
        """The y of the end of the last row."""
        return self.top + self.step * self.count + 4


def rows(canvas: Canvas, top: float, names: Sequence[str], *, aside: float = 0) -> LabelRows:
    """Lay out one row per name and draw the names, with `aside` free on the right for text."""
    edge = canvas.width - MARGIN - aside
    if canvas.narrow:
        room, edge = edge - MARGIN, canvas.width - MARGIN - 4
        brief = fit_names(names, room, NORMAL)
        label_rows = LabelRows(MARGIN + 4, edge, top, _STEP + 16, len(names), above=True)
        for at, name in enumerate(names):
            canvas.text(MARGIN, label_rows.aside(at), name, size=NORMAL, room=room, brief=brief[name])
        return label_rows
    room = min(canvas.width * _NAMES, max((text_width(name, NORMAL) for name in names), default=0))
    brief = fit_names(names, room, NORMAL)
    label_rows = LabelRows(MARGIN + room + 10, edge, top, _STEP, len(names), above=False)
    for at, name in enumerate(names):
        canvas.text(
            label_rows.left - 10,
            label_rows.middle(at) + 4.5,
            name,
            size=NORMAL,
            anchor="end",
            room=room + 0.01,
            brief=brief[name],
        )
    return label_rows


def left_out(canvas: Canvas, y: float, count: int) -> float:
    """Draw how many rows are left out, if any, and return the y below the line."""
    if not count:
        return y
    words = f"{count:,} more {'is' if count == 1 else 'are'} in the table"
    canvas.text(MARGIN, y + 6, words, ink="muted", room=canvas.width - 2 * MARGIN)
    return y + 18


# Values are clamped to this size, so that differences stay within the range of a float.
_LARGEST, _SMALLEST = 1e300, 1e-290
# Values are equal within this relative difference.
_NEAR = 1e-9
# The minimum range of a scale of scores within 0 and 1.
_MIN_SPAN = 0.2
_STEPS = (1, 2, 5, 10)
_MINUS = "−"
_SHORT = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class LinearScale:
    """A linear scale from `low` to `high`, both round numbers, drawn from `start` to `end`."""

    low: float
    high: float
    step: float
    start: float = 0.0
    end: float = 1.0

    @classmethod
    def over(cls, values: Iterable[Number], *, ticks: int = 5, least: float = 0.0) -> LinearScale:
        """Return a scale that covers all values, with about `ticks` ticks that are at least `least` apart. Unknown
        values are ignored."""
        low, high = _bounds(values)
        if high - low <= max(_NEAR * max(abs(low), abs(high)), _SMALLEST):
            room = abs(high) / 10 if abs(high) > _SMALLEST else 0.5
            low, high = low - room, high + room
        step = max(least, _round_step((high - low) / ticks))
        return cls(math.floor(low / step + _NEAR) * step, math.ceil(high / step - _NEAR) * step, step)

    @classmethod
    def of_scores(cls, values: Iterable[Number]) -> LinearScale:
        """Return a scale for scores: wide enough not to exaggerate small differences, and within 0 and 1 if the scores
        are. It starts at zero unless that would leave more than half of it empty."""
        low, high = _bounds(values)
        low = 0.0 if 0 <= low < high / 2 else low
        if (missing := _MIN_SPAN - (high - low)) > 0 and 0 <= low <= high <= 1:
            low, high = max(0.0, low - missing / 2), min(1.0, high + missing / 2)
        return cls.over([low, high])

    def drawn(self, start: float, end: float) -> Self:
        """Return the same scale from one place to another."""
        return replace(self, start=start, end=end)

    def place(self, value: float) -> float:
        """Return where a value stands, within the ends of the scale."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return the round numbers on the scale."""
        first, last = round(self.low / self.step), round(self.high / self.step)
        return [number * self.step for number in range(first, last + 1)]

    def label(self, value: float) -> str:
        """Format a tick with as many digits as it takes to tell it from its neighbours."""
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
class BandScale:
    """A categorical scale: one band of equal width per name, in order, with gaps between them."""

    names: tuple[str, ...]
    gap: float = 0.0
    """The gap as a share of the step."""
    start: float = 0.0
    end: float = 1.0

    def drawn(self, start: float, end: float) -> Self:
        """Return the same scale from one place to another."""
        return replace(self, start=start, end=end)

    @property
    def step(self) -> float:
        """The distance between neighbouring bands."""
        return (self.end - self.start) / max(1, len(self.names))

    @property
    def width(self) -> float:
        """The width of a band."""
        return self.step * (1 - self.gap)

    def begin(self, value: float) -> float:
        """Return the start of the band with an index."""
        return self.start + self.step * (value + self.gap / 2)

    def place(self, value: float) -> float:
        """Return the centre of the band with an index."""
        return self.start + self.step * (value + 0.5)

    def ticks(self) -> list[float]:
        """Return one tick per name."""
        return [float(at) for at in range(len(self.names))]

    def label(self, value: float) -> str:
        """Return the name at a tick."""
        return self.names[int(value)]


Scale = LinearScale | BandScale


def _bounds(values: Iterable[Number]) -> tuple[float, float]:
    known = [min(_LARGEST, max(-_LARGEST, value)) for value in map(finite, values) if value is not None]
    return (min(known), max(known)) if known else (0.0, 1.0)


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least `least`."""
    power = math.floor(math.log10(least))
    unit = 10.0**power
    return next(factor for factor in _STEPS if factor * unit >= least * (1 - _NEAR)) * unit


_ROUND = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_MINUTE, _HOUR = 60, 3600


class TimeScale(LinearScale):
    """A scale of seconds."""

    @classmethod
    def until(cls, seconds: float, *, ticks: int = 6) -> TimeScale:
        """Return a scale from zero to at least this number of seconds."""
        wide = LinearScale.over([0, seconds], ticks=ticks)
        step = next((step for step in _ROUND if step * ticks >= seconds), wide.step)
        if seconds <= ticks or step == wide.step:
            return cls(0.0, max(wide.high, wide.step), wide.step)
        return cls(0.0, float(step * -(-seconds // step)), float(step))

    def label(self, value: float) -> str:
        """Format seconds below a minute, then minutes and seconds, then hours and minutes."""
        if self.high < _MINUTE or self.high >= 1e7:
            return super().label(value)
        whole = round(value)
        if self.high < 2 * _HOUR:
            return f"{whole // _MINUTE}:{whole % _MINUTE:02}"
        return f"{whole // _HOUR}:{whole % _HOUR // _MINUTE:02}"

    @property
    def unit(self) -> str:
        """The unit of the labels."""
        if self.high < _MINUTE or self.high >= 1e7:
            return "seconds"
        return "minutes:seconds" if self.high < 2 * _HOUR else "hours:minutes"


_TICK = 5
_BELOW = 2 * SMALL + 24


@dataclass(frozen=True, slots=True)
class Axes:
    """The plot area and its scales."""

    left: float
    top: float
    right: float
    bottom: float
    x: Scale
    y: Scale
    end: float
    """The y at which the next element below can start."""


def frame(
    canvas: Canvas, top: float, height: float, x: Scale, y: Scale, *, x_name: str, y_name: str, right: float = 0
) -> Axes:
    """Draw both axes, with the y axis named above it and a note if it does not start at 0; `right` is kept free."""
    top += SMALL + 14
    left = MARGIN + max(text_width(y.label(tick)) for tick in y.ticks()) + _TICK + 3
    # Half of the last label extends beyond the axis.
    edge = canvas.width - MARGIN - max(right, text_width(x.label(x.ticks()[-1])) / 2)
    bottom = top + height
    axes = Axes(left, top, edge, bottom, x.drawn(left, edge), y.drawn(bottom, top), bottom + _BELOW)
    if isinstance(y, LinearScale) and y.low > 0:
        y_name = f"{y_name} (axis starts at {y.label(y.low)})"
    canvas.text(MARGIN, top - 12, y_name, ink="muted", room=canvas.width - 2 * MARGIN)
    for tick in y.ticks():
        at = axes.y.place(tick)
        canvas.line((left, at), (edge, at), "grid")
        canvas.text(left - _TICK - 2, at + 4, y.label(tick), anchor="end", ink="muted")
    canvas.line((left, top), (left, bottom), "axis")
    level_axis(canvas, axes.x, bottom, x_name, left=left, right=edge)
    return axes


def level_axis(canvas: Canvas, x: Scale, at: float, name: str, *, left: float, right: float) -> float:
    """Draw an x axis with its name below, and return the y below that.

    If labels would touch, only every second, third or fifth one etc. is shown.
    """
    canvas.line((left, at), (right, at), "axis")
    ticks = x.ticks()
    widest = max(text_width(x.label(tick)) for tick in ticks) + 10
    room = abs(x.place(ticks[-1]) - x.place(ticks[0])) / max(1, len(ticks) - 1)
    every = next(step for step in (1, 2, 3, 5, 10, 20, 50, 1000) if step * room >= widest or step == 1000)
    for number, tick in enumerate(ticks):
        place = x.place(tick)
        canvas.line((place, at), (place, at + _TICK), "axis")
        if number % every == 0:
            half = text_width(x.label(tick)) / 2
            middle = max(half + 2, min(place, canvas.width - half - 2))
            canvas.text(middle, at + _TICK + SMALL + 1, x.label(tick), anchor="middle", ink="muted")
    room = canvas.width - 2 * MARGIN
    half = min(room, text_width(name)) / 2
    middle = max(MARGIN + half, min((left + right) / 2, canvas.width - MARGIN - half))
    canvas.text(middle, at + 2 * SMALL + 12, name, anchor="middle", ink="muted", room=room)
    return at + _BELOW


_CAP = 4.0


def whisker(canvas: Canvas, x: Scale, y: float, low: Number, high: Number, kind: str = "rule") -> None:
    """Draw a horizontal interval at a height, if both ends are known."""
    if known := ends(low, high):
        _drawn(canvas, (x.place(known[0]), y), (x.place(known[1]), y), (0, _CAP), kind)


def vertical_whisker(canvas: Canvas, x: float, y: Scale, low: Number, high: Number) -> None:
    """Draw a vertical interval at a place, if both ends are known."""
    if known := ends(low, high):
        _drawn(canvas, (x, y.place(known[0])), (x, y.place(known[1])), (_CAP, 0), "axis")


def _drawn(canvas: Canvas, start: Point, end: Point, cap: Point, kind: str) -> None:
    lines = [(start, end), *(((x - cap[0], y - cap[1]), (x + cap[0], y + cap[1])) for x, y in (start, end))]
    # Drawn on a background, so that it is visible on a bar, too.
    for line_kind, thick in (("under", 4.5), (kind, 1.5)):
        for one, other in lines:
            canvas.line(one, other, line_kind, thick=thick)
