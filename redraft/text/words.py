"""Words, and the units in which texts are compared and measured, also in scripts without spaces."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from redraft.lazy import pattern
from redraft.text.sanitizer import one_line

UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese, Japanese and Thai have no spaces: there every letter counts as a word, as in word processors."""
WORD = pattern(rf"[{UNSPACED}]|[^\W{UNSPACED}]+(?:['’\-.,][^\W{UNSPACED}]+)*")
_UNSPACED_LETTER = pattern(f"[{UNSPACED}]")
_BEGINNING = 20_000
_SMALL_COST = 0.001
_STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}


def rounded(score: float) -> str:
    """Return a score with two digits, rounded down, so that it never looks like a goal that it misses."""
    return f"{int(score * 100 + 1e-9) / 100:.2f}"


def dollars(cost: float | None) -> str:
    """Return a cost in US dollars: with two decimals, or more if it is small. None is an unknown cost."""
    if not cost:
        return "unknown" if cost is None else "free"
    whole, _, rest = f"{cost:,.{2 if cost >= 1 else 4 if cost >= _SMALL_COST else 6}f}".partition(".")
    return f"${whole}.{rest.rstrip('0').ljust(2, '0')}"


def count_words(text: str) -> int:
    """Return the number of words in `text`: "the ship's 3.5-ton anchor" has four."""
    return sum(1 for _ in WORD.finditer(text))


def word_ends(text: str) -> list[int]:
    """Return the offsets at which the words of `text` end."""
    return [word.end() for word in WORD.finditer(text)]


def is_unspaced(text: str) -> bool:
    """Return whether most words of a text's beginning are letters of a script without spaces."""
    beginning = text[:_BEGINNING]
    return 2 * len(_UNSPACED_LETTER.findall(beginning)) > count_words(beginning)


def has_words(text: str) -> bool:
    """Return whether there is a word in `text`."""
    return bool(WORD.search(text))


def words_key(text: str) -> str:
    """Return a key that ignores capitals, punctuation and spaces."""
    return " ".join(word.casefold() for word in WORD.findall(text))


def same_words(one: str, other: str) -> bool:
    """Return whether two texts differ only in capitals, punctuation and spaces."""
    return words_key(one) == words_key(other)


@lru_cache(maxsize=8)
def stemmer(language: str) -> Callable[[str], str]:
    """Return a cached stemmer of a language; the identity if no rules are known."""
    import snowballstemmer

    name = _STEMMERS.get(language)

    @lru_cache(maxsize=200_000)
    def stem(word: str) -> str:
        # A stemmer is not thread-safe.
        return str(snowballstemmer.stemmer(name).stemWord(word))

    return stem if name else str


def count(number: int, what: str) -> str:
    """Return a number of things in words: 1 word, 2 words, 1,200 summaries."""
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("y") else f"{number:,} {what}s"


def spaced(name: str) -> str:
    """Return a name with spaces instead of underscores, on one line."""
    return one_line(name).replace("_", " ")


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
