"""Several judges, or one judge several times: what most of them say, how far they agree, and how much they scatter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, stdev

DISPUTED = "disputed"
"""The verdict on an item when no single one has more than half of the votes."""

Ballot = Mapping[int, str]
"""One judge's verdicts on items; an item that it left open is not in it."""


def majority(ballots: Sequence[Ballot], items: Sequence[int]) -> dict[int, str]:
    """What more than half of those who gave a verdict say of each item; items without any verdict are left out."""
    result: dict[int, str] = {}
    for item in items:
        votes = Counter(ballot[item] for ballot in ballots if item in ballot)
        if votes:
            verdict, most = votes.most_common(1)[0]
            result[item] = verdict if 2 * most > votes.total() else DISPUTED
    return result


def agreement(ballots: Sequence[Ballot]) -> float | None:
    """The share of equal verdicts over all pairs of judges and the items that both judged; None for one judge alone."""
    equal = both = 0
    for one, other in combinations(ballots, 2):
        shared = one.keys() & other.keys()
        both += len(shared)
        equal += sum(one[item] == other[item] for item in shared)
    return equal / both if both else None


def spread(scores: Sequence[float]) -> dict[str, float | int]:
    """Mean, standard deviation and range of several scores of the same draft."""
    deviation = stdev(scores) if len(scores) > 1 else 0.0
    return {
        "n": len(scores),
        "mean": fmean(scores),
        "sd": deviation,
        "lowest": min(scores),
        "highest": max(scores),
    }
