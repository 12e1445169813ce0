"""The similarity of two short answers, from 0 to 1, and ROUGE in any language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from redraft.errors import UsageError
from redraft.settings import SimilarityName
from redraft.text import units
from redraft.text.languages import is_foreign, language_of
from redraft.text.vectors import Encoder
from redraft.text.words import stemmer

Similarity = Callable[[str, str], float]
"""Symmetric; 1 for identical answers, 0 where either is empty."""

# Thai, Lao, Burmese, Khmer, Japanese and Chinese: every character counts as a word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNIT = re.compile(rf"[{_UNSPACED}]|[^{_UNSPACED}]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = frozenset({"a", "an", "the"})
_DECIMALS = 6
# This many differing words may turn a statement into its opposite.
_FEW = 2


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
        if not words(answer) or not words(second_answer):
            return 0.0
        first, second = encoder.encode([answer, second_answer])
        # Rounded, so that identical answers have similarity 1 exactly.
        return round(min(1.0, max(0.0, float(np.dot(first, second)))), _DECIMALS)

    return cosine


def exact(answer: str, second_answer: str) -> float:
    """Return 1 for an exact match, except for case, articles, punctuation, whitespace and thousands separators, and
    otherwise the Jaccard similarity of the two sets of words. An answer that is only an article keeps it."""
    words, second_words = set(_in_order(answer)), set(_in_order(second_answer))
    if not words or not second_words:
        return 0.0
    return len(words & second_words) / len(words | second_words)


def rouge1(answer: str, second_answer: str) -> float:
    """Return ROUGE-1 F1 with stemming as in rouge-score, for any script and language."""
    return f1(words(answer), words(second_answer), language_of("\n".join(sorted((answer, second_answer)))))


def f1(first_words: Sequence[str], second_words: Sequence[str], language: str) -> float:
    """Return ROUGE-1 F1 of two texts, given as words, in a language; to the last bit that of rouge-score."""
    first, second = (Counter(stems(words, language)) for words in (first_words, second_words))
    shared = (first & second).total()
    if not shared:
        return 0.0
    precision, recall = shared / second.total(), shared / first.total()
    return 2 * precision * recall / (precision + recall)


def is_same(answer: str, second_answer: str) -> bool:
    """Return whether two answers differ only in case, articles, punctuation, and thousands separators."""
    return _in_order(answer) == _in_order(second_answer) != []


def is_doubtful(answer: str, second_answer: str) -> bool:
    """Return whether two answers that share most words may mean opposite things. The test is formal and works in any
    language: the same words in another order, another number, or a difference of so few words that one may replace
    ("before", "after") or negate the other."""
    in_order, others_in_order = _in_order(answer), _in_order(second_answer)
    words, second_counts = Counter(in_order), Counter(others_in_order)
    if words == second_counts:
        return in_order != others_in_order
    more, fewer = words - second_counts, second_counts - words
    if any(any(map(str.isnumeric, word)) for word in (*more, *fewer)):
        return True
    return more.total() <= _FEW and fewer.total() <= _FEW


def words(text: str) -> list[str]:
    """Return the lower-case words of `text` or, in scripts without spaces, its characters. Apostrophes separate words
    as in ROUGE: "didn't" is "didn" and "t"."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    parts = "".join(character if unicodedata.category(character)[0] in "LMN" else " " for character in folded).split()
    # Combining marks alone are no words, such as those left over from an emoji.
    return [unit for part in parts if any(map(str.isalnum, part)) for unit in _UNIT.findall(part)]


def _in_order(text: str) -> list[str]:
    """Return the words without English articles, unless nothing else is left. ("a" is a word in Spanish.)"""
    all_words = words(_THOUSANDS.sub("", text))
    articles = frozenset[str]() if is_foreign(language_of(text)) else _ARTICLES
    return [word for word in all_words if word not in articles] or all_words


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
