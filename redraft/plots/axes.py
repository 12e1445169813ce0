"""Axes with their names, units, round ticks and grid, around the room that is left for marks."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.plots.canvas import MARGIN, SMALL, Canvas, text_width
from redraft.plots.scales import Scale

_TICK = 5


@dataclass(frozen=True, slots=True)
class Frame:
    """The room for marks, and the scales over it."""

    left: float
    top: float
    right: float
    bottom: float
    x: Scale
    y: Scale

    @property
    def end(self) -> float:
        """Where the next thing below may begin."""
        return self.bottom + 2 * SMALL + 24


def frame(
    canvas: Canvas, top: float, height: float, x: Scale, y: Scale, *, x_name: str, y_name: str, right: float = 0
) -> Frame:
    """Both axes. The name of the upright one stands above it, where it can be read; `right` is kept free there."""
    top += SMALL + 14
    left = MARGIN + max(text_width(y.label(tick)) for tick in y.ticks()) + _TICK + 3
    # Half of the last label reaches beyond the axis.
    edge = canvas.width - MARGIN - max(right, text_width(x.label(x.ticks()[-1])) / 2)
    bottom = top + height
    made = Frame(left, top, edge, bottom, x.drawn(left, edge), y.drawn(bottom, top))
    canvas.text(MARGIN, top - 12, y_name, ink="muted", room=canvas.width - 2 * MARGIN)
    for tick in y.ticks():
        at = made.y.place(tick)
        canvas.line((left, at), (edge, at), "grid")
        canvas.text(left - _TICK - 2, at + 4, y.label(tick), anchor="end", ink="muted")
    canvas.line((left, top), (left, bottom), "axis")
    level_axis(canvas, made.x, bottom, x_name, left=left, right=edge)
    return made


def level_axis(canvas: Canvas, x: Scale, at: float, name: str, *, left: float, right: float) -> None:
    """An axis from left to right, with its name below; where labels would touch, only every second or fifth is said."""
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
