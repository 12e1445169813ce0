"""A plot on a page: the picture for wide and for narrow columns, how to read it, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from redraft.report.plots.axes import Linear
from redraft.report.plots.canvas import Canvas
from redraft.report.plots.picture import (
    GOAL,
    NARROW,
    WIDE,
    Cell,
    Data,
    Number,
    Picture,
    PictureStyle,
    Plot,
    data,
    finite,
    isolated,
    series,
    shown,
)


def figure(plot: Plot, prefix: str = "") -> str:
    """The HTML of a plot, for a page that has `STYLES` in its stylesheet. The page's column decides which is seen."""
    wide = plot.picture(PictureStyle(WIDE.width, f"{prefix}-wide" if prefix else ""))
    narrow = plot.picture(PictureStyle(NARROW.width, f"{prefix}-narrow" if prefix else ""))
    return (
        f'<figure class="plot">{wide.svg}{narrow.svg}<figcaption>{escape(wide.caption)}</figcaption>'
        f'<details class="plot-numbers"><summary>The numbers</summary>{table(wide.data)}</details></figure>'
    )


def table(data: Data) -> str:
    """The HTML of the table behind a picture, rounded for readers; what was not measured is a dash."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in data.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in data.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    words = f"{cell:,}" if isinstance(cell, int) else shown(cell)
    return f'<td class="plot-number">{words}</td>'


_HEIGHT = 28.0
_EDGE = 5.0
IN_A_ROW = PictureStyle(110)
"""For a row of a list."""


@dataclass(frozen=True, slots=True)
class Sparkline:
    """The values of one thing in their order, the last of them marked, and a goal."""

    name: str
    values: Sequence[Number]
    goal: Number = None

    def picture(self, look: PictureStyle = IN_A_ROW) -> Picture:
        """The line, without axes: its numbers stand beside it or in its words."""
        table = data(("step", self.name), ([at, value] for at, value in enumerate(self.values)))
        canvas = Canvas("sparkline", self.name, look, table)
        values, goal = [finite(value) for value in self.values], finite(self.goal)
        known = [value for value in values if value is not None]
        told = f"{isolated(self.name)}: {', '.join(map(shown, values)) or 'no values'}."
        if goal is not None:
            told += f" Goal {shown(goal)}."
        if not known:
            canvas.text(canvas.width / 2, _HEIGHT / 2 + 4, "–", anchor="middle", ink="muted")
            return canvas.picture(_HEIGHT, told, told)
        y = Linear.over([*known, goal]).drawn(_HEIGHT - _EDGE, _EDGE)
        x = Linear(0, max(1, len(values) - 1), 1, _EDGE, canvas.width - _EDGE)
        if goal is not None:
            canvas.line((_EDGE, y.place(goal)), (canvas.width - _EDGE, y.place(goal)), "rule", dash=GOAL)
        points = [None if value is None else (x.place(at), y.place(value)) for at, value in enumerate(values)]
        for there, stretch in groupby(points, key=lambda point: point is not None):
            if there:
                line = [point for point in stretch if point is not None]
                # One value between two holes is a line too, if a short one.
                canvas.curve(line if len(line) > 1 else [*line, (line[0][0] + 1, line[0][1])], "s1", thick=1.8)
        last = max(at for at, value in enumerate(values) if value is not None)
        canvas.marker(series(0), (x.place(last), y.place(values[last] or 0.0)), radius=3)
        return canvas.picture(_HEIGHT, told, told)
