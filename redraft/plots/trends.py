"""How a figure changes step by step, such as with a growing context: lines with bands for their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.plots.axes import frame
from redraft.plots.canvas import Canvas
from redraft.plots.curves import Reading, draw
from redraft.plots.labels import isolated
from redraft.plots.legend import legend, line_entry
from redraft.plots.numbers import Number, finite, interval, shown
from redraft.plots.picture import WIDE, Data, Look, Picture, data
from redraft.plots.scales import Linear
from redraft.plots.series import series

_HEIGHT = 240


@dataclass(frozen=True, slots=True)
class Trend:
    """One line: its readings in the order of their steps."""

    name: str
    readings: Sequence[Reading]


@dataclass(frozen=True, slots=True)
class Trends:
    """Lines over the same steps. Both axes are named with their units."""

    trends: Sequence[Trend]
    x_name: str
    y_name: str
    title: str
    ends: Sequence[float] = ()
    """What the upright axis shows in any case: the 0 and 1 of a share let pictures be compared."""

    def picture(self, look: Look = WIDE) -> Picture:
        """The lines, each with the band of its intervals."""
        canvas = Canvas("trends", self.title, look, self._data())
        top = canvas.heading()
        readings = [one.known() for trend in self.trends for one in trend.readings]
        values = [value for one in readings for value in (one.value, one.low, one.high) if value is not None]
        if not values:
            return canvas.picture(canvas.nothing(top), "Nothing was measured.", "Nothing was measured.")
        top = legend(canvas, top, [line_entry(trend.name, series(at)) for at, trend in enumerate(self.trends)])
        steps = [at for one in readings if (at := finite(one.at)) is not None]
        # Between two rounds there is none.
        least = 1.0 if all(at.is_integer() for at in steps) else 0.0
        x = Linear.over(steps, ticks=4 if canvas.narrow else 7, least=least)
        made = frame(
            canvas, top, _HEIGHT, x, Linear.of_scores([*values, *self.ends]), x_name=self.x_name, y_name=self.y_name
        )
        for at, trend in enumerate(self.trends):
            every = range(len(trend.readings))
            draw(canvas, made, series(at), trend.name, trend.readings, marked=every)
        banded = any(one.low is not None for one in readings)
        caption = "A line is broken where nothing was measured." + (
            " The band around a line is the interval of its values." if banded else ""
        )
        return canvas.picture(made.end, caption, " ".join(map(self._told, self.trends)))

    def _told(self, trend: Trend) -> str:
        known = [one for one in (reading.known() for reading in trend.readings) if one.value is not None]
        if not known:
            return f"{isolated(trend.name)}: not measured."
        first, last = known[0], known[-1]
        told = f"{isolated(trend.name)}: {interval(first.value, first.low, first.high)} at {shown(first.at)}"
        return f"{told}, {interval(last.value, last.low, last.high)} at {shown(last.at)}."

    def _data(self) -> Data:
        columns = ("series", self.x_name, self.y_name, "from", "to")
        return data(columns, ([trend.name, *_cells(one.known())] for trend in self.trends for one in trend.readings))


def _cells(one: Reading) -> list[Number]:
    return [finite(one.at), one.value, one.low, one.high]
