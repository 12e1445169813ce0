"""Answering a question from a text: the place that says most of what the question says, and what it has besides.

A text may say a thing in other words and another order, and in two sentences what the question says in one. So it is
the people asked about and the telling words that count, and not their order.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple
from weakref import WeakKeyDictionary

from redraft.builtin.concepts import LIGHT, concept, weight
from redraft.builtin.coverage.replying import Place, reply
from redraft.builtin.forms import Sought
from redraft.builtin.lexicon import PERSONAL
from redraft.builtin.source import Source
from redraft.builtin.wording import carries

# A place answers a question when it has this share of what the question says; less will do where it has the words that
# stand next to a gap.
_SUPPORT = 0.5
_SUPPORT_IN_PLACE = 0.4
# How much of what is said of the people, beside their names, has to be in the very sentence.
_OWN_SUPPORT = 0.35
# A name says less of what is asked than any other word: the people of a story are in every sentence of it.
_NAME_WEIGHT = 0.5
# What comes behind the verb and its object says where and how, and is often left out.
_CORE, _BESIDE_CORE = 4, 0.6
# A word of the sentence before counts less than one of its own; a name that a pronoun may stand for, nearly as much.
_FROM_BEFORE, _BY_PRONOUN = 0.4, 0.9
_PRONOUN_REACH = 3
_PLACES, _EVERYWHERE = 12, 2000
# Words that stand one behind the other in both make two texts more alike than as many apart.
_NEIGHBOURS = 10
_CLOSE = 3
_LONGEST_FILLER = 12


class Found(NamedTuple):
    """An answer and the lines that it rests on, the one that matters most first."""

    answer: str
    lines: list[int]


class _Terms(NamedTuple):
    """What a question says: what each telling word stands for with its weight, and the people."""

    of_words: Mapping[str, float]
    people: Sequence[frozenset[str]]
    pair: bool
    """Both of `people` have to be there."""

    @property
    def heavy(self) -> frozenset[str]:
        """What few texts speak of."""
        return frozenset(one for one, weighed in self.of_words.items() if weighed > LIGHT)

    @property
    def total(self) -> float:
        return sum(self.of_words.values()) + _NAME_WEIGHT * len(self.people)


class _Index:
    """What the words of every line of a source stand for, and which lines have it."""

    def __init__(self, source: Source) -> None:
        self.lines = [frozenset(concept(word.key) for word in line.words) for line in source.lines]
        self._holding: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(self.lines):
            for one in line:
                self._holding[one].append(number)

    def places(self, sought: Mapping[str, float], most: int) -> list[int]:
        """The lines that have most of `sought`, what few lines have counting for more."""
        votes: dict[int, float] = defaultdict(float)
        for one, weighed in sought.items():
            holding = self._holding.get(one, ())
            for number in holding:
                votes[number] += weighed * math.log(1 + len(self.lines) / len(holding))
        return [number for number, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:most]]


_INDICES: WeakKeyDictionary[Source, _Index] = WeakKeyDictionary()


def _index(source: Source) -> _Index:
    if source not in _INDICES:
        _INDICES[source] = _Index(source)
    return _INDICES[source]


def look_up(source: Source, sought: Sought) -> Found | None:
    """The answer to a question; None where no place says enough of what the question says, or nothing besides."""
    terms = _terms(sought)
    wanted = {**dict.fromkeys((concept(key) for key in sought.names), _NAME_WEIGHT), **terms.of_words}
    wanted = wanted or dict.fromkeys(map(concept, sought.keys), 1.0)
    index = _index(source)
    best: tuple[float, int, Found] | None = None
    everywhere = sought.form in ("identity", "fate", "relation")  # what is asked is not said again in the answer
    for number in index.places(wanted, _EVERYWHERE if everywhere else _PLACES):
        support, lines = _support(source, index, terms, number)
        if support < _SUPPORT_IN_PLACE or (best is not None and support < best[0]):
            continue
        steps = SequenceMatcher(None, sought.keys, source.lines[number].keys, autojunk=False).get_matching_blocks()
        shared = _NEIGHBOURS * max(step.size for step in steps) + sum(step.size for step in steps)
        if best is not None and (support, shared) <= best[:2]:
            continue
        place = Place(
            source.text_of(number), source.words_of(number), source.details_of(number), _name_before(source, number)
        )
        answer = _filler(place, sought, steps) if sought.gap is not None else ""
        if not answer and support >= _SUPPORT:
            answer = _named(place, sought) if sought.gap is not None else reply(place, sought, wanted.keys())
        if answer:
            best = (support, shared, Found(answer, lines))
    return best[2] if best else None


def _terms(sought: Sought) -> _Terms:
    weights: dict[str, float] = {}
    for key in sought.keys:
        if key not in sought.names and (weighed := weight(key)) and concept(key) not in weights:
            weights[concept(key)] = weighed * (1.0 if len(weights) < _CORE else _BESIDE_CORE)
    return _Terms(weights, sought.people, sought.form == "relation")


def _support(source: Source, index: _Index, terms: _Terms, number: int) -> tuple[float, list[int]]:
    """The share of what is asked that a line says, with the help of those before it; and the lines that it takes."""
    own = index.lines[number]
    before = index.lines[number - 1] if number else frozenset()
    said = sum(weighed for one, weighed in terms.of_words.items() if one in own)
    if said < _OWN_SUPPORT * sum(terms.of_words.values()) or not (own & terms.heavy or not terms.heavy):
        return 0.0, []
    helped = [(one, weighed) for one, weighed in terms.of_words.items() if one in before and one not in own]
    pointing = PERSONAL.search(source.text_of(number)) is not None
    people, lines = 0.0, [number]
    for at, name in enumerate(terms.people):
        counted, line = _named_near(source, name, number, pointing=pointing)
        if not counted and terms.pair:  # a thing has no name, and may be meant by another word for it
            counted, line = float({concept(key) for key in name} <= own), number
        if not counted and (at == 0 or terms.pair):
            return 0.0, []
        people += counted * _NAME_WEIGHT
        lines += [line] if counted and line not in lines else []
    if helped and number - 1 not in lines:
        lines.append(number - 1)
    share = said + _FROM_BEFORE * sum(weighed for _, weighed in helped) + people
    return share / (terms.total or 1.0), lines


def _named_near(source: Source, name: frozenset[str], number: int, *, pointing: bool) -> tuple[float, int]:
    """How far a line speaks of somebody: it has the name, or it has a pronoun and a line before it has the name."""
    if _names(source, name, number):
        return 1.0, number
    for before in range(number - 1, max(-1, number - 1 - _PRONOUN_REACH), -1) if pointing else ():
        if _names(source, name, before):
            return _BY_PRONOUN, before
    return 0.0, number


def _names(source: Source, name: frozenset[str], number: int) -> bool:
    """Whether a line has a name, or as much of it as does not speak of somebody else of that family."""
    own = {key for key in name if len(key) > 1} or name
    there = {word.key for word in source.lines[number].words} & own
    if not there:
        return False
    of = source.words_of(number)
    alike = [
        {word.key for word in of[detail.first : detail.last + 1] if len(word.key) > 1}
        for detail in source.details_of(number)
        if detail.kind == "name"
    ]
    meeting = [one for one in alike if one & own]
    return not meeting or any(one <= own or own <= one for one in meeting)


def _name_before(source: Source, number: int) -> str:
    """The first name of the line before, for which a pronoun is likely to stand."""
    if not number:
        return ""
    names = [detail for detail in source.details_of(number - 1) if detail.kind == "name" and detail.sure]
    return source.text_of(number - 1)[names[0].start : names[0].end] if names else ""


def _filler(place: Place, sought: Sought, blocks: Sequence[tuple[int, int, int]]) -> str:
    """What stands between the words before the gap and those after it, where they are there."""
    if sought.gap is None:
        return ""
    text, of = place.text, place.of
    first, end = 0, len(of)
    held = False
    for here, there, size in blocks:
        before = min(size, max(0, sought.gap - here))
        if before:
            first = there + before
            held = sought.gap - here - before < _CLOSE and (before > 1 or carries(sought.keys[here]))
        if size > before:
            end = there + before
            held |= here + before - sought.gap < _CLOSE and (size - before > 1 or carries(sought.keys[here + before]))
            break
    if not held or not 0 < end - first <= _LONGEST_FILLER:
        return ""
    inside = [known for known in place.details if known.kind == sought.wants and known.first >= first]
    close = [known for known in inside if known.last < end and min(known.first - first, end - 1 - known.last) < _CLOSE]
    return ", ".join(text[known.start : known.end] for known in close)


def _named(place: Place, sought: Sought) -> str:
    """The names or numbers of a line that the question has not."""
    known = set(sought.keys)
    fresh = (
        place.text[detail.start : detail.end]
        for detail in place.details
        if detail.kind == sought.wants and not {word.key for word in place.of[detail.first : detail.last + 1]} & known
    )
    return ", ".join(fresh)
