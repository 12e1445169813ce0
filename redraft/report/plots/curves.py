"""Line plots: trends over steps, and where in a document summaries come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from redraft.report.plots.axes import Axes, LinearScale, frame
from redraft.report.plots.canvas import Canvas, legend, line_entry, path, rule_entry
from redraft.report.plots.picture import (
    GOAL,
    WIDE,
    Number,
    Picture,
    PictureStyle,
    PlotData,
    SeriesStyle,
    data,
    ends,
    finite,
    interval,
    isolated,
    percent,
    series,
    shown,
)


class CurvePoint(NamedTuple):
    """A measurement at a place on the x axis, with its interval if there is one."""

    at: float
    value: Number
    low: Number = None
    high: Number = None

    def known(self) -> CurvePoint:
        """Return the point with None for what cannot be drawn; an interval with only one end is dropped."""
        if finite(self.at) is None:
            return CurvePoint(self.at, None)
        return CurvePoint(self.at, finite(self.value), *(ends(self.low, self.high) or (None, None)))


def draw(
    canvas: Canvas, made: Axes, look: SeriesStyle, name: str, readings: Sequence[CurvePoint], *, marked: Sequence[int]
) -> None:
    """Draw a series: its band, its line, and markers at the readings with these indexes."""
    curve_points = [reading.known() for reading in readings]
    for stretch in _stretches(curve_points, banded=True):
        _band(canvas, made, look, stretch)
    for stretch in _stretches(curve_points, banded=False):
        if len(stretch) > 1:
            points = [(made.x.place(curve_point.at), made.y.place(curve_point.value or 0.0)) for curve_point in stretch]
            canvas.curve(points, f"s{look.colour}", dash=look.dash)
    alone = {id(stretch[0]) for stretch in _stretches(curve_points, banded=False) if len(stretch) == 1}
    for number, point in enumerate(curve_points):
        if point.value is not None and (number in marked or id(point) in alone):
            tip = f"{isolated(name)}, {shown(point.at)}: {interval(point.value, point.low, point.high)}"
            canvas.marker(look, (made.x.place(point.at), made.y.place(point.value)), tip=tip)


def _band(canvas: Canvas, made: Axes, look: SeriesStyle, stretch: Sequence[CurvePoint]) -> None:
    high = [(made.x.place(point.at), made.y.place(point.high or 0.0)) for point in stretch]
    low = [(made.x.place(point.at), made.y.place(point.low or 0.0)) for point in stretch]
    if len(stretch) == 1:
        canvas.curve([*high, *low], f"s{look.colour}", thick=1.3)
        return
    outline = path([*high, *reversed(low)], closed=True)
    canvas.add("path", class_=f"plot-f{look.colour}", d=outline, fill_opacity="0.16")
    for edge in (high, low):
        canvas.curve(edge, f"s{look.colour}", dash=look.dash, thick=0.8)


def _stretches(readings: Sequence[CurvePoint], *, banded: bool) -> list[list[CurvePoint]]:
    """Return the runs of consecutive readings with a value, or with an interval if `banded`."""
    found: list[list[CurvePoint]] = [[]]
    for point in readings:
        if (point.low if banded else point.value) is None:
            found.append([])
        else:
            found[-1].append(point)
    return [stretch for stretch in found if stretch]


_HEIGHT = 240


@dataclass(frozen=True, slots=True)
class Trend:
    """A line: its readings in order of their steps."""

    name: str
    readings: Sequence[CurvePoint]


@dataclass(frozen=True, slots=True)
class Trends:
    """Lines over the same steps. Both axes are named with their units."""

    trends: Sequence[Trend]
    x_name: str
    y_name: str
    title: str
    ends: Sequence[float] = ()
    """Values that the y axis always includes: the 0 and 1 of a share make pictures comparable."""

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw the lines, each with the band of its intervals."""
        canvas = Canvas("trends", self.title, look, self._data())
        top = canvas.heading()
        readings = [point.known() for trend in self.trends for point in trend.readings]
        values = [value for point in readings for value in (point.value, point.low, point.high) if value is not None]
        if not values:
            return canvas.nothing(top, "No data.")
        top = legend(canvas, top, [line_entry(trend.name, series(at)) for at, trend in enumerate(self.trends)])
        steps = [at for point in readings if (at := finite(point.at)) is not None]
        # Ticks between whole rounds make no sense.
        least = 1.0 if all(at.is_integer() for at in steps) else 0.0
        x = LinearScale.over(steps, ticks=4 if canvas.narrow else 7, least=least)
        y = LinearScale.of_scores([*values, *self.ends])
        axes = frame(canvas, top, _HEIGHT, x, y, x_name=self.x_name, y_name=self.y_name)
        for at, trend in enumerate(self.trends):
            every = range(len(trend.readings))
            draw(canvas, axes, series(at), trend.name, trend.readings, marked=every)
        banded = any(point.low is not None for point in readings)
        caption = "A gap in a line means no data." + (" The band around a line is its interval." if banded else "")
        return canvas.picture(axes.end, caption, " ".join(map(self._told, self.trends)))

    def _told(self, trend: Trend) -> str:
        points = [point for point in (reading.known() for reading in trend.readings) if point.value is not None]
        if not points:
            return f"{isolated(trend.name)}: not measured."
        first, last = points[0], points[-1]
        told = f"{isolated(trend.name)}: {interval(first.value, first.low, first.high)} at {shown(first.at)}"
        return f"{told}, {interval(last.value, last.low, last.high)} at {shown(last.at)}."

    def _data(self) -> PlotData:
        columns = ("series", self.x_name, self.y_name, "from", "to")
        known = ((trend.name, point.known()) for trend in self.trends for point in trend.readings)
        return data(columns, ([name, finite(point.at), point.value, point.low, point.high] for name, point in known))


_HEIGHT_OF_DENSITIES = 230
_MARKS = 5
_EVEN = 1.0
# A solid grey line without markers, unlike any model's.
_REFERENCE = SeriesStyle(6, "", "circle", "plain")


@dataclass(frozen=True, slots=True)
class Curve:
    """Densities in equal steps from the beginning to the end of the document; 1 is an even spread."""

    name: str
    heights: Sequence[Number]

    def readings(self) -> list[CurvePoint]:
        """Return the heights as points, each at the middle of its step, from 0 to 100."""
        return [CurvePoint(100 * (at + 0.5) / len(self.heights), height) for at, height in enumerate(self.heights)]


@dataclass(frozen=True, slots=True)
class Densities:
    """The curves of several summaries or models, and of a reference if there is one."""

    curves: Sequence[Curve]
    reference: Curve | None = None
    title: str = "Where in the document the summaries come from"
    of: str = "the document"
    """What the x axis covers, from its beginning to its end."""

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw the curves over the document, with the even spread as a dashed line."""
        every = [*self.curves, *([self.reference] if self.reference else [])]
        canvas = Canvas("densities", self.title, look, _data(every))
        top = canvas.heading()
        heights = [height for curve in every for height in map(finite, curve.heights) if height is not None]
        if not heights:
            told = "No sentence was traced to the document."
            return canvas.nothing(top, told)
        entries = [line_entry(curve.name, series(at)) for at, curve in enumerate(self.curves)]
        if self.reference:
            entries.append(rule_entry(self.reference.name, "", f"s{_REFERENCE.colour}"))
        top = legend(canvas, top, [*entries, rule_entry("even spread", GOAL)])
        axes = frame(
            canvas,
            top,
            _HEIGHT_OF_DENSITIES,
            LinearScale.over([0, 100]),
            LinearScale.over([0, _EVEN, *heights]),
            x_name=f"place in {self.of}, in % of its length",
            y_name="density (1 is an even spread)",
        )
        even = axes.y.place(_EVEN)
        canvas.line((axes.left, even), (axes.right, even), "rule", dash=GOAL, thick=1.3)
        if self.reference:
            draw(canvas, axes, _REFERENCE, self.reference.name, self.reference.readings(), marked=())
        for at, curve in enumerate(self.curves):
            draw(canvas, axes, series(at), curve.name, curve.readings(), marked=_marked(len(curve.heights), at))
        caption = (
            f"Where in {self.of} each summary comes from, from the start (left) to the end (right). Above the dashed "
            "line, more comes from there than an even spread would give."
        )
        return canvas.picture(axes.end, caption, " ".join(map(_peak, every)))


def _marked(points: int, at: int) -> range:
    """Return the indexes of a few points, staggered by curve so that markers do not overlap."""
    every = max(1, points // _MARKS)
    return range((at * every // 4 + every // 4) % every, points, every)


def _peak(curve: Curve) -> str:
    points = [point for point in curve.readings() if finite(point.value) is not None]
    if not points:
        return f"{isolated(curve.name)}: not traced."
    best = max(points, key=lambda one: (one.value, -one.at))
    thirds = [[point.value or 0.0 for point in points if third <= point.at * 3 / 100 < third + 1] for third in range(3)]
    whole = sum(map(sum, thirds)) or 1.0
    split = ", ".join(percent(sum(third) / whole) for third in thirds)
    highest = f"highest at {shown(best.at)}% ({shown(best.value)})"
    return f"{isolated(curve.name)}: beginning, middle and end {split}; {highest}."


def _data(curves: Sequence[Curve]) -> PlotData:
    """Return a table with one row per place; curves with another number of points add rows."""
    places = sorted({point.at for curve in curves for point in curve.readings()})
    known = [{point.at: point.value for point in curve.readings()} for curve in curves]
    rows = [[round(at, 2), *(heights.get(at) for heights in known)] for at in places]
    return data(("place (%)", *(curve.name for curve in curves)), rows)
