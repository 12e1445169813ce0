"""ROUGE by the words of a language: those of English as the package rouge-score has them, others by their own stems."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from redraft.text.languages import is_foreign
from redraft.text.words import stemmer


def f1(one: Sequence[str], other: Sequence[str], language: str) -> float:
    """The F1 of ROUGE-1 of two texts, given as their words, which are read by a language."""
    return float(_scorer().score(stems(one, language), stems(other, language))["rouge1"].fmeasure)


def stems(words: Sequence[str], language: str) -> list[str]:
    """The stems of words in lower case: of English what rouge-score's own tokenizer makes of them.

    That one knows a to z and 0 to 9 only: of two answers in Russian or Chinese it would see nothing.
    """
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
    """In the place of a tokenizer, for what is words already."""

    def tokenize(self, found: list[str]) -> list[str]:
        """The words."""
        return found
