"""Holding a sentence against a text: the place that says most of each of its clauses."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from redraft.builtin.facts.likeness import NEIGHBOUR, Beside, Difference
from redraft.builtin.facts.meanings import root
from redraft.builtin.facts.statements import Name, Statement, clauses, leading_name, read_statement
from redraft.builtin.wording import is_negation

# The places looked at closely.
_PLACES = 6
# How far back a pronoun may point.
_BACK = 3
_JUST_BEFORE = 3
# Which line a sentence is about is told by the line itself, and less by its neighbours.
_ASIDE = 0.25
_PER_DIFFERENCE = 0.05
# With a smaller share of its plain words at the place, the text does not speak of what a sentence says.
_LEAST_TOLD = 0.34
_LEAST_TOLD_OF_ALL = 0.45


@dataclass(frozen=True)
class Weighed:
    """A clause held against the place that says most of it."""

    line: int | None
    told: float
    """Which share of its plain words is there."""
    share: float
    """Which share of all that it says is there, names and numbers weighted."""
    own: float
    """The same, of the line alone or nearly."""
    differences: tuple[Difference, ...]
    beside: int | None = None
    """A neighbouring line that bears out some of it."""
    scattered: bool = False
    """Some of its words are not at the place, and are elsewhere in the text."""

    @property
    def is_told(self) -> bool:
        """Whether the text speaks of what the clause says."""
        return self.line is not None and self.told >= _LEAST_TOLD and self.share >= _LEAST_TOLD_OF_ALL

    @property
    def is_borne_out(self) -> bool:
        """Whether the text says so."""
        return self.is_told and not self.differences


class Ground:
    """The sentences of some texts, to hold others against. That costs time in proportion to the lines like them."""

    def __init__(self, texts: Sequence[Sequence[str]], before: Sequence[str] = ()) -> None:
        """Read the sentences of each text; `before` has, for a single text, what stands before each of its sentences.

        Without it, that is the sentence before.
        """
        self._said: list[Statement] = []
        self._line: list[int] = []
        self._people: list[list[Name]] = []
        self._near: list[list[int]] = []
        line = 0
        for text in texts:
            self._read(text, before, line)
            line += len(text)
        named = {key for one in self._said for name in one.names if name.first for key in name.keys}
        self._plain = frozenset(key for one in self._said for key in one.plain)
        self._common = self._plain - named
        self._by_term: dict[str, list[int]] = defaultdict(list)
        for number, statement in enumerate(self._said):
            for term in {root(term) for term in statement.terms}:
                self._by_term[term].append(number)

    def _read(self, text: Sequence[str], before: Sequence[str], line: int) -> None:
        """Read the sentences of a text, clause by clause."""
        first = len(self._said)
        for number, sentence in enumerate(text, line):
            given = before[number] if number < len(before) else ""
            for place, clause in enumerate(clauses(sentence)):
                at = len(self._said)
                earlier = self._said[max(first, at - _BACK) : at][::-1]
                if given and not place:
                    earlier = [read_statement(given)]
                subject = next((name for one in earlier if (name := leading_name(one))), None)
                self._said.append(read_statement(clause, subject))
                self._line.append(number)
                self._people.append([name for one in earlier[:2] for name in one.names])
        for at in range(first, len(self._said)):
            self._near.append([near for near in (at - 1, at + 1) if first <= near < len(self._said)])

    def weigh(self, sentence: str, before: str = "") -> list[Weighed]:
        """Each clause of `sentence` held against the place that says most of it."""
        subject = leading_name(read_statement(before)) if before else None
        weighed: list[Weighed] = []
        for clause in clauses(sentence):
            statement = read_statement(clause, subject)
            if statement.terms:
                weighed.append(self._to_the_letter(statement) or self._weigh(statement))
            subject = leading_name(statement) or subject
        return weighed

    def _to_the_letter(self, claim: Statement) -> Weighed | None:
        """Where a line has the clause, or all of it but the name at its beginning, word by word."""
        own = [word.key for word in claim.words]
        after_name = claim.names[0].last + 1 if claim.names and claim.names[0].first == 0 else 0
        for number in self._places(claim):
            line = self._said[number]
            keys = [word.key for word in line.words]
            at = _find(keys, own)
            if at is None and after_name and any(claim.names[0].may_be(one) for one in line.names if one.implied):
                at = _find(keys, own[after_name:])
            if at is not None and not any(map(is_negation, keys[max(0, at - _JUST_BEFORE) : at])):
                return Weighed(self._line[number], 1.0, 1.0, 1.0, ())
        return None

    def _weigh(self, claim: Statement) -> Weighed:
        found = [self._at(claim, number) for number in self._places(claim)]
        best = max(found, key=lambda one: one.own - _PER_DIFFERENCE * len(one.differences), default=None)
        return best or Weighed(None, 0.0, 0.0, 0.0, ())

    def _places(self, claim: Statement) -> list[int]:
        votes: dict[int, float] = defaultdict(float)
        for term in sorted({root(term) for term in claim.terms}):
            if holders := self._by_term.get(term):
                weight = math.log(1 + len(self._said) / len(holders))
                for number in holders:
                    votes[number] += weight
        return [number for number, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:_PLACES]]

    def _at(self, claim: Statement, number: int) -> Weighed:
        """The claim beside one line and its neighbours."""
        near = self._near[number]
        claim = claim.without_names(self._common)
        beside = Beside(claim, self._said[number], [self._said[at] for at in near], self._people[number])
        line = self._line[number]
        helping = [self._line[at] for at in near if self._line[at] != line and beside.leans_on(self._said[at])]
        return Weighed(
            line,
            beside.told,
            beside.share(NEIGHBOUR),
            beside.share(_ASIDE),
            beside.differences,
            helping[0] if helping else None,
            beside.missing & self._plain != frozenset(),
        )


def _find(words: Sequence[str], sought: Sequence[str]) -> int | None:
    """Before which of the words the sought ones stand, one behind the other."""
    joined = f" {' '.join(words)} "
    at = joined.find(f" {' '.join(sought)} ")
    return joined.count(" ", 0, at) if at >= 0 and sought else None
