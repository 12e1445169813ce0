"""Counting words and the units that texts are measured in, also in scripts without spaces."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from redraft.patterns import pattern

UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese, Japanese and Thai write no spaces: there every letter counts as a word, as word processors count them."""
_WORD = pattern(rf"[{UNSPACED}]|[^\W{UNSPACED}]+(?:['’\-.,][^\W{UNSPACED}]+)*")
_UNSPACED_LETTER = pattern(f"[{UNSPACED}]")
_BEGINNING = 20_000
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


def count_words(text: str) -> int:
    """The number of words in `text`: "the ship's 3.5-ton anchor" has four."""
    return sum(1 for _ in _WORD.finditer(text))


def word_ends(text: str) -> list[int]:
    """Where the words of `text` end."""
    return [word.end() for word in _WORD.finditer(text)]


def is_unspaced(text: str) -> bool:
    """Whether most words of a text are letters of a script that puts no spaces between them; its beginning tells."""
    beginning = text[:_BEGINNING]
    return 2 * len(_UNSPACED_LETTER.findall(beginning)) > count_words(beginning)


def has_words(text: str) -> bool:
    """Whether there is a word in `text`."""
    return bool(_WORD.search(text))


def words_key(text: str) -> str:
    """The same for texts that differ in nothing but capitals, punctuation and spaces."""
    return " ".join(word.casefold() for word in _WORD.findall(text))


def same_words(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but capitals, punctuation and spaces."""
    return words_key(one) == words_key(other)


@lru_cache(maxsize=8)
def stemmer(language: str) -> Callable[[str], str]:
    """Stems words of a language, each once; where no rules are known for it they are left as they are."""
    import snowballstemmer

    name = _STEMMERS.get(language)

    @lru_cache(maxsize=200_000)
    def stem(word: str) -> str:
        # A stemmer keeps the word that it is at, and several threads may stem at once.
        return str(snowballstemmer.stemmer(name).stemWord(word))

    return stem if name else str


_WORD_OF_UNITS = pattern(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
# Underscores stand for italics in plain text, so they are marks around a word and no part of it.
_UNIT = pattern(rf"{_WORD_OF_UNITS.pattern}|[^\w\s]|_")
# Composing letters takes time quadratic in the accents upon each of them. A grapheme joiner parts a row of accents, as
# Unicode's stream-safe text has it.
_STACK = pattern(r"[^\w\s\x00-\x7f]{30}(?=[^\w\s\x00-\x7f])")
_JOINER = "\u034f"
# A long text is read in parts of about this many characters, which end with a line or a word.
_BLOCK = 1_000_000
_BLANK = pattern(r"\s")


@dataclass(frozen=True, slots=True)
class Indexed:
    """A long text in little room: the number of each unit, and the numbers in the order of the text."""

    numbers: Mapping[str, int]
    places: npt.NDArray[np.int32]


def units(text: str) -> list[str]:
    """The words and marks of `text`: "The _Orion_ sank!" has six of them."""
    return [unit for block in _blocks(text) for unit in _UNIT.findall(_folded(block))]


def words(text: str) -> list[str]:
    """The words of `text` without its marks."""
    return [word for block in _blocks(text) for word in _WORD_OF_UNITS.findall(_folded(block))]


def indexed(text: str) -> Indexed:
    """The words and marks of a long text by number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    number = numbers.__getitem__
    parts = (np.fromiter(map(number, _UNIT.findall(_folded(block))), dtype=np.int32) for block in _blocks(text))
    places = np.concatenate([np.zeros(0, dtype=np.int32), *parts])
    return Indexed(dict(numbers), places)


def ngrams(found: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """All runs of `size` units, in order."""
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
    """In lower case, and each letter with its accents in one form."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    return unicodedata.normalize("NFC", _STACK.sub(rf"\g<0>{_JOINER}", folded)).replace(_JOINER, "")
