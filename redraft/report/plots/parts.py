"""A score by part of the document, with its interval, and with what was not judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.report.plots.axes import Linear, level_axis, whisker
from redraft.report.plots.canvas import MARGIN, SMALL, Canvas, LegendEntry, box_entry, legend, marker_entry, text_width
from redraft.report.plots.label_layout import MOST, LabelRows, left_out, rows
from redraft.report.plots.picture import (
    WIDE,
    Data,
    Number,
    Picture,
    PictureStyle,
    SeriesStyle,
    count,
    data,
    finite,
    interval,
    isolated,
    series,
    shown,
)

_BAR = 16.0
_INK = series(0)


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """One part: the share that is right of what was judged there, its interval, and how much was judged and not."""

    name: str
    score: Number
    judged: int
    unjudged: int = 0
    low: Number = None
    high: Number = None

    @property
    def least(self) -> float:
        """The score if all that was not judged were wrong."""
        items = self.judged + self.unjudged
        return (finite(self.score) or 0.0) * (self.judged / items) if items else 0.0

    @property
    def most(self) -> float:
        """The score if all that was not judged were right."""
        items = self.judged + self.unjudged
        return self.least + self.unjudged / items if items else 0.0


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts in their order. `measure` names the score, and what it is a share of."""

    parts: Sequence[DocumentPart]
    measure: str = "coverage (share of questions answered)"
    title: str = "Coverage by part of the document"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """A bar for each part, a mark with whiskers at its score, and hatching for what was not judged."""
        canvas = Canvas("parts", self.title, look, self._data())
        top = canvas.heading()
        if not self.parts:
            return canvas.picture(canvas.nothing(top), "There are no parts.", "There are no parts.")
        drawn = self.parts[:MOST]
        top = legend(canvas, top, self._entries()) + 6
        made = rows(
            canvas, top, [part.name for part in drawn], aside=max(text_width(_judged(part)) for part in drawn) + 12
        )
        values = [value for part in drawn for value in (part.score, part.low, part.high)]
        x = Linear.over([0, 1, *values]).drawn(made.left, made.right)
        for tick in x.ticks():
            made.cross(canvas, x.place(tick), "grid")
        for at, part in enumerate(drawn):
            _bar(canvas, made, x, at, part)
        level_axis(canvas, x, made.bottom, self.measure, left=made.left, right=made.right)
        end = left_out(canvas, made.bottom + 2 * SMALL + 24, len(self.parts) - len(drawn))
        caption = (
            "The mark is the score of what was judged, and its whiskers the interval. The filled bar is what counts "
            "of all items; the hatched part was not judged and might count or not. On the right stands how many "
            "items were judged, of all."
        )
        return canvas.picture(end, caption, f"{self.measure}. {' '.join(map(_told, drawn))}")

    def _entries(self) -> list[LegendEntry]:
        entries = [
            marker_entry("score, with its interval", _MARK, hollow=True),
            box_entry("share of all items", _INK, "plain"),
        ]
        if any(part.unjudged for part in self.parts):
            entries.append(box_entry("not judged", _INK, "rising"))
        return entries

    def _data(self) -> Data:
        columns = ("part", self.measure, "from", "to", "judged", "not judged")
        return data(
            columns,
            ([part.name, part.score, part.low, part.high, part.judged, part.unjudged] for part in self.parts),
        )


_MARK = SeriesStyle(6, "", "diamond", "plain")


def _bar(canvas: Canvas, made: LabelRows, x: Linear, at: int, part: DocumentPart) -> None:
    middle, score = made.middle(at), finite(part.score)
    zero, least, most = x.place(0), x.place(part.least), x.place(part.most)
    canvas.text(canvas.width - MARGIN, made.aside(at), _judged(part), anchor="end", ink="muted")
    tip = f"{_told(part)}"
    if least > zero:
        canvas.box((zero, middle - _BAR / 2), (least - zero, _BAR), look=_INK, hatch="plain", tip=tip)
    if part.unjudged:
        canvas.box((least, middle - _BAR / 2), (most - least, _BAR), look=_INK, hatch="rising", tip=tip)
    if score is None:
        return
    whisker(canvas, x, middle, part.low, part.high)
    canvas.marker(_MARK, (x.place(score), middle), hollow=True, tip=tip)


def _judged(part: DocumentPart) -> str:
    return f"{part.judged:,} of {part.judged + part.unjudged:,}"


def _told(part: DocumentPart) -> str:
    left = f", {part.unjudged:,} not judged" if part.unjudged else ""
    if finite(part.score) is None:
        return f"{isolated(part.name)}: {shown(None)}{left}."
    judged = f"{count(part.judged, 'item')} judged"
    return f"{isolated(part.name)}: {interval(part.score, part.low, part.high)}, {judged}{left}."
