"""Agreement of judges on items, mean and spread, and bootstrap intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, zip_longest
from math import ceil, fsum, sqrt
from random import Random
from statistics import NormalDist, fmean, quantiles, stdev
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from redraft.fields import Calibration

RESAMPLES = 1000
"""The number used by BooookScore (appendix G); enough for a 95% interval."""
SEED = 0
# The quantiles that enclose 95%.
_CUTS = 40
_OUTER = (2.5, 97.5)
_QUANTILE = NormalDist().inv_cdf(0.975)
# A figure that is defined in fewer resamples than this share has no useful interval.
_MIN = 0.5

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Interval(NamedTuple):
    """A 95% bootstrap interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Deviation:
    """The standard deviation and 95% interval of resampled means."""

    sd: float
    low: float
    high: float


def spread_of_mean(values: Sequence[float]) -> Deviation | None:
    """Return the bootstrap spread of the mean, independent of the values' order; None for fewer than two values."""
    if len(values) < 2:
        return None
    ordered, size = sorted(values), len(values)
    draw = Random(SEED)
    means = [sum(draw.choices(ordered, k=size)) / size for _ in range(RESAMPLES)]
    cuts = quantiles(means, n=_CUTS)
    return Deviation(stdev(means), cuts[0], cuts[-1])


def places(groups: Sequence[str]) -> Whole:
    """Return the groups as numbers that depend only on their names, so that item order makes no difference."""
    return np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)


def draws(groups: int, resamples: int = RESAMPLES) -> Floats:
    """Return how often each group is drawn in each resample."""
    generator = np.random.default_rng(SEED)
    return generator.multinomial(groups, np.full(groups, 1 / groups), size=resamples).astype(np.float64)


def interval(values: Any) -> Interval | None:
    """Return the interval of resampled values; None where too many have no value, or where there are too few groups."""
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if len(known) < _MIN * len(values) or len(values) < 2:
        return None
    low, high = np.percentile(known, _OUTER)
    return Interval(float(low), float(high))


def interval_of_share(share: float, count: int) -> Interval:
    """Return the Wilson interval of a share of so many items."""
    z = _QUANTILE
    middle, half = share + z * z / (2 * count), z * sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    low, high = ((middle + side) / (1 + z * z / count) for side in (-half, half))
    return Interval(low if share else 0.0, high if share < 1 else 1.0)


DISPUTED = "disputed"
"""The verdict on an item on which no single verdict has a majority."""

ItemVerdicts = Mapping[int, str]
"""One judge's verdicts by item; items that it left open are absent."""


AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class JudgeVerdicts(Generic[AnswerT]):
    """One judge's verdicts by item, the value of each from 0 to 1, and its errors."""

    judge: str
    by_item: ItemVerdicts
    points: Mapping[int, float]
    trouble: str = ""
    odds: Mapping[int, float] = field(default_factory=dict)
    """The probability that each item is without fault, as far as the judge gives one."""
    answers: Mapping[int, AnswerT] = field(default_factory=dict)
    """What the judge answered, as far as the metric keeps it."""
    calibration: Calibration | None = None
    """What its probabilities are calibrated by."""

    def score(self, weights: Sequence[int] = ()) -> float | None:
        """Return the score by this judge alone; None without verdicts."""
        return weighted_mean(self.points, weights)


def doubted(verdicts: JudgeVerdicts[Any], count: int, fine: str) -> list[int]:
    """Return which of so many items a judge objects to or leaves open."""
    return [n for n in range(count) if verdicts.by_item.get(n) != fine]


def confirmed(
    first: JudgeVerdicts[AnswerT], second: JudgeVerdicts[AnswerT], items: Sequence[int]
) -> JudgeVerdicts[AnswerT]:
    """Return the verdicts of one judge, with those of another on the items that the first one doubted."""

    def replaced(name: str) -> dict[int, Any]:
        kept = {n: one for n, one in getattr(first, name).items() if n not in items}
        return kept | {items[at]: one for at, one in getattr(second, name).items()}

    return JudgeVerdicts(
        f"{first.judge}, confirmed by {second.judge}",
        trouble=second.trouble,
        calibration=first.calibration,
        **{name: replaced(name) for name in ("by_item", "points", "odds", "answers")},
    )


def with_votes(judges: Sequence[JudgeVerdicts[AnswerT]], voters: Sequence[str]) -> list[JudgeVerdicts[AnswerT]]:
    """Return the verdicts with probabilities from the votes of a model's samples, where it gives none itself. A vote
    for half of an item is half a vote. `voters` names the model of each judge; it is empty where none are wanted. By
    Laplace's rule, as few votes leave some doubt even if they agree."""
    votes: dict[tuple[str, int], list[float]] = {}
    for verdicts, voter in zip(judges, voters, strict=True):
        for n in verdicts.by_item.keys() - verdicts.odds.keys() if voter else ():
            votes.setdefault((voter, n), []).append(verdicts.points[n])
    shares = {key: (sum(own) + 1) / (len(own) + 2) for key, own in votes.items() if len(own) > 1}
    return [
        replace(
            judge_verdicts,
            odds={n: shares[voter, n] for n in judge_verdicts.by_item if (voter, n) in shares}
            | dict(judge_verdicts.odds),
        )
        for judge_verdicts, voter in zip(judges, voters, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class ItemVotes:
    """The verdicts of the judges on one item."""

    verdict: str
    """The majority verdict, or `DISPUTED`."""
    value: float
    """The mean of the judges' values. Every score is a mean of such values, weighted if its items are."""
    votes: Counter[str]
    probability: float | None = None
    """The mean probability that the item is without fault, where judges give one."""

    def against(self, fine: str) -> tuple[int, int]:
        """Return how many judges object, and how many judged."""
        return self.votes.total() - self.votes[fine], self.votes.total()

    def said_against(self, fine: str) -> tuple[int, int] | None:
        """Return the same for a finding, which may come from a single judge."""
        return self.against(fine) if self.votes.total() > 1 else None

    def objection(self, fine: str) -> str:
        """Return the most common objection; among equals the first."""
        return next(verdict for verdict, _ in self.votes.most_common() if verdict != fine)

    def shown(self) -> dict[str, object]:
        """Return the verdict and its value and, where several judges voted, the votes."""
        votes = {"votes": dict(self.votes)} if self.votes.total() > 1 else {}
        likely = {} if self.probability is None else {"probability": round(self.probability, 4)}
        return {"verdict": self.verdict, "value": self.value, **likely, **votes}


UNJUDGED: Mapping[str, object] = {"verdict": "unjudged", "value": None}
"""How an item without a verdict is shown."""
OPEN = frozenset({UNJUDGED["verdict"]})
"""Verdicts that are neither right nor wrong."""


@dataclass(frozen=True, slots=True)
class PanelVerdicts(Generic[AnswerT]):
    """The verdicts of all judges of a panel on so many items, and the votes on each item that has any."""

    judges: tuple[JudgeVerdicts[AnswerT], ...]
    count: int
    items: Mapping[int, ItemVotes]

    @classmethod
    def of(cls, judges: Iterable[JudgeVerdicts[AnswerT]], count: int) -> PanelVerdicts[AnswerT]:
        """Return the verdicts of some judges on so many items."""
        verdicts = tuple(judges)
        return cls(verdicts, count, aggregate(verdicts, range(count)))

    def answers(self, n: int, verdict: str | None = None) -> list[AnswerT]:
        """Return the answers behind a verdict on an item, or else behind the panel's own."""
        wanted = verdict or (self.items[n].verdict if n in self.items else None)
        return [
            verdicts.answers[n]
            for verdicts in self.judges
            if wanted and verdicts.by_item.get(n) == wanted and n in verdicts.answers
        ]

    def shown(self, n: int) -> dict[str, object]:
        """Return the verdict on an item as it is shown; without one, the probability that its judges gave, if any."""
        if n in self.items:
            return self.items[n].shown()
        odds = mean([verdicts.odds[n] for verdicts in self.judges if n in verdicts.odds])
        return {**UNJUDGED, **({} if odds is None else {"probability": round(odds, 4)})}


def aggregate(judges: Sequence[JudgeVerdicts[Any]], items: Iterable[int]) -> dict[int, ItemVotes]:
    """Return the votes on each item; items without a verdict are left out."""
    result: dict[int, ItemVotes] = {}
    for item, verdict in majority([judge_verdicts.by_item for judge_verdicts in judges], items).items():
        verdicts = [judge_verdicts for judge_verdicts in judges if item in judge_verdicts.by_item]
        votes = Counter(judge_verdicts.by_item[item] for judge_verdicts in verdicts)
        odds = mean([judge_verdicts.odds[item] for judge_verdicts in verdicts if item in judge_verdicts.odds])
        result[item] = ItemVotes(
            verdict, fmean(judge_verdicts.points[item] for judge_verdicts in verdicts), votes, odds
        )
    return result


def disputed_items(items: Mapping[int, ItemVotes], fine: str, order: Iterable[int] | None = None) -> list[int]:
    """Return the items that any judge objects to: those with a majority first."""
    found = [n for n in (items if order is None else order) if items[n].against(fine)[0]]
    return sorted(found, key=lambda n: 2 * items[n].against(fine)[0] <= items[n].votes.total())


def interval_of_mean(probabilities: Sequence[float], deviation: float = 0.0, weights: Sequence[int] = ()) -> Interval:
    """Return the 95% interval of the mean of independent items that are 1 with these probabilities, from the exact
    distribution of their sum. `deviation` is the standard deviation of an error that all of them share."""
    distribution, size = np.ones(1), sum(weights) or len(probabilities)
    for probability, weight in zip_longest(probabilities, weights, fillvalue=1):
        distribution = np.convolve(distribution, (1 - probability, *[0.0] * (int(weight) - 1), probability))
    if deviation > 0:
        width = deviation * size
        reach = ceil(4 * width)
        normal = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
        wide = np.convolve(distribution, normal / normal.sum())
        distribution = wide[reach:-reach]
        distribution[0] += wide[:reach].sum()
        distribution[-1] += wide[-reach:].sum()
    cumulative = np.cumsum(distribution)
    low, high = (int(np.searchsorted(cumulative, share / 100)) for share in _OUTER)
    return Interval(low / size, min(high, size) / size)


def mean(values: Collection[float]) -> float | None:
    """Return the mean, or None for no values."""
    return fmean(values) if values else None


def weighted_mean(values: Mapping[int, float], weights: Sequence[int] = ()) -> float | None:
    """Return the mean of items by number, each counted as often as it weighs, or once without weights; None for no
    items."""
    return fmean(values.values(), [weights[n] for n in values] if weights else None) if values else None


def total(values: Iterable[float]) -> float | int:
    """Return the sum of the items' values: an integer wherever no judges differ."""
    found = fsum(values)
    return int(found) if found.is_integer() else found


def majority(by_judge: Sequence[ItemVerdicts], items: Iterable[int]) -> dict[int, str]:
    """Return the majority verdict on each item; items without a verdict are left out."""
    result: dict[int, str] = {}
    for item in items:
        votes = Counter(by_item[item] for by_item in by_judge if item in by_item)
        if votes:
            verdict, most = votes.most_common(1)[0]
            result[item] = verdict if 2 * most > votes.total() else DISPUTED
    return result


def agreement(by_judge: Sequence[ItemVerdicts]) -> float | None:
    """Return the share of equal verdicts over all pairs of judges and the items both judged; None for one judge."""
    equal = both = 0
    for one, other in combinations(by_judge, 2):
        shared = one.keys() & other.keys()
        both += len(shared)
        equal += sum(one[item] == other[item] for item in shared)
    return equal / both if both else None


def spread(scores: Sequence[float]) -> dict[str, float | int]:
    """Return the mean, standard deviation and range of repeated scores of one draft."""
    deviation = stdev(scores) if len(scores) > 1 else 0.0
    return {"n": len(scores), "mean": fmean(scores), "sd": deviation, "lowest": min(scores), "highest": max(scores)}
