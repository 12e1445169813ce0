from __future__ import annotations

import json
from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.text import overlap
from redraft.text.overlap import common_length, redundancy, repeated
from redraft.text.units import ngrams, units
from tests.vocabularies import DATA

WORDS = st.integers(1, 4).flatmap(lambda size: st.lists(st.sampled_from("abcd"[:size]), max_size=80))
SUMMARIES = DATA / "booookscore" / "summaries"
relaxed = settings(max_examples=100, deadline=None)


def by_the_table(one: list[str], other: list[str]) -> int:
    """The textbook's dynamic programme."""
    row = [0] * (len(other) + 1)
    for word in one:
        above = row
        row = [0]
        for at, another in enumerate(other):
            row.append(above[at] + 1 if word == another else max(row[at], above[at + 1]))
    return row[-1]


def f1(one: list[str], other: list[str]) -> float:
    return 2 * by_the_table(one, other) / (len(one) + len(other))


@pytest.mark.slow
@relaxed
@given(WORDS, WORDS)
def test_the_longest_common_sequence_is_the_tables(one: list[str], other: list[str]) -> None:
    assert common_length(one, other) == by_the_table(one, other)


@pytest.mark.slow
@relaxed
@given(st.lists(WORDS.filter(bool), max_size=6))
def test_redundancy_is_the_mean_of_all_pairs(sentences: list[list[str]]) -> None:
    pairs = [f1(one, other) for one, other in combinations(sentences, 2)]
    assert redundancy(sentences) == (pytest.approx(fmean(pairs)) if pairs else None)


def test_redundancy_needs_two_sentences() -> None:
    assert redundancy([]) is None
    assert redundancy([["a"]]) is None
    assert redundancy([["a"], []]) is None
    assert redundancy([["a"], ["a"]]) == 1.0
    assert redundancy([["a"], ["b"]]) == 0.0


def test_of_an_endless_sentence_the_beginning_is_compared() -> None:
    assert redundancy([["a"] * 200 + ["b"], ["a"] * 200 + ["c"] * 50]) == 1.0


def test_of_many_pairs_some_are_taken_and_their_mean_is_that_of_all() -> None:
    sentences = [["the", f"w{n % 3}", f"v{n % 7}", f"u{n}"] for n in range(900)]
    chosen = [(first, other) for first, others in overlap._pairs(900) for other in others]

    assert len(chosen) == len(set(chosen)) == overlap._PAIRS
    assert all(0 <= first < other < 900 for first, other in chosen)
    assert fmean(first for first, _ in chosen) == pytest.approx(899 / 3, rel=0.01)
    assert fmean(other for _, other in chosen) == pytest.approx(899 * 2 / 3, rel=0.01)
    # Of the pairs a third have w in common and a seventh v, beside "the".
    assert redundancy(sentences) == pytest.approx((1 + 1 / 3 + 1 / 7) / 4, rel=0.01)
    assert redundancy(sentences) == redundancy(sentences)


@pytest.mark.parametrize("count", [2, 3, 200, 201, 202, 1000, 1415])
def test_no_pair_is_taken_twice(count: int) -> None:
    chosen = [(first, other) for first, others in overlap._pairs(count) for other in others]
    assert len(set(chosen)) == len(chosen) == min(count * (count - 1) // 2, overlap._PAIRS)
    assert all(0 <= first < other < count for first, other in chosen)


@pytest.mark.slow
@relaxed
@given(WORDS, st.integers(1, 5))
def test_repeated_ngrams_are_those_that_occur_again(found: list[str], size: int) -> None:
    all_of_them = list(ngrams(found, size))
    more_than_once = {one for one in all_of_them if all_of_them.count(one) > 1}
    expected = len(more_than_once) / len(set(all_of_them)) if all_of_them else None
    assert repeated(found, size) == expected


@pytest.mark.slow
def test_long_texts_take_linear_time() -> None:
    assert redundancy([["a"] * 200_000] * 3) == 1.0
    assert redundancy([["a"]] * 200_000) == 1.0
    assert repeated(["a"] * 300_000, 4) == 1.0


@pytest.mark.skipif(not SUMMARIES.is_dir(), reason="needs $REDRAFT_DATA")
@pytest.mark.parametrize(("name", "published"), [("gpt4-2048-hier", 4.2), ("gpt4-2048-inc", 3.4)])
def test_repeated_trigrams_of_released_summaries_are_as_published(name: str, published: float) -> None:
    summaries = json.loads((SUMMARIES / f"{name}-cleaned.json").read_text("utf-8"))
    shares = [share for text in summaries.values() if (share := repeated(units(text), 3)) is not None]
    assert len(shares) == 100
    assert 100 * fmean(shares) == pytest.approx(published, abs=1)
