"""A text to look sentences up in: which of its sentences hold a word, and where words stand one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from redraft.domain import Span
from redraft.text.sentences import sentences
from redraft.text.wording import carries, words

Numbers = npt.NDArray[np.int64]

# A draft is traced to its pieces and to the document, and each piece to what was under it.
_KEPT = 32
# Fewer words one behind the other are no quotation, unless they are a whole sentence there.
_QUOTED = 4


class Index:
    """The sentences of one text that have words, by the keys of these. It takes time linear in the text to make."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Sentence by sentence, as those that are looked for are read: what stands before a word may make another of it.
        spans = sentences(text)
        read = [words(text[span.start : span.end]) for span in spans]
        found = [word for one in read for word in one]
        numbers: dict[str, int] = {}
        flat = np.array([numbers.setdefault(word.key, len(numbers)) for word in found], dtype=np.int64)
        self._numbers = numbers
        places = [
            (span.start + word.start, span.start + word.end)
            for span, one in zip(spans, read, strict=True)
            for word in one
        ]
        self._words = np.array(places, dtype=np.int64).reshape(-1, 2)
        self._joined = f" {' '.join(word.key for word in found)} "
        lengths = np.array([len(word.key) + 1 for word in found], dtype=np.int64)
        self._begin = np.cumsum(lengths) - lengths
        """Where each word begins among the joined ones, counted from the space before it."""
        self.spans: list[Span] = [span for span, one in zip(spans, read, strict=True) if one]
        """The sentences that have words."""
        self._firsts = np.cumsum([0, *(len(one) for one in read if one)])
        """The first word of each, and where the last ends."""
        self._ordered, self._starts = self._postings(flat)

    def __len__(self) -> int:
        return len(self.spans)

    def _postings(self, flat: Numbers) -> tuple[Numbers, Numbers]:
        """For one word after the other the sentences that have it; and where those of each begin."""
        count = max(1, len(self.spans))
        lines = np.repeat(np.arange(len(self.spans)), np.diff(self._firsts))
        numbers, ordered = np.divmod(np.unique(flat * count + lines), count)
        return ordered, np.searchsorted(numbers, np.arange(len(self._numbers) + 1))

    @property
    def texts(self) -> list[str]:
        """The sentences to the letter."""
        return [self._text[span.start : span.end] for span in self.spans]

    def holding(self, key: str) -> Numbers:
        """The sentences that have a word, in order."""
        number = self._numbers.get(key)
        return self._ordered[:0] if number is None else self._ordered[self._starts[number] : self._starts[number + 1]]

    def quotations(self, sought: Sequence[str], most: int) -> list[Span]:
        """Up to so many places where these words stand one behind the other: all of a sentence, or enough words."""
        found: list[Span] = []
        wanted = f" {' '.join(sought)} "
        at = self._joined.find(wanted) if sought else -1
        while at >= 0 and len(found) < most:
            first = int(np.searchsorted(self._begin, at))
            end = first + len(sought)
            if len(sought) >= _QUOTED or self._is_sentence(first, end):
                found.append(Span(int(self._words[first, 0]), int(self._words[end - 1, 1])))
            at = self._joined.find(wanted, at + 1)
        return found

    def _is_sentence(self, first: int, end: int) -> bool:
        line = int(np.searchsorted(self._firsts, first))
        return line < len(self) and self._firsts[line] == first and self._firsts[line + 1] == end


def telling(keys: Sequence[str]) -> list[str]:
    """Those of a sentence's words, each once, that say something by themselves."""
    return [key for key in dict.fromkeys(keys) if carries(key)]


@lru_cache(maxsize=_KEPT)
def indexed(text: str) -> Index:
    """The index of a text. Those used last are kept."""
    return Index(text)
