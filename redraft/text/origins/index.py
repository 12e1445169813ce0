"""A text to look sentences up in: which of its sentences hold which words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from redraft.domain import Span
from redraft.text.sentences import sentences
from redraft.text.wording import carries, words

Numbers = npt.NDArray[np.int32]

# A draft is traced to its pieces and to the document, and each piece to what was under it.
_KEPT = 32


class Index:
    """The sentences of one text that have words, by the keys of these. It takes time linear in the text to make."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = words(text)
        numbers: dict[str, int] = {}
        self.flat: Numbers = np.fromiter(
            (numbers.setdefault(word.key, len(numbers)) for word in found), dtype=np.int32, count=len(found)
        )
        """The words of the text, by number."""
        self.places: Numbers = np.array([(word.start, word.end) for word in found], dtype=np.int32).reshape(-1, 2)
        self.numbers = numbers
        spans = np.array(sentences(text), dtype=np.int64).reshape(-1, 2)
        firsts = np.searchsorted(self.places[:, 0], spans[:, 0])
        ends = np.searchsorted(self.places[:, 0], spans[:, 1])
        worded = ends > firsts
        self.spans: list[Span] = [Span(int(start), int(end)) for start, end in spans[worded]]
        """The sentences that have words."""
        self.firsts: Numbers = np.append(firsts[worded], len(found)).astype(np.int32)
        """The first word of each, and where the last ends."""
        self._ordered, self._starts = self._postings(len(numbers))

    def __len__(self) -> int:
        return len(self.spans)

    def _postings(self, count: int) -> tuple[Numbers, npt.NDArray[np.int64]]:
        lines = np.repeat(np.arange(len(self.spans)), np.diff(self.firsts))
        pairs = np.unique(self.flat[: len(lines)].astype(np.int64) * max(1, len(self.spans)) + lines)
        numbers, ordered = np.divmod(pairs, max(1, len(self.spans)))
        return ordered.astype(np.int32), np.searchsorted(numbers, np.arange(count + 1))

    def holding(self, key: str) -> Numbers:
        """The sentences that have a word, in order."""
        number = self.numbers.get(key)
        if number is None:
            return self._ordered[:0]
        return self._ordered[self._starts[number] : self._starts[number + 1]]

    def line_of(self, word: int) -> int:
        """The sentence that a word is in."""
        return int(np.searchsorted(self.firsts, word, side="right")) - 1

    def said(self, line: int) -> str:
        """A sentence to the letter."""
        span = self.spans[line]
        return self.text[span.start : span.end]


def telling(text: str) -> list[str]:
    """The different words of a sentence that say something by themselves, by their keys."""
    return list(dict.fromkeys(word.key for word in words(text) if carries(word.key)))


@lru_cache(maxsize=_KEPT)
def indexed(text: str) -> Index:
    """The index of a text, which is kept for a while."""
    return Index(text)


def indexes(texts: Sequence[str]) -> list[Index]:
    """The indexes of some texts."""
    return [indexed(text) for text in texts]
