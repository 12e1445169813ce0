from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.text.overlap import ExtractiveStats, extractive, longest_matches, novel
from redraft.text.units import indexed, ngrams, units

# Few different words, so that texts share long stretches, overlapping ones too.
TEXTS = st.integers(1, 4).flatmap(lambda size: st.lists(st.sampled_from("abcd"[:size]), max_size=40))
# x, y and z are in no source.
WITH_OWN_WORDS = st.lists(st.sampled_from("abxyz"), max_size=30)
relaxed = settings(max_examples=100, deadline=None)


def matches_of(summary: list[str], source: list[str]) -> list[int]:
    return longest_matches(summary, indexed(" ".join(source)))


def naive_matches(summary: list[str], source: list[str]) -> list[int]:
    def together(at: int, there: int) -> int:
        length = 0
        while summary[at + length : at + length + 1] == source[there + length : there + length + 1] != []:
            length += 1
        return length

    return [max((together(at, there) for there in range(len(source))), default=0) for at in range(len(summary))]


def naive_fragments(summary: list[str], source: list[str]) -> list[list[str]]:
    """The procedure of the paper, step by step."""
    fragments: list[list[str]] = []
    i = 0
    while i < len(summary):
        longest: list[str] = []
        for j in range(len(source)):
            k = 0
            while i + k < len(summary) and j + k < len(source) and summary[i + k] == source[j + k]:
                k += 1
            longest = max(longest, summary[i : i + k], key=len)
        fragments += [longest] if longest else []
        i += max(len(longest), 1)
    return fragments


@pytest.mark.slow
@relaxed
@given(st.one_of(TEXTS, WITH_OWN_WORDS), TEXTS)
def test_longest_matches_are_those_of_every_pair_of_places(summary: list[str], source: list[str]) -> None:
    assert matches_of(summary, source) == naive_matches(summary, source)


@pytest.mark.slow
@relaxed
@given(TEXTS, TEXTS)
def test_coverage_and_density_are_those_of_the_papers_fragments(summary: list[str], source: list[str]) -> None:
    lengths = [len(fragment) for fragment in naive_fragments(summary, source)]
    expected = (
        ExtractiveStats(sum(lengths) / len(summary), sum(n * n for n in lengths) / len(summary)) if summary else None
    )
    assert extractive(matches_of(summary, source)) == expected


@pytest.mark.slow
@relaxed
@given(TEXTS, TEXTS, st.integers(1, 5))
def test_novel_ngrams_are_those_that_are_not_in_the_source(summary: list[str], source: list[str], size: int) -> None:
    own, known = set(ngrams(summary, size)), set(ngrams(source, size))
    assert novel(summary, matches_of(summary, source), size) == (len(own - known) / len(own) if own else None)


def test_an_example_by_hand() -> None:
    source = units("The keeper lit the lamp. A gull slept on the rail.")
    summary = units("The keeper slept on the rail, and lit the lamp.")
    matches = matches_of(summary, source)

    assert matches == [2, 1, 4, 3, 2, 1, 0, 0, 4, 3, 2, 1]
    assert extractive(matches) == (10 / 12, (4 + 16 + 16) / 12)
    assert novel(summary, matches, 1) == 2 / 10
    assert novel(summary, matches, 2) == 4 / 11


def test_nothing_to_divide_by_is_no_figure() -> None:
    assert extractive([]) is None
    assert novel([], [], 1) is None
    assert novel(["a"], [1], 2) is None
    assert extractive(matches_of(["a", "b"], [])) == (0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("a " * 20_000, "a " * 300_000),
        ("a b " * 20_000, "b a a b " * 75_000),
        ("".join(f"w{n % 9973} the " for n in range(20_000)), "".join(f"the w{n % 7919} " for n in range(100_000))),
        ("a " * 100, "x" * 2_000_000),
    ],
)
def test_long_texts_take_linear_time(summary: str, source: str) -> None:
    found = units(summary)
    matches = longest_matches(found, indexed(source))
    assert len(matches) == len(found)
    assert novel(found, matches, 4) is not None
