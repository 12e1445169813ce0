"""How well a judge's probabilities hold, by people's labels; a calibration fitted to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from redraft.agents.accounts import HIGH, LOW, calibrated, raw_cut
from redraft.evaluators.reference.keyfacts import share
from redraft.lab.agreement.correlation import folds_of
from redraft.lab.agreement.tables import basis, best_of
from redraft.lab.agreement.trial import AgreementOutcome, Column
from redraft.lab.experiments.experiment import Row, table
from redraft.settings import Calibration

_BINS = 10
_STEPS = 50
# Fewer labels of either kind do not fix two numbers.
_LEAST = 10
# Keeps the slope finite where all labels can be told apart.
_RIDGE = 1e-3


@dataclass(frozen=True, slots=True)
class LabelledProbability:
    """The probability that something is right, whether people find it right, and its document."""

    probability: float
    right: bool
    document: str


@dataclass(frozen=True, slots=True)
class Quality:
    """How well probabilities hold: the mean squared error, the distance of the shares that are right from what was
    said, and how often the verdicts beyond the cuts are wrong."""

    n: int
    brier: float
    error: float
    decided: int
    wrong: int


def labelled(outcome: AgreementOutcome, column: Column) -> list[LabelledProbability]:
    """Return a judge's probabilities with people's labels: of sentences, or of whole summaries."""
    best, field = best_of(outcome), outcome.design.human
    found: list[LabelledProbability] = []
    for item, said in zip(outcome.dataset.items, column.said, strict=True):
        labels: Sequence[bool | None] = item.labels
        if not item.sentences:
            labels = [item.people[field] >= best] if best is not None and field in item.people else []
        found += [
            LabelledProbability(odds, right, item.document)
            for odds, right in zip(said.odds, labels, strict=False)
            if odds is not None and right is not None
        ]
    return found


def fitted(pairs: Sequence[LabelledProbability]) -> Calibration | None:
    """Return the calibration that makes people's labels likeliest (Platt scaling, by Newton's method); None where there
    are too few labels, or where they do not rise with the probability."""
    right = np.asarray([one.right for one in pairs], dtype=np.float64)
    if min(right.sum(), len(right) - right.sum(), len(right)) < _LEAST:
        return None
    within = np.clip([one.probability for one in pairs], 1e-6, 1 - 1e-6)
    design = np.stack([np.log(within / (1 - within)), np.ones(len(within))], axis=1)
    weights = np.asarray([1.0, 0.0])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(design @ weights, -50, 50)))
        slope = design.T @ (right - likely) - _RIDGE * weights
        curve = (design * (likely * (1 - likely))[:, None]).T @ design + _RIDGE * np.eye(2)
        step = np.linalg.solve(curve, slope)
        weights = weights + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-9:
            break
    (slope, both), (_, intercept) = np.linalg.inv(curve).tolist()
    covariance = (slope, both, intercept)
    found = weights.tolist()
    return Calibration(slope=found[0], intercept=found[1], covariance=covariance) if found[0] > 0 else None


def cross_fitted(pairs: Sequence[LabelledProbability]) -> list[LabelledProbability] | None:
    """Return the pairs with probabilities calibrated on other documents; None where that is impossible."""
    found: list[LabelledProbability | None] = [None] * len(pairs)
    for inside in folds_of([one.document for one in pairs]):
        own = fitted([one for one, held in zip(pairs, inside, strict=True) if not held])
        if own is None:
            return None
        for n in np.flatnonzero(inside).tolist():
            one = pairs[n]
            found[n] = LabelledProbability(calibrated(one.probability, own), one.right, one.document)
    return [one for one in found if one is not None] or None


def quality(pairs: Sequence[LabelledProbability]) -> Quality | None:
    """Return how well the probabilities hold; None without any."""
    if not pairs:
        return None
    likely = np.asarray([one.probability for one in pairs])
    right = np.asarray([one.right for one in pairs], dtype=np.float64)
    order = np.argsort(likely, kind="stable")
    bins = [part for part in np.array_split(order, _BINS) if len(part)]
    error = sum(len(part) * abs(likely[part].mean() - right[part].mean()) for part in bins) / len(pairs)
    beyond = (likely <= LOW) | (likely >= HIGH)
    wrong = beyond & ((likely >= HIGH) != (right == 1))
    return Quality(len(pairs), float(((likely - right) ** 2).mean()), float(error), int(beyond.sum()), int(wrong.sum()))


@table(
    "calibration",
    "Probabilities compared with people",
    "Brier: the mean squared difference between a probability and what people say (0 is best, always one half gives"
    " 0.25). Calibration error: how far the shares that people find right are from the probabilities, in ten groups of"
    f" equal size. Decided: with a probability of at most {LOW:g} or at least {HIGH:g}, which counts as a verdict;"
    " error: the share of these that is wrong. Calibrated: after a calibration fitted on other documents (five-fold)."
    " From, to: what the judge itself says at the two cuts.",
    ("judge", "probabilities", "items", "Brier", "calibration error", "decided", "error", "from", "to"),
    basis,
)
def calibration_table(outcome: AgreementOutcome) -> Iterator[Row]:
    for column in outcome.columns:
        pairs = labelled(outcome, column)
        if (given := quality(pairs)) is None:
            continue
        yield (column.name, "as given", *_row(given), LOW, HIGH)
        own, across = fitted(pairs), cross_fitted(pairs)
        if own is not None and across is not None and (after := quality(across)) is not None:
            yield (column.name, "calibrated", *_row(after), raw_cut(LOW, own), raw_cut(HIGH, own))


def _row(found: Quality) -> Row:
    return (found.n, found.brier, found.error, share(found.decided, found.n), share(found.wrong, found.decided))
