"""Measures of texts: overlap, likeness, repetition, and how evenly and from where a document is told of."""

from __future__ import annotations

import json
from itertools import combinations
from math import log
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.domain import Span
from redraft.evaluators.statistics import uniformity
from redraft.text.origins import (
    Link,
    OriginMass,
    SentenceOrigin,
    masses,
    shares,
    spread,
)
from redraft.text.units import (
    extractive,
    indexed,
    longest_matches,
    novel,
    redundancy,
    repeated,
    units,
)
from tests.vocabularies import DATA

# Few different words, so that texts share long stretches, overlapping ones too.
TEXTS = st.integers(1, 4).flatmap(lambda size: st.lists(st.sampled_from("abcd"[:size]), max_size=40))
# x, y and z are in no source.
WITH_OWN_WORDS = st.lists(st.sampled_from("abxyz"), max_size=30)
relaxed = settings(max_examples=100, deadline=None)


def matches_of(summary: list[str], source: list[str]) -> list[int]:
    return longest_matches(summary, indexed(" ".join(source)))


def test_overlap_by_hand() -> None:
    source = units("The keeper lit the lamp. A gull slept on the rail.")
    summary = units("The keeper slept on the rail, and lit the lamp.")
    matches = matches_of(summary, source)
    assert matches == [2, 1, 4, 3, 2, 1, 0, 0, 4, 3, 2, 1]
    assert extractive(matches) == (10 / 12, (4 + 16 + 16) / 12)
    assert novel(summary, matches, 1) == 2 / 10
    assert novel(summary, matches, 2) == 4 / 11
    assert extractive([]) is None
    assert novel([], [], 1) is None
    assert novel(["a"], [1], 2) is None
    assert extractive(matches_of(["a", "b"], [])) == (0.0, 0.0)


WORDS = st.integers(1, 4).flatmap(lambda size: st.lists(st.sampled_from("abcd"[:size]), max_size=80))
SUMMARIES = DATA / "booookscore" / "summaries"


def by_the_table(first: list[str], second: list[str]) -> int:
    """The textbook's dynamic programme."""
    row = [0] * (len(second) + 1)
    for word in first:
        above = row
        row = [0]
        for at, another in enumerate(second):
            row.append(above[at] + 1 if word == another else max(row[at], above[at + 1]))
    return row[-1]


def f1(first: list[str], second: list[str]) -> float:
    return 2 * by_the_table(first, second) / (len(first) + len(second))


@pytest.mark.slow
@relaxed
@given(st.lists(WORDS.filter(bool), max_size=6))
def test_redundancy_is_the_mean_of_all_pairs(sentences: list[list[str]]) -> None:
    pairs = [f1(first, second) for first, second in combinations(sentences, 2)]
    assert redundancy(sentences) == (pytest.approx(fmean(pairs)) if pairs else None)


def test_redundancy_needs_two_sentences() -> None:
    assert redundancy([]) is None
    assert redundancy([["a"]]) is None
    assert redundancy([["a"], []]) is None
    assert redundancy([["a"], ["a"]]) == 1.0
    assert redundancy([["a"], ["b"]]) == 0.0


@pytest.mark.skipif(not SUMMARIES.is_dir(), reason="needs $REDRAFT_DATA")
@pytest.mark.parametrize(("name", "published"), [("gpt4-2048-hier", 4.2), ("gpt4-2048-inc", 3.4)])
def test_repeated_trigrams_are_as_published(name: str, published: float) -> None:
    summaries = json.loads((SUMMARIES / f"{name}-cleaned.json").read_text("utf-8"))
    shares = [share for text in summaries.values() if (share := repeated(units(text), 3)) is not None]
    assert len(shares) == 100
    assert 100 * fmean(shares) == pytest.approx(published, abs=1)


many = settings(max_examples=200, deadline=None)


def measured(summary: str, source: str) -> float | None:
    return uniformity(units(summary), indexed(source))


def test_only_frequent_topic_words_count() -> None:
    spread = "the and, she . ' s don t the and, she . ' s don t " * 40
    assert measured("The lamp, and the lamp; she didn't.", f"lamp {spread}") == 0
    assert measured("She and the, she's. Don't!", f"lamp {spread}") is None
    many = [f"w{n}" for n in range(25)]
    spread = " ".join(["x"] * 30 + [many[20]] + ["x"] * 30 + [many[0]] + ["x"] * 30)
    assert measured(" ".join(many), spread) == 0
    assert measured(" ".join([*many, many[20]]), spread) == pytest.approx(log(2) / log(10))


def test_masses_shares_and_spread_by_hand() -> None:
    links = (Link(0, Span(0, 20), 0.6, "words"), Link(0, Span(80, 100), 0.2, "words"))
    assert masses([SentenceOrigin(Span(0, 9), links), SentenceOrigin(Span(9, 12))], 100) == [
        OriginMass(0.1, pytest.approx(0.75)),
        OriginMass(0.9, pytest.approx(0.25)),
    ]
    items = [OriginMass(0.1, 1.0), OriginMass(0.2, 1.0), OriginMass(0.9, 2.0)]
    assert shares(items, 3) == [0.5, 0.0, 0.5]
    assert shares(items, [(0.15, 0.3), (0.85, 1.0)]) == [0.25, 0.5]
    assert shares([], 3) == [0.0, 0.0, 0.0]
    assert spread([OriginMass(at / 10, 1.0) for at in range(10)], 10) == pytest.approx(1)
    assert spread([OriginMass(0.1, 1.0), OriginMass(0.9, 1.0)], 2) == pytest.approx(1)
    assert spread([OriginMass(0.5, 1.0), OriginMass(0.51, 1.0)], 2) == 0
    assert spread([OriginMass(0.05, 3.0), OriginMass(0.95, 1.0)], 10) == pytest.approx(
        -(0.75 * log(0.75) + 0.25 * log(0.25)) / log(10)
    )
    assert spread([OriginMass(0.5, 1.0)], 1) is None
