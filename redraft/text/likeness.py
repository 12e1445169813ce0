"""How alike two short statements are: by the meanings that an encoder finds in them, or else by their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log, sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

from redraft.text.embeddings import Encoder
from redraft.text.languages import language_of, tongues_in
from redraft.text.sentences import sentences
from redraft.text.vectors import terms

Matrix = npt.NDArray[np.float64]

_DECIMALS = 6


class Likeness(Protocol):
    """A measure with the threshold that belongs to it: what is above it counts as the same."""

    @property
    def name(self) -> str:
        """The measure, as it is recorded with all that rests on it."""
        ...

    @property
    def threshold(self) -> float:
        """What is more alike than this says the same."""
        ...

    def between(self, ones: Sequence[str], others: Sequence[str]) -> Matrix:
        """How alike each of some statements is to each of others: a row for each of the first."""
        ...


class ByMeaning:
    """The cosine of embeddings. 0.7 is what the traceability thesis took for all-MiniLM-L6-v2."""

    threshold = 0.7

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name = f"cosine of {encoder.name}"

    def between(self, ones: Sequence[str], others: Sequence[str]) -> Matrix:
        """The cosines, none below zero."""
        if not ones or not others:
            return np.zeros((len(ones), len(others)))
        found = self._encoder.encode(ones).astype(np.float64) @ self._encoder.encode(others).astype(np.float64).T
        return _rounded(np.clip(found, 0.0, 1.0))


class ByWords:
    """The cosine of TF-IDF vectors; what is rare is counted in the sentences of the document.

    0.5 is a stipulation and fitted to nothing: where all terms weigh the same, half of each statement is in the other.
    """

    name = "TF-IDF cosine"
    threshold = 0.5

    def __init__(self, document: str) -> None:
        self._language = language_of(document)
        lines = [
            frozenset(terms(document[one.start : one.end], language))
            for span, language in tongues_in(document)
            for one in sentences(document, span, language)
        ]
        self._lines = len(lines)
        self._holding = Counter(term for line in lines for term in line)

    def between(self, ones: Sequence[str], others: Sequence[str]) -> Matrix:
        """The cosines; 0 where either says nothing."""
        vectors, across = [self._vector(one) for one in ones], [self._vector(one) for one in others]
        found = [[sum(a * other.get(term, 0.0) for term, a in one.items()) for other in across] for one in vectors]
        return _rounded(np.array(found, dtype=np.float64).reshape(len(ones), len(others)))

    def _vector(self, text: str) -> dict[str, float]:
        counts = Counter(terms(text, self._language))
        raw = {term: (1 + log(count)) * self._rarity(term) for term, count in counts.items()}
        length = sqrt(sum(value * value for value in raw.values()))
        return {term: value / length for term, value in raw.items()} if length else {}

    def _rarity(self, term: str) -> float:
        return log((1 + self._lines) / (1 + self._holding[term])) + 1


def _rounded(found: Matrix) -> Matrix:
    """So that a statement and itself are exactly alike."""
    return np.asarray(np.round(found, _DECIMALS), dtype=np.float64)
