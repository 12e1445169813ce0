"""Plots of shares: which part of a document a summary comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.report.plots.axes import MAX_ROWS, LabelRows, LinearScale, left_out, level_axis, rows, whisker
from redraft.report.plots.canvas import (
    MARGIN,
    Canvas,
    LegendEntry,
    box_entry,
    legend,
    marker_entry,
    rule_entry,
    text_width,
)
from redraft.report.plots.picture import (
    GOAL,
    WIDE,
    Number,
    Picture,
    PictureStyle,
    PlotData,
    SeriesStyle,
    data,
    finite,
    interval,
    isolated,
    percent,
    series,
    shown,
)
from redraft.text.words import count

_BAR = 20.0


@dataclass(frozen=True, slots=True)
class ShareBar:
    """A bar: its shares of the parts, in order, drawn relative to their sum."""

    name: str
    shares: Sequence[Number]

    def known(self) -> list[float] | None:
        """Return the shares relative to their sum; None if one is missing or negative, or if all are zero."""
        values = [value for value in map(finite, self.shares) if value is not None and value >= 0]
        whole = sum(value / max(values) for value in values) if any(values) else 0.0
        if len(values) < len(self.shares) or not whole:
            return None
        return [value / max(values) / whole for value in values]


@dataclass(frozen=True, slots=True)
class Shares:
    """A bar for each model, divided into the parts of the document."""

    splits: Sequence[ShareBar]
    parts: Sequence[str] = ("beginning", "middle", "end")
    title: str = "Which part of the document the summaries come from"
    even: bool = True
    """Whether all parts have the same size, so that dashed lines can mark an even spread."""
    measure: str = "share of the summary, in %"
    about: str = (
        "Each bar shows which part of the document the sentences of a summary (or of one model's summaries) come from."
    )

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw the bars, with dashed lines at the borders of an even spread."""
        table = data(("summary", *self.parts), ([split.name, *self._cells(split)] for split in self.splits))
        canvas = Canvas("shares", self.title, look, table)
        top = canvas.heading()
        if not self.splits or not self.parts:
            return canvas.nothing(top, "No data.")
        entries = [box_entry(part, series(at)) for at, part in enumerate(self.parts)]
        rule = [rule_entry("even spread", GOAL)] if self.even else []
        top = legend(canvas, top, [*entries, *rule]) + 6
        bars = self.splits[:MAX_ROWS]
        label_rows = rows(canvas, top, [split.name for split in bars])
        x = LinearScale.over([0, 100]).drawn(label_rows.left, label_rows.right - 12)
        for at, split in enumerate(bars):
            self._bar(canvas, label_rows, x, at, split)
        for border in range(1, len(self.parts) if self.even else 0):
            label_rows.cross(canvas, x.place(100 * border / len(self.parts)), "rule", dash=GOAL, thick=1.3)
        for at, split in enumerate(bars):
            self._numbers(canvas, label_rows.middle(at), x, split)
        end = level_axis(canvas, x, label_rows.bottom, self.measure, left=label_rows.left, right=label_rows.right)
        end = left_out(canvas, end, len(self.splits) - len(bars))
        borders = " Dashed lines mark an even spread." if self.even else ""
        caption = self.about + borders
        return canvas.picture(end, caption, " ".join(map(self._told, bars)))

    def _bar(self, canvas: Canvas, made: LabelRows, x: LinearScale, at: int, split: ShareBar) -> None:
        middle, known = made.middle(at), self._drawn(split)
        if not known:
            canvas.text(made.left + 6, middle + 4, "unknown", ink="muted", room=made.right - made.left)
            return
        begin = 0.0
        for number, (part, share) in enumerate(zip(self.parts, known, strict=True)):
            left, right = x.place(100 * begin), x.place(100 * (begin + share))
            begin += share
            if not share:
                continue
            tip = f"{isolated(split.name)}, {isolated(part)}: {percent(share)}"
            canvas.box((left, middle - _BAR / 2), (right - left, _BAR), look=series(number), tip=tip)

    def _numbers(self, canvas: Canvas, middle: float, x: LinearScale, split: ShareBar) -> None:
        """Draw the shares on a background that keeps hatching and lines off the numbers."""
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
        """Return the shares that a bar shows; empty if they are unknown, or do not match the parts."""
        known = split.known()
        return known if known is not None and len(known) == len(self.parts) else []

    def _cells(self, split: ShareBar) -> list[Number]:
        cells = [finite(share) for share in split.shares[: len(self.parts)]]
        return cells + [None] * (len(self.parts) - len(cells))

    def _told(self, split: ShareBar) -> str:
        known = self._drawn(split)
        if not known:
            return f"{isolated(split.name)}: unknown."
        told = (f"{isolated(part)} {percent(share)}" for part, share in zip(self.parts, known, strict=True))
        return f"{isolated(split.name)}: {', '.join(told)}."


_BAR_OF_PARTS = 16.0
_INK = series(0)


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part: the score of its judged items, with its interval, and the numbers of judged and unjudged items."""

    name: str
    score: Number
    judged: int
    unjudged: int = 0
    low: Number = None
    high: Number = None

    @property
    def least(self) -> float:
        """The score if all unjudged items were wrong."""
        items = self.judged + self.unjudged
        return (finite(self.score) or 0.0) * (self.judged / items) if items else 0.0

    @property
    def most(self) -> float:
        """The score if all unjudged items were right."""
        items = self.judged + self.unjudged
        return self.least + self.unjudged / items if items else 0.0


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts in order. `measure` names the score, and what it is a share of."""

    parts: Sequence[DocumentPart]
    measure: str = "coverage (share of questions answered)"
    title: str = "Coverage by part of the document"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw a bar for each part, a mark with whiskers at its score, and hatching for unjudged items."""
        canvas = Canvas("parts", self.title, look, self._data())
        top = canvas.heading()
        if not self.parts:
            return canvas.nothing(top, "No data.")
        document_parts = self.parts[:MAX_ROWS]
        top = legend(canvas, top, self._entries()) + 6
        label_rows = rows(
            canvas,
            top,
            [part.name for part in document_parts],
            aside=max(text_width(_judged(part)) for part in document_parts) + 12,
        )
        values = [value for part in document_parts for value in (part.score, part.low, part.high)]
        x = LinearScale.over([0, 1, *values]).drawn(label_rows.left, label_rows.right)
        for tick in x.ticks():
            label_rows.cross(canvas, x.place(tick), "grid")
        for at, part in enumerate(document_parts):
            _bar(canvas, label_rows, x, at, part)
        end = level_axis(canvas, x, label_rows.bottom, self.measure, left=label_rows.left, right=label_rows.right)
        end = left_out(canvas, end, len(self.parts) - len(document_parts))
        caption = (
            "The mark is the score of the judged items, with its interval. The filled bar is their share of all items; "
            "the hatched part was not judged. The numbers on the right: items judged, of all items."
        )
        return canvas.picture(end, caption, f"{self.measure}. {' '.join(map(_told, document_parts))}")

    def _entries(self) -> list[LegendEntry]:
        entries = [
            marker_entry("score, with its interval", _MARK, hollow=True),
            box_entry("share of all items", _INK, "plain"),
        ]
        if any(part.unjudged for part in self.parts):
            entries.append(box_entry("not judged", _INK, "rising"))
        return entries

    def _data(self) -> PlotData:
        columns = ("part", self.measure, "from", "to", "judged", "not judged")
        return data(
            columns, ([part.name, part.score, part.low, part.high, part.judged, part.unjudged] for part in self.parts)
        )


_MARK = SeriesStyle(6, "", "diamond", "plain")


def _bar(canvas: Canvas, made: LabelRows, x: LinearScale, at: int, part: DocumentPart) -> None:
    middle, score = made.middle(at), finite(part.score)
    zero, least, most = x.place(0), x.place(part.least), x.place(part.most)
    canvas.text(canvas.width - MARGIN, made.aside(at), _judged(part), anchor="end", ink="muted")
    tip = f"{_told(part)}"
    if least > zero:
        canvas.box((zero, middle - _BAR_OF_PARTS / 2), (least - zero, _BAR_OF_PARTS), look=_INK, hatch="plain", tip=tip)
    if part.unjudged:
        canvas.box(
            (least, middle - _BAR_OF_PARTS / 2), (most - least, _BAR_OF_PARTS), look=_INK, hatch="rising", tip=tip
        )
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
