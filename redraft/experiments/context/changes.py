"""What became of facts from one step to the next, by where they are, and what an even spread would give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from redraft.evaluators.metric_info import LEAST_SHARE
from redraft.experiments.context.records import Compared, ContextItem, Fact

Stretch = tuple[float, float]
"""A part of a document, from 0 to 1."""
ANYWHERE, ADDED, NOWHERE = "anywhere", "added", "nowhere"
THIRDS = ("beginning", "middle", "end")
ALL_STEPS = "all steps"
REFERENCE = "reference"
PLACES = ("1st", "2nd", "3rd")
"""The thirds of what was read, as tables call them."""
FATES = ("matching", "lost", "new")
SECTIONS = (ANYWHERE, *THIRDS, ADDED, NOWHERE)


class Counts(NamedTuple):
    """How many facts of this step were known before, how many of those before are lost, how many are new."""

    matching: float
    lost: float
    new: float

    @property
    def shares(self) -> list[float | None]:
        """Of all of them together."""
        whole = sum(self)
        return [one / whole if whole else None for one in self]


class Change(NamedTuple):
    """What was found in one section, what an even spread would give, and how many facts nobody can tell of."""

    found: Counts
    kept: int
    """The facts of the step before that are there again: as many as match, seen from the other side."""
    unjudged: int
    expected: Counts | None
    """None of facts that come from nowhere."""

    @property
    def shares(self) -> list[float | None]:
        """Which shares match, are lost, and are new; None where there is no verdict on half of the facts."""
        judged = self.found.matching + self.found.new + self.found.lost + self.kept
        return self.found.shares if judged >= LEAST_SHARE * (judged + self.unjudged) else [None] * len(self.found)


def overlap(one: Stretch, other: Stretch) -> float:
    """How much of the document is in both."""
    return max(0.0, min(one[1], other[1]) - max(one[0], other[0]))


def thirds(end: float) -> list[Stretch]:
    """The thirds of what is read until `end`."""
    return [(end * at / 3, end * (at + 1) / 3) for at in range(3)]


def expected_thirds(end: float) -> list[float]:
    """Which share of a summary of what is read until `end` comes from each third of the whole, if it is even."""
    return [overlap((0.0, end), third) / end for third in thirds(1.0)]


def changes(item: ContextItem, before: ContextItem, compared: Compared) -> dict[str, Change]:
    """The change from the step before, by section."""
    assert item.facts is not None
    assert before.facts is not None
    now = _judged(item.facts, compared.known, item.length)
    then = _judged(before.facts, compared.kept, before.length)
    open_ = [*_open(item.facts, compared.known, item.length), *_open(before.facts, compared.kept, before.length)]
    end, old = item.read, before.read
    parts: dict[str, Stretch] = dict(zip(THIRDS, thirds(end), strict=True))
    parts |= {ADDED: (old, end)}
    placed = sum(at is not None for at, _ in now), sum(at is not None for at, _ in then)
    found = {ANYWHERE: _change(now, then, open_, _expected((0.0, end), *placed, old, end))}
    for name, part in parts.items():
        found[name] = _change(
            [one for one in now if _within(one[0], part, end)],
            [one for one in then if _within(one[0], part, end)],
            [at for at in open_ if _within(at, part, end)],
            _expected(part, *placed, old, end),
        )
    found[NOWHERE] = _change(
        [one for one in now if one[0] is None],
        [one for one in then if one[0] is None],
        [at for at in open_ if at is None],
        None,
    )
    return found


def _judged(facts: Sequence[Fact], said: Sequence[bool | None], length: int) -> list[tuple[float | None, bool]]:
    return [(fact.at(length), one) for fact, one in zip(facts, said, strict=True) if one is not None]


def _open(facts: Sequence[Fact], said: Sequence[bool | None], length: int) -> list[float | None]:
    return [fact.at(length) for fact, one in zip(facts, said, strict=True) if one is None]


def _change(
    now: Sequence[tuple[float | None, bool]],
    then: Sequence[tuple[float | None, bool]],
    open_: Sequence[float | None],
    expected: Counts | None,
) -> Change:
    known, kept = sum(one for _, one in now), sum(one for _, one in then)
    return Change(Counts(known, len(then) - kept, len(now) - known), kept, len(open_), expected)


def _within(at: float | None, part: Stretch, end: float) -> bool:
    """Whether a place is in a part; what is at the very end of what is read is in its last part."""
    return at is not None and (part[0] <= at < part[1] or (at >= end == part[1]))


def _expected(part: Stretch, now: int, then: int, old: float, end: float) -> Counts:
    """Of facts that are spread evenly over what is read.

    The new ones are those of what was added. As large a share of those before gives way to them, wherever it is.
    """
    in_old = overlap(part, (0.0, old))
    return Counts(now * in_old / end, then * (end - old) / end * in_old / old, now * overlap(part, (old, end)) / end)


def total(found: Iterable[Change]) -> Change:
    """Several changes together."""
    some = list(found)
    expected = [one.expected for one in some if one.expected is not None]
    kept, unjudged = sum(one.kept for one in some), sum(one.unjudged for one in some)
    return Change(_sum([one.found for one in some]), kept, unjudged, _sum(expected) if expected else None)


def _sum(some: Sequence[Counts]) -> Counts:
    return Counts(*(sum(column) for column in zip(*some, strict=True))) if some else Counts(0, 0, 0)
