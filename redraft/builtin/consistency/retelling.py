"""Whether the passages say in other words what a sentence says: its telling words near together, and the same people.

A writer who puts things in words of their own keeps the names and the numbers, some of the telling words, and the
nouns of verbs and verbs of nouns. Where most of what tells is found within a few sentences, and those named there are
those whom the sentence names, the passages are taken to say it. That two people have changed places is not seen.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from redraft.builtin.consistency.aliases import Name, Names
from redraft.builtin.consistency.families import families_of, family
from redraft.builtin.consistency.statements import is_heading
from redraft.builtin.details import details
from redraft.builtin.forms import Claim
from redraft.builtin.lexicon import PERSONAL
from redraft.builtin.source import Source
from redraft.builtin.wording import carries, is_negation

# What a summary tells in one sentence takes a text up to so many.
_STRETCH = 6
# The lines looked at closely: those that share most.
_PLACES = 12
# What the rest of a sentence counts for a part of it, in finding the place and in weighing it.
_REST = 0.3
_NAME = 2.0
# The least share of what tells that is to be borne out, and how much less than at the best place that may be.
_LEAST = 0.25
_NEARLY_AS_GOOD = 0.7
# In a long text two words may come together by chance.
_FEWEST = 3
# With less the stretch that has most speaks of something else.
_ALIKE = 0.2
# Those named stand in the very lines that have this share of what is told of them there.
_WITH_NAME = 0.3
# Within how many lines the others are named whom the rest of the sentence is about.
_AROUND = 4
# For how many lines a pronoun goes on standing for those named last.
_LAST_NAMED = 3
_BESIDE = 2
# How far before a word what denies it may stand, where it is sought, and where it is not to be.
_DENIED_NEAR, _DENIED_JUST_BEFORE = 5, 2
# Verbs that say that something is not so, or does not happen.
_DENIALS = "refuse fail lack deny prevent avoid unable hardly stop miss forbid reject"


class _Told(NamedTuple):
    """A part of a sentence: what tells in it, what tells in the rest, and whom and how many they name."""

    words: frozenset[str]
    rest: frozenset[str]
    names: list[Name]
    other_names: list[Name]
    numbers: list[list[str]]
    denied: list[str]
    """What the part says is not so."""
    denies: bool
    """Whether anything in the part, be it a word such as "refuse", says that something is not so."""


class _Stretch(NamedTuple):
    """Some neighbouring lines: those that have anything of what is told, what they all have, and what that is worth."""

    core: list[int]
    words: frozenset[str]
    held: int
    """How many of the telling words and names of the sentence are there."""
    worth: float


class Retelling:
    """The lines of a source by the families of their telling words, and who is named in them."""

    def __init__(self, source: Source) -> None:
        self._source = source

    # Read at the first need: most sentences of a copied summary are found without.

    @cached_property
    def _families(self) -> list[frozenset[str]]:
        """The families of the telling words of each line."""
        return [
            frozenset() if is_heading(self._source.text_of(number)) else frozenset(_telling(line.keys))
            for number, line in enumerate(self._source.lines)
        ]

    @cached_property
    def _holders(self) -> dict[str, list[int]]:
        """The lines that have a word of a family."""
        holders: dict[str, list[int]] = defaultdict(list)
        for number, told in enumerate(self._families):
            for each in told:
                holders[each].append(number)
        return holders

    @cached_property
    def _named(self) -> list[list[Name]]:
        """Who is named in each line."""
        return [
            [
                tuple(line.keys[detail.first : detail.last + 1])
                for detail in self._source.details_of(number)
                if detail.kind == "name" and not is_heading(self._source.text_of(number))
            ]
            for number, line in enumerate(self._source.lines)
        ]

    @cached_property
    def _names(self) -> Names:
        return Names(name for named in self._named for name in named)

    @cached_property
    def _meant(self) -> list[list[Name]]:
        """Whom each line is about: those whom it names; where it names nobody, those whom a pronoun may stand for."""
        meant: list[list[Name]] = []
        last, since = list[Name](), 0
        for number, named in enumerate(self._named):
            since += 1
            if named:
                last, since = named, 0
            stands = since <= _LAST_NAMED and PERSONAL.search(self._source.text_of(number))
            meant.append(last if stands else named)
        return meant

    def may_be_one(self, one: Name, other: Name) -> bool:
        """Whether two names may be one person's, as far as the lines tell."""
        return self._names.same(one, other)

    def line_for(self, claim: Claim) -> int | None:
        """The line that says most of what the claim asks about; None where the passages do not say it."""
        told = self._told(claim)
        stretches = self._stretches(told)
        first = max(stretches, key=lambda stretch: stretch.worth, default=None)
        # What is denied where most of it is told is not borne out by another place that has less of it.
        if first is None or not self._agrees(told, first):
            return None
        most = first.worth
        fitting = [
            stretch
            for stretch in stretches
            if stretch.worth >= _NEARLY_AS_GOOD * most
            and self._support(told, stretch) >= _LEAST
            and stretch.held >= _FEWEST
            and self._fits(told, stretch)
        ]
        if not fitting:
            return None
        best = max(fitting, key=lambda stretch: stretch.worth)
        return max(best.core, key=lambda number: self._weight(self._families[number] & (told.words | told.rest)))

    def nearest(self, claim: Claim) -> dict[int, float]:
        """The lines that speak of the same thing as a claim, with what each has of it; none where none does."""
        told = self._told(claim)
        best = max(self._stretches(told), key=lambda stretch: stretch.worth, default=None)
        if best is None or self._support(told, best) < _ALIKE:
            return {}
        return {
            number: self._weight(self._families[number] & told.words)
            + _NAME * sum(self._is_named(name, number) for name in told.names)
            for number in best.core
        }

    def _told(self, claim: Claim) -> _Told:
        known = [detail for detail in details(claim.text, claim.words) if detail.sure]
        keys = [word.key for word in claim.words]
        taken = {at for detail in known for at in range(detail.first, detail.last + 1)}
        free = [at for at in range(len(keys)) if at not in taken]
        asked = frozenset(_telling(keys[at] for at in free if claim.first <= at < claim.end))
        rest = frozenset(_telling(keys[at] for at in free if not claim.first <= at < claim.end)) - asked

        def names(inside: bool) -> list[Name]:
            return [
                tuple(keys[detail.first : detail.last + 1])
                for detail in known
                if detail.kind == "name" and (claim.first <= detail.first < claim.end) == inside
            ]

        numbers = [
            keys[detail.first : detail.last + 1]
            for detail in known
            if detail.kind == "number" and claim.first <= detail.first < claim.end
        ]
        part = keys[claim.first : claim.end]
        denied = [family(key) for at in range(len(part)) if is_negation(part[at]) for key in _next_telling(part, at)]
        return _Told(asked, rest, names(inside=True), names(inside=False), numbers, denied, _denies(part))

    def _weight(self, of: Iterable[str]) -> float:
        lines = len(self._families)
        return sum(math.sqrt(math.log(1 + lines / (len(self._holders.get(one, ())) + 0.5))) for one in of)

    def _stretches(self, told: _Told) -> list[_Stretch]:
        """The neighbouring lines that have something of what tells, wherever a line has most of it."""
        votes: dict[int, float] = defaultdict(float)
        for words, share in ((told.words, 1.0), (told.rest, 0.5)):
            for word in words:
                weight = share * self._weight([word])
                for number in self._holders.get(word, ()):
                    votes[number] += weight
        places = sorted(votes, key=lambda number: (-votes[number], number))[:_PLACES]
        starts = {start for place in places for start in range(max(0, place - _STRETCH + 1), place + 1)}
        found: list[_Stretch] = []
        for start in sorted(starts):
            lines = range(start, min(start + _STRETCH, len(self._families)))
            there = frozenset().union(*(self._families[number] for number in lines))
            core = [number for number in lines if self._families[number] & told.words]
            if core or not told.words:
                around = sum(self._is_near(name, core or lines) for name in told.other_names)
                others = self._weight(told.rest & there) + _NAME * around
                worth = self._weight(told.words & there) + _REST * others
                held = len((told.words | told.rest) & there) + around + len(told.names) + len(told.numbers)
                found.append(_Stretch(core or list(lines), there, held, worth))
        return found

    def _support(self, told: _Told, stretch: _Stretch) -> float:
        """Which share of what tells the stretch has, the rest of the sentence counting less."""
        whole = self._weight(told.words) + _REST * (self._weight(told.rest) + _NAME * len(told.other_names))
        return stretch.worth / whole if whole else 1.0

    def _is_near(self, name: Name, core: Sequence[int]) -> bool:
        return any(self._is_named(name, at) for at in _around(core, _AROUND, len(self._named)))

    def _is_named(self, name: Name, line: int) -> bool:
        return any(self._names.same(name, other) for other in self._meant[line])

    def _fits(self, told: _Told, stretch: _Stretch) -> bool:
        """Whether the stretch tells it of those of whom the part tells it, and has its numbers."""
        return (
            all(self._is_told_of(name, told, stretch) for name in told.names)
            and all(self._has_number(number, stretch.core) for number in told.numbers)
            and self._agrees(told, stretch)
        )

    def _agrees(self, told: _Told, stretch: _Stretch) -> bool:
        """Whether what the part denies is denied there, and what it does not deny is not."""
        if told.denies:
            near = [self._source.lines[at].keys for at in _around(stretch.core, 1, len(self._families))]
            return all(any(_is_denied(word, keys, _DENIED_NEAR) for keys in near) for word in told.denied) or (
                stretch.words.isdisjoint(told.denied) and any(map(_denies, near))
            )
        for word in told.words & stretch.words:
            lines = [self._source.lines[at].keys for at in stretch.core if word in self._families[at]]
            if all(_is_denied(word, keys, _DENIED_JUST_BEFORE) for keys in lines):
                return False
        return True

    def _is_told_of(self, name: Name, told: _Told, stretch: _Stretch) -> bool:
        lines = [number for number in stretch.core if self._is_named(name, number)]
        there = frozenset[str]().union(*(self._families[number] for number in lines))
        whole = self._weight(told.words & stretch.words)
        return bool(lines) and self._weight(told.words & there) >= _WITH_NAME * whole

    def _has_number(self, number: Sequence[str], core: Sequence[int]) -> bool:
        wanted = set(number)
        return any(wanted.issubset(self._source.lines[at].keys) for at in _around(core, _BESIDE, len(self._families)))


def _around(core: Iterable[int], reach: int, end: int) -> list[int]:
    """The lines in `core` and so many on either side of each."""
    return sorted({at for each in core for at in range(max(0, each - reach), min(end, each + reach + 1))})


def _next_telling(keys: Sequence[str], at: int) -> list[str]:
    """The next word that says something, in a list; none where nothing follows."""
    return [key for key in keys[at + 1 :] if carries(key) and not is_negation(key)][:1]


def _denies(keys: Iterable[str]) -> bool:
    return any(is_negation(key) or family(key) in families_of(_DENIALS) for key in keys)


def _is_denied(word: str, keys: Sequence[str], reach: int) -> bool:
    """Whether a word of this family has a negation so near before it."""
    return any(
        family(key) == word and any(map(is_negation, keys[max(0, at - reach) : at])) for at, key in enumerate(keys)
    )


def _telling(keys: Iterable[str]) -> set[str]:
    return {family(key) for key in keys if carries(key) and not is_negation(key)}
