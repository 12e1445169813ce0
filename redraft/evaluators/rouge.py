"""ROUGE by the words of a language: those of English as the package rouge-score has them, others by their own stems."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from nltk.stem.snowball import SnowballStemmer
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import DefaultTokenizer

from redraft.text.languages import is_foreign

# The languages that NLTK has Snowball's rules for, which take no data. A word of any other is its own stem.
_RULES = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
}


def f1(one: Sequence[str], other: Sequence[str], language: str) -> float:
    """The F1 of ROUGE-1 of two texts, given as their words, which are read by a language."""
    return float(_scorer().score(stems(one, language), stems(other, language))["rouge1"].fmeasure)


def stems(words: Sequence[str], language: str) -> list[str]:
    """The stems of words in lower case: of English what rouge-score's own tokenizer makes of them.

    That one knows a to z and 0 to 9 only: of two answers in Russian or Chinese it would see nothing.
    """
    if is_foreign(language):
        return [_stem(word, language) for word in words]
    return [token for word in words for token in (_english().tokenize(word) if word.isascii() else [word])]


@lru_cache(maxsize=100_000)
def _stem(word: str, language: str) -> str:
    """The stem, or the word where nothing would be left of it."""
    # The rules of Arabic go on from the word before, so each word has a stemmer of its own, which costs little.
    rules = _RULES.get(language)
    return str(SnowballStemmer(rules).stem(word)) or word if rules else word


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
