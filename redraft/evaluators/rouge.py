"""ROUGE in any language: rouge-score's stems for English, the language's own stems otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from redraft.text.languages import is_foreign, language_of
from redraft.text.overlap import common_length
from redraft.text.units import words
from redraft.text.words import stemmer


def f1(one: Sequence[str], other: Sequence[str], language: str) -> float:
    """Return ROUGE-1 F1 of two texts, given as words, in a language."""
    return float(_scorer().score(stems(one, language), stems(other, language))["rouge1"].fmeasure)


def rouge_l(text: str, other: str) -> float:
    """Return ROUGE-L F1 of two texts; for English exactly that of rouge-score with its stemmer."""
    one, two = map(_of_text, (text, other))
    return 2 * common_length(one, two) / (len(one) + len(two)) if one and two else 0.0


def _of_text(text: str) -> list[str]:
    language = language_of(text)
    found: list[str] = stems(words(text), language) if is_foreign(language) else _english().tokenize(text)
    return found


def stems(words: Sequence[str], language: str) -> list[str]:
    """Return the stems of lower-case words; for English those of rouge-score's tokenizer, which knows only a to z and 0
    to 9."""
    if is_foreign(language):
        stem = stemmer(language)
        return [stem(word) or word for word in words]
    return [token for word in words for token in (_english().tokenize(word) if word.isascii() else [word])]


@cache
def _english() -> Any:
    return DefaultTokenizer(use_stemmer=True)


@cache
def _scorer() -> Any:
    return RougeScorer(["rouge1"], tokenizer=_AsTheyAre())


class _AsTheyAre:
    """A tokenizer for text that is already split into words."""

    def tokenize(self, found: list[str]) -> list[str]:
        """Return the words."""
        return found
