"""The similarity of two short answers, from 0 to 1, and ROUGE in any language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from redraft.agents.examiner import essential_words, is_same, words_of
from redraft.errors import UsageError
from redraft.settings import SimilarityName
from redraft.text import units
from redraft.text.languages import is_foreign, language_of
from redraft.text.vectors import Encoder
from redraft.text.words import stemmer

Similarity = Callable[[str, str], float]
"""Symmetric; 1 for identical answers, 0 where either is empty."""

_DECIMALS = 6


def similarity(name: SimilarityName, encoder: Encoder | None) -> Similarity:
    """Return the measure called `name`; `cosine` needs an encoder. `judge` compares for equality only; the judge is
    asked about the rest."""
    if name == "exact":
        return exact
    if name == "judge":
        return lambda answer, second_answer: float(is_same(answer, second_answer))
    if name == "rouge1":
        return rouge1
    if encoder is None:
        raise UsageError(
            "the similarity cosine needs an embedding model",
            hint='pip install "redraft[embeddings]" and name a model of sentence-transformers, or choose rouge1',
        )

    def cosine(answer: str, second_answer: str) -> float:
        if not words_of(answer) or not words_of(second_answer):
            return 0.0
        first, second = encoder.encode([answer, second_answer])
        # Rounded, so that identical answers have similarity 1 exactly.
        return round(min(1.0, max(0.0, float(np.dot(first, second)))), _DECIMALS)

    return cosine


def exact(answer: str, second_answer: str) -> float:
    """Return 1 for an exact match, except for case, articles, punctuation, whitespace and thousands separators, and
    otherwise the Jaccard similarity of the two sets of words. An answer that is only an article keeps it."""
    words, second_words = set(essential_words(answer)), set(essential_words(second_answer))
    if not words or not second_words:
        return 0.0
    return len(words & second_words) / len(words | second_words)


def rouge1(answer: str, second_answer: str) -> float:
    """Return ROUGE-1 F1 with stemming as in rouge-score, for any script and language."""
    return f1(words_of(answer), words_of(second_answer), language_of("\n".join(sorted((answer, second_answer)))))


def f1(first_words: Sequence[str], second_words: Sequence[str], language: str) -> float:
    """Return ROUGE-1 F1 of two texts, given as words, in a language; to the last bit that of rouge-score."""
    first, second = (Counter(stems(words, language)) for words in (first_words, second_words))
    shared = (first & second).total()
    if not shared:
        return 0.0
    precision, recall = shared / second.total(), shared / first.total()
    return 2 * precision * recall / (precision + recall)


def rouge_l(text: str, second_text: str) -> float:
    """Return ROUGE-L F1 of two texts; for English exactly that of rouge-score with its stemmer."""
    stems_of: list[list[str]] = []
    for part in (text, second_text):
        language = language_of(part)
        stems_of.append(stems(units.words(part), language) if is_foreign(language) else _english().tokenize(part))
    first, second = stems_of
    if not first or not second:
        return 0.0
    return 2 * units.common_length(units.word_places(first), len(first), second) / (len(first) + len(second))


def stems(words: Sequence[str], language: str) -> list[str]:
    """Return the stems of lower-case words; for English those of rouge-score's tokenizer, which knows only a to z and 0
    to 9."""
    if is_foreign(language):
        stem = stemmer(language)
        return [stem(word) or word for word in words]
    return [token for word in words for token in (_english().tokenize(word) if word.isascii() else [word])]


@cache
def _english() -> Any:
    # rouge-score imports NLTK, which is slow, and only ROUGE needs it.
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=True)
