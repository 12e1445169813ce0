from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.text.pagerank import DUPLICATE, RankedSentences, choose, rank, rank_towards
from redraft.text.vectors import SentenceVectors
from redraft.text.words import count_words

STORY = [
    "The keeper of the lighthouse lit the lamp.",
    "Gulls slept on the rail.",
    "The lighthouse keeper wrote in the lamp book.",
    "A schooner ran for the lighthouse when the keeper lit the lamp.",
    "Bread was dear that winter.",
]
WORDS = ["keeper", "lamp", "reef", "storm", "mate", "the", "of", "bread"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=20)


def candidates(texts: list[str], **given: list[float]) -> RankedSentences:
    count = len(texts)
    return RankedSentences(
        worth=np.array(given.get("worth", [1.0] * count), dtype=np.float64),
        words=np.array([count_words(text) for text in texts], dtype=np.int64),
        part=np.array(given.get("part", [0] * count), dtype=np.int64),
    )


def picked(texts: list[str], limit: int, shares: list[float] | None = None, **given: list[float]) -> list[int]:
    return choose(SentenceVectors(texts), candidates(texts, **given), limit, np.array(shares or [float(limit)]))


def test_rank_equals_page_rank_on_the_full_matrix() -> None:
    vectors = SentenceVectors(STORY)
    graph = np.stack([vectors.similarity_to(text) for text in STORY])
    np.fill_diagonal(graph, 0.0)
    degree = graph.sum(axis=0)
    ranks = np.full(len(STORY), 1 / len(STORY))
    for _ in range(100):
        moved = graph @ np.divide(ranks, degree, out=np.zeros_like(ranks), where=degree > 0)
        ranks = 0.85 * (moved + ranks[degree == 0].sum() / len(STORY)) + 0.15 / len(STORY)
    assert rank(vectors) == pytest.approx(ranks, abs=1e-4)


def test_what_resembles_much_ranks_above_what_resembles_nothing() -> None:
    ranks = rank(SentenceVectors(STORY))
    assert min(ranks[0], ranks[2], ranks[3]) > max(ranks[1], ranks[4])


def test_a_query_raises_what_is_like_it() -> None:
    assert int(np.argmax(rank_towards(SentenceVectors(STORY), "What did bread cost?"))) == 4


def test_a_query_that_matches_nothing_changes_nothing() -> None:
    vectors = SentenceVectors(STORY)
    assert rank_towards(vectors, "zeppelin") == pytest.approx(rank(vectors))


@pytest.mark.slow
@settings(max_examples=40)
@given(TEXTS)
def test_ranks_are_a_distribution(texts: list[str]) -> None:
    ranks = rank(SentenceVectors(texts))
    assert len(ranks) == len(texts)
    assert (ranks >= 0).all()
    assert ranks.sum() == pytest.approx(1.0 if texts else 0.0)


def test_of_two_sentences_that_say_the_same_one_is_chosen() -> None:
    texts = ["The keeper lit the lamp.", "The keeper lit the lamps.", "Gulls slept on rails."]
    assert picked(texts, 100) == [0, 2]


def test_every_part_gets_its_share_before_another_gets_more() -> None:
    texts = ["Keeper trimmed lamps.", "Schooner struck reefs.", "Gulls slept aloft.", "Bread grew dear."]
    assert picked(texts, 6, [3.0, 3.0], worth=[1.0, 0.9, 0.8, 0.5], part=[0, 0, 0, 1]) == [0, 3]


def test_what_is_worth_nothing_is_never_chosen() -> None:
    assert picked(STORY, 100, worth=[0.0] * len(STORY)) == []


@pytest.mark.slow
@settings(max_examples=40)
@given(TEXTS, st.integers(1, 40))
def test_a_choice_fits_the_limit_is_ordered_and_repeats_nothing(texts: list[str], limit: int) -> None:
    chosen = picked(texts, limit)
    vectors = SentenceVectors(texts)
    assert chosen == sorted(set(chosen))
    assert sum(count_words(texts[at]) for at in chosen) <= limit
    assert all(vectors.similarity_to(texts[a])[b] < DUPLICATE for a in chosen for b in chosen if a < b)
