"""Units of a text: words and signs, folded, as strings or as numbers, and their n-grams."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt

from redraft.lazy import pattern
from redraft.text.words import UNSPACED

_WORD = pattern(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")

# Underscores mark italics in plain text, so they are not part of a word.
_UNIT = pattern(rf"{_WORD.pattern}|[^\w\s]|_")

# Normalization is quadratic in the accents on a letter. A grapheme joiner limits that, as in Unicode's stream-safe text
# format.
_STACK = pattern(r"[^\w\s\x00-\x7f]{30}(?=[^\w\s\x00-\x7f])")

_JOINER = "\u034f"

# A long text is read in parts of about this many characters, which end with a line or a word.
_BLOCK = 1_000_000

_BLANK = pattern(r"\s")


@dataclass(frozen=True, slots=True)
class UnitIndex:
    """A long text as numbers: the number of each unit, and the numbers in text order."""

    numbers: Mapping[str, int]
    places: npt.NDArray[np.int32]


def units(text: str) -> list[str]:
    """Return the words and marks of `text`: "The _Orion_ sank!" has six of them."""
    return [unit for block in _blocks(text) for unit in _UNIT.findall(_folded(block))]


def words(text: str) -> list[str]:
    """Return the words of `text`."""
    return [word for block in _blocks(text) for word in _WORD.findall(_folded(block))]


def changed_words(one: str, other: str) -> set[str]:
    """Return the words by which two texts differ, in order: those of each that have no counterpart in the other."""
    first, second = words(one), words(other)
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    differing = (first[a:b] + second[c:d] for kind, a, b, c, d in blocks if kind != "equal")
    return {word for some in differing for word in some}


def indexed(text: str) -> UnitIndex:
    """Return the words and marks of a long text by number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    number = numbers.__getitem__
    parts = (np.fromiter(map(number, _UNIT.findall(_folded(block))), dtype=np.int32) for block in _blocks(text))
    places = np.concatenate([np.zeros(0, dtype=np.int32), *parts])
    return UnitIndex(dict(numbers), places)


def ngrams(found: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """Return all runs of `size` units, in order."""
    return zip(*(found[at:] for at in range(size)), strict=False)


def _blocks(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _BLOCK:
        found = _BLANK.search(text, start + _BLOCK)
        if found is None:
            break
        yield text[start : found.start()]
        start = found.end()
    yield text[start:] if start else text


def _folded(text: str) -> str:
    """Return the text in lower case with composed accents."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    return unicodedata.normalize("NFC", _STACK.sub(rf"\g<0>{_JOINER}", folded)).replace(_JOINER, "")
