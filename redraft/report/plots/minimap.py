"""A strip of a document from its beginning to its end: what of it is covered, what was lost, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from redraft.domain import Span
from redraft.report.plots.axes import Linear, level_axis
from redraft.report.plots.canvas import MARGIN, NORMAL, SMALL, Canvas, text_width
from redraft.report.plots.picture import WIDE, Hatch, Picture, PictureStyle, SeriesStyle, count, data, percent, written

State = Literal["covered", "lost", "wrong"]

_STATES: tuple[State, ...] = get_args(State)
_LANE = 20.0
_TENTHS = 10
_LOOKS: dict[State, SeriesStyle] = {
    "covered": SeriesStyle(1, "", "circle", "plain"),
    "lost": SeriesStyle(5, "", "circle", "rising"),
    "wrong": SeriesStyle(2, "", "circle", "crossed"),
}
_STEP = 2.0
"""Places nearer together than so many units are drawn as one."""


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """A span of the document, and what is to be said of it. Spans may lie upon each other."""

    span: Span
    state: State


@dataclass(frozen=True, slots=True)
class Minimap:
    """A document of so many characters, with its stretches, and the places where its sections begin."""

    length: int
    stretches: Sequence[MarkedSpan]
    sections: Sequence[int] = ()
    title: str = "The document at a glance"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """A lane for each state, with its share of the document, over the places in percent."""
        spans = {state: self._spans(state) for state in _STATES}
        canvas = Canvas("minimap", self.title, look, data(*self._data(spans)))
        top = canvas.heading()
        if self.length < 1:
            told = "The document is empty."
            return canvas.picture(canvas.nothing(top, told), told, told)
        top += 8
        words = {state: f"{state} {self._share(spans[state])}" for state in _STATES}
        left = MARGIN + max(text_width(line, NORMAL) for line in words.values()) + 8
        x = Linear.over([0, 100]).drawn(left, canvas.width - MARGIN - 12)
        bottom = top + _LANE * len(_STATES)
        for at, state in enumerate(_STATES):
            y = top + _LANE * at
            canvas.text(left - 8, y + _LANE / 2 + 4.5, words[state], size=NORMAL, anchor="end")
            canvas.line((left, y + _LANE), (x.end, y + _LANE), "grid")
            self._lane(canvas, x, y, state, spans[state])
        for begin in self._borders(x):
            canvas.line((begin, top - 4), (begin, bottom), "axis", thick=0.7)
        level_axis(canvas, x, bottom, "place in the document, in % of its length", left=left, right=x.end)
        told = ", ".join(f"{line} ({count(len(spans[state]), 'place')})" for state, line in words.items())
        caption = (
            "From the beginning of the document on the left to its end on the right: what the summary covers, what it "
            "leaves out, and what it has wrong, each with its share of the text."
        )
        said = " Upright lines are where sections begin." if self.sections else ""
        return canvas.picture(bottom + 2 * SMALL + 24, caption + said, f"Of the document: {told}.")

    def _lane(self, canvas: Canvas, x: Linear, y: float, state: State, spans: Iterable[Span]) -> None:
        parts, upper, lower = [], written(y + 3), written(y + _LANE - 3)
        begin = end = -1.0
        for span in spans:
            left, right = self._place(x, span.start), self._place(x, span.end)
            right = min(max(right, left + _STEP), x.end + _STEP)
            if begin >= 0 and left - end < _STEP / 2:
                end = max(end, right)
                continue
            if begin >= 0:
                parts.append(_bar(begin, end, upper, lower))
            begin, end = left, right
        if begin >= 0:
            parts.append(_bar(begin, end, upper, lower))
        if parts:
            look = _LOOKS[state]
            shape = canvas.add("path", class_=f"plot-s{look.colour}", d="".join(parts))
            shape.set("stroke", "currentColor")
            shape.set("stroke-width", "0.8")
            hatch: Hatch = look.hatch
            canvas.fill(shape, look, hatch)

    def _place(self, x: Linear, offset: int) -> float:
        return x.place(100 * offset / self.length)

    def _borders(self, x: Linear) -> list[float]:
        """Where sections begin, as far as they can be told apart."""
        found: list[float] = []
        for offset in sorted(self.sections):
            place = self._place(x, offset)
            if 0 < offset < self.length and (not found or place - found[-1] >= 2 * _STEP):
                found.append(place)
        return found

    def _spans(self, state: State) -> list[Span]:
        """The spans of a state within the document, in order, with those that touch made one."""
        found: list[Span] = []
        for one in sorted(one.span for one in self.stretches if one.state == state):
            start, end = max(0, one.start), min(self.length, one.end)
            if start >= end:
                continue
            if found and start <= found[-1].end:
                found[-1] = Span(found[-1].start, max(found[-1].end, end))
            else:
                found.append(Span(start, end))
        return found

    def _share(self, spans: Sequence[Span]) -> str:
        return percent(sum(span.end - span.start for span in spans) / self.length)

    def _data(self, spans: dict[State, list[Span]]) -> tuple[list[str], list[list[str | float]]]:
        """The share of each state in each tenth of the document."""
        rows: list[list[str | float]] = []
        for at in range(_TENTHS if self.length else 0):
            part = Span(self.length * at // _TENTHS, self.length * (at + 1) // _TENTHS)
            size = max(1, part.end - part.start)
            shares = (_within(part, spans[state]) / size for state in _STATES)
            rows.append([f"{100 * at // _TENTHS}–{100 * (at + 1) // _TENTHS}", *shares])
        return ["place (%)", *_STATES], rows


def _within(part: Span, spans: Iterable[Span]) -> int:
    return sum(max(0, min(part.end, span.end) - max(part.start, span.start)) for span in spans)


def _bar(left: float, right: float, upper: str, lower: str) -> str:
    return f"M{written(left)} {upper}H{written(right)}V{lower}H{written(left)}Z"
