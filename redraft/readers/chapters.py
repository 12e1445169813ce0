"""Which sections of a document are its chapters, and by which numbers people call them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from redraft.document import Document, Section

_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth"
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_IN_WORDS = {word: at for lot in (_WORDS, _ORDINALS) for at, word in enumerate(lot.split(), 1)} | _TENS
_NAMED = re.compile(
    r"(?:chapter|kapitel|chapitre|cap[íi]tulo|capitolo|hoofdstuk|rozdział|kapitola|глава|stave|canto)\s+(?:the\s+)?"
    r"([\w-]+)|第([\d一二三四五六七八九十百]+)[章回]",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(\d{1,3}|[IVXLC]{1,7})(?:[.:)—–-]?\s|[.:)—–-]?\Z)")
_OTHER = re.compile(
    r"(?:(?:table of )?contents|index|notes|endnotes|footnotes|appendix.*|preface|foreword|introduction|prologue"
    r"|epilogue|afterword|acknowledge?ments|dedication|bibliography|references|glossary|copyright|about the author"
    r"|conclusion)\b",
    re.IGNORECASE,
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_KANJI = {sign: at for at, sign in enumerate("一二三四五六七八九十", 1)}


class Chapter(NamedTuple):
    """A chapter, and the number by which it is called: as printed, else the how-many-eth it is."""

    number: int
    section: Section


def chapters(document: Document) -> list[Chapter]:
    """The chapters of a document in their order: the sections that are called so, else those of the outermost rank."""
    for pattern in (_NAMED, _NUMBERED):
        named = [(one, pattern.match(one.title)) for one in document.sections if one.title != document.title]
        found = [(one, number_of(next(filter(None, match.groups())))) for one, match in named if match]
        level = Counter(one.level for one, number in found if number is not None).most_common(1)
        told = [(one, number) for one, number in found if number is not None and one.level == level[0][0]]
        if len(told) > 1 or (told and pattern is _NAMED):
            numbers = [number for _, number in told]
            as_printed = len(set(numbers)) == len(numbers)
            return [Chapter(number if as_printed else at, one) for at, (one, number) in enumerate(told, 1)]
    return [Chapter(at, one) for at, one in enumerate(_outermost(document), 1)]


def _outermost(document: Document) -> Sequence[Section]:
    """The sections of the outermost rank that has several, without those that are no chapters by their titles."""
    for level in sorted({one.level for one in document.sections}):
        found = [one for one in document.sections if one.level == level and one.title != document.title]
        if len(found) > 1:
            return [one for one in found if not _OTHER.match(one.title)]
    return []


def number_of(text: str) -> int | None:
    """The number that a text is: in figures, Roman ones as well, or an English word."""
    plain = text.casefold().strip()
    if plain.isascii() and plain.isdigit():
        return int(plain) if len(plain) < 6 else None
    if plain in _IN_WORDS:
        return _IN_WORDS[plain]
    tens, _, ones = plain.partition("-")
    if tens in _TENS and ones in _IN_WORDS:
        return _TENS[tens] + _IN_WORDS[ones]
    return _roman(plain) or _kanji(plain)


def _roman(text: str) -> int | None:
    if not text or set(text) - _ROMAN.keys():
        return None
    values = [_ROMAN[letter] for letter in text]
    return sum(
        -value if any(later > value for later in values[at + 1 : at + 2]) else value for at, value in enumerate(values)
    )


def _kanji(text: str) -> int | None:
    if not text or set(text) - {*_KANJI, "百"} or "百" in text:
        return None
    tens, mark, ones = text.partition("十")
    if not mark:
        return _KANJI[text] if len(text) == 1 else None
    return 10 * (_KANJI.get(tens, 1)) + _KANJI.get(ones, 0)
