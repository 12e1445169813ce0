"""Ranks sentences by PageRank over their similarity graph, and chooses a few that cover the most.

The graph is never built: an iteration needs two sparse products, so the time is linear in the document's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from redraft.text.vectors import Indices, SentenceVectors, Weights

DUPLICATE = 0.6
"""The similarity from which two sentences are duplicates, of which only one is chosen."""

_DAMPING = 0.85
# With a query most of a step's weight returns to the sentences similar to it.
_QUERY_DAMPING = 0.4
_QUERY_SHARE = 0.9
_STEPS = 40
_TOLERANCE = 1e-6

# How much a sentence loses by resembling a chosen one.
_REDUNDANCY = 0.9
# The factors of a part without any sentence, and of one with its full share.
_FIRST_OF_PART = 2.0
_BEYOND_SHARE = 0.4
# The fuller the summary, the better a sentence has to be, up to this share of the chosen ones' average.
_GOOD_ENOUGH = 0.3


def rank(vectors: SentenceVectors) -> Weights:
    """Return the centrality of every sentence; the sum is one."""
    return _page_rank(vectors, np.ones(len(vectors)), _DAMPING)


def rank_towards(vectors: SentenceVectors, query: str) -> Weights:
    """Return the centrality of every sentence relative to a `query`; `rank` if no sentence shares a term with it."""
    relevance = vectors.similarity_to(query)
    if not relevance.any():
        return rank(vectors)
    restart = _QUERY_SHARE * relevance / relevance.sum() + (1 - _QUERY_SHARE) / len(vectors)
    return _page_rank(vectors, restart, _QUERY_DAMPING)


def _page_rank(vectors: SentenceVectors, restart: Weights, damping: float) -> Weights:
    if not len(vectors):
        return np.zeros(0)
    restart = restart / restart.sum()
    itself = vectors.has_terms.astype(np.float64)
    degree = np.maximum(vectors.spread(np.ones(len(vectors))) - itself, 0.0)
    degree[degree < 1e-9] = 0.0
    joined = degree > 0
    share = np.divide(1.0, degree, out=np.zeros(len(vectors)), where=joined)
    ranks: Weights = restart
    for _ in range(_STEPS):
        passed = ranks * share
        moved = np.maximum(vectors.spread(passed) - itself * passed, 0.0)
        # A sentence without neighbours passes its rank back to the start.
        lost = float(ranks[~joined].sum())
        following = damping * (moved + lost * restart) + (1 - damping) * restart
        following /= following.sum()
        settled = float(np.abs(following - ranks).sum()) < _TOLERANCE
        ranks = following
        if settled:
            break
    return ranks


@dataclass(frozen=True, slots=True)
class RankedSentences:
    """The sentences to choose from, in source order; `part` numbers the part of each, and one with no worth is never
    chosen."""

    worth: Weights
    words: Indices
    part: Indices


def choose(
    vectors: SentenceVectors, candidates: RankedSentences, limit: int, shares: Weights, first: Sequence[int] = ()
) -> list[int]:
    """Choose valuable sentences of at most `limit` words that repeat little.

    `shares` are the words for each part, exceeded only when nothing better is left; those in `first` are taken first.
    """
    chooser = _Chooser(vectors, candidates, limit, shares)
    for index in first:
        chooser.take(index)
    while chooser.take_best():
        pass
    return sorted(chooser.chosen)


class _Chooser:
    """The state of the greedy choice; a step takes time linear in the sentences."""

    def __init__(self, vectors: SentenceVectors, candidates: RankedSentences, limit: int, shares: Weights) -> None:
        self.chosen: list[int] = []
        self._vectors = vectors
        self._candidates = candidates
        self._limit = limit
        self._shares = shares
        self._used = 0
        self._used_of = np.zeros(len(shares))
        self._taken: list[float] = []
        self._free = np.ones(len(candidates.worth), dtype=np.bool_)
        self._nearest = np.zeros(len(candidates.worth))

    def take(self, index: int) -> None:
        """Take a sentence unless it is a duplicate, worth nothing or too long."""
        worth = float(self._candidates.worth[index] * (1 - _REDUNDANCY * self._nearest[index]))
        if worth * self._leave()[index] > 0:
            self._take(index, worth)

    def take_best(self) -> bool:
        """Take the sentence that adds most; return False when none fits or is good enough."""
        if not len(self._candidates.worth):
            return False
        worth = self._candidates.worth * (1 - _REDUNDANCY * self._nearest)
        gain = worth * self._leave()
        best = int(np.argmax(gain))
        good = _GOOD_ENOUGH * (self._used / self._limit) ** 2 * float(np.mean(self._taken)) if self._taken else 0.0
        if gain[best] <= 0 or float(worth[best]) < good:
            return False
        self._take(best, float(worth[best]))
        return True

    def _leave(self) -> Weights:
        """Return the factor of each sentence's worth: zero if not available, low if its part has reached its share,
        high if its part has no sentence."""
        part, cost = self._candidates.part, self._candidates.words
        words_used = self._used_of[part]
        within = np.where(words_used + cost > self._shares[part], _BEYOND_SHARE, 1.0)
        leave: Weights = np.where(words_used == 0, _FIRST_OF_PART, within)
        leave[~self._free | (self._nearest >= DUPLICATE) | (self._used + cost > self._limit)] = 0.0
        return leave

    def _take(self, index: int, worth: float) -> None:
        self._taken.append(worth)
        self.chosen.append(index)
        self._free[index] = False
        self._used += int(self._candidates.words[index])
        self._used_of[self._candidates.part[index]] += self._candidates.words[index]
        near, same = self._vectors.neighbours(index)
        self._nearest[near] = np.maximum(self._nearest[near], same)
