"""Rows with a name each, for bars and intervals that lie: the name beside the row, or above it in a narrow picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.plots.canvas import MARGIN, NORMAL, Canvas, text_width
from redraft.plots.labels import apart

MOST = 60
"""More rows are no picture any more; the table has them all."""
_NAMES = 0.34
_REACH = 12.0


@dataclass(frozen=True, slots=True)
class Rows:
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


def rows(canvas: Canvas, top: float, names: Sequence[str], *, step: float = 28, aside: float = 0) -> Rows:
    """Room for a row for each name, with so much kept free for words on the right, and the names written."""
    edge, brief = canvas.width - MARGIN - aside, apart(names)
    if canvas.narrow:
        edge = canvas.width - MARGIN - 4
        made = Rows(MARGIN + 4, edge, top, step + 16, len(names), above=True)
        for at, name in enumerate(names):
            canvas.text(
                MARGIN, made.aside(at), name, size=NORMAL, room=canvas.width - 2 * MARGIN - aside, brief=brief[name]
            )
        return made
    room = min(canvas.width * _NAMES, max((text_width(name, NORMAL) for name in names), default=0))
    made = Rows(MARGIN + room + 10, edge, top, step, len(names), above=False)
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
