"""Sentences as sparse TF-IDF vectors, in any script, and the few products with them that ranking needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from stop_words import LANGUAGE_MAPPING, get_stop_words

from redraft.patterns import pattern
from redraft.text.detection import primary
from redraft.text.languages import ENGLISH, is_foreign, language_of

Weights = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Scripts that put no spaces between words: there a letter and each pair of neighbouring letters is a term.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TERM = pattern(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)*")
_IS_UNSPACED = pattern(rf"[{_UNSPACED}]")
_POSSESSIVE = pattern(r"['’]s$")
# "didn't", "you'll" and the like say no more of a sentence's subject than the stop words they are made of.
_CONTRACTION = pattern(r"['’](?:t|ll|ve|re|d|m)$")
_APOSTROPHE = pattern("['’]")
_FEWEST_TERMS_CONTAINED = 3
# Inflected words are the same up to here.
_STEM = 6
_LISTED = {**LANGUAGE_MAPPING, "no": "norwegian"}


@cache
def stop_words(language: str = ENGLISH) -> frozenset[str]:
    """The words of a language that say nothing of what a sentence is about; none where no list is known."""
    if is_foreign(language):
        return _listed(language)
    # scikit-learn takes a second to import, and most commands look at no sentence.
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


@cache
def _listed(language: str) -> frozenset[str]:
    code = primary(language)
    return frozenset(get_stop_words(_LISTED[code])) if code in _LISTED else frozenset()


def terms(text: str, language: str = ENGLISH, stopped: frozenset[str] | None = None) -> Iterator[str]:
    """What `text` is about: its words in lower case without the stop words of its language, or those given, and in
    English without the endings of plurals and possessives."""
    stopped, foreign = stop_words(language) if stopped is None else stopped, is_foreign(language)
    for found in _TERM.finditer(text.lower()):
        term = found.group()
        if _IS_UNSPACED.match(term):
            yield from (one for one in term if not (foreign and one in stopped))
            yield from (term[at : at + 2] for at in range(len(term) - 1))
        elif foreign:
            yield from (part for part in _APOSTROPHE.split(term) if part not in stopped)
        elif not _CONTRACTION.search(term):
            term = _POSSESSIVE.sub("", term)
            if term not in stopped:
                yield _singular(term)


@lru_cache(maxsize=256)
def telling_terms(text: str, language: str = ENGLISH) -> frozenset[str]:
    """The terms of a text that say something by themselves, up to where words are inflected."""
    # Every draft is looked at so: scikit-learn's list is not worth its import.
    found = terms(text, language, _listed(language if is_foreign(language) else "en"))
    return frozenset(term[:_STEM] for term in found if len(term) > 1 or term.isnumeric())


def _singular(term: str) -> str:
    if len(term) > 4 and term.endswith("ies"):
        return term[:-3] + "y"
    if len(term) > 3 and term.endswith("s") and not term.endswith(("ss", "us", "is")):
        return term[:-1]
    return term


class SentenceVectors:
    """The TF-IDF vectors of some sentences, each of length one; a sentence without terms is the zero vector."""

    def __init__(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> None:
        """The sentences of one text, or such as are in these languages, one for each."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._language = language_of("\n".join(texts))
        found = [list(terms(*one)) for one in zip(texts, languages or [self._language] * len(texts), strict=True)]
        # Scikit-learn asks for a term and a text, which there may not be.
        vocabulary = None if any(found) else [""]
        self._vectorizer: Any = TfidfVectorizer(analyzer=_as_is, vocabulary=vocabulary, sublinear_tf=True, norm="l2")
        self._rows: Any = self._vectorizer.fit_transform(found or [[]]).tocsr()[: len(found)]
        self._columns: Any = self._rows.T.tocsr()
        self._marks: Any = self._columns.sign()
        self._sizes: Indices = np.diff(self._rows.indptr).astype(np.int64)

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def has_terms(self) -> npt.NDArray[np.bool_]:
        """Which sentences are not the zero vector."""
        return self._sizes > 0

    def spread(self, weights: Weights) -> Weights:
        """The matrix of all cosines times `weights`, without that matrix ever being formed."""
        return np.asarray(self._rows @ (self._columns @ weights), dtype=np.float64)

    def similarity_to(self, text: str) -> Weights:
        """The cosine of every sentence with `text`; terms that no sentence has do not count."""
        vector = self._vectorizer.transform([list(terms(text, self._language))])
        return np.asarray((self._rows @ vector.T).todense(), dtype=np.float64).ravel()

    def neighbours(self, index: int) -> tuple[Indices, Weights]:
        """The sentences that share a term with sentence `index`, itself among them, and how much they say the same.

        That is the cosine, or one where the terms of the shorter of the two are all in the other. The cost is that of
        reading the sentences that hold its terms, not of all sentences.
        """
        row = self._rows[index]
        product = row @ self._columns
        shared = row.sign() @ self._marks
        product.sort_indices()
        shared.sort_indices()
        near: Indices = product.indices.astype(np.int64)
        same: Weights = np.array(product.data, dtype=np.float64)
        shorter = np.minimum(self._sizes[near], self._sizes[index])
        same[(shared.data >= shorter) & (shorter >= _FEWEST_TERMS_CONTAINED)] = 1.0
        return near, same


def _as_is(found: list[str]) -> list[str]:
    return found
