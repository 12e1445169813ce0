"""Agreement of judges on items, their mean and spread, and bootstrap intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum
from random import Random
from statistics import fmean, quantiles, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
"""BooookScore's (appendix G), and as many as an interval of 95 % wants."""
SEED = 0
# Cuts of which the first and the last have 95 % between them.
_CUTS = 40
_OUTER = (2.5, 97.5)
# A figure that exists in fewer resamples than this share of them has no interval worth the name.
_LEAST = 0.5

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Interval(NamedTuple):
    """What holds 95 % of the resamples."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Deviation:
    """The standard deviation of the means of resamples, and the interval that holds 95 % of them."""

    sd: float
    low: float
    high: float


def spread_of_mean(values: Sequence[float]) -> Deviation | None:
    """The spread of the mean by bootstrap, the same for the same values in any order; None for fewer than two."""
    if len(values) < 2:
        return None
    ordered, size = sorted(values), len(values)
    draw = Random(SEED)
    means = [sum(draw.choices(ordered, k=size)) / size for _ in range(RESAMPLES)]
    cuts = quantiles(means, n=_CUTS)
    return Deviation(stdev(means), cuts[0], cuts[-1])


def places(groups: Sequence[str]) -> Whole:
    """The groups as numbers, each group's from its name alone, so that the order of the items makes no difference."""
    return np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)


def draws(groups: int, resamples: int = RESAMPLES) -> Floats:
    """How often each group is drawn in each resample: as many draws as there are groups."""
    generator = np.random.default_rng(SEED)
    return generator.multinomial(groups, np.full(groups, 1 / groups), size=resamples).astype(np.float64)


def interval(values: Any) -> Interval | None:
    """The interval of resampled values; None where too many resamples have no value, or all have the same for want of
    groups to draw from."""
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if len(known) < _LEAST * len(values) or len(values) < 2:
        return None
    low, high = np.percentile(known, _OUTER)
    return Interval(float(low), float(high))


DISPUTED = "disputed"
"""The verdict on an item when no single one has more than half of the votes."""

ItemVerdicts = Mapping[int, str]
"""One judge's verdicts on items; an item that it left open is not in it."""


@dataclass(frozen=True, slots=True)
class JudgeVerdicts:
    """What came of one judge: its verdicts by item, what each counts, from 0 to 1, and what went wrong."""

    judge: str
    by_item: ItemVerdicts
    points: Mapping[int, float]
    trouble: str = ""

    @property
    def score(self) -> float | None:
        """What its own verdicts come to; None where it gave none."""
        return mean(self.points.values())


@dataclass(frozen=True, slots=True)
class ItemVotes:
    """What those judges say of one item who gave a verdict on it."""

    verdict: str
    """What more than half of them say, or `DISPUTED`."""
    value: float
    """What it counts: the mean over these judges. Every figure of an evaluation is a mean of such values."""
    votes: Counter[str]

    def against(self, fine: str) -> tuple[int, int]:
        """How many of them object to it, and of how many."""
        return self.votes.total() - self.votes[fine], self.votes.total()

    def said_against(self, fine: str) -> tuple[int, int] | None:
        """The same for a finding, which is one judge's to say where no other gave a verdict."""
        return self.against(fine) if self.votes.total() > 1 else None

    def objection(self, fine: str) -> str:
        """What most of those say who object to it; of several that as many say, what the first of them does."""
        return next(verdict for verdict, _ in self.votes.most_common() if verdict != fine)

    def shown(self) -> dict[str, object]:
        """The verdict, what it counts, and where several judges gave one, how they voted."""
        votes = {"votes": dict(self.votes)} if self.votes.total() > 1 else {}
        return {"verdict": self.verdict, "value": self.value, **votes}


UNJUDGED: Mapping[str, object] = {"verdict": "unjudged", "value": None}
"""How an item is shown on which there is no verdict."""
OPEN = frozenset({UNJUDGED["verdict"]})
"""Verdicts that say of an item neither that it is right nor that it is wrong."""


def aggregate(panel_verdicts: Sequence[JudgeVerdicts], items: Iterable[int]) -> dict[int, ItemVotes]:
    """What the judges say of each item; items without any verdict are left out."""
    verdicts = majority([judge_verdicts.by_item for judge_verdicts in panel_verdicts], items)
    result: dict[int, ItemVotes] = {}
    for item, verdict in verdicts.items():
        said = [judge_verdicts for judge_verdicts in panel_verdicts if item in judge_verdicts.by_item]
        value = fmean(judge_verdicts.points[item] for judge_verdicts in said)
        result[item] = ItemVotes(verdict, value, Counter(judge_verdicts.by_item[item] for judge_verdicts in said))
    return result


def objected(items: Mapping[int, ItemVotes], fine: str, order: Iterable[int] | None = None) -> list[int]:
    """The items that somebody objects to, in an order: first those to which most do, then the others."""
    found = [n for n in (items if order is None else order) if items[n].against(fine)[0]]
    return sorted(found, key=lambda n: 2 * items[n].against(fine)[0] <= items[n].votes.total())


def mean(values: Collection[float]) -> float | None:
    """The mean; None of nothing."""
    return fmean(values) if values else None


def total(values: Iterable[float]) -> float | int:
    """How many items count: a whole number wherever no judges differ."""
    found = fsum(values)
    return int(found) if found.is_integer() else found


def majority(by_judge: Sequence[ItemVerdicts], items: Iterable[int]) -> dict[int, str]:
    """What more than half of those who gave a verdict say of each item; items without any verdict are left out."""
    result: dict[int, str] = {}
    for item in items:
        votes = Counter(by_item[item] for by_item in by_judge if item in by_item)
        if votes:
            verdict, most = votes.most_common(1)[0]
            result[item] = verdict if 2 * most > votes.total() else DISPUTED
    return result


def agreement(by_judge: Sequence[ItemVerdicts]) -> float | None:
    """The share of equal verdicts over all pairs of judges and the items that both judged; None for one judge alone."""
    equal = both = 0
    for one, other in combinations(by_judge, 2):
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
