"""Ranks sentences by PageRank over their similarity graph, and chooses a few that cover the most.

The graph is never built: an iteration needs two sparse products, so the time is linear in the document's length.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def rank(vectors: SentenceVectors, query: str = "") -> Weights:
    """Return the centrality of every sentence, relative to a `query` if a sentence shares a term with it; the sum is
    one."""
    if not len(vectors):
        return np.zeros(0)
    restart, damping = np.ones(len(vectors)) / len(vectors), _DAMPING
    relevance = vectors.similarity_to(query)
    if relevance.any():
        restart, damping = _QUERY_SHARE * relevance / relevance.sum() + (1 - _QUERY_SHARE) * restart, _QUERY_DAMPING
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


def choose(
    vectors: SentenceVectors,
    worth_of_sentences: Weights,
    words_of_sentences: Indices,
    parts: Indices,
    limit: int,
    shares: Weights,
    first: Sequence[int] = (),
) -> list[int]:
    """Choose valuable sentences of at most `limit` words that repeat little; one with no worth is never chosen.

    The sentences are in source order; `parts` numbers the part of each. `shares` are the words for each part, exceeded
    only when nothing better is left; those in `first` are taken first.
    """
    count = len(worth_of_sentences)
    chosen: list[int] = []
    gains: list[float] = []
    words_of_parts, nearest = np.zeros(len(shares)), np.zeros(count)
    is_free = np.ones(count, dtype=np.bool_)
    waiting = list(reversed(first))
    while count:
        worth = worth_of_sentences * (1 - _REDUNDANCY * nearest)
        # Zero if not available, low if the part has reached its share, high if it has no sentence.
        words = words_of_parts[parts]
        within = np.where(words + words_of_sentences > shares[parts], _BEYOND_SHARE, 1.0)
        factors = np.where(words == 0, _FIRST_OF_PART, within)
        length = words_of_parts.sum()
        factors[~is_free | (nearest >= DUPLICATE) | (length + words_of_sentences > limit)] = 0.0
        gain = worth * factors
        best = waiting.pop() if (is_given := bool(waiting)) else int(np.argmax(gain))
        good = _GOOD_ENOUGH * (length / limit) ** 2 * float(np.mean(gains)) if gains and not is_given else 0.0
        if gain[best] <= 0 or worth[best] < good:
            if is_given:
                continue
            break
        gains.append(float(worth[best]))
        chosen.append(best)
        is_free[best] = False
        words_of_parts[parts[best]] += words_of_sentences[best]
        near, same = vectors.neighbours(best)
        nearest[near] = np.maximum(nearest[near], same)
    return sorted(chosen)
