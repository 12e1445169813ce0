"""Documents made from a known set of facts, and summaries that state a known part of them, with known errors.

A fact is told in the document, in the list of facts and in a summary in different words: active or passive, with one
verb or another, in one or another order, after a pronoun, among sentences that have nothing to do with it. Nothing here
is known to the judge, and it knows nothing of what is here. The vocabulary is in two halves, which share no name, thing
or verb: the judge is developed on worlds of the one, and tried on those of the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from benchmarks.keyfact_words import (
    ADJECTIVES,
    ASIDES,
    BEFOREHAND,
    CODAS,
    DEEDS,
    FILLERS,
    FIRST_NAMES,
    INVENTED,
    LAST_NAMES,
    MONTHS,
    NUMERALS,
    PLACES,
    THINGS,
    UNITS,
    Deed,
    Wording,
    present,
)

Half = Literal["developed on", "held out"]
Category = Literal["none", "out_of_article", "entity", "relation", "sentence"]
ERRORS: dict[str, Category] = {
    "name of the document": "entity",
    "name from elsewhere": "entity",
    "number": "entity",
    "roles": "relation",
    "opposite": "relation",
    "negation": "relation",
    "invention": "out_of_article",
    "several": "sentence",
}
"""What can be made wrong in a sentence, and the category of that."""

# How often a sentence of a summary says two things, begins with a pronoun, is in the present tense, and leaves out
# a detail; and how often somebody is called by the last name alone, and a number written out.
_TWO_IN_ONE, _POINTING, _PRESENT, _PARTLY = 0.2, 0.25, 0.25, 0.1
_BY_LAST_NAME, _IN_WORDS, _WITH_ADJECTIVE = 0.3, 0.5, 0.3


@dataclass(frozen=True)
class Fact:
    """Who did what, to what or whom, where, when, and for how much or how long."""

    deed: Deed
    actor: str
    partner: str
    thing: str
    place: str
    date: str
    amount: str

    def changed(self, **parts: str) -> Fact:
        """The fact with other people, places, dates or amounts."""
        return replace(self, **parts)  # type: ignore[arg-type]


class Stated(NamedTuple):
    """A sentence of a summary, what stands before it where it points back, which facts it states, and what is wrong."""

    sentence: str
    before: str
    facts: tuple[int, ...]
    error: str

    @property
    def category(self) -> Category:
        """What is wrong with it, in the words of the judge."""
        return ERRORS[self.error] if self.error else "none"


@dataclass(frozen=True)
class World:
    """A document with its facts, and a summary of it."""

    seed: int
    document: str
    facts: tuple[str, ...]
    summary: tuple[Stated, ...]

    @property
    def stated(self) -> tuple[bool, ...]:
        """Of each fact whether the summary states it as it was."""
        right = {number for one in self.summary for number in one.facts}
        return tuple(number in right for number in range(len(self.facts)))


def make(seed: int, half: Half = "developed on", facts: int = 24) -> World:
    """A world of one half of the vocabulary; the same seed makes the same world."""
    return _Maker(random.Random(f"{half} {seed}"), half).make(seed, facts)


def _joined(one: Stated, other: Stated, word: str) -> Stated:
    """Two sentences, one of them at most wrong, as one."""
    second = other.sentence
    opens = second.split()[0].strip(",")
    if opens in ("In", "At", "The"):
        second = second[:1].lower() + second[1:]
    return Stated(f"{one.sentence[:-1]}, {word} {second}", "", one.facts + other.facts, one.error or other.error)


def _half(of: Sequence[Any], part: int) -> list[Any]:
    return [one for at, one in enumerate(of) if at // 2 % 2 == part]


class _Maker:
    def __init__(self, chance: random.Random, half: Half) -> None:
        self._chance = chance
        part = int(half == "held out")
        firsts, lasts, places, self._things, self._invented = (
            _half(words, part) for words in (FIRST_NAMES, LAST_NAMES, PLACES, THINGS, INVENTED)
        )
        self._deeds = _half(DEEDS, part)
        for pool in (firsts, lasts, places, self._things, self._invented):
            chance.shuffle(pool)
        people = [f"{first} {last}" for first, last in zip(firsts, lasts, strict=False)]
        self._people, self._strangers = people[:8], people[8:14]
        self._places, self._elsewhere = places[:6], places[6:]
        # The names of women and of men take turns.
        self._women = {person for person in people if person.split()[0] in FIRST_NAMES[0::2]}

    def make(self, seed: int, count: int) -> World:
        told: list[Fact] = []
        while len(told) < count:
            fact = self._fact()
            if not any((fact.deed, fact.actor) == (other.deed, other.actor) for other in told):
                told.append(fact)
        facts = tuple(self._tell(fact, fact.deed.wordings[0], plain=True) for fact in told)
        return World(seed, self._document(told), facts, tuple(self._summary(told)))

    def _fact(self) -> Fact:
        actor, partner = self._chance.sample(self._people, 2)
        deed = self._chance.choice(self._deeds)
        units = UNITS[1] if deed.frame in ("person", "travel") else UNITS[0]
        figures = range(3, 40) if units is UNITS[1] else [*range(12, 90, 3), *range(100, 1900, 15)]
        amount = f"{self._chance.choice(figures)} {self._chance.choice(units)}"
        date = f"{self._chance.choice([*MONTHS, ''])} {self._chance.randint(1801, 1899)}".strip()
        details = self._chance.choice(["place date", "date", "place", "amount", "amount date", "place amount"]).split()
        return Fact(
            deed,
            actor,
            partner,
            self._chance.choice(self._things),
            self._chance.choice(self._places) if "place" in details or deed.frame == "travel" else "",
            date if "date" in details else "",
            amount if "amount" in details else "",
        )

    def _document(self, told: Sequence[Fact]) -> str:
        paragraphs = []
        for fact in told:
            lines = [self._filler() for _ in range(self._chance.randint(0, 2))]
            lines += self._at_length(self._varied(fact))
            lines += [self._filler() for _ in range(self._chance.randint(0, 2))]
            paragraphs.append(" ".join(lines))
        return "\n\n".join(paragraphs)

    def _filler(self) -> str:
        one, other = self._chance.sample(self._people, 2)
        return self._chance.choice(FILLERS).format(
            A=one,
            B=other,
            P=self._chance.choice(self._places),
            T=self._chance.choice(self._things),
            Y=self._chance.randint(1801, 1899),
        )

    def _at_length(self, fact: Fact) -> Iterator[str]:
        """A fact as the document tells it, in either wording, with what it is clothed in, in one sentence or two."""
        chance = self._chance
        wording = chance.choice(fact.deed.wordings)
        way = chance.choice(["plain", "aside", "after", "cleft", "coda", "apart"])
        if way == "after":
            yield f"{fact.actor} {chance.choice(BEFOREHAND)}."
            yield self._tell(fact.changed(actor=self._pronoun(fact.actor)), wording)
        elif way == "aside":
            aside = chance.choice(ASIDES)
            yield self._tell(fact.changed(actor=f"{fact.actor}, {aside},"), wording, passive=False)
        elif way == "cleft":
            yield self._tell(fact.changed(actor=f"it was {fact.actor} who"), wording, passive=False)
        elif way == "coda":
            yield f"{self._tell(fact, wording)[:-1]}, {chance.choice(CODAS)}."
        elif way == "apart" and fact.date:
            yield self._tell(fact.changed(date=""), wording)
            yield f"That was in {fact.date}{chance.choice(('', ', ' + chance.choice(CODAS)))}."
        else:
            yield self._tell(fact, wording)

    def _varied(self, fact: Fact) -> Fact:
        """The fact with some people by their last names, some numbers in words, and something said of the thing."""
        chance = self._chance
        figure, _, unit = fact.amount.partition(" ")
        if unit and int(figure) < len(NUMERALS) and chance.random() < _IN_WORDS:
            figure = NUMERALS[int(figure)]
        thing = fact.thing
        if chance.random() < _WITH_ADJECTIVE:
            thing = f"the {chance.choice(ADJECTIVES)} {thing.removeprefix('the ')}"
        return replace(
            fact,
            actor=self._called(fact.actor),
            partner=self._called(fact.partner),
            thing=thing,
            amount=f"{figure} {unit}".strip(),
        )

    def _called(self, person: str) -> str:
        last = person.split()[-1]
        if self._chance.random() >= _BY_LAST_NAME:
            return person
        return self._chance.choice([last, f"{'Mrs.' if self._pronoun(person) == 'she' else 'Mr.'} {last}"])

    def _pronoun(self, person: str) -> str:
        return "she" if any(person.split()[-1] == woman.split()[-1] for woman in self._women) else "he"

    def _tell(self, fact: Fact, wording: Wording, *, plain: bool = False, passive: bool | None = None) -> str:
        """A fact in a sentence."""
        if plain:
            passive = False
        elif passive is None:
            passive = self._chance.random() < 0.35
        frame = fact.deed.frame
        if fact.actor in ("he", "she") or " " in wording.base or frame == "travel":
            passive = False
        said = self._passive(fact, wording) if passive else self._active(fact, wording)
        parts = [f"in {fact.date}" * bool(fact.date)]
        if frame != "travel":
            parts.append(f"{'at' if plain or self._chance.random() < 0.6 else 'in'} {fact.place}" * bool(fact.place))
        parts = [part for part in parts if part]
        if fact.amount:
            said += f" {'after' if frame in ('person', 'travel') else 'for'} {fact.amount}"
        if parts and not plain and self._chance.random() < 0.4:
            opening = parts.pop(0)
            said = f"{opening}, {said}"
        sentence = " ".join([said, *parts])
        return f"{sentence[:1].upper()}{sentence[1:]}."

    def _active(self, fact: Fact, wording: Wording) -> str:
        if fact.deed.frame == "travel":
            return f"{fact.actor} {wording.past} {fact.place}"
        if fact.deed.frame == "person":
            return f"{fact.actor} {wording.past} {fact.partner}"
        contrary = wording.base == fact.deed.contrary.base
        to = f" {'from' if contrary else 'to'} {fact.partner}" if fact.deed.frame == "transfer" else ""
        return f"{fact.actor} {wording.past} {fact.thing}{to}"

    def _passive(self, fact: Fact, wording: Wording) -> str:
        if fact.deed.frame == "person":
            return f"{fact.partner} was {wording.participle} by {fact.actor}"
        to = f" to {fact.partner}" if fact.deed.frame == "transfer" else ""
        return f"{fact.thing} was {wording.participle}{to} by {fact.actor}"

    def _summary(self, told: Sequence[Fact]) -> Iterator[Stated]:
        chosen = sorted(self._chance.sample(range(len(told)), len(told) * 3 // 4))
        errors = [*ERRORS, *[""] * (len(chosen) - len(ERRORS))]
        self._chance.shuffle(errors)
        pending: Stated | None = None
        for number, error in zip(chosen, errors, strict=True):
            one = self._one(told[number], number, error)
            if pending and not (one.before or (pending.error and one.error)):
                yield _joined(pending, one, self._chance.choice(["and", "while"]))
                pending = None
            elif not pending and not one.before and self._chance.random() < _TWO_IN_ONE:
                pending = one
            else:
                yield from (each for each in (pending, one) if each)
                pending = None
        if pending:
            yield pending

    def _one(self, fact: Fact, number: int, error: str) -> Stated:
        if error == "invention":
            scene = self._chance.choice(["", f" in {self._chance.choice(self._places)}", f" in {fact.date or 1850}"])
            return Stated(f"{fact.actor} {self._chance.choice(self._invented)}{scene}.", "", (), error)
        if error == "roles" and fact.deed.frame in ("thing", "travel"):
            error = "opposite"
        if error == "number" and not (fact.date or fact.amount):
            error = "name of the document"
        return self._stated(fact, number, error)

    def _stated(self, fact: Fact, number: int, error: str) -> Stated:
        wording = self._chance.choice(fact.deed.wordings)
        if error == "several":
            fact = self._wrong(self._wrong(fact, "name from elsewhere"), self._chance.choice(["number", "roles"]))
            wording = fact.deed.contrary
        elif error == "opposite":
            wording = fact.deed.contrary
        elif error == "negation":
            wording = self._denied(wording)
        else:
            fact = self._wrong(fact, error)
        states: tuple[int, ...] = () if error else (number,)
        if not error and fact.date and fact.amount and self._chance.random() < _PARTLY:
            fact, states = fact.changed(amount=""), ()
        fact = self._varied(fact)
        if error != "negation" and self._chance.random() < _PRESENT:
            wording = present(wording)
        if not error and self._chance.random() < _POINTING:
            before = self._filler_about(fact.actor)
            return Stated(self._tell(fact.changed(actor=self._pronoun(fact.actor)), wording), before, states, error)
        passive = False if error in ("negation", "opposite", "several") else None
        return Stated(self._tell(fact, wording, passive=passive), "", states, error)

    def _filler_about(self, person: str) -> str:
        return f"{person} {self._chance.choice(('plays a large part in the story', 'is a restless character'))}."

    def _denied(self, wording: Wording) -> Wording:
        if self._chance.random() < 0.5:
            return Wording(wording.base, f"never {wording.past}", wording.participle)
        return Wording(wording.base, f"did not {wording.base}", wording.participle)

    def _wrong(self, fact: Fact, error: str) -> Fact:
        chance = self._chance
        if error == "roles":
            return fact.changed(actor=fact.partner, partner=fact.actor)
        if error == "number":
            if fact.amount and (not fact.date or chance.random() < 0.5):
                figure, unit = fact.amount.split()
                return fact.changed(amount=f"{int(figure) + chance.choice([2, 5, 11, 40])} {unit}")
            return fact.changed(date=str(int(fact.date[-4:]) + chance.choice([-13, -7, 3, 9]))) if fact.date else fact
        if not error:
            return fact
        people, places = (
            (self._people, self._places) if error == "name of the document" else (self._strangers, self._elsewhere)
        )
        fields = ["actor", *["partner"] * (fact.deed.frame in ("person", "transfer")), *["place"] * bool(fact.place)]
        field = chance.choice(fields)
        pool = places if field == "place" else people
        known = {fact.actor, fact.partner, fact.place}
        return fact.changed(**{field: chance.choice([name for name in pool if name not in known])})
