"""Finding the place that a model claims to have quoted."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from redraft.document import Span
from redraft.text.languages import tongues_in
from redraft.text.sentences import sentences
from redraft.text.vectors import terms
from redraft.text.words import count_words

SHARE = 0.6
"""A sentence is taken for the source of a quote that shares this much of its terms with it."""

FEWEST = 3
"""So many words at least are a quote that proves something: fewer stand in any text."""

# The only letter that is longer in lower case than before. Lower-casing must not move any offset.
_LOWER_IN_PLACE = {ord("İ"): "i"}
_BEYOND = 0x10000


class _Folded(NamedTuple):
    """A text without case, spaces and punctuation, and where each of its characters was before."""

    text: str
    offsets: npt.NDArray[np.int64]


def locate(text: str, quote: str, within: Sequence[Span]) -> Span | None:
    """Where in `text` the `quote` stands, or None.

    It is looked for to the letter, then without regard to case, spaces and punctuation (quotation marks, dashes,
    ellipses, emphasis), each time in the parts `within` first, in their order, and then everywhere. What is found in
    neither way is taken for a paraphrase of that sentence of `within` which shares most of the quote's terms, if it
    shares most of them.
    """
    quote = quote.strip()
    if not quote:
        return None
    places = [*within, Span(0, len(text))]
    found = (find(text, quote, span) for find in (_to_the_letter, _loosely) for span in places)
    return next((span for span in found if span), None) or _paraphrased(text, quote, within)


def quoted_in(text: str, quote: str) -> Span | None:
    """Where a text has the words of a quote, all of them and in their order; fewer words than a few prove nothing."""
    return locate(text, quote, []) if count_words(quote) >= FEWEST else None


def _to_the_letter(text: str, quote: str, span: Span) -> Span | None:
    for at in _occurrences(text, quote, span.start, span.end):
        if _is_whole(text, at, at + len(quote)):
            return Span(at, at + len(quote))
    return None


def _loosely(text: str, quote: str, span: Span) -> Span | None:
    wanted = _fold(quote).text
    if not wanted:
        return None
    folded = _fold_once(text)
    first, last = np.searchsorted(folded.offsets, span)
    for at in _occurrences(folded.text, wanted, int(first), int(last)):
        start, end = int(folded.offsets[at]), int(folded.offsets[at + len(wanted) - 1]) + 1
        if _is_whole(text, start, end):
            return Span(start, end)
    return None


def _paraphrased(text: str, quote: str, within: Sequence[Span]) -> Span | None:
    tongues = tongues_in(text)
    wanted = {language: Counter(terms(quote, language)) for _, language in tongues}
    candidates = dict.fromkeys(sentence for span in within for sentence in sentences(text, span))
    read_by = {one: next(its for span, its in tongues if one.start < span.end) for one in candidates}
    told = {one: Counter(terms(text[one.start : one.end], its)) for one, its in read_by.items() if wanted[its]}
    if not told:
        return None
    shared = {one: (wanted[read_by[one]] & found).total() for one, found in told.items()}
    best = max(told, key=lambda one: (shared[one], -told[one].total()))
    return best if shared[best] >= SHARE * wanted[read_by[best]].total() else None


def _occurrences(text: str, wanted: str, start: int, end: int) -> Iterator[int]:
    """Where `wanted` stands. Those that overlap the one before are left out, which keeps the time linear."""
    at = text.find(wanted, start, end)
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted), end)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether the span neither begins nor ends within a word."""
    return not (_is_within_word(text, start) or _is_within_word(text, end))


def _is_within_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _is_spaced_letter(text[at - 1]) and _is_spaced_letter(text[at])


def _is_spaced_letter(character: str) -> bool:
    """A digit, or a letter of a script with capitals: all of those put spaces between words, many others do not."""
    return character.isalnum() and unicodedata.category(character) != "Lo"


def _fold(text: str) -> _Folded:
    lower = text.translate(_LOWER_IN_PLACE).lower()
    codes = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kept = ~_ignored()[np.minimum(codes, _BEYOND)]
    return _Folded(codes[kept].tobytes().decode("utf-32-le", "surrogatepass"), np.flatnonzero(kept))


@lru_cache(maxsize=2)
def _fold_once(text: str) -> _Folded:
    """Of a document, whose quotes are looked up one after the other."""
    return _fold(text)


@lru_cache(maxsize=1)
def _ignored() -> npt.NDArray[np.bool_]:
    """Which characters do not count: spaces, punctuation and what cannot be seen. Beyond the first plane, none."""
    table = [unicodedata.category(chr(code))[0] in "PZC" for code in range(_BEYOND)]
    return np.array([*table, False])
