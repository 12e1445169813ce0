from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.text.vectors import SentenceVectors, terms

STORY = [
    "The keeper lit the lamp at dusk.",
    "At dusk the keepers lit the lamps.",
    "A storm drove the schooner on the reef.",
    "And yet, so it was.",
]


def test_terms_leave_out_stop_words_and_endings() -> None:
    text = "The keeper's lamps didn't burn, and the ladies saw it."
    assert list(terms(text)) == ["keeper", "lamp", "burn", "lady", "saw"]


def test_terms_of_unspaced_scripts_are_pairs() -> None:
    assert list(terms("灯塔守")) == ["灯", "塔", "守", "灯塔", "塔守"]


def test_spread_is_the_product_with_all_cosines() -> None:
    vectors = SentenceVectors(STORY)
    cosines = np.stack([vectors.similarity_to(text) for text in STORY])
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    assert vectors.spread(weights) == pytest.approx(cosines @ weights)


def test_sentence_of_stop_words_is_zero() -> None:
    assert SentenceVectors(STORY).has_terms.tolist() == [True, True, True, False]


def test_contained_sentences_count_as_the_same() -> None:
    short = "The old keeper lit the lamp"
    vectors = SentenceVectors([short, f"{short} while rain fell on Gannet Point"])
    near, same = vectors.neighbours(0)
    assert near.tolist() == [0, 1]
    assert same == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("texts", [[], [""], ["", "the of"], ["!!!", "—"]])
def test_texts_without_terms_have_no_similarity(texts: list[str]) -> None:
    vectors = SentenceVectors(texts)
    assert len(vectors) == len(texts)
    assert not vectors.spread(np.ones(len(texts))).any()
    assert not vectors.similarity_to("a keeper").any()
    assert all(not len(vectors.neighbours(at)[0]) for at in range(len(texts)))


@pytest.mark.slow
@given(st.lists(st.text(max_size=40), max_size=12))
def test_any_texts_can_be_compared(texts: list[str]) -> None:
    vectors = SentenceVectors(texts)
    for at in range(len(texts)):
        near, same = vectors.neighbours(at)
        assert (at in near) == vectors.has_terms[at]
        assert ((same > 0) & (same <= 1 + 1e-9)).all()
