from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from redraft.agents.examiner import words_of
from redraft.domain import Document
from redraft.errors import UsageError
from redraft.evaluators.consistency import f1, similarity
from redraft.settings import SimilarityName
from redraft.text.languages import language_context, language_of
from redraft.text.vectors import Embeddings
from tests.text.hostile import raw_texts

LANGUAGES = Path(__file__).resolve().parents[1] / "languages"

ascii_texts = st.text(alphabet=st.characters(max_codepoint=0x7F), max_size=200)
ascii_prose = st.lists(
    st.sampled_from(["didn't", "ponies", "U.S.", "the", "Running", "runs", "well-known", "_x_", "\n", "n't", "y"])
).map(" ".join)
answers = st.one_of(raw_texts, ascii_prose)


class Letters:
    """An encoder for which texts are alike that have the same letters; the same in capitals are opposites."""

    name = weights = "letters"

    def encode(self, texts: Sequence[str]) -> Embeddings:
        rows = np.array([self._row(text) for text in texts], np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def _row(self, text: str) -> list[int]:
        sign = -1 if text.isupper() else 1
        counts = [sign * text.lower().count(chr(ord("a") + at)) for at in range(26)]
        return [*counts, 0 if any(counts) else 1]


def alike(name: SimilarityName, first: str, second: str) -> float:
    return similarity(name, Letters())(first, second)


@pytest.mark.parametrize(
    ("name", "first", "second", "expected"),
    [
        ("exact", "Ruth Crane", "the ruth  crane.", 1),
        ("exact", "“Ruth Crane!”", "Crane, Ruth", 1),
        ("exact", "12,500 men", "12500 men", 1),
        ("exact", "Ruth Crane", "Ruth Wren", 1 / 3),  # ruth, of ruth crane wren
        ("exact", "on Monday, 3 March 1924", "3 March", 2 / 5),  # 3 march, of on monday 3 march 1924
        ("exact", "He did not go", "He did go", 3 / 4),
        ("exact", "Капитан Лебедев", "капитан", 1 / 2),
        ("exact", "船长", "船", 1 / 2),
        ("exact", "", "", 0),
        ("exact", "?!", "?!", 0),
        ("rouge1", "Ruth Crane", "ruth crane", 1),
        ("rouge1", "the cat sat on the mat", "the cat sat", 2 * 1 * 0.5 / 1.5),  # all of three words, three of six
        ("rouge1", "two ponies running", "a pony runs", 2 * 2 / 6),  # poni and run, of three each
        ("rouge1", "He didn't go", "He did go", 2 * 2 / 7),  # he go, of "he didn t go" and of "he did go"
        ("rouge1", "Капитан Лебедев", "капитан", 2 * 1 / 3),
        ("rouge1", "船长失去了船", "船长", 2 * 2 / 8),
        ("rouge1", "café", "cafe\u0301", 1),
        ("rouge1", "", "", 0),
        ("cosine", "abc", "abc", 1),
        ("cosine", "aab", "abb", 4 / 5),  # (2, 1) and (1, 2), each of length root 5
        ("cosine", "ab", "AB", 0),  # a cosine of minus one
        ("cosine", "ab", "", 0),
        ("cosine", "...", "...", 0),
    ],
)
def test_measures_by_hand(name: SimilarityName, first: str, second: str, expected: float) -> None:
    assert alike(name, first, second) == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", get_args(SimilarityName))
@settings(max_examples=60, deadline=None)
@given(first=answers, second=answers)
def test_what_holds_for_every_measure(name: Literal["exact", "rouge1", "cosine"], first: str, second: str) -> None:
    measure = similarity(name, Letters())
    score = measure(first, second)
    assert math.isfinite(score)
    assert 0 <= score <= 1
    assert score == measure(second, first)
    assert measure(first, first) == (1 if words_of(first) else 0)
    assert measure("", first) == measure(first, "") == 0


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.one_of(ascii_texts, ascii_prose), st.one_of(ascii_texts, ascii_prose))
def test_ascii_scores_equal_rouge_score(first: str, second: str) -> None:
    expected = RougeScorer(["rouge1"], use_stemmer=True).score(first, second)["rouge1"].fmeasure
    assert f1(words_of(first), words_of(second), "en") == expected
    if not language_of("\n".join(sorted((first, second)))):
        assert alike("rouge1", first, second) == expected


READ = {name: (LANGUAGES / f"{name}.md").read_text("utf-8") for name in ("german", "japanese")}


def test_measures_by_language_and_encoder() -> None:
    # By the rules of English "Preis" is a plural, and "Einigungen" is none.
    assert alike("rouge1", "Preis", "Prei") == 1
    with language_context(Document.from_text(READ["german"])):
        assert alike("rouge1", "Preis", "Prei") == 0
        assert alike("rouge1", "Einigung", "Einigungen") == 1
    with language_context(Document.from_text(READ["japanese"])):
        assert alike("rouge1", "Watson", "Watsons") == 0
        assert alike("rouge1", "東京タワー", "東京") == pytest.approx(2 * 2 / 7)
    with pytest.raises(UsageError) as caught:
        similarity("cosine", None)
    assert "redraft[embeddings]" in caught.value.hint
    assert similarity("exact", None)("yes", "Yes.") == 1
    assert similarity("rouge1", None)("yes", "Yes.") == 1
