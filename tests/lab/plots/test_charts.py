"""Charts: what is drawn of a frame, in text that is neither cut nor run, and the same each time."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest

from redraft.lab.plots.charts import Chart, Costs, HeatMaps, Intervals, Lines, Shares, label, score_limits

NAME = "openai:a model $\\frac{1}{2}$ <script>alert(1)</script> & more"
CELLS = pd.DataFrame(
    {"panel": "judge", "row": ["a", "a", NAME, NAME], "column": [1000, 2000] * 2, "value": [0.25, None, 0.5, -1]}
)
POINTS = pd.DataFrame(
    {
        "series": ["a"] * 3 + [NAME] * 2,
        "x": [1, 2, 3, 1, 2],
        "y": [0.2, None, 0.4, 0.3, float("inf")],
        "low": [0.1, None, None, 0.2, None],
        "high": [0.3, None, None, 0.4, None],
    }
)
MARKS = pd.DataFrame(
    {
        "name": ["clear", "unsure", NAME],
        "value": [0.3, 0.1, 0.2],
        "low": [0.1, -0.1, None],
        "high": [0.5, 0.3, None],
        "note": ["12", "9", "1"],
    }
)
BARS = pd.DataFrame({"name": ["a", NAME, "odd"], "first": [1, 0.5, -1], "last": [3, None, 1]})
PRICED = pd.DataFrame({"name": ["a", NAME, "free"], "cost": [1, 2, None], "score": [0.4, 0.6, 0.9]})
CHARTS: dict[str, Chart] = {
    "heat maps": HeatMaps(CELLS, title="Marks", rows="system", columns="size", measure="mean mark"),
    "lines": Lines(POINTS, title="Trends", x="round", y="score", reference="a", even=1),
    "intervals": Intervals(MARKS, title="Differences", measure="score", sides=("a", "b")),
    "scores": Intervals(MARKS, title="Scores", measure="score"),
    "shares": Shares(BARS, title="Thirds", parts=("first", "last"), measure="share"),
    "costs": Costs(PRICED, title="Costs", cost="USD", score="coverage"),
}


def texts(svg: str) -> list[str]:
    return [
        "".join(text.itertext()).strip()
        for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


@pytest.mark.parametrize("kind", CHARTS)
def test_charts_are_reproducible_with_names_as_text(kind: str) -> None:
    svg = CHARTS[kind].svg()
    assert svg == CHARTS[kind].svg()
    words = texts(svg)
    assert CHARTS[kind].title in words
    # A long name is shortened in its middle and wrapped, but not read as a formula, and no markup gets into the file.
    joined = re.sub(r"\s+", "", "".join(words))
    assert "openai:amodel$\\frac{1}{2}" in joined or (kind == "shares" and "unknown" in words)
    assert "<script" not in svg


@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_of_nothing_says_so(kind: str) -> None:
    empty = replace(CHARTS[kind], frame=CHARTS[kind].frame.head(0))
    assert "No data." in texts(empty.svg())


def test_heat_maps_show_dashes_for_unmeasured_cells() -> None:
    (panel,) = HeatMaps(CELLS, title="", rows="", columns="", measure="").panels().values()
    assert panel.loc["a"].isna().tolist() == [False, True]
    words = texts(CHARTS["heat maps"].svg())
    assert ("–" in words, "0.00" in words, "1,000" in words) == (True, False, True)


def test_shares_need_all_parts_to_be_known() -> None:
    shares = Shares(BARS, title="", parts=("first", "last"), measure="").shares()
    assert shares.loc["a"].tolist() == [0.25, 0.75]
    assert shares.loc[[NAME, "odd"]].isna().all(axis=None)


def test_axes_do_not_exaggerate_small_differences() -> None:
    assert score_limits(pd.Series([0.81, 0.83])) == pytest.approx((0.72, 0.92))
    assert score_limits(pd.Series([0.1, 0.9]))[0] == 0
    low, high = score_limits(pd.Series([0.99, 1.0]))
    assert (low, high) == (pytest.approx(0.895), 1.02)


def test_long_names_keep_their_end() -> None:
    assert label("a\nb") == "a b"
    long = label("begin" + "x" * 200 + "end")
    assert (len(long) <= 60, long[:5], long[-3:]) == (True, "begin", "end")
