"""A plot on a page: two pictures, what they say, and their numbers."""

from __future__ import annotations

import csv
import io
import re

from redraft.report.plots.figure import figure, table
from redraft.report.plots.picture import STYLES, data
from redraft.report.plots.shares import DocumentPart, Parts
from redraft.report.tables import Table

PLOT = Parts([DocumentPart("<I>", 0.5, 8, 2), DocumentPart("II", None, 0, 1234)])


def test_a_figure_has_the_picture_for_wide_and_for_narrow_columns() -> None:
    html = figure(PLOT)
    assert re.findall(r'<svg [^>]*class="plot-svg (plot-\w+) plot-parts"', html) == ["plot-wide", "plot-narrow"]
    assert ".plot .plot-narrow{display:none}" in STYLES
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    named = re.findall(r'\bid="([^"]+)"', figure(PLOT, "one"))
    assert {name.split("-")[0] for name in named} == {"one"}


def test_the_numbers_are_below_it() -> None:
    html = figure(PLOT)
    assert "<td>&lt;I&gt;</td>" in html
    assert '<td class="plot-number">1,234</td>' in html
    assert table(data(["a"], [[1 / 3], [None]])).endswith(
        '<tr><td class="plot-number">0.33</td></tr><tr><td class="plot-number">–</td></tr></tbody></table>'
    )


def test_the_numbers_are_a_table_of_a_report_too() -> None:
    picture = PLOT.picture()
    made = Table("parts", picture.title, picture.caption, "", picture.data.columns, picture.data.rows)
    rows = list(csv.reader(io.StringIO(made.to_csv())))
    assert rows[1] == ["<I>", "0.5", "", "", "8", "2"]
