"""The sentences of a text that can stand as facts: short, self-contained, and in the words of the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from redraft.builtin.cast import Cast
from redraft.builtin.facts.statements import read_statement
from redraft.builtin.lexicon import FIRST_PERSON, GESTURE, SECOND_PERSON
from redraft.builtin.pointing import Pointer, anchored, pointers
from redraft.builtin.prose import LAST_RESORT, Sentence, first_clause, read
from redraft.text.languages import language_of
from redraft.text.ranking import rank
from redraft.text.vectors import SentenceVectors
from redraft.text.wording import listed
from redraft.text.words import count_words

_FEWEST_WORDS, _MOST_WORDS = 4, 45
_NO_FACT = re.compile(r"^(?:Then|Now|Its?)\b|[?!()\[\]…\"“”«»]|\.\.\.")
# What may point out of a fact, though not as its first word: "the stranger", "now", "it".
_TOLERABLE: frozenset[Pointer] = frozenset(["who", "when", "it"])
_LOOSE = re.compile(r"\b(?:him|them|theirs|this|these|those|there|here|then|so|such|it)\b", re.IGNORECASE)
# What a fact that names nobody is worth beside others, and one that speaks of something else, or of a gesture.
_NAMELESS, _ADRIFT = 0.6, 0.35
_STATIVE = listed(
    "be have know think seem believe love mean want need like hate own belong consist contain depend resemble"
    " hope fear wish suppose appear remain stand lie feel understand trust doubt matter deserve live lay sit"
)
# A fact that shares so much of the shorter of two says the same.
_SAME = 0.7


class Told(NamedTuple):
    """A sentence that can stand as a fact."""

    fact: str
    at: int
    """Which sentence of the text it is."""
    worth: float
    """How central it is, with an eye on how well it reads by itself."""
    happens: bool
    """Whether something happens, and it does not say how things are."""
    terms: frozenset[str]


def tell(excerpt: str) -> list[Told]:
    """What `excerpt` says that can be understood sentence by sentence, in its order; every sentence of a text that has
    no two such."""
    language = language_of(excerpt)
    found = read([excerpt], language)
    if not found:
        return []
    cast = Cast([one.text for one in found if not one.spoken])
    worths = list(map(float, rank(SentenceVectors([one.text for one in found]))))
    told: list[Told] = []
    for at, (sentence, elsewhere) in enumerate(zip(found, anchored(found, language), strict=True)):
        written = replace(sentence, text=elsewhere or sentence.text)
        if (elsewhere or pointers(sentence.text, cast) <= _TOLERABLE) and (fact := _fact(written)):
            told.append(_read(fact, at, worths[at]))
    return told if len(told) > 1 else [_read(one.text, at, worths[at]) for at, one in enumerate(found)]


def _fact(sentence: Sentence) -> str:
    """The sentence, or what of it can stand alone; nothing where it is no fact that is told of others."""
    text = sentence.unmarked
    if sentence.spoken or sentence.standing <= LAST_RESORT or _NO_FACT.search(text):
        return ""
    fact = first_clause(text)
    personal = FIRST_PERSON.search(text) or SECOND_PERSON.search(text)
    return fact if not personal and _FEWEST_WORDS <= count_words(fact) <= _MOST_WORDS else ""


def _read(fact: str, at: int, worth: float) -> Told:
    statement = read_statement(fact)
    adrift = _LOOSE.search(fact) or GESTURE.search(fact)
    worth *= (1.0 if statement.names else _NAMELESS) * (_ADRIFT if adrift else 1.0)
    happens = statement.verb is not None and statement.verb.plain not in _STATIVE
    return Told(fact, at, worth, happens, statement.terms)


def distinct(told: Sequence[Told]) -> list[Told]:
    """Those that say something that none before them says."""
    kept: list[Told] = []
    for one in told:
        shared = ((len(one.terms & other.terms), min(len(one.terms), len(other.terms))) for other in kept)
        if not any(both and both >= _SAME * shorter for both, shorter in shared):
            kept.append(one)
    return kept
