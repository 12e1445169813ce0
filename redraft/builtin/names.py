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


# What points to the text before it: an opening such as "But" or "This", someone unnamed, or a time seen from there.
_BACK = re.compile(
    r"^(?:but|and|or|so|nor|yet|thus|hence|therefore|however|moreover|instead|otherwise|besides|for|also|too|perhaps"
    r"|maybe|indeed|well|yes|no|only|because|which|who|here|there,|this|that|these|those|such|both|neither|one|some|all"
    r"|none|others|everybody|later|suddenly|finally|soon|again|still)\b|\b(?:this|these|those)\b(?! (?:who|of)\b)"
    r"|\b(?:of|to|by|for|with|like) that\b|,? too[,.!]|\b(?:such|another|of them)\b|\bthe (?:other|latter|former)s?\b"
    r"|\b(?:the|this|that) (?:[a-z-]+ )?(?:man|boy|woman|girl|person|child|stranger|voice|couple)s?\b"
    r"(?! (?:who|whose|of|with|in|from|named|called)\b)"
    r"|\b(?:that|the (?:next|following|previous|same)) (?:moment|hour|day|night|morning|evening|week|month|year)\b"
    r"|\b(?:then|afterwards?|meanwhile|now|ago|yesterday|tomorrow|today|tonight)\b|\b\w+ (?:later|earlier)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:(?P<thing>they|theirs?|themselves|its?|itself)|(?P<object>him|them|her(?=[.,:;!?]|$| (?:to|and|in|on|at)\b))"
    r"|(?:s?he|his|hers?|himself|herself))\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b[A-Z][\w’'-]*[a-z](?<![’']s)(?:\.? [A-Z][\w’'-]*[a-z](?<![’']s))*|\b[Aa]n? [a-z-]{3,}")
_THING = re.compile(
    r"\b(?:an?|every|each|the|his|her|their|my|our|no|any|some|[A-Z]\w+[’']s) [\w-]{3,}|\b[A-Z]\w+ and "
)


def has_outside_reference(text: str) -> bool:
    """Return whether a sentence refers to someone, something or a time known only from the text before it, such as by a
    pronoun without an antecedent. An object needs two, as the subject of its clause is none."""
    if _BACK.search(text):
        return True
    for pronoun in _PRONOUN.finditer(text):
        antecedents = _NAMED.findall(text, 0, pronoun.start())
        if antecedents and text.startswith(antecedents[0]) and not carries(antecedents[0].lower()):
            del antecedents[0]
        if pronoun.lastgroup == "thing" and _THING.search(text, 0, pronoun.start()):
            continue
        if len(antecedents) < 1 + (pronoun.lastgroup == "object"):
            return True
    return False
