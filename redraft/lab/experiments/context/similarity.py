"""How alike statements are: by the cosine of their embeddings, or of their TF-IDF vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log, sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

from redraft.text.languages import language_of, language_spans_in
from redraft.text.sentences import sentences
from redraft.text.vectors import Encoder, terms

Matrix = npt.NDArray[np.float64]

_DECIMALS_OF_LIKENESS = 6


class SentenceSimilarity(Protocol):
    """A similarity measure with its threshold."""

    @property
    def name(self) -> str:
        """Return the measure's name, which is recorded with results."""
        ...

    @property
    def threshold(self) -> float:
        """Return the similarity above which two statements count as the same."""
        ...

    def between(self, ones: Sequence[str], others: Sequence[str]) -> Matrix:
        """Return a matrix of the similarities of some statements with others."""
        ...


class EmbeddingSimilarity:
    """The cosine of embeddings; 0.7 is the traceability thesis's threshold for all-MiniLM-L6-v2."""

    threshold = 0.7

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name = f"cosine of {encoder.name}"

    def between(self, ones: Sequence[str], others: Sequence[str]) -> Matrix:
        """Return the cosines, none below zero."""
        if not ones or not others:
            return np.zeros((len(ones), len(others)))
        found = self._encoder.encode(ones).astype(np.float64) @ self._encoder.encode(others).astype(np.float64).T
        return _rounded(np.clip(found, 0.0, 1.0))


class TermSimilarity:
    """The cosine of TF-IDF vectors, with document frequencies of its sentences. The threshold of 0.5 is not fitted:
    with equal weights half of each statement is in the other."""

    name = "TF-IDF cosine"
    threshold = 0.5

    def __init__(self, document: str) -> None:
        self._language = language_of(document)
        lines = [
            frozenset(terms(document[sentence.start : sentence.end], language))
            for span, language in language_spans_in(document)
            for sentence in sentences(document, span, language)
        ]
        self._lines = len(lines)
        self._holding = Counter(term for line in lines for term in line)
        self._known: dict[str, dict[str, float]] = {}

    def between(self, ones: Sequence[str], others: Sequence[str]) -> Matrix:
        """Return the cosines; 0 if either statement has no terms."""
        vectors, across = [self._vector(one) for one in ones], [self._vector(one) for one in others]
        found = [
            [sum(a * other.get(term, 0.0) for term, a in vector.items()) for other in across] for vector in vectors
        ]
        return _rounded(np.array(found, dtype=np.float64).reshape(len(ones), len(others)))

    def _vector(self, text: str) -> dict[str, float]:
        if text not in self._known:
            self._known[text] = self._weighed(text)
        return self._known[text]

    def _weighed(self, text: str) -> dict[str, float]:
        counts = Counter(terms(text, self._language))
        raw = {term: (1 + log(count)) * self._rarity(term) for term, count in counts.items()}
        length = sqrt(sum(value * value for value in raw.values()))
        return {term: value / length for term, value in raw.items()} if length else {}

    def _rarity(self, term: str) -> float:
        return log((1 + self._lines) / (1 + self._holding[term])) + 1


def _rounded(found: Matrix) -> Matrix:
    """Return the values rounded, so that a statement equals itself."""
    return np.asarray(np.round(found, _DECIMALS_OF_LIKENESS), dtype=np.float64)
