"""Lines of several series over one level axis: with holes where nothing is known, and bands where intervals are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redraft.plots.axes import Frame
from redraft.plots.canvas import Canvas, path
from redraft.plots.labels import isolated
from redraft.plots.numbers import Number, finite, interval, shown
from redraft.plots.series import Series


class Reading(NamedTuple):
    """What was measured at one place of the level axis, with its interval where there is one."""

    at: float
    value: Number
    low: Number = None
    high: Number = None

    def known(self) -> Reading:
        """The same, with None for whatever cannot be drawn; half an interval is none."""
        if finite(self.at) is None:
            return Reading(self.at, None)
        low, high = finite(self.low), finite(self.high)
        both = low is not None and high is not None
        return Reading(self.at, finite(self.value), low if both else None, high if both else None)


def draw(
    canvas: Canvas, made: Frame, look: Series, name: str, readings: Sequence[Reading], *, marked: Sequence[int]
) -> None:
    """One series: its band, its line, and its marks at the readings with these numbers."""
    known = [reading.known() for reading in readings]
    for stretch in _stretches(known, banded=True):
        _band(canvas, made, look, stretch)
    for stretch in _stretches(known, banded=False):
        if len(stretch) > 1:
            points = [(made.x.place(one.at), made.y.place(one.value or 0.0)) for one in stretch]
            canvas.curve(points, f"s{look.colour}", dash=look.dash)
    alone = {id(stretch[0]) for stretch in _stretches(known, banded=False) if len(stretch) == 1}
    for number, one in enumerate(known):
        if one.value is not None and (number in marked or id(one) in alone):
            tip = f"{isolated(name)}, {shown(one.at)}: {interval(one.value, one.low, one.high)}"
            canvas.marker(look, (made.x.place(one.at), made.y.place(one.value)), tip=tip)


def _band(canvas: Canvas, made: Frame, look: Series, stretch: Sequence[Reading]) -> None:
    high = [(made.x.place(one.at), made.y.place(one.high or 0.0)) for one in stretch]
    low = [(made.x.place(one.at), made.y.place(one.low or 0.0)) for one in stretch]
    if len(stretch) == 1:
        canvas.curve([*high, *low], f"s{look.colour}", thick=1.3)
        return
    shape = canvas.add("path", class_=f"plot-f{look.colour}", d=path([*high, *reversed(low)], closed=True))
    shape.set("fill-opacity", "0.16")
    for edge in (high, low):
        canvas.curve(edge, f"s{look.colour}", dash=look.dash, thick=0.8)


def _stretches(readings: Sequence[Reading], *, banded: bool) -> list[list[Reading]]:
    """The readings in a row that there are, or that have an interval."""
    found: list[list[Reading]] = [[]]
    for one in readings:
        if (one.low if banded else one.value) is None:
            found.append([])
        else:
            found[-1].append(one)
    return [stretch for stretch in found if stretch]
