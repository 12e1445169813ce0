"""A plot on a page: the picture for wide and for narrow columns, how to read it, and its numbers as a table."""

from __future__ import annotations

from html import escape

from redraft.plots.numbers import shown
from redraft.plots.picture import NARROW, WIDE, Cell, Data, Look, Plot


def figure(plot: Plot, prefix: str = "") -> str:
    """The HTML of a plot, for a page that has `STYLES` in its stylesheet. The page's column decides which is seen."""
    wide = plot.picture(Look(WIDE.width, f"{prefix}-wide" if prefix else ""))
    narrow = plot.picture(Look(NARROW.width, f"{prefix}-narrow" if prefix else ""))
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
