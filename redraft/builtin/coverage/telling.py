"""Reading an excerpt for what can be asked about it: what it tells, of whom, and what it comes back to."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from redraft.builtin.concepts import concept
from redraft.builtin.details import TITLES, details
from redraft.builtin.grammar import acts
from redraft.builtin.lexicon import FIRST_PERSON, PERSONAL, SECOND_PERSON
from redraft.builtin.prose import LAST_RESORT, finish, plain, read
from redraft.builtin.wording import keys, words
from redraft.text.ranking import rank
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors

_ADRIFT = 0.1
# A pronoun before any name has to be guessed at; so has who speaks to whom in direct speech.
_VAGUE = 0.3
_SPOKEN = 0.02
_FEWEST_WORDS, _MOST_WORDS, _MOST_QUOTED = 6, 60, 400
_MARKS_OF_SPEECH = re.compile(r"[\"“”]|(?<!\w)['‘](?=\w)|(?<=[.,!?])['’](?!\w)")
_ENDS_WITHIN = re.compile(
    r"(?<=[a-z0-9)][.!?])(?<!Mr\.)(?<!Mrs\.)(?<!Dr\.)(?<!St\.)(?<!No\.)(?<!Vol\.)(?<!Lt\.)(?<!Col\.) (?=[A-Z])"
)
_FEWEST_SPOKEN = 4
_BLOCK, _MOST_BLOCKS = 40, 1000
_PAIRS = 4
_UNRELATED = 0.1
_LONGEST_VERB = 20
_SPOKEN_OR_ASIDE = re.compile(r"[\"“”«»「」()\[\]?]|(?<!\w)['‘]\w")
_POINTS = re.compile(r"\b(?:it|him|them|hers|theirs|this|these|those|that[.,;])(?!\w)", re.IGNORECASE)


class Told(NamedTuple):
    """A sentence of the excerpt: as it stands there, on one line, where it is, and what it is worth asking about."""

    quote: str
    text: str
    place: float
    worth: float
    clear: bool
    """Nothing in it has to be guessed at."""
    follows: bool
    """It stands directly behind the one before it, in the same paragraph."""


def told_in(excerpt: str) -> list[Told]:
    """The sentences of the excerpt that can be asked about."""
    judged = {sentence.text: sentence for sentence in read([excerpt])}
    if not judged:
        return []
    ranks = dict(zip(judged, rank(SentenceVectors(list(judged))), strict=True))
    told: list[Told] = []
    end = 0
    for span in sentences(excerpt):
        quote = excerpt[span.start : span.end]
        text = finish(plain(quote))
        sentence = judged.get(text)
        if sentence and sentence.standing > LAST_RESORT and _FEWEST_WORDS <= sentence.words <= _MOST_QUOTED:
            clearness = _clearness(text) * (_ADRIFT if sentence.leans else 1)
            worth = float(ranks[text]) * sentence.standing * clearness
            follows = bool(told) and "\n\n" not in excerpt[end : span.start]
            told.append(Told(quote, text, span.start / len(excerpt), worth, clearness == 1, follows))
        end = span.end
    return told


def _clearness(text: str) -> float:
    """How well a question made of a sentence would be understood by somebody who has only the question: 1 is best."""
    pointing = PERSONAL.search(text)
    named = next((detail.start for detail in details(text, words(text)) if detail.kind == "name"), len(text))
    drawbacks = (
        pointing and pointing.start() < named,
        _POINTS.search(text),
        FIRST_PERSON.search(text) or SECOND_PERSON.search(text),
    )
    return float(_VAGUE ** sum(map(bool, drawbacks))) * (_SPOKEN if _SPOKEN_OR_ASIDE.search(text) else 1.0)


def parts_of(text: str) -> list[str]:
    """What a sentence says, and the sentences that somebody says in it, each without the quotation marks."""
    pieces = [part.strip(" ,") for piece in _MARKS_OF_SPEECH.split(text) for part in _ENDS_WITHIN.split(piece)]
    return [piece for piece in pieces if _FEWEST_SPOKEN <= len(piece.split()) <= _MOST_WORDS]


class Echo:
    """How often things are spoken of together: what matters in a story is come back to."""

    def __init__(self, excerpt: str) -> None:
        found = words(excerpt)
        size = max(_BLOCK, -(-len(found) // _MOST_BLOCKS))
        self._blocks: Counter[str] = Counter()  # for each thing a number with a bit for each block that has it
        for number, first in enumerate(range(0, len(found), size)):
            for one in {concept(word.key) for word in found[first : first + size]}:
                self._blocks[one] |= 1 << number

    def of(self, one: str) -> float:
        """How often something is spoken of."""
        return math.log1p(self._blocks[one].bit_count())

    def of_all(self, telling: Sequence[str]) -> float:
        """How often the pairs among some things are spoken of together, those that are so most often counting."""
        pairs = [(self._blocks[one] & self._blocks[other]).bit_count() for one, other in combinations(telling, 2)]
        return sum(math.log(max(1, count)) for count in sorted(pairs, reverse=True)[:_PAIRS]) / _PAIRS + _UNRELATED


def names_in(told: Sequence[Told]) -> set[str]:
    """The words of names that stand within sentences."""
    return {
        key
        for sentence in told
        for detail in details(sentence.text, words(sentence.text))
        if detail.kind == "name" and detail.start > 0 and detail.sure
        for key in keys(sentence.text[detail.start : detail.end])
    }


def people_in(excerpt: str) -> set[str]:
    """The names of those who speak, think, come and go."""
    found = words(excerpt)
    people: set[str] = set()
    for detail in details(excerpt, found):
        own = {word.key for word in found[detail.first : detail.last + 1]}
        before = excerpt[found[detail.first - 1].start : found[detail.first - 1].end] if detail.first else ""
        behind = excerpt[detail.end : detail.end + _LONGEST_VERB].split()[:1]
        if detail.kind == "name" and (own & TITLES or (behind and acts(before, behind[0]))):
            people |= own - TITLES
    return people
