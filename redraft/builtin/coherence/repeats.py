"""What the sentences of a summary have in common with each other: how much is said twice, and where."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from redraft.builtin.coherence.reading import Line
from redraft.text.wording import carries
from redraft.text.words import words_key

# In a longer summary a word weighs no more than the rarest of so many sentences.
_WEIGHED_AS = 40
# What stands in more sentences than this says nothing of which belong together, and makes no pair of them.
_MOST_HOLDERS = 50
_RUN = 4
_TELLING_IN_RUN = 2
# A sentence says the same as another when they share this much of what they say, or of their runs of words.
_SAME, _SAME_RUNS = 0.75, 0.7
_FEWEST_SHARED = 4


class Repeat(NamedTuple):
    """What a sentence shares with others."""

    shared: float
    """The weight of the words, without names, that it has in common with one sentence that does not stand beside it."""
    alike: float
    """The largest share of what one such sentence and it say that both say."""
    twin: int | None
    """The first sentence before it that says the same."""
    nearest: int | None
    """The sentence that `shared` is about."""
    is_first: bool
    """Whether that one comes later."""


def repeats(lines: Sequence[Line]) -> list[Repeat]:
    """What each sentence shares with the others. What is said in most of them makes no two of them alike."""
    weight = _weights([line.topics for line in lines])
    weights = [sum(weight[key] for key in line.topics) for line in lines]
    holders: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        for key in line.topics:
            holders[key].append(at)
    twins = _twins(lines, [_runs(line) for line in lines])
    found: list[Repeat] = []
    for at, line in enumerate(lines):
        shared: dict[int, float] = defaultdict(float)
        for key in sorted(line.topics):
            there = holders[key]
            for other in there if len(there) <= _MOST_HOLDERS else ():
                shared[other] += weight[key]
        far = [other for other in sorted(shared) if abs(other - at) > 1]
        nearest = max(far, key=lambda other: shared[other], default=None)
        alike = [shared[other] / (weights[at] + weights[other] - shared[other] + 0.3) for other in far]
        found.append(
            Repeat(
                shared[nearest] if nearest is not None else 0.0,
                max(alike, default=0.0),
                twins[at] if twins[at] is not None else _twin(line, lines, at, shared),
                nearest,
                nearest is not None and nearest > at,
            )
        )
    return found


def _weights(said: Sequence[frozenset[str]]) -> Mapping[str, float]:
    """What it tells that a sentence has a word: much for one that few have."""
    often = Counter(key for keys in said for key in keys)
    return {key: math.log(min(1 + len(said), _WEIGHED_AS) / min(count, _WEIGHED_AS)) for key, count in often.items()}


def _runs(line: Line) -> list[tuple[str, ...]]:
    """The runs of a few words that are more than names and little words."""
    keys = line.keys
    telling = [carries(key) and key not in line.names for key in keys]
    return [
        tuple(keys[at : at + _RUN])
        for at in range(len(keys) - _RUN + 1)
        if sum(telling[at : at + _RUN]) >= _TELLING_IN_RUN
    ]


def _twins(lines: Sequence[Line], runs: Sequence[Sequence[tuple[str, ...]]]) -> list[int | None]:
    """The first sentence of which each is a copy, word for word or nearly."""
    first: dict[str, int] = {}
    first_with: dict[tuple[str, ...], int] = {}
    twins: list[int | None] = []
    for at, (line, own) in enumerate(zip(lines, runs, strict=True)):
        twin = first.setdefault(words_key(line.text), at)
        if twin == at:
            votes = Counter(first_with[run] for run in own if run in first_with)
            most, count = max(votes.items(), key=lambda vote: (vote[1], -vote[0]), default=(at, 0))
            if count >= max(_FEWEST_SHARED, _SAME_RUNS * max(len(own), len(runs[most]))):
                twin = most
        for run in own:
            first_with.setdefault(run, at)
        twins.append(twin if twin < at else None)
    return twins


def _twin(line: Line, lines: Sequence[Line], at: int, candidates: Iterable[int]) -> int | None:
    """The first sentence before that has nearly all the same words, in whatever order."""
    for other in sorted(candidates):
        there = lines[other]
        if other < at and line.names == there.names:
            both = len(line.topics & there.topics)
            if both >= max(_FEWEST_SHARED, _SAME * len(line.topics | there.topics)):
                return other
    return None
