"""Names and numbers in a sentence, and whether it can be understood alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from redraft.text.word_keys import DAYS, MONTHS, NEGATIONS, Word, carries, is_number, listed

DetailKind = Literal["name", "number"]

# Between the words of one name ("Mr. Philip Dunne", "Lomax & Dunne"), and of one date or number ("3 March, 1924").
_WITHIN_NAME = re.compile(r"\.? |-| & |\.(?=\w)|['’]s? |['’]")
_WITHIN_NUMBER = re.compile(r"[.,:/-]? ?| - ")
_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Dr|St|Prof|Rev|Capt|Col|Gen|Lt|Sgt|Jr|Sr|[A-Z])\. ?$")
_OPENS = re.compile(r"(?:^|[.!?:;…]['\"”’)]*\s+|[\"“‘«(\[*_#-]\s*)$")
_COMMON_ENDING = re.compile(r"(?:ly|ing|ed|tion|ness|ment|ity|[^s]s|thing|body|one|where|ever)$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<=\w)['’]s?$")
TITLES = listed("mr mrs ms miss dr sir lady lord king queen captain professor father mother sister brother")
# Too vague to ask for: "one of them", "at first", "a second later".
_LOOSE = listed("one first second half quarter once twice dozen")
_LONGEST_OPENING, _LONGEST_NUMBER = 12, 12
_MAGNITUDES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}


class Detail(NamedTuple):
    """A name or number: its kind, its place, and the words of the sentence that it spans."""

    kind: DetailKind
    start: int
    end: int
    first: int
    last: int
    sure: bool
    """False for a single word that may be capitalized only because it starts the sentence."""

    @property
    def words(self) -> slice:
        """Where its words stand among those of the sentence."""
        return slice(self.first, self.last + 1)


def details(text: str, of: Sequence[Word]) -> list[Detail]:
    """Return the names and numbers among the words `of` the sentence `text`, in order. Dates count as numbers."""
    kinds = _kinds(text, of)
    spans: list[Detail] = []
    at = 0
    while at < len(of):
        kind, last = kinds[at], at
        while kind and last + 1 < len(of) and kinds[last + 1] == kind and _joined(text, kind, of[last], of[last + 1]):
            last += 1
        if kind and (last > at or of[at].key not in TITLES):
            # A single word may be capitalized only because it starts the sentence.
            before = text[max(0, of[at].start - _LONGEST_OPENING) : of[at].start]
            opens = _OPENS.search(before) and not _TITLE.search(before)
            is_common = opens and _COMMON_ENDING.search(text[of[at].start : of[at].end])
            sure = kind == "number" or last > at or not is_common
            possessive = _POSSESSIVE.search(text, of[last].start, of[last].end)
            end = possessive.start() if possessive else of[last].end
            spans.append(Detail(kind, of[at].start, end, at, last, sure))
        at = last + 1
    return spans


def amounts(keys: Iterable[str]) -> frozenset[str]:
    """Return the values of adjacent number words: 22 of "twenty-two", 1500 of "one thousand five hundred"."""
    values: set[str] = set()
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
            values |= {str(number)} if number else set()
            values |= {key} if key and not figure else set()
            number = figure
    return frozenset(values)


def _kinds(text: str, of: Sequence[Word]) -> list[DetailKind | None]:
    """Return what each word may be part of."""
    kinds: list[DetailKind | None] = []
    for at, word in enumerate(of):
        surface = text[word.start : word.end]
        capital = surface[0].isupper()
        beside_figure = any(near.key[0].isdigit() for near in of[max(0, at - 1) : at + 2])
        no_name = surface in ("I", "O", "Vol") or word.key in NEGATIONS or is_number(word.key)
        is_name = capital and (carries(word.key) or word.key in TITLES) and not no_name
        dated = surface.lower() in MONTHS | DAYS and (capital or beside_figure)
        counted = is_number(word.key) and surface.lower() not in _LOOSE
        kinds.append("number" if dated or counted else "name" if is_name else None)
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


_CAPITALIZED = re.compile(r"\b[A-Z][\w’'-]*[a-z](?<![’']s)(?:\.? [A-Z][\w’'-]*[a-z](?<![’']s))*")
_PLACED = re.compile(r"\b(?:in|at|into|near|through|across|around|of|on|from|throughout|the) $", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:(?P<they>they|them|theirs?|themselves)|(?P<it>its?|itself)|(?:s?he|him|his|hers?|himself|herself))\b",
    re.IGNORECASE,
)
_OBJECT = re.compile(r"(?:him|them|her(?=[.,:;!?]|$| (?:to|and|in|on|at|with|from|for|up|out|back|that|the|an?)\b))")
_NEW_CLAUSE = re.compile(r"\b(?:that|who|which|when|while|as|because|if|until|where|what|how|whether|though)\b")
_MEN, _WOMEN = "man|boy|father|son|brother|husband|uncle|king|prince", "woman|girl|mother|daughter|sister|wife|queen"
_PERSON = re.compile(
    rf"\b(?:an?|the|one|his|her|their) (?:[a-z-]+ )?(?:{_MEN}|{_WOMEN}|person|child|stranger"
    r"|[a-z]{3,}(?:er|or|ist|ain))\b(?![’'])",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:[a-z]{3,}[^s’'\W]s|men|women|people|children|crew|family|both)\b|\b[A-Z]\w+(?: [A-Z]\w+)* and "
)
_THING = re.compile(r"\b(?:an?|every|each|the|his|her|their|my|our|no|any|some|[A-Z]\w+[’']s) [\w-]{3,}")

_SOMEBODY = re.compile(
    rf"\b(?:the|this|that) (?:[a-z-]+ )?(?:{_MEN}|{_WOMEN}|person|child|stranger|visitor|voice|couple|two|three)s?\b"
    r"(?! (?:who|whom|whose|of|with|in|from|named|called|on|behind|beside|that|which)\b)(?!-|(?-i: [A-Z]))"
    r"|\bthe (?:other|latter|former|same|rest|second|third|younger|older|elder)s?\b|\banother\b|\bof them\b"
    r"|^(?:both|neither|each|one|some|all|most|none|others|every(?:body|one)|nobody)\b(?! (?:of (?!the[ms]\b)|day))",
    re.IGNORECASE,
)
_UNIT = r"(?:moment|second|minute|hour|day|night|morning|evening|afternoon|week|month|year|time|winter|summer)s?"
_TIME = re.compile(
    rf"\b(?:that|this|these|those|the (?:next|following|previous|same|other)|(?:next|following|previous)) {_UNIT}\b"
    rf"|\bthe (?:day|night|morning|evening|afternoon)\b(?! (?:of|when|before|after)\b)|\b{_UNIT} (?:later|earlier)\b"
    r"|\b(?:then|afterwards?|meanwhile|now|ago|yesterday|tomorrow|today|tonight|once more|before long)\b"
    rf"|\b(?:after|within|in) (?:an?|another|some|several|a few|\w+) {_UNIT}\b(?! (?:of|in|at|on)\b)"
    r"|^(?:later|suddenly|instantly|immediately|abruptly|at (?:once|last)|finally|presently|soon|again|still)\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"^(?:but|and|or|so|nor|yet|thus|hence|therefore|however|moreover|furthermore|instead|otherwise|besides|for|also"
    r"|too|nevertheless|consequently|perhaps|maybe|anyway|indeed|well|yes|no|only|because|which|who|here|there,|this"
    r"|that|these|those|such)\b|\b(?:this|these|those)\b(?! (?:who|of)\b)|\b(?:of|to|by|for|with|like) that\b"
    r"|\bthat (?:kind|sort|way|was|is|had|would|could)\b|,? too[,.!]|\b(?:hers|theirs|mine|ours)\b|\bsuch\b|\bhere\b",
    re.IGNORECASE,
)


def has_outside_reference(text: str) -> bool:
    """Return whether a sentence refers to someone, something or a time known only from the text before it, such as by a
    pronoun without an antecedent."""
    if _BACK.search(text) or _SOMEBODY.search(text) or _TIME.search(text):
        return True
    for pronoun in _PRONOUN.finditer(text):
        start = pronoun.start()
        if pronoun.lastgroup:
            if (_SEVERAL if pronoun["they"] else _THING).search(text, 0, start) is None:
                return True
            continue
        # A person may be anybody before it but the subject of a clause in which the pronoun is the object.
        ends: list[int] = []
        for match in _CAPITALIZED.finditer(text, 0, start):
            first, *following = match.group().split()
            opens = match.start() == 0 and not following and first.lower() not in TITLES
            is_common = opens and (not carries(first.lower()) or _COMMON_ENDING.search(first))
            if not (is_common or first.lower() in MONTHS | DAYS or _PLACED.search(text, 0, match.start())):
                ends.append(match.end())
        ends += [match.end() for match in _PERSON.finditer(text, 0, start)]
        is_object = _OBJECT.match(text, start) and not (ends and _NEW_CLAUSE.search(text, ends[0], start))
        if not ends or (len(ends) == 1 and is_object):
            return True
    return False
