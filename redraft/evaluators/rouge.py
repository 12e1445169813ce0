"""ROUGE in any language: rouge-score's stems for English, the language's own stems otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from redraft.text.languages import is_foreign
from redraft.text.words import stemmer


def f1(one: Sequence[str], other: Sequence[str], language: str) -> float:
    """Return ROUGE-1 F1 of two texts, given as words, in a language."""
    return float(_scorer().score(stems(one, language), stems(other, language))["rouge1"].fmeasure)


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
