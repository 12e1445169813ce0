"""Paired differences with their intervals, beside the line at which there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.report.plots.axes import Linear, level_axis, whisker
from redraft.report.plots.canvas import MARGIN, SMALL, Canvas, legend, marker_entry, text_width
from redraft.report.plots.label_layout import MOST, LabelRows, left_out, rows
from redraft.report.plots.picture import (
    WIDE,
    Data,
    Number,
    Picture,
    PictureStyle,
    SeriesStyle,
    data,
    finite,
    isolated,
    signed,
)

_LOOK = SeriesStyle(1, "", "square", "plain")


@dataclass(frozen=True, slots=True)
class PlottedDifference:
    """One difference over so many pairs, with its interval."""

    name: str
    value: Number
    low: Number = None
    high: Number = None
    pairs: int | None = None

    @property
    def clear(self) -> bool:
        """Whether its interval leaves out that there is no difference."""
        low, high = finite(self.low), finite(self.high)
        return low is not None and high is not None and (low > 0 or high < 0)


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences of two, `better` minus `worse`, of whatever `measure` names with its unit."""

    differences: Sequence[PlottedDifference]
    first: str
    second: str
    measure: str
    title: str = "Paired differences"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """A mark with whiskers for each that has an interval, filled where that leaves out zero."""
        canvas = Canvas("differences", self.title, look, self._data())
        top = canvas.heading()
        if not self.differences:
            return canvas.picture(canvas.nothing(top), "Nothing was compared.", "Nothing was compared.")
        entries = [
            marker_entry("the interval leaves out zero", _LOOK),
            marker_entry("it has zero in it, or there is none", _LOOK, hollow=True),
        ]
        top = legend(canvas, top, entries) + 8
        drawn = self.differences[:MOST]
        words = [_words(one) for one in drawn]
        below = 18 + (SMALL + 4) * canvas.narrow
        made = rows(canvas, top + below, [one.name for one in drawn], aside=max(map(text_width, words)) + 12)
        values = [value for one in drawn for value in (one.value, one.low, one.high)]
        x = Linear.over([0, *values], ticks=4).drawn(made.left + 6, made.right - 6)
        self._sides(canvas, made, x, top + below - 18)
        for at, (one, told) in enumerate(zip(drawn, words, strict=True)):
            canvas.text(canvas.width - MARGIN, made.aside(at), told, anchor="end")
            if (value := finite(one.value)) is not None:
                whisker(canvas, x, made.middle(at), one.low, one.high, f"s{_LOOK.colour}")
                mark = (x.place(value), made.middle(at))
                canvas.marker(_LOOK, mark, hollow=not one.clear, tip=f"{isolated(one.name)}: {told}")
        level_axis(canvas, x, made.bottom, f"difference in {self.measure}", left=made.left, right=made.right)
        end = left_out(canvas, made.bottom + 2 * SMALL + 24, len(self.differences) - len(drawn))
        caption = (
            "Each mark is the mean of paired differences, and its whiskers the interval. A filled mark is a difference "
            "whose interval leaves out zero; one without whiskers has no interval."
        )
        told = " ".join(f"{isolated(one.name)}: {_words(one)}." for one in drawn)
        of = f"{isolated(self.first)} minus {isolated(self.second)}"
        return canvas.picture(end, caption, f"Difference in {self.measure}, {of}. {told}")

    def _sides(self, canvas: Canvas, made: LabelRows, x: Linear, top: float) -> None:
        """The line at zero, and above it whose side is which."""
        zero = x.place(0)
        for tick in x.ticks():
            made.cross(canvas, x.place(tick), "grid")
        made.cross(canvas, zero, "rule", thick=1.6)
        left, right = f"← more in {isolated(self.second)}", f"more in {isolated(self.first)} →"
        before, after = zero - 8 - MARGIN, canvas.width - MARGIN - zero - 8
        if text_width(left) <= before and text_width(right) <= after:
            canvas.line((zero, top), (zero, top + 16), "rule", thick=1.6)
            canvas.text(zero - 8, top + 12, left, anchor="end", ink="muted")
            canvas.text(zero + 8, top + 12, right, ink="muted")
            return
        # Where there is no room beside the line they stand at the edges; on a phone one above the other.
        wide = canvas.width - 2 * MARGIN
        room, above = (wide, 16) if canvas.narrow else (wide / 2 - 8, 0)
        canvas.text(MARGIN, top + 12 - above, left, ink="muted", room=room, halo=True)
        canvas.text(canvas.width - MARGIN, top + 12, right, anchor="end", ink="muted", room=room, halo=True)

    def _data(self) -> Data:
        columns = (self.title, f"difference in {self.measure}", "from", "to", "pairs")
        return data(columns, ([one.name, one.value, one.low, one.high, one.pairs] for one in self.differences))


def _words(one: PlottedDifference) -> str:
    low, high = finite(one.low), finite(one.high)
    span = "" if low is None or high is None else f" [{signed(low)}, {signed(high)}]"
    return f"{signed(one.value)}{span}"
