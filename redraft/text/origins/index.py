"""A text to look sentences up in: which of its sentences hold a word, and where words stand one behind the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from redraft.document import Span
from redraft.text.languages import Tongue
from redraft.text.sentences import sentences
from redraft.text.wording import Word, carries, has_unspaced, words

Numbers = npt.NDArray[np.int64]

# A draft is traced to its pieces and to the document, and each piece to what was under it.
_KEPT = 32
# Fewer words one behind the other are no quotation, unless they are a whole sentence there.
_QUOTED = 4
# What has more words without a full stop is no sentence that anybody would be led to: it is as many places as there are
# so many words in it.
_LONGEST, _CUT = 120, 60


class Index:
    """The sentences of one text that have words, by the keys of these. It takes time linear in the text to make."""

    def __init__(self, text: str, tongues: Sequence[Tongue]) -> None:
        self._text = text
        split = [(language, sentences(text, span, language)) for span, language in tongues]
        # Sentence by sentence, as those that are looked for are read: what stands before a word may make another of it.
        self.sentences = [span for _, spans in split for span in spans]
        """All sentences of the text, whatever stands in them."""
        by_language = [(each, [one for span in spans for one in _places(text, span, each)]) for each, spans in split]
        read = [one for _, places in by_language for one in places]
        self.languages = [language for language, places in by_language for _ in places]
        """By which language each of those is read that have words."""
        keys = [[word.key for word in one.words] for one in read]
        flat = [key for some in keys for key in some]
        begins = np.repeat([one.begin for one in read], list(map(len, keys))).astype(np.int64)
        words_at = chain.from_iterable((word.start, word.end) for one in read for word in one.words)
        self._words = np.fromiter(words_at, dtype=np.int64, count=2 * len(flat)).reshape(-1, 2) + begins[:, None]
        self._joined = f" {' '.join(flat)} "
        lengths = np.fromiter(map(len, flat), dtype=np.int64, count=len(flat)) + 1
        self._begin = np.cumsum(lengths) - lengths
        """Where each word begins among the joined ones, counted from the space before it."""
        self.spans: list[Span] = [one.span for one in read]
        """The sentences that have words; one that is endless, in pieces."""
        self._firsts = np.cumsum([0, *map(len, keys)])
        """The first word of each, and where the last ends."""
        self._numbers: dict[str, int] = {}
        self._ordered, self._starts = self._postings(list(map(terms, keys)) if has_unspaced(text) else keys)

    def __len__(self) -> int:
        return len(self.spans)

    def _postings(self, held: Sequence[Sequence[str]]) -> tuple[Numbers, Numbers]:
        """For one term after the other the sentences that have it; and where those of each begin."""
        count, numbers = max(1, len(self.spans)), self._numbers
        each = (numbers.setdefault(one, len(numbers)) for some in held for one in some)
        flat = np.fromiter(each, dtype=np.int64)
        lines = np.repeat(np.arange(len(self.spans)), [len(some) for some in held])
        ofs, ordered = np.divmod(np.unique(flat * count + lines), count)
        return ordered, np.searchsorted(ofs, np.arange(len(numbers) + 1))

    @property
    def texts(self) -> list[str]:
        """The sentences to the letter."""
        return [self._text[span.start : span.end] for span in self.spans]

    def at(self, place: int) -> int:
        """The first sentence that ends behind a place of the text."""
        return bisect_right(self.spans, place, key=lambda span: span.end)

    def stretch(self, first: int, after: int, longest: int) -> Span:
        """The sentences from the first on, before another and as long as they have no more characters together."""
        start, end = self.spans[first]
        for span in self.spans[first + 1 : after]:
            if span.end - start > longest:
                break
            end = span.end
        return Span(start, end)

    def holding(self, term: str) -> Numbers:
        """The sentences that have a term, in order."""
        number = self._numbers.get(term)
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


class _Place(NamedTuple):
    """A sentence, or a piece of one; its words, and from where on these are counted."""

    span: Span
    words: list[Word]
    begin: int


def _places(text: str, span: Span, language: str) -> Iterator[_Place]:
    """A sentence that has words; one that is endless, in pieces."""
    found = words(text[span.start : span.end], language)
    if len(found) <= _LONGEST:
        yield from [_Place(span, found, span.start)] if found else []
        return
    for first in range(0, len(found), _CUT):
        piece = found[first : first + _CUT]
        yield _Place(Span(span.start + piece[0].start, span.start + piece[-1].end), piece, span.start)


def terms(keys: Sequence[str]) -> list[str]:
    """The words by which a sentence is found; of a script without spaces, pairs of neighbouring letters as well."""
    together = (one + other for one, other in pairwise(keys) if len(one) == len(other) == 1)
    return [*keys, *(pair for pair in together if has_unspaced(pair[0]) and has_unspaced(pair[1]))]


def telling(keys: Sequence[str], language: str) -> list[str]:
    """Those of a sentence's terms, each once, that say something by themselves."""
    return [one for one in dict.fromkeys(terms(keys)) if carries(one, language)]


@lru_cache(maxsize=_KEPT)
def indexed(text: str, tongues: tuple[Tongue, ...]) -> Index:
    """The index of a text, by the words of the language of each part of it. Those used last are kept."""
    return Index(text, tongues)
