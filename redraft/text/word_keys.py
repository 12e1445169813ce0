"""Keys of words by which texts can be compared, regardless of spelling, inflection and tokenization."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from redraft.lazy import pattern
from redraft.text.languages import ENGLISH, is_foreign
from redraft.text.vectors import stop_words
from redraft.text.words import UNSPACED

_WORD = pattern(
    rf"\d+(?:(?:st|nd|rd|th)(?![^\W_]))?|[{UNSPACED}]|[^\W\d_{UNSPACED}][^\W_{UNSPACED}]*(?:['’][^\W_{UNSPACED}]+)*"
)
_PART = pattern("[^'’]+")
_ORDINAL = pattern(r"(\d+)(?:st|nd|rd|th)")
_CONTRACTION = pattern(r"^(.+?)['’](s|t|ll|re|ve|d|m)$")
_TAILS: Mapping[str, tuple[str, ...]] = {
    "s": (),
    "ll": ("will",),
    "re": ("are",),
    "ve": ("have",),
    "d": ("would",),
    "m": ("am",),
}
_BEFORE_NOT = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_APOSTROPHES = frozenset("'’")
_WHOLE = {"cannot": ("can", "not"), "n't": ("not",), "n’t": ("not",)}


def listed(text: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(text.split())


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_NUMERALS = {word: str(value) for value, word in enumerate(_ONES.split())} | {
    word: str(10 * value) for value, word in enumerate(_TENS.split(), 2)
}
_MAGNITUDES = listed("hundred thousand million billion trillion dozen")
_ORDINALS = listed(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth half quarter twice"
)
NEGATIONS = listed("not never no none nobody nothing neither nor without nowhere")
"""The keys that negate a statement."""
# Quantities and negations, which stop word lists include although they carry meaning.
_TELLING = NEGATIONS | _NUMERALS.keys()
_ALSO_STOPPED = listed("say says said mr mrs ms dr u does did upon onto unto shall till ago though")

MONTHS = listed("january february march april may june july august september october november december")
DAYS = listed("monday tuesday wednesday thursday friday saturday sunday")


class Word(NamedTuple):
    """A word of a text: its key and its span."""

    key: str
    start: int
    end: int


def words(text: str, language: str = ENGLISH) -> list[Word]:
    """Return the words of `text`.

    In English a contraction gives two, a possessive ending none; in other languages an apostrophe separates words, and
    each has its own key.
    """
    if is_foreign(language):
        return [
            Word(_plain(part.group()), match.start() + part.start(), match.start() + part.end())
            for match in _WORD.finditer(text)
            for part in _PART.finditer(match.group())
        ]
    return [
        Word(key, match.start(), match.end())
        for match in _WORD.finditer(text)
        for key in _keys(match.group(), text[match.start() - 1 : match.start()] in _APOSTROPHES)
    ]


def keys(text: str, language: str = ENGLISH) -> list[str]:
    """Return the keys of the words of `text`."""
    return [word.key for word in words(text, language)]


@lru_cache(maxsize=100_000)
def _keys(token: str, ending: bool) -> tuple[str, ...]:
    """Return the keys of one token; `ending` is whether an apostrophe precedes it, as in tokenized texts."""
    token = _plain(token)
    if token in _WHOLE:
        return _WHOLE[token]
    if ending and token in _TAILS:
        return _TAILS[token]
    if short := _CONTRACTION.match(token):
        base, tail = short.groups()
        if tail in _TAILS:
            return (_key(base), *_TAILS[tail])
        if base.endswith("n"):
            base = base[:-1]
            return (_key(_BEFORE_NOT.get(base, base)), "not")
    return (_key(token),)


@lru_cache(maxsize=100_000)
def _plain(token: str) -> str:
    """Return the token normalized and in lower case."""
    return (token if token.isascii() else unicodedata.normalize("NFKC", token)).casefold()


def _key(token: str) -> str:
    """Return the key of a number, or a word without common English endings, if enough of it is left."""
    ordinal = _ORDINAL.fullmatch(token)
    if token[0].isdigit() or token in _NUMERALS:
        return ordinal[1] if ordinal else _NUMERALS.get(token, token)
    if len(token) < 4 or token in stop_words() or token in _ALSO_STOPPED or not token.isascii():
        return token
    if token.endswith("ies") and len(token) > 4:
        token = token[:-3] + "y"
    elif token.endswith("s") and not token.endswith(("ss", "us", "is")):
        token = token[:-1]
    if token.endswith("ied") and len(token) > 4:
        return token[:-3] + "y"
    for ending in ("ing", "ed"):
        base = token.removesuffix(ending)
        if base != token and len(base) > 2 and any(vowel in base for vowel in "aeiouy"):
            if base in NEGATIONS:  # "noted" is not "not"
                return base + "e"
            doubled = len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz"
            token = base[:-1] if doubled else base
            break
    return token[:-1] if token.endswith("e") and len(token) > 4 else token


def is_number(key: str) -> bool:
    """Return whether it is a quantity, an ordinal or a year."""
    return key[0].isdigit() or key in _MAGNITUDES or key in _ORDINALS


def carries(key: str, language: str = ENGLISH) -> bool:
    """Return whether it carries meaning, as names, numbers, negations and most words do, but articles do not."""
    if is_foreign(language):
        return key not in stop_words(language)
    return key in _TELLING or not (key in stop_words() or key in _ALSO_STOPPED)


def telling(text: str, language: str = ENGLISH) -> frozenset[str]:
    """Return the keys of the words of `text` that carry meaning."""
    return frozenset(key for key in keys(text, language) if carries(key, language))
