"""What the marks of a picture mean, above them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from redraft.plots.canvas import MARGIN, SMALL, Canvas, text_width
from redraft.plots.labels import apart
from redraft.plots.series import Hatch, Series

_SWATCH, _GAP, _LINE = 26.0, 16.0, 19.0


class Entry(NamedTuple):
    """One line of a legend: its words, and what draws its mark from a left end, at a height, so wide."""

    words: str
    draw: Callable[[Canvas, float, float, float], None]


def legend(canvas: Canvas, top: float, entries: Sequence[Entry]) -> float:
    """The entries, in as many rows as they need, and where there is room below them."""
    if not entries:
        return top
    x, y, brief = MARGIN, top + SMALL + 3, apart(entry.words for entry in entries)
    for entry in entries:
        room = min(text_width(entry.words), canvas.width - 2 * MARGIN - _SWATCH - 6)
        if x > MARGIN and x + _SWATCH + 6 + room > canvas.width - MARGIN:
            x, y = MARGIN, y + _LINE
        entry.draw(canvas, x, y - 4, _SWATCH)
        canvas.text(x + _SWATCH + 6, y, entry.words, room=room + 0.01, brief=brief[entry.words])
        x += _SWATCH + 6 + room + _GAP
    return y + 6


def line_entry(words: str, look: Series) -> Entry:
    """A line with its marker."""

    def draw(canvas: Canvas, x: float, y: float, width: float) -> None:
        canvas.line((x, y), (x + width, y), f"s{look.colour}", dash=look.dash, thick=2)
        canvas.marker(look, (x + width / 2, y))

    return Entry(words, draw)


def marker_entry(words: str, look: Series, *, hollow: bool = False) -> Entry:
    """A marker of its own."""
    return Entry(words, lambda canvas, x, y, width: canvas.marker(look, (x + width / 2, y), hollow=hollow))


def rule_entry(words: str, dash: str, kind: str = "rule") -> Entry:
    """A line that is no series: a goal, an even spread."""
    return Entry(words, lambda canvas, x, y, width: canvas.line((x, y), (x + width, y), kind, dash=dash, thick=1.5))


def box_entry(words: str, look: Series, hatch: Hatch | None = None) -> Entry:
    """A filled or hatched box."""
    return Entry(
        words,
        lambda canvas, x, y, width: canvas.box((x + 3, y - 6), (width - 6, 12), look=look, hatch=hatch),
    )
