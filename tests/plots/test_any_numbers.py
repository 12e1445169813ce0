"""Whatever numbers and names come: a well-formed picture with all of its marks inside, the same to the byte."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.report.plots.curves import Curve, CurvePoint, Densities, Trend, Trends
from redraft.report.plots.figure import Grid, Grids
from redraft.report.plots.picture import NARROW, WIDE, Plot
from redraft.report.plots.scores import CostPoint, Differences, Metric, PlottedDifference, RoundScores, ScoreAgainstCost
from redraft.report.plots.shares import DocumentPart, Parts, ShareBar, Shares
from redraft.report.plots.waterfall import Waterfall, WaterfallCall
from tests.plots.reading import Read
from tests.plots.samples import SAMPLES

NUMBER = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1.0, 5e-324, 1.7e308, -1.7e308, 1e16, 0.5]))
NAME = st.text(max_size=80)
FEW = {"max_size": 8}
COUNT = st.integers(0, 10**6)
PLACE = st.integers(-10, 2000)

readings = st.lists(st.builds(CurvePoint, st.floats(), NUMBER, NUMBER, NUMBER), **FEW)
names = st.lists(NAME, max_size=12)
rounds = st.integers(0, 8).flatmap(
    lambda many: st.builds(
        RoundScores,
        st.lists(st.builds(Metric, NAME, st.lists(NUMBER, max_size=10), NUMBER), **FEW),
        st.lists(st.booleans(), min_size=many, max_size=many),
        NAME,
    )
)
curve = st.builds(Curve, NAME, st.lists(NUMBER, **FEW))
PLOTS: dict[str, st.SearchStrategy[Plot]] = {
    "rounds": rounds,
    "densities": st.builds(Densities, st.lists(curve, **FEW), st.one_of(st.none(), curve), NAME),
    "shares": st.builds(Shares, st.lists(st.builds(ShareBar, NAME, st.lists(NUMBER, max_size=5)), **FEW), names, NAME),
    "parts": st.builds(
        Parts, st.lists(st.builds(DocumentPart, NAME, NUMBER, COUNT, COUNT, NUMBER, NUMBER), **FEW), NAME, NAME
    ),
    "costs": st.builds(
        ScoreAgainstCost,
        st.lists(st.builds(CostPoint, NAME, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER), **FEW),
        NAME,
        NAME,
        NAME,
    ),
    "differences": st.builds(
        Differences,
        st.lists(st.builds(PlottedDifference, NAME, NUMBER, NUMBER, NUMBER, COUNT), **FEW),
        NAME,
        NAME,
        NAME,
        NAME,
    ),
    "trends": st.builds(Trends, st.lists(st.builds(Trend, NAME, readings), **FEW), NAME, NAME, NAME),
    "grids": st.builds(
        Grids,
        st.lists(st.builds(Grid, NAME, st.lists(st.lists(NUMBER, max_size=4), max_size=4)), max_size=4),
        names,
        names,
        NAME,
        NAME,
        NAME,
        NAME,
    ),
    "waterfall": st.builds(
        Waterfall, st.lists(st.builds(WaterfallCall, NAME, st.floats(), st.floats(), st.booleans()), max_size=60), NAME
    ),
}
EMPTY: dict[str, Plot] = {
    "rounds": RoundScores([], []),
    "densities": Densities([]),
    "shares": Shares([]),
    "parts": Parts([]),
    "costs": ScoreAgainstCost([], "score"),
    "differences": Differences([], "a", "b", "score"),
    "trends": Trends([], "x", "y", "Trend"),
    "grids": Grids([], [], [], "a", "b", "c", "Grid"),
    "waterfall": Waterfall([]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLOTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_picture_of_any_numbers_is_whole(kind: str, data: st.DataObject) -> None:
    plot = data.draw(PLOTS[kind])
    for look in (WIDE, NARROW):
        picture = plot.picture(look)
        assert Read(picture).outside() == []
        assert not {"nan", "inf"} & set(picture.svg.lower().replace('"', " ").split())
        assert plot.picture(look) == picture


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("look", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_usual_picture_is_within_its_bounds_and_its_words_keep_apart(kind: str, look: object) -> None:
    read = Read(SAMPLES[kind].picture(look))  # type: ignore[arg-type]
    assert len(read.marks) > 3
    assert read.outside() == []
    assert read.collisions() == []


@pytest.mark.parametrize("kind", EMPTY)
def test_nothing_is_a_picture_that_says_so(kind: str) -> None:
    picture = EMPTY[kind].picture()
    read = Read(picture)
    assert read.marks
    assert all(mark.tag == "text" for mark in read.marks)
    assert len(read.words) == 2, "its title, and that there is nothing"
    assert picture.alt
    assert picture.caption
