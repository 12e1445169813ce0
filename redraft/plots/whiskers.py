"""Intervals as lines with a bar at each end."""

from __future__ import annotations

from redraft.plots.canvas import Canvas
from redraft.plots.numbers import Number, finite
from redraft.plots.scales import Scale

_CAP = 4.0


def whisker(canvas: Canvas, x: Scale, y: float, low: Number, high: Number, kind: str = "rule") -> None:
    """A level interval at a height, if both of its ends are known."""
    if (least := finite(low)) is not None and (most := finite(high)) is not None:
        _drawn(canvas, (x.place(least), y), (x.place(most), y), (0, _CAP), kind)


def upright(canvas: Canvas, x: float, y: Scale, low: Number, high: Number, kind: str = "rule") -> None:
    """An upright interval at a place, if both of its ends are known."""
    if (least := finite(low)) is not None and (most := finite(high)) is not None:
        _drawn(canvas, (x, y.place(least)), (x, y.place(most)), (_CAP, 0), kind)


def _drawn(
    canvas: Canvas, start: tuple[float, float], end: tuple[float, float], cap: tuple[float, float], kind: str
) -> None:
    lines = [(start, end), *(((x - cap[0], y - cap[1]), (x + cap[0], y + cap[1])) for x, y in (start, end))]
    # On paper of its own, so that it is seen upon a bar too.
    for line_kind, thick in (("under", 4.5), (kind, 1.5)):
        for one, other in lines:
            canvas.line(one, other, line_kind, thick=thick)
