"""Calls over time: few of them one by one, and tens of thousands in a picture that stays small."""

from __future__ import annotations

import random

import pytest

from redraft.report.plots.picture import NARROW, WIDE
from redraft.report.plots.waterfall import KINDS, ROWS, STEPS, Waterfall, WaterfallCall, under_way
from tests.plots.reading import Mark, Read
from tests.plots.samples import calls

MOST_BYTES = 300_000


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
        assert len(picture.svg.encode()) < MOST_BYTES / 5
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
    assert len(read.svg.encode()) < MOST_BYTES


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
