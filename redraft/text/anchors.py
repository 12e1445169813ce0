"""What stays the same of a text in any language: its numbers and names. And words that point back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from math import ceil

from redraft.text.languages import ENGLISH, is_foreign
from redraft.text.sentences import sentences

_POINTING = re.compile(
    r"\b(?:he|she|they|him|her|them|his|hers|their|theirs|himself|herself|themselves)\b"
    r"|^\W*(?:it|its|this|that|these|those|such|here|there|both|neither|another|the (?:other|latter|former|same))\b",
    re.IGNORECASE,
)


def points_back(sentence: str, language: str = ENGLISH) -> bool:
    """Whether a sentence of a text in a language may need those before it to be understood."""
    return not is_foreign(language) and bool(_POINTING.search(sentence))


# Of so many names and numbers of one text one has to be in the other.
_ONE_OF = 10
# Where more of the words than this have capitals, as nouns have in German, capitals do not tell names.
_COMMON = 0.2
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f ’']\d{3})*(?!\d)")
_IDEOGRAPHS = "〇一二三四五六七八九"
_COUNTED = re.compile(f"[{_IDEOGRAPHS}]{{2,}}")
_WORD = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]+|[\u0400-\u04ff]+|[\u0370-\u03ff]+|[\u30a1-\u30fa\u30fc]+")
_SYLLABLES = re.compile("[\u3041-\u30fa\u30fc]")
_SHORTEST = 3
# By this many letters a name is the same in whichever case of the grammar it stands.
_STEM = 4
# How consonants are written for one another, from one script to another; those that come and go are left out.
_SOUNDS = str.maketrans("bwlqgczjx", "vvrkkssss", "aeiouyhf'")
_SOFT_C = re.compile(r"c(?![eiy])")
_CONSONANTS = re.compile("(?:E(?=[^AEIOUY]$))?([^AEIOUY]*)")


def carries(text: str, source: str) -> bool | None:
    """Whether a text has numbers or names of its source, as its translation has; None where there are none."""
    numbers = _numbers(source)
    names, common = _names(source)
    if not _can_be_read(text):
        names = set()
    wanted = len(numbers) + len(names)
    if not wanted:
        return None
    own, _ = _names(text)
    found = len(numbers & _numbers(text)) + sum(any(_same(one, other) for other in own) for one in names)
    return found >= (1 if common else ceil(wanted / _ONE_OF))


def _numbers(text: str) -> set[str]:
    """The numbers of two digits and more; a smaller one may be that of an item, and is written in words besides."""
    found = {"".join(str(unicodedata.decimal(one)) for one in run if one.isdecimal()) for run in _NUMBER.findall(text)}
    found |= {"".join(str(_IDEOGRAPHS.index(one)) for one in run) for run in _COUNTED.findall(text)}
    return {one for one in found if len(one) > 1}


def _names(text: str) -> tuple[set[str], bool]:
    """The names, and whether so many words have capitals that they may be anything."""
    words = [word for span in sentences(text) for word in _within(text[span.start : span.end])]
    names = {word for word in words if len(word) >= _SHORTEST and (word[0].isupper() or _SYLLABLES.match(word))}
    cased = [word for word in words if not _SYLLABLES.match(word)]
    return names, sum(word[0].isupper() for word in cased) > _COMMON * len(cased)


def _within(sentence: str) -> Iterator[str]:
    """The words of a sentence but the first of one that has capitals, which every such sentence begins with."""
    for place, word in enumerate(_WORD.findall(sentence)):
        if place or _SYLLABLES.match(word):
            yield word


def _can_be_read(text: str) -> bool:
    """Whether names stand out in a text: most of its letters have capitals, or there are syllables among them."""
    letters = [one for one in text if one.isalpha()]
    cased = sum(one.lower() != one.upper() for one in letters)
    return bool(_SYLLABLES.search(text)) or 2 * cased > len(letters)


def _same(one: str, other: str) -> bool:
    if _script(one) == _script(other):
        first, second = _plain(one)[:_STEM], _plain(other)[:_STEM]
        return first.startswith(second) or second.startswith(first)
    first, second = sorted((_sounds(one), _sounds(other)), key=len)
    return len(first) > 1 and len(second) - len(first) <= 1 and second.startswith(first)


def _script(word: str) -> str:
    return unicodedata.name(word[0]).partition(" ")[0]


def _plain(word: str) -> str:
    """A word in small letters without accents, which are no part of a syllable's sign."""
    if _SYLLABLES.match(word):
        return word
    return "".join(one for one in unicodedata.normalize("NFD", word.casefold()) if not unicodedata.combining(one))


def _sounds(word: str) -> str:
    """The consonants of a word, as far as scripts agree on them, each once where it stands twice in a row."""
    latin = "".join(_latin(one) for one in _plain(word))
    heard = _SOFT_C.sub("k", latin.replace("ch", "s")).translate(_SOUNDS)
    return "".join(key for key, _ in groupby(heard))


def _latin(letter: str) -> str:
    """A letter by what Unicode calls it: Ж is CYRILLIC CAPITAL LETTER ZHE."""
    if letter.isascii():
        return letter
    *before, name = unicodedata.name(letter, "").split() or [""]
    if name in ("SIGN", "MARK") or before[-2:] == ["LETTER", "SMALL"]:
        return ""
    # EN and ES are consonants as well as BE and ZHE.
    found = _CONSONANTS.match(name)
    return found[1].lower() if found else ""
