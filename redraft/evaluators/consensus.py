"""Agreement of judges on items, mean and spread, and bootstrap intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
"""The number used by BooookScore (appendix G); enough for a 95% interval."""
SEED = 0
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
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JudgeVerdicts(Generic[AnswerT]):
    """One judge's verdicts by item, the value of each from 0 to 1, and its errors."""

    judge: str
    by_item: ItemVerdicts
    points: Mapping[int, float]
    trouble: str = ""
    answers: Mapping[int, AnswerT] = field(default_factory=dict)
    """What the judge answered, as far as the metric keeps it."""

    def score(self, weights: Sequence[int] = ()) -> float | None:
        """Return the score by this judge alone; None without verdicts."""
        return weighted_mean(self.points, weights)


def confirmed(
    first: JudgeVerdicts[AnswerT], second: JudgeVerdicts[AnswerT], items: Sequence[int]
) -> JudgeVerdicts[AnswerT]:
    """Return the verdicts of one judge, with those of another on the items that the first one doubted."""

    def merged(own: Mapping[int, T], others: Mapping[int, T]) -> dict[int, T]:
        kept = {number: value for number, value in own.items() if number not in items}
        return kept | {items[at]: value for at, value in others.items()}

    return JudgeVerdicts(
        f"{first.judge}, confirmed by {second.judge}",
        merged(first.by_item, second.by_item),
        merged(first.points, second.points),
        second.trouble,
        merged(first.answers, second.answers),
    )


@dataclass(frozen=True, slots=True)
class ItemVotes:
    """The verdicts of the judges on one item."""

    verdict: str
    """The majority verdict, or `DISPUTED`."""
    value: float
    """The mean of the judges' values. Every score is a mean of such values, weighted if its items are."""
    votes: Counter[str]

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
        return {"verdict": self.verdict, "value": self.value, **votes}


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
        """Return the verdict on an item as it is shown."""
        return self.items[n].shown() if n in self.items else dict(UNJUDGED)


def aggregate(judges: Sequence[JudgeVerdicts[Any]], items: Iterable[int]) -> dict[int, ItemVotes]:
    """Return the votes on each item; items without a verdict are left out."""
    result: dict[int, ItemVotes] = {}
    for item, verdict in majority([judge_verdicts.by_item for judge_verdicts in judges], items).items():
        verdicts = [judge_verdicts for judge_verdicts in judges if item in judge_verdicts.by_item]
        votes = Counter(judge_verdicts.by_item[item] for judge_verdicts in verdicts)
        result[item] = ItemVotes(verdict, fmean(judge_verdicts.points[item] for judge_verdicts in verdicts), votes)
    return result


def disputed_items(items: Mapping[int, ItemVotes], fine: str, order: Iterable[int] | None = None) -> list[int]:
    """Return the items that any judge objects to: those with a majority first."""
    found = [n for n in (items if order is None else order) if items[n].against(fine)[0]]
    return sorted(found, key=lambda n: 2 * items[n].against(fine)[0] <= items[n].votes.total())


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
