"""Where the sentences of a text come from: the places in its parents that say what they say."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from redraft.domain import Span
from redraft.text.embeddings import Encoder
from redraft.text.origins.index import indexes, telling
from redraft.text.origins.links import MOST, Link, Traced
from redraft.text.sentences import sentences
from redraft.text.words import has_words

FLOOR = 0.4
"""A sentence of which less than this stands anywhere was invented."""
# A further place is named where it adds this share of what the sentence says.
_ADDS = 0.15


class _Line(NamedTuple):
    text: int
    line: int


class Origins:
    """Some texts, and where in them the sentences of their children come from."""

    def __init__(self, parents: Sequence[str], encoder: Encoder | None = None) -> None:
        self._indexes = indexes(parents)
        self._encoder = encoder
        self._offsets = np.cumsum([0, *(len(index) for index in self._indexes)])

    def trace(self, child: str) -> tuple[Traced, ...]:
        """Every sentence of a text that has words, in order, with the places that it comes from."""
        return tuple(
            self._traced(child[span.start : span.end], span)
            for span in sentences(child)
            if has_words(child[span.start : span.end])
        )

    def _traced(self, sentence: str, span: Span) -> Traced:
        keys = telling(sentence)
        total = int(self._offsets[-1])
        if not keys or not total:
            return Traced(span)
        held = [self._holding(key) for key in keys]
        worth = np.array([log(1 + total / max(1, len(lines))) for lines in held])
        worth /= worth.sum()
        present = np.zeros((len(keys), total))
        for row, lines in zip(present, held, strict=True):
            row[lines] = 1.0
        links: list[Link] = []
        left, weight = worth.copy(), 0.0
        margin = 0.0
        for _ in range(MOST):
            scores = left @ present
            best = int(np.argmax(scores))
            gain = float(scores[best])
            if gain < _ADDS:
                break
            if not links:
                margin = self._margin(scores, best)
            weight += gain
            at = self._at(best)
            links.append(Link(at.text, self._indexes[at.text].spans[at.line], min(1.0, weight), "words"))
            left[present[:, best] > 0] = 0.0
        if weight < FLOOR:
            return Traced(span, (), (FLOOR - weight) / FLOOR)
        return Traced(span, tuple(links), margin)

    def _holding(self, key: str) -> npt.NDArray[np.int64]:
        found = [index.holding(key) + offset for index, offset in zip(self._indexes, self._offsets[:-1], strict=True)]
        return np.concatenate(found).astype(np.int64)

    def _at(self, number: int) -> _Line:
        text = int(np.searchsorted(self._offsets, number, side="right")) - 1
        return _Line(text, number - int(self._offsets[text]))

    def _margin(self, scores: npt.NDArray[np.float64], best: int) -> float:
        others = np.delete(scores, range(max(0, best - 1), min(len(scores), best + 2)))
        return float(scores[best] - others.max(initial=0.0))
