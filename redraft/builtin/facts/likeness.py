"""A clause beside a line of a text: how much of it is there, and what is there in another way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from redraft.builtin.facts.meanings import alike, converse, opposite, senses_of
from redraft.builtin.facts.statements import Name, Number, Statement, Verb, gender, points
from redraft.builtin.wording import listed

# A name or number that is there says more than another word, and so does one that is not; a verb may have been put in
# other words.
_NAME_WEIGHT, _NUMBER_WEIGHT, _VERB_WEIGHT, _IMPLIED_WEIGHT = 1.5, 2.0, 0.5, 0.5
_ONLY_VERB_WEIGHT = 1.5
NEIGHBOUR = 0.8
"""What stands in the sentence before, or behind, is as good as there, nearly."""
_AWAY = {"to": "from", "from": "to", "into": "out", "before": "after", "after": "before", "with": "without",
         "without": "with", "above": "below", "below": "above", "over": "under", "under": "over", "up": "down",
         "down": "up", "north": "south", "south": "north", "east": "west", "west": "east"}  # fmt: skip
_TURNING = _AWAY.keys() - listed("into out up down north south east west")
# Who does these to whom makes no difference.
_SYMMETRIC = "marry wed divorce meet encounter separate quarrel argue dispute reconcile"
_SCENE = listed("in at near on behind beside across through along under over")

Wrong = Literal["name", "number", "pronoun", "roles", "verb", "negation", "direction"]
CATEGORY: dict[Wrong, Literal["entity", "relation"]] = {
    "name": "entity", "number": "entity", "pronoun": "entity",
    "roles": "relation", "verb": "relation", "negation": "relation", "direction": "relation",
}  # fmt: skip


class Difference(NamedTuple):
    """What is wrong, what the sentence has, and what the text has instead, where it has something."""

    wrong: Wrong
    own: str
    its: str


class Beside:
    """A claim beside a line."""

    def __init__(self, claim: Statement, line: Statement, near: Sequence[Statement], people: Sequence[Name]) -> None:
        self._claim, self._line, self._near = claim, line, near
        self._pointed = list(people) if points(line) else []
        self._verbs = {verb.at for verb in claim.verbs}
        self.differences = tuple(self._differences())

    @cached_property
    def _held(self) -> dict[int, float]:
        """How far each plain word of the claim is there: 1 in the line, less beside it."""
        return {at: self._holds(self._claim.senses[at]) for at in self._claim.telling}

    def _holds(self, word: str) -> float:
        if self._line.has(word):
            return 1.0
        return NEIGHBOUR if any(near.has(word) for near in self._near) else 0.0

    def leans_on(self, near: Statement) -> bool:
        """Whether the neighbour has something of the claim that the line has not."""
        missing = [self._claim.senses[at] for at in self._claim.telling if not self._line.has(self._claim.senses[at])]
        numbers = [one for one in self._claim.numbers if not _is_among(one, self._line.numbers)]
        names = [one for one in self._claim.names if not _named(one, self._line)]
        return (
            any(near.has(word) for word in missing)
            or any(_is_among(one, near.numbers) for one in numbers)
            or any(_named(one, near) for one in names)
        )

    @property
    def told(self) -> float:
        """Which share of the claim's plain words is there. A verb that nothing contradicts may be another for the same.

        Of a claim that has only a verb beside its names and numbers, all is told where the line has all of those.
        """
        said = {at: held for at, held in self._held.items() if at not in self._verbs and not self._is_manner(at)}
        if said:
            return sum(said.values()) / len(said)
        if all(self._held.values()):
            return 1.0
        whole = [*self._claim.names, *self._claim.numbers]
        there = [*self._names_there(), *self._numbers_there()]
        return len(there) / len(whole) if len(whole) > 1 else 0.0

    @property
    def missing(self) -> frozenset[str]:
        """The plain words that the line has not, but for verbs and their manner."""
        return frozenset(
            self._claim.words[at].key
            for at, held in self._held.items()
            if held < 1.0 and at not in self._verbs and not self._is_manner(at)
        )

    def _is_manner(self, at: int) -> bool:
        word = self._claim.words[at]
        return self._claim.text[word.start : word.end].endswith("ly")

    def _names_there(self) -> list[Name]:
        return [name for name in self._claim.names if _named(name, self._line)]

    def _numbers_there(self) -> list[Number]:
        return [number for number in self._claim.numbers if _is_among(number, self._line.numbers)]

    def share(self, beside: float) -> float:
        """Which share of all of it is there, what stands in a neighbouring line counted as so much."""
        claim = self._claim
        there = whole = 0.0
        # Where a claim says nothing else of those whom it names, all hangs on the verb.
        verb = _VERB_WEIGHT if any(at not in self._verbs for at in self._held) else _ONLY_VERB_WEIGHT
        for at, held in self._held.items():
            weight = verb if at in self._verbs else _VERB_WEIGHT if self._is_manner(at) else 1.0
            whole += weight
            there += weight * (held if held in (0.0, 1.0) else beside)
        for name in claim.names:
            weight = _IMPLIED_WEIGHT if name.implied else _NAME_WEIGHT
            whole += weight
            there += weight * (1.0 if _named(name, self._line) else beside if self._elsewhere(name) else 0.0)
        for number in claim.numbers:
            near = any(_is_among(number, one.numbers) for one in self._near)
            whole += _NUMBER_WEIGHT
            there += _NUMBER_WEIGHT * (1.0 if _is_among(number, self._line.numbers) else beside if near else 0.0)
        return there / whole if whole else 1.0

    def _differences(self) -> Iterator[Difference]:
        yield from self._wrong_names()
        yield from self._wrong_numbers()
        yield from self._wrong_pronouns()
        relations = [*self._turned(), *self._led_elsewhere(), *self._wrong_verbs(), *self._exchanged()]
        yield from relations[:1]

    def _elsewhere(self, name: Name) -> bool:
        """Whether a pronoun in the line may stand for the name, or a neighbour sets the scene with it."""
        return any(name.may_be(one) for one in self._pointed) or any(_named(name, near) for near in self._near)

    def _wrong_names(self) -> Iterator[Difference]:
        own = [one for one in self._claim.names if one.sure and not one.implied]
        left = [one for one in self._line.names if one.sure and not any(one.may_be(name) for name in own)]
        for name in own:
            if _named(name, self._line):
                continue
            instead = next((one for one in left if _same_place(name, one)), None)
            if instead is None and self._elsewhere(name):
                continue
            if instead is not None and instead.implied and any(name.may_be(one) for one in self._pointed):
                continue
            yield Difference("name", _cut(self._claim, name), _cut(self._line, instead) if instead else "")

    def _wrong_pronouns(self) -> Iterator[Difference]:
        """Where somebody else does what is said of whom a pronoun stands for."""
        if {gender(self._claim), gender(self._line)} == {"he", "she"}:
            yield Difference("pronoun", gender(self._claim), gender(self._line))
            return
        for verb in [verb for verb in self._claim.verbs if verb.main][:1]:
            agent = self._claim.roles(verb).agent
            for other in self._line.verbs:
                its = self._line.roles(other).agent
                if agent and its and agent.implied and agent.sure and its.sure and alike(verb.sense, other.sense):
                    if not (its.implied or agent.may_be(its)):
                        yield Difference("pronoun", _cut(self._claim, agent), _cut(self._line, its))
                    return

    def _wrong_numbers(self) -> Iterator[Difference]:
        own = self._claim.numbers
        left = [one for one in self._line.numbers if not _is_among(one, own)]
        for number in own:
            if _is_among(number, self._line.numbers):
                continue
            instead = next((one for one in left if one.unit == number.unit), None)
            if instead is None and any(_is_among(number, near.numbers) for near in self._near):
                continue
            its = instead or (left[0] if left else None)
            yield Difference("number", _cut(self._claim, number), _cut(self._line, its) if its else "")

    def _turned(self) -> Iterator[Difference]:
        """Where one of the two denies what the other says."""
        claim, line = self._claim, self._line
        for own, other in ((claim, line), (line, claim)):
            for at in own.denied:
                same = [there for there, word in enumerate(other.senses) if alike(own.senses[at], word)]
                unknown = not same and not other.denied and (own is claim or _is_denied_there(own, at))
                if (same and not other.denied.intersection(same)) or unknown:
                    yield Difference("negation", claim.text, line.text)

    def _led_elsewhere(self) -> Iterator[Difference]:
        """Where the little word before a name or number turns the claim round, as "from" for "to"."""
        for name in self._claim.names:
            there = [one.before for one in self._line.names if name.may_be(one)]
            if name.before in _TURNING and there and all(_AWAY[name.before] == before for before in there):
                yield Difference("direction", name.before, there[0])
        for number in self._claim.numbers:
            there = [one.before for one in self._line.numbers if number.keys == one.keys]
            if number.before in _TURNING and there and all(_AWAY[number.before] == before for before in there):
                yield Difference("direction", number.before, there[0])

    def _wrong_verbs(self) -> Iterator[Difference]:
        for verb in self._claim.verbs:
            own = _word(self._claim, verb)
            if self._line.has(verb.sense):
                continue
            for other in self._line.verbs:
                if converse(verb.sense, other.sense):
                    contrary = self._same_subject(verb, other)
                else:
                    contrary = opposite(verb.sense, other.sense)
                if contrary:
                    yield Difference("verb", own, _word(self._line, other))

    def _same_subject(self, verb: Verb, other: Verb) -> bool:
        here = next((one for one in self._claim.names if one.first <= verb.at), None)
        there = next((one for one in self._line.names if one.first <= other.at), None)
        return bool(here and there and here.may_be(there)) and verb.passive == other.passive

    def _exchanged(self) -> Iterator[Difference]:
        """Where the one who does something there is the one to whom it is done here."""
        for verb in [verb for verb in self._claim.verbs if verb.main][:1]:
            same = [other for other in self._line.verbs if alike(verb.sense, other.sense)]
            same = same or [other for other in self._line.verbs if other.main]
            if not same or verb.sense in senses_of(_SYMMETRIC):
                continue
            here, there = self._claim.roles(verb), self._line.roles(same[0])
            if converse(verb.sense, same[0].sense):
                continue
            taker = here.agent or here.other
            taken_for = there.other if here.agent else there.agent
            rightly = there.agent if here.agent else there.other
            instead = bool(there.agent) and _may_be(here.other, there.agent)
            if taker and (_may_be(taker, taken_for) or instead) and not _may_be(taker, rightly):
                yield Difference("roles", _cut(self._claim, taker), _word(self._line, same[0]))


def _named(name: Name, statement: Statement) -> bool:
    """Whether the statement has the name, as a name or without its capitals."""
    if any(name.may_be(other) for other in statement.names):
        return True
    known = {key for other in statement.names for key in other.keys}
    return all(key in statement.plain for key in name.keys - known) and not name.keys & known


def _same_place(one: Name, other: Name) -> bool:
    """Whether the two may stand for each other: both in a phrase of place, or neither."""
    return (one.before in _SCENE) == (other.before in _SCENE) or {one.before, other.before} & {
        "to",
        "from",
        "of",
    } != set()


def _is_among(number: Number, numbers: Sequence[Number]) -> bool:
    """Whether the text has the figures of a number; of a date, all that the claim has of it."""
    return any(number.keys <= other.keys for other in numbers)


def _may_be(one: Name | None, other: Name | None) -> bool:
    return bool(one and other and one.may_be(other))


def _is_denied_there(statement: Statement, at: int) -> bool:
    """Whether what is denied is what the statement says, and no remark in it."""
    return next((verb.at for verb in statement.verbs if verb.main), None) == at


def _cut(statement: Statement, part: Name | Number) -> str:
    return statement.text[statement.words[part.first].start : statement.words[part.last].end]


def _word(statement: Statement, verb: Verb) -> str:
    word = statement.words[verb.at]
    return statement.text[word.start : word.end]
