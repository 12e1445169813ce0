"""Where in a document summaries come from: a curve for each, beside an even spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.plots.axes import frame
from redraft.plots.canvas import Canvas
from redraft.plots.curves import Reading, draw
from redraft.plots.labels import isolated
from redraft.plots.legend import legend, line_entry, rule_entry
from redraft.plots.numbers import Number, finite, percent, shown
from redraft.plots.picture import WIDE, Data, Look, Picture, data
from redraft.plots.scales import Linear
from redraft.plots.series import GOAL, Series, series

_HEIGHT = 230
_MARKS = 5
_EVEN = 1.0
# A grey line without a dash and without marks is no model's.
_REFERENCE = Series(6, "", "circle", "plain")


@dataclass(frozen=True, slots=True)
class Curve:
    """Heights from the beginning to the end of the document, evenly spread; 1 is as much as from anywhere."""

    name: str
    heights: Sequence[Number]

    def readings(self) -> list[Reading]:
        """The heights, each at the middle of its stretch, from 0 to 100."""
        return [Reading(100 * (at + 0.5) / len(self.heights), height) for at, height in enumerate(self.heights)]


@dataclass(frozen=True, slots=True)
class Densities:
    """The curves of several summaries or models, and that of a reference where there is one."""

    curves: Sequence[Curve]
    reference: Curve | None = None
    title: str = "Where in the document the summaries come from"
    of: str = "the document"
    """What lies along the axis, from its beginning to its end."""

    def picture(self, look: Look = WIDE) -> Picture:
        """The curves over the document, with the even spread as a dashed line."""
        every = [*self.curves, *([self.reference] if self.reference else [])]
        canvas = Canvas("densities", self.title, look, _data(every))
        top = canvas.heading()
        heights = [height for curve in every for height in map(finite, curve.heights) if height is not None]
        if not heights:
            told = "No sentence was traced to a place in the document."
            return canvas.picture(canvas.nothing(top), told, told)
        entries = [line_entry(curve.name, series(at)) for at, curve in enumerate(self.curves)]
        if self.reference:
            entries.append(rule_entry(self.reference.name, "", f"s{_REFERENCE.colour}"))
        top = legend(canvas, top, [*entries, rule_entry("even spread", GOAL)])
        made = frame(
            canvas,
            top,
            _HEIGHT,
            Linear.over([0, 100]),
            Linear.over([0, _EVEN, *heights]),
            x_name=f"place in {self.of}, in % of its length",
            y_name="density (1 is an even spread)",
        )
        even = made.y.place(_EVEN)
        canvas.line((made.left, even), (made.right, even), "rule", dash=GOAL, thick=1.3)
        if self.reference:
            draw(canvas, made, _REFERENCE, self.reference.name, self.reference.readings(), marked=())
        for at, curve in enumerate(self.curves):
            draw(canvas, made, series(at), curve.name, curve.readings(), marked=_marked(len(curve.heights), at))
        caption = (
            f"How much of each summary comes from which place of {self.of}, from its beginning on the left to its "
            "end on the right. Above the dashed line more comes from there than an even spread would have it."
        )
        return canvas.picture(made.end, caption, " ".join(map(_peak, every)))


def _marked(points: int, at: int) -> range:
    """A few of the points, for each curve others, so that marks do not lie upon each other."""
    every = max(1, points // _MARKS)
    return range((at * every // 4 + every // 4) % every, points, every)


def _peak(curve: Curve) -> str:
    known = [one for one in curve.readings() if finite(one.value) is not None]
    if not known:
        return f"{isolated(curve.name)}: not traced."
    best = max(known, key=lambda one: (one.value, -one.at))
    thirds = [[one.value or 0.0 for one in known if third <= one.at * 3 / 100 < third + 1] for third in range(3)]
    whole = sum(map(sum, thirds)) or 1.0
    split = ", ".join(percent(sum(third) / whole) for third in thirds)
    highest = f"highest at {shown(best.at)} % ({shown(best.value)})"
    return f"{isolated(curve.name)}: beginning, middle and end {split}; {highest}."


def _data(curves: Sequence[Curve]) -> Data:
    """A row for each place; curves of another number of points have rows of their own."""
    places = sorted({one.at for curve in curves for one in curve.readings()})
    known = [{one.at: one.value for one in curve.readings()} for curve in curves]
    rows = [[round(at, 2), *(heights.get(at) for heights in known)] for at in places]
    return data(("place (%)", *(curve.name for curve in curves)), rows)
