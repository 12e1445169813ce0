"""How well scores tell right from wrong: balanced accuracy, precision and recall by class, the area under the ROC
curve; and for judges that abstain, how often they are wrong on how much of it they judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, precision_recall_fscore_support, roc_auc_score, roc_curve

from redraft.evaluators.resampling import Floats, Interval, draws, interval, places

_FOLDS = 5
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class OfClass:
    """Of what is said to be of a class, the share that is; of what is of it, the share that is said to be; and how many
    people say are of it."""

    precision: float | None
    recall: float | None
    there: int


@dataclass(frozen=True, slots=True)
class Told:
    """How well two classes are told apart."""

    n: int
    right: OfClass
    wrong: OfClass
    balanced: float | None = None
    interval: Interval | None = None


def told(said: Sequence[bool], people: Sequence[bool], groups: Sequence[str]) -> Told:
    """Verdicts beside people's; the balanced accuracy wants both classes among people's."""
    ours, theirs = np.asarray(said, dtype=bool), np.asarray(people, dtype=bool)
    right, wrong = of_class(ours, theirs), of_class(~ours, ~theirs)
    if not (right.there and wrong.there):
        return Told(len(ours), right, wrong)
    return Told(len(ours), right, wrong, float(balanced_accuracy_score(theirs, ours)), _interval(ours, theirs, groups))


def of_class(said: Sequence[bool] | Flags, people: Sequence[bool] | Flags) -> OfClass:
    """Of the class whose members are true; there is no share of nothing."""
    precision, recall, _, _ = precision_recall_fscore_support(
        people, said, pos_label=True, average="binary", zero_division=0.0
    )
    there = int(np.sum(people))
    return OfClass(float(precision) if np.any(said) else None, float(recall) if there else None, there)


def _interval(said: Flags, people: Flags, groups: Sequence[str]) -> Interval | None:
    """By drawing other groups: all that is added up is how many of each class there are and were found."""
    place = places(groups)
    if (count := int(place.max()) + 1) < 2:
        return None
    sums = np.zeros((4, count))
    for which, those in enumerate((people & said, people, ~people & ~said, ~people)):
        np.add.at(sums[which], place, those.astype(np.float64))
    found, there, cleared, others = sums @ draws(count).T
    both = (there > 0) & (others > 0)
    halves = np.full(len(there), np.nan)
    halves[both] = (found[both] / there[both] + cleared[both] / others[both]) / 2
    return interval(halves)


def area_under_curve(scores: Sequence[float], people: Sequence[bool]) -> float | None:
    """How likely what is right has a higher score than what is wrong, half of the ties counted; None for one class."""
    return float(roc_auc_score(people, scores)) if len(set(people)) == 2 else None


def verdicts_by_cut(scores: Sequence[float], people: Sequence[bool], groups: Sequence[str]) -> list[bool] | None:
    """Scores as verdicts: right from a cut on that is chosen on other groups, the one that tells the classes apart best
    there. None where there are too few groups, or one class alone."""
    values, theirs, place = np.asarray(scores, dtype=np.float64), np.asarray(people, dtype=bool), places(groups)
    count = int(place.max()) + 1 if len(place) else 0
    folds = np.random.default_rng(0).permutation(count) % min(_FOLDS, max(count, 1))
    said = np.zeros(len(values), dtype=bool)
    for fold in range(min(_FOLDS, count)):
        out = folds[place] == fold
        if len(set(theirs[~out].tolist())) < 2:
            return None
        said[out] = values[out] >= _cut(values[~out], theirs[~out])
    return said.tolist() if count > 1 else None


def _cut(scores: Floats, people: Flags) -> float:
    false, true, cuts = roc_curve(people, scores, drop_intermediate=False)
    return float(cuts[int(np.argmax(true - false))])


@dataclass(frozen=True, slots=True)
class Judged:
    """Of the items on which a judge is at least so sure: how many they are of all, and how often it is wrong."""

    least: float
    coverage: float
    risk: float | None


def risk_against_coverage(wrong: Sequence[bool], sure: Sequence[float], of: int) -> list[Judged]:
    """The curve of a judge that may abstain: of all items, how many it judges at each degree of being sure, and how
    often it is wrong there. `of` are all the items, those without a verdict too; the surest come first."""
    order = sorted(range(len(wrong)), key=lambda n: -sure[n])
    curve: list[Judged] = []
    mistakes = 0
    for at, n in enumerate(order, 1):
        mistakes += wrong[n]
        if at == len(order) or sure[order[at]] < sure[n]:
            curve.append(Judged(sure[n], at / of, mistakes / at))
    return curve


def area_of_risk(wrong: Sequence[bool], sure: Sequence[float]) -> float | None:
    """The mean risk over all coverages that the verdicts reach, those that are equally sure in a random order."""
    if not wrong:
        return None
    steps = risk_against_coverage(wrong, sure, len(wrong))
    total, before, mistakes = 0.0, 0, 0.0
    for step in steps:
        count = round(step.coverage * len(wrong))
        new = (step.risk or 0.0) * count - mistakes
        # In a random order each of those that are equally sure is as likely to be wrong as the next.
        share = new / (count - before)
        total += sum((mistakes + share * k) / (before + k) for k in range(1, count - before + 1))
        before, mistakes = count, mistakes + new
    return total / len(wrong)
