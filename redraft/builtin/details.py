"""The names and numbers in a sentence: what makes it false when it is wrong, however well all else reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from redraft.text.word_keys import DAYS, MONTHS, Word, carries, is_negation, is_number, listed

DetailKind = Literal["name", "number"]

# Between the words of one name ("Mr. Philip Dunne", "Lomax & Dunne"), and of one date or number ("3 March, 1924").
_WITHIN_NAME = re.compile(r"\.? |-| & |\.(?=\w)|['’]s? |['’]")
_WITHIN_NUMBER = re.compile(r"[.,:/-]? ?| - ")
_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Dr|St|Prof|Rev|Capt|Col|Gen|Lt|Sgt|Jr|Sr|[A-Z])\. ?$")
_OPENS = re.compile(r"(?:^|[.!?:;…]['\"”’)]*\s+|[\"“‘«(\[*_#-]\s*)$")
_COMMON_ENDING = re.compile(r"(?:ly|ing|ed|tion|ness|ment|ity|[^s]s|thing|body|one|where|ever)$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<=\w)['’]s?$")
TITLES = listed("mr mrs ms miss dr sir lady lord king queen captain professor father mother sister brother")
# Too loose in meaning to be asked for: "one of them", "at first", "a second later".
_LOOSE = listed("one first second half quarter once twice dozen")
_LONGEST_OPENING, _LONGEST_NUMBER = 12, 12
_MAGNITUDES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}


class Detail(NamedTuple):
    """A name or number: its kind, where it stands, and which of the sentence's words it takes up."""

    kind: DetailKind
    start: int
    end: int
    first: int
    last: int
    sure: bool
    """Not so where it is a lone word that may owe its capital to the beginning of a sentence."""


def details(text: str, of: Sequence[Word]) -> list[Detail]:
    """The names and numbers among the words `of` the sentence `text`, in order. A date is a number."""
    kinds = _kinds(text, of)
    found: list[Detail] = []
    at = 0
    while at < len(of):
        kind = kinds[at]
        if kind is None:
            at += 1
            continue
        last = at
        while last + 1 < len(of) and kinds[last + 1] == kind and _joined(text, kind, of[last], of[last + 1]):
            last += 1
        sure = kind == "number" or last > at or not _opens_as_common_word(text, of[at])
        if last == at and of[at].key in TITLES:
            at += 1
            continue
        possessive = _POSSESSIVE.search(text, of[last].start, of[last].end)
        end = possessive.start() if possessive else of[last].end
        found.append(Detail(kind, of[at].start, end, at, last, sure))
        at = last + 1
    return found


def amounts(keys: Iterable[str]) -> frozenset[str]:
    """The values of numbers that stand together: 22 of "twenty-two", 1500 of "one thousand five hundred", "1,500"."""
    found: set[str] = set()
    number = 0
    for key in (*keys, ""):
        figure = int(key) if key.isdecimal() and len(key) < _LONGEST_NUMBER else 0
        if number and key in _MAGNITUDES:
            counted = number % 1_000 if key == "hundred" else number
            number += counted * (_MAGNITUDES[key] - 1)
        elif figure and number and number % 10 ** len(key) == 0:
            number += figure
        elif figure and 0 < number < 1_000_000 and len(key) == 3:
            number = number * 1_000 + figure
        else:
            found |= {str(number)} if number else set()
            found |= {key} if key and not figure else set()
            number = figure
    return frozenset(found)


def _kinds(text: str, of: Sequence[Word]) -> list[DetailKind | None]:
    """What each word may be part of."""
    kinds: list[DetailKind | None] = []
    for at, word in enumerate(of):
        surface = text[word.start : word.end]
        capital = surface[0].isupper()
        beside_figure = any(near.key[0].isdigit() for near in of[max(0, at - 1) : at + 2])
        no_name = surface in ("I", "O", "Vol") or is_negation(word.key) or is_number(word.key)
        dated = surface.lower() in MONTHS | DAYS and (capital or beside_figure)
        if dated or (is_number(word.key) and surface.lower() not in _LOOSE):
            kinds.append("number")
        elif capital and (carries(word.key) or word.key in TITLES) and not no_name:
            kinds.append("name")
        else:
            kinds.append(None)
    return kinds


def _joined(text: str, kind: DetailKind, word: Word, following: Word) -> bool:
    if following.start <= word.start:
        return True
    between = text[word.end : following.start]
    if kind == "number":
        return bool(_WITHIN_NUMBER.fullmatch(between))
    if between.startswith(".") and not _TITLE.search(text[word.start : following.start]):
        return False
    return bool(_WITHIN_NAME.fullmatch(between))


def _opens_as_common_word(text: str, word: Word) -> bool:
    """Whether a lone word has its capital from the beginning of a sentence, and looks like no name."""
    surface = text[word.start : word.end]
    before = text[max(0, word.start - _LONGEST_OPENING) : word.start]
    opens = _OPENS.search(before) and not _TITLE.search(before)
    return bool(opens and _COMMON_ENDING.search(surface))
