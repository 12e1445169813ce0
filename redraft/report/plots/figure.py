"""Figures with their tables, and grids of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from markupsafe import Markup

from redraft.report.plots.axes import BandScale, LinearScale
from redraft.report.plots.canvas import BOLD, MARGIN, NORMAL, SMALL, Canvas, text_width
from redraft.report.plots.picture import (
    NARROW,
    WIDE,
    Cell,
    Number,
    Picture,
    PictureStyle,
    Plot,
    PlotData,
    data,
    finite,
    fit_names,
    isolated,
    shown,
)

_ROW, _CELL, _WIDEST_CELL, _HEAD = 26.0, 44.0, 80.0, 66.0
# The number in a cell of the darkest shade is still readable on a light and on a dark background.
_DARKEST = 0.5
_MAX_ROWS, _MAX_COLUMNS = 60, 30
_NAMES = 0.3


@dataclass(frozen=True, slots=True)
class Grid:
    """A panel: one row of values per row name."""

    name: str
    values: Sequence[Sequence[Number]]


class _Panel(NamedTuple):
    """Some columns of a grid, drawn side by side."""

    grid: Grid
    columns: range
    left: float
    bands: BandScale


@dataclass(frozen=True, slots=True)
class Grids:
    """Panels with the same rows and columns that share a colour scale."""

    grids: Sequence[Grid]
    rows: Sequence[str]
    columns: Sequence[str]
    row_name: str
    column_name: str
    measure: str
    title: str

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw the panels, each cell with its number."""
        table = data(
            (self.title, self.row_name, *self.columns),
            (
                [grid.name, row, *(self._value(grid, at, column) for column in range(len(self.columns)))]
                for grid in self.grids
                for at, row in enumerate(self.rows)
            ),
        )
        canvas = Canvas("grids", self.title, look, table)
        top = canvas.heading()
        values = [value for grid in self.grids for row in grid.values for value in map(finite, row)]
        if not any(value is not None for value in values) or not self.rows or not self.columns:
            return canvas.nothing(top, "No data.")
        shades = LinearScale.over([0, *values]).drawn(0, _DARKEST)
        canvas.text(MARGIN, top + SMALL, self.measure, ink="muted", room=canvas.width - 2 * MARGIN)
        top += SMALL + 6
        height = _HEAD + _ROW * len(self.rows[:_MAX_ROWS]) + 12
        panels, across = self._panels(canvas)
        for at, panel in enumerate(panels):
            self._draw(canvas, top + height * (at // across), panel, shades)
        end = top + height * -(-len(panels) // across)
        caption = (
            f"Each cell shows the {self.measure}: the stronger its colour, the higher. A dash means not measured. "
            f"Rows: {self.row_name}; columns: {self.column_name}."
        )
        told = " ".join(self._told(grid) for grid in self.grids)
        return canvas.picture(end, caption, f"{self.measure}, by {self.row_name} and {self.column_name}. {told}")

    def _panels(self, canvas: Canvas) -> tuple[list[_Panel], int]:
        """Return the panels, and how many of them are side by side."""
        names = min(canvas.width * _NAMES, max(map(text_width, (*self.rows[:_MAX_ROWS], self.row_name))))
        columns = range(len(self.columns[:_MAX_COLUMNS]))
        cell = max(_CELL, min(_WIDEST_CELL, max(map(text_width, self.columns)) + 6))
        most = max(1, int((canvas.width - 2 * MARGIN - names - 8) // cell))
        # Columns that do not fit continue in another panel.
        each = -(-len(columns) // -(-len(columns) // most))
        parts = [(grid, columns[at : at + each]) for grid in self.grids for at in range(0, len(columns), each)]
        across = min(len(parts), int((canvas.width - MARGIN) // (names + each * cell + 8 + MARGIN)) or 1)
        places = BandScale(("",) * across).drawn(MARGIN / 2, canvas.width - MARGIN / 2)
        panels = []
        for number, (grid, some) in enumerate(parts):
            left = places.begin(number % across) + MARGIN / 2
            start, end = left + names + 8, left + places.width - MARGIN
            # The last panel can be narrower, so that cells have the same width in all.
            bands = BandScale(tuple(self.columns[at] for at in some)).drawn(
                start, start + (end - start) * len(some) / each
            )
            panels.append(_Panel(grid, some, left, bands))
        return panels, across

    def _draw(self, canvas: Canvas, top: float, panel: _Panel, shades: LinearScale) -> None:
        """Draw a panel from its name to its last row."""
        left, bands = panel.left, panel.bands
        y, room = top + SMALL + 10, bands.start - 8 - left
        wide = bands.end - left
        names = fit_names((grid.name for grid in self.grids), wide, NORMAL * BOLD)
        canvas.text(left, y, panel.grid.name, size=NORMAL, bold=True, room=wide, brief=names[panel.grid.name])
        middle, wide = (bands.start + bands.end) / 2, bands.end - bands.start
        canvas.text(middle, y + 20, self.column_name, anchor="middle", ink="muted", room=wide)
        y += 38
        canvas.text(bands.start - 8, y, self.row_name, anchor="end", ink="muted", room=room + 0.01)
        columns, rows = fit_names(self.columns, bands.step - 4, SMALL), fit_names(self.rows, room, SMALL)
        for at, name in enumerate(bands.names):
            canvas.text(bands.place(at), y, name, anchor="middle", room=bands.step - 4, brief=columns[name])
        for at, name in enumerate(self.rows[:_MAX_ROWS]):
            middle = top + _HEAD + _ROW * (at + 0.5)
            canvas.text(bands.start - 8, middle + 4, name, anchor="end", room=room + 0.01, brief=rows[name])
            for number, column in enumerate(panel.columns):
                corner = (bands.begin(number) + 1, middle - _ROW / 2 + 1)
                _cell(canvas, corner, bands.step - 2, self._value(panel.grid, at, column), shades)

    def _value(self, grid: Grid, row: int, column: int) -> Number:
        if row >= len(grid.values) or column >= len(grid.values[row]):
            return None
        return finite(grid.values[row][column])

    def _told(self, grid: Grid) -> str:
        rows = (
            f"{isolated(name)}: "
            + ", ".join(shown(self._value(grid, at, column)) for column in range(len(self.columns)))
            for at, name in enumerate(self.rows)
        )
        return f"{isolated(grid.name)}: {'; '.join(rows)}."


def _cell(canvas: Canvas, corner: tuple[float, float], width: float, value: Number, shades: LinearScale) -> None:
    (x, y), height = corner, _ROW - 2
    box = {"x": x, "y": y, "width": width, "height": height}
    if value is not None:
        canvas.add("rect", class_="plot-f1", **box, fill_opacity=f"{max(0.0, shades.place(value)):.2f}")
    dash = "3 3" if value is None else ""
    canvas.add(
        "rect", class_="plot-axis", fill="none", **box, stroke="currentColor", stroke_width=0.8, stroke_dasharray=dash
    )
    canvas.text(x + width / 2, y + height / 2 + 4.5, _digits(value), anchor="middle", room=width - 2)


def _digits(value: Number) -> str:
    """Format a cell's number with two decimals where possible; a small value is never rounded to zero."""
    if value is None or abs(value) >= 10 or 0 < abs(value) < 0.005:
        return shown(value)
    return f"{value:.2f}".replace("-", "−")


def figure(plot: Plot, prefix: str = "", *, numbers: bool = True) -> Markup:
    """Return the HTML of a plot, with the table of its numbers, for a page whose stylesheet includes `STYLES`.

    CSS shows the wide or the narrow picture, depending on the width of the column.
    """
    wide = plot.picture(PictureStyle(WIDE.width, f"{prefix}-wide" if prefix else ""))
    narrow = plot.picture(PictureStyle(NARROW.width, f"{prefix}-narrow" if prefix else ""))
    behind = f'<details class="plot-numbers"><summary>The numbers</summary>{table(wide.data)}</details>'
    return Markup(  # noqa: S704 - plots escape what they are given
        f'<figure class="plot">{wide.svg}{narrow.svg}<figcaption>{escape(wide.caption)}</figcaption>'
        f"{behind if numbers else ''}</figure>"
    )


def table(data: PlotData) -> str:
    """Return the HTML of the table behind a picture, with rounded numbers and a dash for what was not measured."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in data.columns)
    rows = "".join(f"<tr>{''.join(map(_cell_of_figure, row))}</tr>" for row in data.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell_of_figure(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    words = f"{cell:,}" if isinstance(cell, int) else shown(cell)
    return f'<td class="plot-number">{words}</td>'
