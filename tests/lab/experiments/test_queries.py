"""Which queries are asked: all, or some that are spread over the document and the perspectives."""

from __future__ import annotations

from collections import Counter

import pytest

from redraft.domain import Evidence, KeyFact, KeyFacts, Perspective, Span, Tree
from redraft.lab.experiments.hamlet import sample_trees

BOTH: tuple[Perspective, ...] = ("analytical", "narrative")


def keyfacts(chunks: int = 10, *, without: frozenset[tuple[int, Perspective]] = frozenset()) -> KeyFacts:
    """A tree of one fact for each chunk and perspective; some have no query."""
    trees = tuple(
        Tree(
            n,
            perspective,
            Span(n, n + 1),
            (n + 0.5) / chunks,
            (KeyFact(1, "root", None, "A fact.", Evidence("")),),
            "" if (n, perspective) in without else f"The {perspective} query of chunk {n}?",
        )
        for n in range(chunks)
        for perspective in BOTH
    )
    return KeyFacts("k", "d", "judge", "judge", {}, trees)


def places(actual: list[Tree]) -> list[tuple[int, str]]:
    return [(tree.chunk, tree.perspective[0]) for tree in actual]


def test_all_queries_are_asked_in_document_order() -> None:
    assert sample_trees(keyfacts(), BOTH) == list(keyfacts().trees)
    assert sample_trees(keyfacts(), BOTH, 20) == list(keyfacts().trees)
    assert sample_trees(keyfacts(), BOTH, 99) == list(keyfacts().trees)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, [(4, "a")]),
        (2, [(2, "a"), (7, "n")]),
        (4, [(1, "a"), (3, "n"), (6, "a"), (8, "n")]),
        (5, [(0, "a"), (2, "n"), (4, "a"), (6, "n"), (8, "a")]),
    ],
)
def test_chosen_queries_spread_and_alternate_perspectives(count: int, expected: list[tuple[int, str]]) -> None:
    assert places(sample_trees(keyfacts(), BOTH, count)) == expected


@pytest.mark.parametrize("count", range(1, 21))
@pytest.mark.parametrize("seed", [None, 0, 7])
def test_perspectives_share_the_number_equally(count: int, seed: int | None) -> None:
    actual = sample_trees(keyfacts(), BOTH, count, seed)
    halves = Counter(tree.perspective for tree in actual)
    assert halves.total() == count
    assert abs(halves["analytical"] - halves["narrative"]) <= 1
    assert len({id(tree) for tree in actual}) == count
    assert actual == sample_trees(keyfacts(), BOTH, count, seed)


def test_other_perspectives_fill_missing_queries() -> None:
    actual = sample_trees(keyfacts(), ("narrative",), 5)
    assert places(actual) == [(0, "n"), (2, "n"), (4, "n"), (6, "n"), (8, "n")], "one alone has all of them"
    without = frozenset((n, BOTH[0]) for n in range(9))
    actual = sample_trees(keyfacts(without=without), BOTH, 6)
    assert Counter(tree.perspective for tree in actual) == {"analytical": 1, "narrative": 5}


def test_equal_queries_are_asked_once() -> None:
    trees = keyfacts(2).trees
    twice = tuple(Tree(t.chunk, t.perspective, t.span, t.position, t.facts, "The same?") for t in trees)
    assert sample_trees(KeyFacts("k", "d", "judge", "judge", {}, twice), BOTH) == [twice[0]]
