from __future__ import annotations

import random
from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.domain import Span
from redraft.text.origins import Link, SentenceOrigin
from redraft.text.positions import OriginMass, bins, density, masses, parts_of, shares, spread, spread_by_chance

relaxed = settings(max_examples=200, deadline=None)

some = st.lists(st.builds(OriginMass, st.floats(0, 1, exclude_max=True), st.floats(0.01, 1)), min_size=1, max_size=60)


def test_a_sentence_counts_one_however_many_places_it_has() -> None:
    links = (Link(0, Span(0, 20), 0.6, "words"), Link(0, Span(80, 100), 0.2, "words"))
    assert masses([SentenceOrigin(Span(0, 9), links), SentenceOrigin(Span(9, 12))], 100) == [
        OriginMass(0.1, pytest.approx(0.75)),
        OriginMass(0.9, pytest.approx(0.25)),
    ]


def test_shares_of_thirds_and_of_any_span() -> None:
    found = [OriginMass(0.1, 1.0), OriginMass(0.2, 1.0), OriginMass(0.9, 2.0)]
    assert shares(found, bins(3)) == [0.5, 0.0, 0.5]
    assert shares(found, parts_of([Span(150, 300), Span(850, 1000)], 1000)) == [0.25, 0.5]
    assert shares([], bins(3)) == [0.0, 0.0, 0.0]


def test_spread_is_one_where_all_parts_have_as_much_and_nothing_where_one_has_all() -> None:
    assert spread([OriginMass(at / 10, 1.0) for at in range(10)], 10) == pytest.approx(1)
    assert spread([OriginMass(0.1, 1.0), OriginMass(0.9, 1.0)], 2) == pytest.approx(1)
    assert spread([OriginMass(0.5, 1.0), OriginMass(0.51, 1.0)], 2) == 0
    assert spread([OriginMass(0.05, 3.0), OriginMass(0.95, 1.0)], 10) == pytest.approx(
        -(0.75 * log(0.75) + 0.25 * log(0.25)) / log(10)
    )
    assert spread([OriginMass(0.5, 1.0)], 1) is None


def test_by_chance_it_is_the_mean_over_places_drawn_at_random() -> None:
    chance = random.Random(1)
    drawn = [spread([OriginMass(chance.random(), 1.0) for _ in range(12)], 10) or 0.0 for _ in range(4000)]
    assert spread_by_chance(12, 10) == pytest.approx(sum(drawn) / len(drawn), abs=0.005)
    assert spread_by_chance(1, 1) is None
    assert spread_by_chance(100_000, 10) == pytest.approx(1, abs=0.001)


@pytest.mark.slow
@relaxed
@given(some, st.integers(2, 20))
def test_all_of_it_is_somewhere(found: list[OriginMass], count: int) -> None:
    assert sum(shares(found, bins(count))) == pytest.approx(1)
    assert 0 <= (spread(found, count) or 0) <= 1
    curve = density(found)
    assert min(curve) >= 0
    assert sum(curve) / len(curve) == pytest.approx(1)


def test_the_curve_is_high_where_most_comes_from_and_flat_where_it_comes_from_everywhere() -> None:
    early = density([OriginMass(0.05 + 0.01 * n, 1.0) for n in range(10)])
    assert early.index(max(early)) < len(early) // 5
    assert early[-1] < 0.01
    even = density([OriginMass((n + 0.5) / 200, 1.0) for n in range(200)])
    assert all(height == pytest.approx(1, abs=0.05) for height in even)
    assert density([]) == []
