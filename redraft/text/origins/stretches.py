"""The stretches of a text that are nearest to what somebody looks for, whether that is a sentence or a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from redraft.document import Span
from redraft.text.embeddings import Encoder
from redraft.text.origins.tracing import Origins

# What stretches before have said counts for so much beside what they have not: where nothing is left to be said, those
# come next that say it once more.
_AGAIN = 0.2
# Equal stretches must tie whatever the order in which their products were summed up.
_DECIMALS = 6


class Stretches:
    """Some stretches of one text, in its order, and the search among them by the map that traces sentences.

    A stretch is as near to what is looked for as the best of its sentences. After the first those come that say of it
    what the ones before them do not: of what was put together from two places both are among the first.
    """

    def __init__(self, text: str, spans: Sequence[Span], encoder: Encoder | None = None) -> None:
        self._origins = Origins([text], encoder)
        self._spans = np.array(spans, dtype=np.int64).reshape(-1, 2)
        sentences = np.array(self._origins.indexes[0].spans, dtype=np.int64).reshape(-1, 2)
        first = np.searchsorted(sentences[:, 1], self._spans[:, 0], side="right")
        after = np.maximum(first, np.searchsorted(sentences[:, 0], self._spans[:, 1], side="left"))
        self._empty = first == after
        # Behind the last sentence is a gap in which nothing stands, and which may be counted in.
        self._bounds = np.column_stack([first, np.maximum(after, first + 1)]).ravel()

    def nearest(self, sought: str, most: int, within: Span | None = None) -> list[int]:
        """The numbers of up to so many stretches, the best first, of equals the earlier.

        Those that have nothing in common with what is sought are left out, and those of which no part is `within`.
        """
        found = self._origins.sought(sought)
        if found is None or not len(self._spans):
            return []
        there = ~self._empty
        if within is not None:
            there &= (self._spans[:, 0] < within.end) & (self._spans[:, 1] > within.start)
        left = np.ones(len(found.worth))
        whole = self._best(found.borne_out(left))
        gains, chosen = whole, list[int]()
        while len(chosen) < most:
            at = int(np.argmax(np.where(there, np.round(gains, _DECIMALS), 0.0)))
            if not there[at] or round(float(gains[at]), _DECIMALS) <= 0:
                break
            chosen.append(at)
            there[at] = False
            said = found.near[:, self._bounds[2 * at] : self._bounds[2 * at + 1]].max(axis=1, initial=0.0)
            left = np.minimum(left, 1 - said)
            gains = self._best(found.borne_out(left)) + _AGAIN * whole
        return chosen

    def _best(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """For each stretch the score of its best sentence."""
        best: npt.NDArray[np.float64] = np.maximum.reduceat(scores, self._bounds)[::2]
        return best
