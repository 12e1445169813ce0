"""Names beside marks; whatever numbers and names come, a picture with all of its marks; and calls over time."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.report.plots.axes import Box, place_label, spread_out
from redraft.report.plots.curves import Curve, CurvePoint, Densities, Trend, Trends
from redraft.report.plots.figure import Grid, Grids
from redraft.report.plots.picture import NARROW, WIDE, PictureStyle, Plot
from redraft.report.plots.scores import CostPoint, Differences, Metric, PlottedDifference, RoundScores, ScoreAgainstCost
from redraft.report.plots.shares import DocumentPart, Parts, ShareBar, Shares
from redraft.report.plots.waterfall import KINDS, ROWS, STEPS, Waterfall, WaterfallCall, under_way
from tests.plots.reading import Mark, Read
from tests.plots.samples import SAMPLES, calls

BOUNDS = Box(0, 0, 400, 400)
MARK = (200.0, 200.0)


def test_a_name_stands_on_the_right_where_there_is_room() -> None:
    assert place_label(MARK, 40, 14, BOUNDS, [], []) == Box(209, 193, 249, 207)


def test_a_name_keeps_off_what_is_there() -> None:
    taken = [Box(205, 150, 400, 250)]
    found = place_label(MARK, 40, 14, BOUNDS, taken, [])
    assert not any(found.shared(box) for box in taken)
    assert found.far(MARK) < 20


def test_a_name_stays_within_bounds() -> None:
    found = place_label((395, 398), 40, 14, BOUNDS, [], [])
    assert found.right <= 400
    assert found.bottom <= 400
    assert found.far((395, 398)) >= 5, "and not upon its own mark"


def test_a_name_is_nearest_to_its_own_mark() -> None:
    other = (222.0, 200.0)
    found = place_label(MARK, 40, 14, BOUNDS, [], [other])
    assert found.far(MARK) < found.far(other)


def test_where_everything_is_taken_that_is_covered_which_is_least() -> None:
    found = place_label(MARK, 40, 14, BOUNDS, [Box(0, 0, 400, 400), Box(201, 0, 400, 400)], [])
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
    assert spread_out([10, 12, 50], 5, 0, 100) == [10, 15, 50]
    assert spread_out([98, 97], 5, 0, 100) == [100, 95]
    assert spread_out([50, 10], 5, 0, 100) == [50, 10]


@given(st.lists(st.floats(0, 100), max_size=10))
def test_labels_with_room_for_all_never_touch(wanted: list[float]) -> None:
    places = sorted(spread_out(wanted, 10, 0, 100))
    assert all(0 <= place <= 100 for place in places)
    assert all(after - before >= 10 - 1e-9 for before, after in pairwise(places))


NUMBER = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1.0, 5e-324, 1.7e308, -1.7e308, 1e16, 0.5]))
NAME = st.text(max_size=80)
FEW = {"max_size": 8}
COUNT = st.integers(0, 10**6)

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
        ScoreAgainstCost, st.lists(st.builds(CostPoint, NAME, NUMBER, NUMBER, NUMBER, NUMBER), **FEW), NAME, NAME, NAME
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


MAX_BYTES = 300_000


def rows(read: Read) -> list[Mark]:
    """The bars, without the strip of all calls above them."""
    return [mark for mark in read.of("path") if "plot-muted" not in mark.look]


def bars(read: Read) -> list[tuple[float, float]]:
    return [(mark.left, mark.right) for mark in rows(read)]


def test_each_of_a_few_calls_has_a_bar_from_its_beginning_to_its_end() -> None:
    plot = Waterfall([WaterfallCall("b", 5, 10), WaterfallCall("a", 0, 2.5), WaterfallCall("a", 2.5, 2.5, failed=True)])
    read = Read(plot.picture())
    zero, ten = read.tick("0")[0], read.tick("10")[0]
    quarter = zero + (ten - zero) / 4
    assert bars(read) == [
        (pytest.approx(zero, abs=0.02), pytest.approx(quarter, abs=0.02)),
        (pytest.approx(quarter, abs=0.02), pytest.approx(quarter + 1.5, abs=0.02)),
        (pytest.approx((zero + ten) / 2, abs=0.02), pytest.approx(ten, abs=0.02)),
    ]
    assert [word for word in read.words if word in ("a", "b", "×")] == ["a", "b", "a", "a", "×", "b"]
    assert plot.picture().data.rows == (
        ("1", 0.0, 2.5, 0, 1, 0, 0),
        ("2", 2.5, 2.5, 1, 1, 0, 0),
        ("3", 5.0, 10.0, 0, 0, 1, 0),
    )


def test_many_calls_share_rows_and_each_moment_shows_the_commonest_kind() -> None:
    # Every row has two calls; the second row's are of two kinds, one after the other.
    many = [WaterfallCall("a", at, at + 1) for at in range(2 * ROWS)]
    many[3] = WaterfallCall("b", 3, 4)
    read = Read(Waterfall(many).picture())
    names = [word for word in read.words if "–" in word]
    assert names[:2] == ["1–2", "3–4"]
    assert len(names) == ROWS
    size = (read.tick("2:00")[0] - read.tick("0:00")[0]) / STEPS
    first, *second = rows(read)[:3]
    assert first.right - first.left == pytest.approx(4 * size, abs=1.5 * size)
    assert [mark.look for mark in second] == ["plot-s1 plot-f1", "plot-s2"]
    assert second[0].left < second[1].left


@pytest.mark.slow
def test_thirty_thousand_calls_are_a_small_picture() -> None:
    for look in (WIDE, NARROW):
        picture = Waterfall(calls()).picture(look)
        assert len(picture.svg.encode()) < MAX_BYTES / 5
        assert len(picture.data.rows) == ROWS
        assert sum(row[4] for row in picture.data.rows) > 0  # type: ignore[misc]
        assert "30,000 calls" in picture.alt


@pytest.mark.slow
def test_the_worst_of_runs_is_a_small_picture_too() -> None:
    """In every row two kinds take turns to be the commonest, from each step of time to the next."""
    worst, seconds = [], 1200.0
    for row in range(ROWS):
        kinds = [f"kind {row % 8}", f"kind {(row + 1) % 8}"]
        ends = [seconds] + [seconds * (at // 2 + 0.99) / STEPS for at in range(2 * STEPS - 2)]
        turns = [kinds[1]] + [kinds[at // 2 % 2] for at in range(2 * STEPS - 2)]
        rest = 30_000 // ROWS - len(ends)
        ends, turns = ends + [seconds] * 2 * (rest // 2), turns + kinds * (rest // 2)
        # All begin in the first step, each row's before those of the next.
        begun = [0.01 * (row + at / len(ends)) for at in range(len(ends))]
        worst += [WaterfallCall(kind, start, end) for kind, start, end in zip(turns, begun, ends, strict=True)]
    read = Read(Waterfall(worst).picture())
    assert len(worst) >= 29_900
    assert sum(mark.attributes["d"].count("M") for mark in rows(read)) > 0.95 * ROWS * STEPS, "it is the worst"
    assert len(read.svg.encode()) < MAX_BYTES


@pytest.mark.slow
def test_work_grows_hardly_faster_than_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: how often a call's time is looked up in the steps."""
    from redraft.report.plots import waterfall

    looked = 0
    step = waterfall._step

    def counted(*given: object) -> int:
        nonlocal looked
        looked += 1
        return step(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(waterfall, "_step", counted)
    Waterfall(calls(30_000)).picture()
    assert looked == 4 * 30_000


def test_how_many_calls_are_under_way_at_once() -> None:
    def steps(*spans: tuple[float, float]) -> list[int]:
        return under_way(spans, lambda moment: min(4, int(moment)), 5)

    assert steps((0, 2), (1, 5), (1.5, 1.8)) == [1, 3, 2, 1, 1]
    assert steps((0, 2), (2, 4)) == [1, 1, 1, 1, 1], "one ends as the other begins"
    assert steps((1, 1)) == [0, 1, 0, 0, 0]
    assert steps() == [0] * 5


def test_the_strip_above_is_as_high_as_the_calls_at_once() -> None:
    picture = Waterfall([WaterfallCall("a", 0, 10), WaterfallCall("a", 0, 5), WaterfallCall("a", 5, 6)]).picture()
    read = Read(picture)
    (strip,) = read.of("path", "plot-muted")
    assert (strip.top, strip.bottom) == (read.tick("2")[1], strip.top + 40)
    assert (strip.left, strip.right) == (read.tick("0")[0], read.tick("10")[0])
    assert "At most 2 ran at the same time." in picture.alt


def test_calls_without_a_time_are_counted_and_left_out() -> None:
    nan = float("nan")
    picture = Waterfall(
        [WaterfallCall("a", 0, 1), WaterfallCall("a", nan, 1), WaterfallCall("a", 2, 1), WaterfallCall("a", -1, 1)]
    ).picture()
    assert len(picture.data.rows) == 1
    assert "3 calls without a known time left out" in picture.caption


def test_kinds_beyond_the_commonest_are_one() -> None:
    many = [WaterfallCall(f"kind {at}", at, at + 1) for at in range(KINDS + 3)]
    read = Read(Waterfall(many).picture())
    assert "3 other kinds" in read.words
    # Of equally common kinds those are told apart whose names come first: "kind 10" is one of them.
    others = rows(read)[7:10]
    assert len({(mark.look, mark.attributes.get("fill")) for mark in others}) == 1
    assert len({(mark.look, mark.attributes.get("fill")) for mark in rows(read)}) == KINDS + 1


def test_a_call_of_no_time_is_seen_among_many() -> None:
    read = Read(Waterfall([WaterfallCall("a", at, at) for at in range(2 * ROWS)]).picture())
    assert len(rows(read)) == ROWS
    assert all(mark.wide >= 1 for mark in rows(read))


def test_the_order_in_which_calls_come_does_not_matter() -> None:
    many = calls(500)
    shuffled = random.Random(1).sample(many, len(many))
    assert Waterfall(many).picture() == Waterfall(shuffled).picture()
