from __future__ import annotations

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.text.positions import uniformity
from redraft.text.units import indexed, units

relaxed = settings(max_examples=200, deadline=None)


def measured(summary: str, source: str) -> float | None:
    return uniformity(units(summary), indexed(source))


def test_a_word_of_all_tenths_is_spread_evenly() -> None:
    assert measured("The lamp.", "lamp " + "x lamp " * 9) == pytest.approx(1)
    assert measured("The lamp.", "lamp " * 1000) == pytest.approx(1)


def test_a_word_of_one_place_is_not_spread_at_all() -> None:
    assert measured("The lamp.", "x " * 50 + "lamp lamp " + "x " * 48) == 0


def test_half_in_one_tenth_and_half_in_another() -> None:
    assert measured("A lamp", "lamp " * 5 + "x " * 90 + "lamp " * 5) == pytest.approx(log(2) / log(10))


def test_only_words_that_say_what_it_is_about_count() -> None:
    spread = "the and, she . ' s don t the and, she . ' s don t " * 40
    assert measured("The lamp, and the lamp; she didn't.", f"lamp {spread}") == 0
    assert measured("She and the, she's. Don't!", f"lamp {spread}") is None


def test_the_twenty_most_frequent_words_count_and_of_equals_the_first() -> None:
    many = [f"w{n}" for n in range(25)]
    spread = " ".join(["x"] * 30 + [many[20]] + ["x"] * 30 + [many[0]] + ["x"] * 30)
    assert measured(" ".join(many), spread) == 0
    assert measured(" ".join([*many, many[20]]), spread) == pytest.approx(log(2) / log(10))


@pytest.mark.parametrize(("summary", "source"), [("", "lamp"), ("lamp", ""), ("lamp", "gull"), ("…!", "…!")])
def test_where_nothing_occurs_there_is_no_figure(summary: str, source: str) -> None:
    assert measured(summary, source) is None


@pytest.mark.slow
@relaxed
@given(st.lists(st.sampled_from(["lamp", "gull", "salt", "the", "."]), max_size=200))
def test_it_is_between_0_and_1_and_that_of_its_definition(source: list[str]) -> None:
    found = measured("A lamp, a gull.", " ".join(source))
    places = [at for at, word in enumerate(source) if word in ("lamp", "gull")]
    counts = [sum(at * 10 // len(source) == tenth for at in places) for tenth in range(10)]
    if not places:
        assert found is None
    else:
        entropy = -sum(n / len(places) * log(n / len(places)) for n in counts if n)
        assert found == pytest.approx(entropy / log(10))
        assert found is not None
        assert 0 <= found <= 1
