"""Names beside marks, and labels that are kept apart."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.report.plots.axes import Box, beside, spaced
from redraft.report.plots.picture import NARROW, WIDE, PictureStyle
from redraft.report.plots.scores import CostPoint, ScoreAgainstCost
from tests.plots.reading import Read

BOUNDS = Box(0, 0, 400, 400)
MARK = (200.0, 200.0)


def test_a_name_stands_on_the_right_where_there_is_room() -> None:
    assert beside(MARK, 40, 14, BOUNDS, [], []) == Box(209, 193, 249, 207)


def test_a_name_keeps_off_what_is_there() -> None:
    taken = [Box(205, 150, 400, 250)]
    found = beside(MARK, 40, 14, BOUNDS, taken, [])
    assert not any(found.shared(box) for box in taken)
    assert found.far(MARK) < 20


def test_a_name_stays_within_bounds() -> None:
    found = beside((395, 398), 40, 14, BOUNDS, [], [])
    assert found.right <= 400
    assert found.bottom <= 400
    assert found.far((395, 398)) >= 5, "and not upon its own mark"


def test_a_name_is_nearest_to_its_own_mark() -> None:
    other = (222.0, 200.0)
    found = beside(MARK, 40, 14, BOUNDS, [], [other])
    assert found.far(MARK) < found.far(other)


def test_where_everything_is_taken_that_is_covered_which_is_least() -> None:
    found = beside(MARK, 40, 14, BOUNDS, [Box(0, 0, 400, 400), Box(201, 0, 400, 400)], [])
    assert found.right < MARK[0], "on the left there is one box only"


@pytest.mark.parametrize(("look", "systems"), [(WIDE, 7), (NARROW, 5)], ids=["wide", "narrow"])
def test_no_line_between_a_mark_and_its_name_runs_through_another_name(look: PictureStyle, systems: int) -> None:
    crowd = [CostPoint(f"a system named {at}", 1 + at / 90, 0.6 + (at * 5 % 7) / 60) for at in range(systems)]
    read = Read(ScoreAgainstCost([CostPoint("far", 0, 0), *crowd, CostPoint("away", 3, 1)], "score").picture(look))
    names = [mark for mark in read.of("text") if "plot-halo" in mark.look]
    lines = [mark.attributes for mark in read.of("line") if mark.attributes["stroke-width"] == "0.8"]
    assert lines
    for line in lines:
        (x1, y1), (x2, y2) = ((float(line[f"x{end}"]), float(line[f"y{end}"])) for end in (1, 2))
        inner = [(x1 + (x2 - x1) * at / 50, y1 + (y2 - y1) * at / 50) for at in range(49)]
        assert not [
            (name.left, point)
            for name in names
            for point in inner
            if name.left < point[0] < name.right and name.top + 3 < point[1] < name.bottom - 1
        ]


def test_labels_are_moved_apart_no_further_than_they_need() -> None:
    assert spaced([10, 12, 50], 5, 0, 100) == [10, 15, 50]
    assert spaced([98, 97], 5, 0, 100) == [100, 95]
    assert spaced([50, 10], 5, 0, 100) == [50, 10]


@given(st.lists(st.floats(0, 100), max_size=10))
def test_labels_with_room_for_all_never_touch(wanted: list[float]) -> None:
    places = sorted(spaced(wanted, 10, 0, 100))
    assert all(0 <= place <= 100 for place in places)
    assert all(after - before >= 10 - 1e-9 for before, after in pairwise(places))
