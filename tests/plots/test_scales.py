"""Scales: round ticks, places worked out by hand, and no number that breaks them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.report.plots.axes import BandScale, LinearScale, TimeScale
from redraft.report.plots.picture import percent, shown, signed, written
from redraft.report.plots.scores import Metric, RoundScores
from tests.plots.reading import Read

ANY = st.floats(allow_nan=True, allow_infinity=True)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("values", "low", "high", "labels"),
    [
        ([0, 1], 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"),
        ([0.31, 0.87], 0.2, 1.0, "0.2 0.4 0.6 0.8 1.0"),
        ([-0.1, 0.14], -0.1, 0.15, "−0.10 −0.05 0.00 0.05 0.10 0.15"),
        ([0, 128_000], 0, 150_000, "0 50k 100k 150k"),
        ([3_000_000, 9_000_000], 2_000_000, 10_000_000, "2M 4M 6M 8M 10M"),
        ([7, 7], 6.0, 8.0, "6.0 6.5 7.0 7.5 8.0"),
        ([0, 0], -0.6, 0.6, "−0.6 −0.4 −0.2 0.0 0.2 0.4 0.6"),
        ([], 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"),
        ([None, float("nan"), 2, 4], 2, 4, "2.0 2.5 3.0 3.5 4.0"),
        ([1e-9, 4e-9], 1e-9, 4e-9, "1e−09 2e−09 3e−09 4e−09"),
        ([-2e300, 1e300], -1e300, 1e300, "−1.0e300 −5.0e299 0 5.0e299 1.0e300"),
    ],
)
def test_ticks_are_round(values: list[float | None], low: float, high: float, labels: str) -> None:
    scale = LinearScale.over(values)
    assert (scale.low, scale.high) == pytest.approx((low, high))
    assert " ".join(map(scale.label, scale.ticks())) == labels


def test_a_value_stands_at_its_share_of_the_scale() -> None:
    scale = LinearScale.over([0, 10]).drawn(100, 300)
    assert [scale.place(value) for value in (0, 2.5, 10, 11, -1)] == [100, 150, 300, 300, 100]
    upright = LinearScale.over([0, 1]).drawn(200, 0)
    assert upright.place(0.25) == 150


def test_bands_have_a_gap_between_them() -> None:
    bands = BandScale(("a", "b"), gap=0.25).drawn(0, 80)
    assert (bands.step, bands.width, bands.begin(1), bands.place(1)) == (40, 30, 45, 60)


@pytest.mark.parametrize(
    ("seconds", "labels", "unit"),
    [
        (3, "0.0 0.5 1.0 1.5 2.0 2.5 3.0", "seconds"),
        (10, "0 2 4 6 8 10", "seconds"),
        (95, "0:00 0:30 1:00 1:30 2:00", "minutes:seconds"),
        (9000, "0:00 0:30 1:00 1:30 2:00 2:30", "hours:minutes"),
    ],
)
def test_time_has_ticks_at_round_times(seconds: float, labels: str, unit: str) -> None:
    clock = TimeScale.until(seconds)
    assert (" ".join(map(clock.label, clock.ticks())), clock.unit) == (labels, unit)


@given(st.lists(ANY, max_size=6), ANY)
def test_every_value_stands_within_the_scale(values: list[float], other: float) -> None:
    scale = LinearScale.over(values).drawn(10, 90)
    known = [value for value in (*values, other) if math.isfinite(value)]
    assert all(10 <= scale.place(value) <= 90 for value in known)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 12
    assert len({scale.label(tick) for tick in ticks}) == len(ticks), "no two ticks are called the same"


@given(FINITE, FINITE)
def test_a_greater_value_never_stands_lower(one: float, other: float) -> None:
    scale = LinearScale.over([one, other]).drawn(0, 100)
    assert scale.place(min(one, other)) <= scale.place(max(one, other))


@given(st.floats(min_value=0, max_value=1e14))
def test_the_clock_runs_to_the_end(seconds: float) -> None:
    clock = TimeScale.until(seconds)
    assert clock.low == 0
    assert clock.high >= seconds * (1 - 1e-9)
    assert 2 <= len(clock.ticks()) <= 12


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (-0.001, "0"), (1.005, "1"), (1.006, "1.01"), (-3.5, "-3.5"), (100, "100")]
)
def test_coordinates_have_two_decimals(value: float, text: str) -> None:
    assert written(value) == text


@pytest.mark.parametrize(("value", "text"), [(-0.0, "0"), (-0.0002, "−0.0002"), (0.0003, "+0.0003")])
def test_nothing_has_no_sign_and_little_is_not_nothing(value: float, text: str) -> None:
    assert signed(value) == text


def test_numbers_for_readers() -> None:
    assert [shown(v) for v in (None, float("nan"), 0, 0.5, 1 / 3, 12.34, 1234.5, 1e16, 0.00002, -0.25)] == [
        "–", "–", "0", "0.5", "0.33", "12.3", "1,234", "1e+16", "2e−05", "−0.25",
    ]  # fmt: skip
    assert [signed(v) for v in (None, 0, 0.02, -0.02, 1500, 1e-7, -1e-7)] == [
        "–", "0", "+0.02", "−0.02", "+1,500", "+1e−07", "−1e−07",
    ]  # fmt: skip
    assert [percent(v) for v in (None, 0, 0.001, 0.5, 1)] == ["–", "0%", "< 1%", "50%", "100%"]


def test_an_axis_that_does_not_start_at_zero_says_so() -> None:
    def words(scores: list[float]) -> list[str]:
        return Read(RoundScores([Metric("coverage", scores)], [True, True]).picture()).words

    assert "score (axis starts at 0.70)" in words([0.74, 0.88])
    assert "score" in words([0.0, 0.9])


def test_scores_start_at_zero_unless_that_leaves_more_than_half_empty() -> None:
    assert LinearScale.of_scores([0.33, 1.0]).low == 0
    assert LinearScale.of_scores([0.08, 0.33]).low == 0
    assert LinearScale.of_scores([0.85, 0.95]).low > 0.5
