"""Which share of each summary comes from which part of the document, beside an even spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.report.plots.axes import Linear, level_axis
from redraft.report.plots.canvas import SMALL, Canvas, box_entry, legend, rule_entry, text_width
from redraft.report.plots.label_layout import MOST, LabelRows, left_out, rows
from redraft.report.plots.picture import (
    GOAL,
    WIDE,
    Number,
    Picture,
    PictureStyle,
    data,
    finite,
    isolated,
    percent,
    series,
)

_BAR = 20.0


@dataclass(frozen=True, slots=True)
class ShareBar:
    """One bar: its shares of the parts, in their order; they are drawn as shares of their sum."""

    name: str
    shares: Sequence[Number]

    def known(self) -> list[float] | None:
        """The shares of their sum; None where one of them is missing or below zero, or all are nothing."""
        values = [value for value in map(finite, self.shares) if value is not None and value >= 0]
        whole = sum(value / max(values) for value in values) if any(values) else 0.0
        if len(values) < len(self.shares) or not whole:
            return None
        return [value / max(values) / whole for value in values]


@dataclass(frozen=True, slots=True)
class Shares:
    """A bar for each model, parted among the parts of the document."""

    splits: Sequence[ShareBar]
    parts: Sequence[str] = ("beginning", "middle", "end")
    title: str = "Which part of the document the summaries come from"
    even: bool = True
    """Whether the parts are of one size, so that an even spread has its borders where dashed lines are drawn."""
    measure: str = "share of the summary, in %"
    about: str = (
        "Each bar is one summary, or all of one model, parted by where in the document its sentences come from."
    )

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """The bars, with dashed lines where an even spread would have its borders."""
        table = data(("summary", *self.parts), ([split.name, *self._cells(split)] for split in self.splits))
        canvas = Canvas("shares", self.title, look, table)
        top = canvas.heading()
        if not self.splits or not self.parts:
            return canvas.picture(canvas.nothing(top), "No shares are known.", "No shares are known.")
        entries = [box_entry(part, series(at)) for at, part in enumerate(self.parts)]
        rule = [rule_entry("even spread", GOAL)] if self.even else []
        top = legend(canvas, top, [*entries, *rule]) + 6
        drawn = self.splits[:MOST]
        made = rows(canvas, top, [split.name for split in drawn])
        x = Linear.over([0, 100]).drawn(made.left, made.right - 12)
        for at, split in enumerate(drawn):
            self._bar(canvas, made, x, at, split)
        for border in range(1, len(self.parts) if self.even else 0):
            made.cross(canvas, x.place(100 * border / len(self.parts)), "rule", dash=GOAL, thick=1.3)
        for at, split in enumerate(drawn):
            self._numbers(canvas, made.middle(at), x, split)
        level_axis(canvas, x, made.bottom, self.measure, left=made.left, right=made.right)
        end = left_out(canvas, made.bottom + 2 * SMALL + 24, len(self.splits) - len(drawn))
        borders = " The dashed lines are where the parts of an even spread would end." if self.even else ""
        caption = self.about + borders
        return canvas.picture(end, caption, " ".join(map(self._told, drawn)))

    def _bar(self, canvas: Canvas, made: LabelRows, x: Linear, at: int, split: ShareBar) -> None:
        middle, known = made.middle(at), self._drawn(split)
        if not known:
            canvas.text(made.left + 6, middle + 4, "not known", ink="muted", room=made.right - made.left)
            return
        begin = 0.0
        for number, (part, share) in enumerate(zip(self.parts, known, strict=True)):
            left, right = x.place(100 * begin), x.place(100 * (begin + share))
            begin += share
            if not share:
                continue
            tip = f"{isolated(split.name)}, {isolated(part)}: {percent(share)}"
            canvas.box((left, middle - _BAR / 2), (right - left, _BAR), look=series(number), tip=tip)

    def _numbers(self, canvas: Canvas, middle: float, x: Linear, split: ShareBar) -> None:
        """The shares on paper of their own, so that neither hatching nor lines go through them."""
        begin = 0.0
        for share in self._drawn(split):
            left, right = x.place(100 * begin), x.place(100 * (begin + share))
            begin += share
            words = percent(share)
            width = text_width(words) + 6
            if share and width + 6 <= right - left:
                corner = ((left + right - width) / 2, middle - 7)
                canvas.add(
                    "rect", class_="plot-paper", fill="none", x=corner[0], y=corner[1], width=width, height=14, rx=3
                )
                canvas.text((left + right) / 2, middle + 4.5, words, anchor="middle")

    def _drawn(self, split: ShareBar) -> list[float]:
        """The shares that a bar shows; none where they are not known, or are shares of other parts."""
        known = split.known()
        return known if known is not None and len(known) == len(self.parts) else []

    def _cells(self, split: ShareBar) -> list[Number]:
        cells = [finite(share) for share in split.shares[: len(self.parts)]]
        return cells + [None] * (len(self.parts) - len(cells))

    def _told(self, split: ShareBar) -> str:
        known = self._drawn(split)
        if not known:
            return f"{isolated(split.name)}: not known."
        told = (f"{isolated(part)} {percent(share)}" for part, share in zip(self.parts, known, strict=True))
        return f"{isolated(split.name)}: {', '.join(told)}."
