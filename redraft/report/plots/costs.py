"""Score against cost: a mark for each contestant with the intervals of both, and its name beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.report.plots.axes import Frame, Linear, Log, frame, upright, whisker
from redraft.report.plots.canvas import SMALL, Canvas, Point, text_width
from redraft.report.plots.label_layout import Box, beside
from redraft.report.plots.picture import (
    WIDE,
    Number,
    Picture,
    PictureStyle,
    apart,
    data,
    finite,
    interval,
    isolated,
    series,
)

_HEIGHT = 280
# Costs that are further apart than so many times are told apart by powers of ten only.
_FAR = 50
_NAME = 0.36


@dataclass(frozen=True, slots=True)
class CostPoint:
    """One contestant: what it costs and how well it does, each with its interval."""

    name: str
    cost: Number
    score: Number
    low: Number = None
    high: Number = None
    cost_low: Number = None
    cost_high: Number = None


@dataclass(frozen=True, slots=True)
class ScoreAgainstCost:
    """Contestants by cost and score. Both axes are named with their units."""

    contestants: Sequence[CostPoint]
    score: str
    cost: str = "cost per document, in US dollars"
    title: str = "Score against cost"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """The marks; better is higher, and cheaper is further to the left."""
        columns = ("contestant", self.cost, "cost from", "cost to", self.score, "score from", "score to")
        table = data(
            columns,
            ([c.name, c.cost, c.cost_low, c.cost_high, c.score, c.low, c.high] for c in self.contestants),
        )
        canvas = Canvas("costs", self.title, look, table)
        top = canvas.heading()
        drawn = [one for one in self.contestants if finite(one.cost) is not None and finite(one.score) is not None]
        if not drawn:
            told = "No contestant has both a cost and a score."
            return canvas.picture(canvas.nothing(top, told), told, told)
        x, said = _cost_scale(drawn)
        y = Linear.of_scores(value for one in drawn for value in (one.score, one.low, one.high))
        made = frame(canvas, top, _HEIGHT, x, y, x_name=self.cost + said, y_name=self.score)
        self._marks(canvas, made, drawn)
        out = [isolated(one.name) for one in self.contestants if one not in drawn]
        left = f" Not drawn, for want of a cost or a score: {', '.join(out)}." if out else ""
        caption = f"Higher is better, and further to the left is cheaper. The lines through a mark are intervals.{left}"
        return canvas.picture(made.end, caption, " ".join(map(_told, drawn)))

    def _marks(self, canvas: Canvas, made: Frame, drawn: Sequence[CostPoint]) -> None:
        places = [(made.x.place(finite(one.cost) or 0.0), made.y.place(finite(one.score) or 0.0)) for one in drawn]
        taken = []
        for one, (x, y) in zip(drawn, places, strict=True):
            whisker(canvas, made.x, y, one.cost_low, one.cost_high, "axis")
            upright(canvas, x, made.y, one.low, one.high, "axis")
            taken += [Box(x - 6, y - 6, x + 6, y + 6), *_lines(made, one, (x, y))]
        for at, (one, place) in enumerate(zip(drawn, places, strict=True)):
            canvas.marker(series(at), place, tip=_told(one), radius=5)
        bounds = Box(made.left, made.top - 6, canvas.width - 4, made.bottom)
        brief = apart(one.name for one in drawn)
        for one, place in zip(drawn, places, strict=True):
            most = canvas.width * _NAME
            shown = one.name if text_width(one.name) <= most else brief[one.name]
            room = min(text_width(shown), most)
            box = beside(place, room, SMALL + 2, bounds, taken, [other for other in places if other != place])
            taken.append(box)
            if box.far(place) > 2 * SMALL:
                canvas.line(place, box.nearest(place), "axis", thick=0.8)
            canvas.text(box.left, box.bottom - 3, one.name, room=room + 0.01, halo=True, brief=brief[one.name])


def _cost_scale(drawn: Sequence[CostPoint]) -> tuple[Linear | Log, str]:
    costs = [value for one in drawn for value in map(finite, (one.cost, one.cost_low, one.cost_high))]
    known = [value for value in costs if value is not None]
    if min(known) > 0 and max(known) / _FAR > min(known):
        return Log.over(known), " (logarithmic)"
    return Linear.over([0, *known]), ""


def _lines(made: Frame, one: CostPoint, at: Point) -> list[Box]:
    """The intervals of a mark as room that is taken."""
    found = []
    low, high = finite(one.low), finite(one.high)
    if low is not None and high is not None:
        found.append(Box(at[0] - 2, made.y.place(high), at[0] + 2, made.y.place(low)))
    low, high = finite(one.cost_low), finite(one.cost_high)
    if low is not None and high is not None:
        found.append(Box(made.x.place(low), at[1] - 2, made.x.place(high), at[1] + 2))
    return found


def _told(one: CostPoint) -> str:
    cost = interval(one.cost, one.cost_low, one.cost_high)
    return f"{isolated(one.name)}: score {interval(one.score, one.low, one.high)}, cost {cost}."
