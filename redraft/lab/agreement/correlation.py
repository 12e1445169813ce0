"""Correlations between scores and human judgments, and the series of values that they are computed from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, precision_recall_fscore_support, roc_auc_score, roc_curve

from redraft.evaluators.consensus import SEED, Floats, Interval, Whole, draws, interval, places, spread_of_mean
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.agreement.trial import AgreementOutcome, Column, ItemOutcome

BIGRAMS = "share of bigrams in the document"
"""What any judge is to be held against: it knows nothing but which words follow which."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ScoreSeries:
    """Numbers of the same items, by whoever gave them."""

    name: str
    of: int
    """How many items there are that people say something of."""
    places: tuple[int, ...]
    """Which items they are."""
    ours: tuple[float, ...]
    people: tuple[float, ...]
    documents: tuple[str, ...]
    systems: tuple[str, ...]

    @property
    def has_systems(self) -> bool:
        """Whether several systems can be told apart."""
        return len(set(self.systems)) > 1 and "" not in self.systems


def series(outcome: AgreementOutcome, column: Column) -> ScoreSeries:
    """A judge's scores beside people's, where both are there."""
    return _series(outcome.dataset, outcome.design.human, column.name, column.scores)


def filled(outcome: AgreementOutcome, column: Column) -> ScoreSeries:
    """The same over all items that people say something of: one without a score has the mean of the others."""
    known = [score for score in column.scores if score is not None]
    middle = fmean(known) if known else None
    scores = [middle if score is None else score for score in column.scores]
    return _series(outcome.dataset, outcome.design.human, column.name, scores)


def baseline(outcome: AgreementOutcome) -> ScoreSeries:
    """The share of each summary's bigrams that its document has."""
    scores = [bigram_share(item) for item in outcome.dataset.items]
    return _series(outcome.dataset, outcome.design.human, BIGRAMS, scores)


def _series(dataset: Dataset, field: str, name: str, scores: Sequence[float | None]) -> ScoreSeries:
    there = [n for n, item in enumerate(dataset.items) if field in item.people]
    both = [n for n in there if scores[n] is not None]
    items = [dataset.items[n] for n in both]
    return ScoreSeries(
        name,
        len(there),
        tuple(both),
        tuple(score for n in both if (score := scores[n]) is not None),
        tuple(item.people[field] for item in items),
        tuple(item.document for item in items),
        tuple(item.system for item in items),
    )


def bigram_share(item: HumanItem) -> float:
    """Of a summary's pairs of words that follow each other, the share that its document has."""
    known = _bigrams(item.source)
    own = [pair for part in item.sentences or (item.summary,) for pair in pairwise(_words(part))]
    return fmean(pair in known for pair in own) if own else 0.0


@lru_cache(maxsize=256)
def _bigrams(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(_words(text)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@dataclass(frozen=True, slots=True)
class SentenceSeries:
    """Verdicts on single sentences beside people's: where the judge abstains there is none."""

    said: tuple[bool | None, ...]
    people: tuple[bool, ...]
    documents: tuple[str, ...]

    @property
    def judged(self) -> list[int]:
        """Those on which the judge has a verdict."""
        return [n for n, verdict in enumerate(self.said) if verdict is not None]

    @property
    def separation(self) -> ClassSeparation:
        """How well the judge tells right sentences from wrong ones, where it has a verdict."""
        known = self.judged
        said, people = [bool(self.said[n]) for n in known], [self.people[n] for n in known]
        return told(said, people, [self.documents[n] for n in known])


def sentence_series(dataset: Dataset, column: Column) -> SentenceSeries | None:
    """All sentences that people judged; None where they judged none, or the metric says nothing of any."""
    found = list(_sentences(dataset, column.said))
    if all(said is None for said, _, _ in found):
        return None
    return SentenceSeries(*(tuple(part) for part in zip(*found, strict=True)))


def _sentences(dataset: Dataset, said: Sequence[ItemOutcome]) -> Iterator[tuple[bool | None, bool, str]]:
    for item, one in zip(dataset.items, said, strict=True):
        verdicts = one.sentences or (None,) * len(item.labels)
        for verdict, label in zip(verdicts, item.labels, strict=True):
            if label is not None:
                yield verdict, label, item.document


PERMUTATIONS = 999
"""How many orders the p-value rests on, where there are more."""
# Above so many pairs the orders are not drawn: their distribution is as good as normal, and scipy has its variance with
# ties taken into account.
_DRAWN = 2_000
# Above so many pairs the interval is that of a part of the documents, narrowed to what all of them would have.
_COMPARED = 8_000
_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Correlation:
    """What two series have in common. None is what there is not."""

    n: int
    tau: float | None = None
    interval: Interval | None = None
    p: float | None = None
    spearman: float | None = None
    pearson: float | None = None


def correlate(ours: Sequence[float], people: Sequence[float], groups: Sequence[str]) -> Correlation:
    """All of it for pairs of numbers; the interval is by drawing other groups, such as documents."""
    x, y = np.asarray(ours, dtype=np.float64), np.asarray(people, dtype=np.float64)
    if not is_varied(x) or not is_varied(y):
        return Correlation(len(x))
    tau = float(stats.kendalltau(x, y).statistic)
    return Correlation(
        len(x),
        tau,
        _interval(x, y, places(groups), tau),
        _p_value(x, y),
        float(stats.spearmanr(x, y).statistic),
        float(stats.pearsonr(x, y).statistic),
    )


def tau_b(ours: Sequence[float], people: Sequence[float]) -> float | None:
    """Kendall's tau-b alone."""
    x, y = np.asarray(ours, dtype=np.float64), np.asarray(people, dtype=np.float64)
    return float(stats.kendalltau(x, y).statistic) if is_varied(x) and is_varied(y) else None


def is_varied(values: Floats) -> bool:
    """Whether there are two different values at least."""
    return len(values) > 1 and bool(np.any(values != values[0]))


def _p_value(x: Floats, y: Floats) -> float:
    """How often chance alone brings the two as close together, or as far apart: over all orders of the one, or many."""
    if len(x) > _DRAWN:
        return float(stats.kendalltau(x, y).pvalue)
    found = stats.permutation_test(
        (y,),
        lambda order: stats.kendalltau(x, order).statistic,
        permutation_type="pairings",
        n_resamples=PERMUTATIONS,
        rng=np.random.default_rng(SEED),
    )
    return float(found.pvalue)


def _interval(x: Floats, y: Floats, groups: Whole, tau: float) -> Interval | None:
    chosen, share = _some(groups)
    groups = np.unique(groups[chosen], return_inverse=True)[1]
    if (count := int(groups.max()) + 1) < 2:
        return None
    found = interval(taus(x[chosen], y[chosen], groups, draws(count)))
    if found is None or share == 1:
        return found
    middle = tau_b(x[chosen].tolist(), y[chosen].tolist()) or 0.0
    low, high = (tau + (end - middle) * sqrt(share) for end in found)
    return Interval(max(-1.0, low), min(1.0, high))


def _some(groups: Whole) -> tuple[Whole, float]:
    """The places of all pairs, or those of some groups where there are many pairs; and which share of the groups it
    is. Of groups that are large themselves there are only some of the pairs, which makes the interval no narrower."""
    everything = np.arange(len(groups))
    if len(groups) <= _COMPARED:
        return everything, 1.0
    generator = np.random.default_rng(SEED)
    count = int(groups.max()) + 1
    kept = max(min(count, 100), count * _COMPARED // len(groups))
    inside = np.isin(groups, generator.permutation(count)[:kept])
    chosen = everything[inside]
    if len(chosen) > _COMPARED:
        chosen = np.sort(generator.choice(chosen, _COMPARED, replace=False))
    return chosen, len(np.unique(groups[chosen])) / count


def taus(x: Floats, y: Floats, groups: Whole, drawn: Floats) -> Floats:
    """Tau-b of each resample, in which each group stands as often as it is drawn.

    Of all pairs of items three things are added up for each pair of groups: which way they go, and whether they differ
    in the one and in the other. A resample weighs these sums.
    """
    order = np.argsort(groups, kind="stable")
    x, y, groups = x[order], y[order], groups[order]
    starts = np.flatnonzero(np.r_[True, np.diff(groups) > 0])
    sums = np.zeros((3, len(starts), len(starts)))
    for at in range(0, len(x), _BLOCK):
        end = at + _BLOCK
        dx = np.sign(x[at:end, None] - x[None, :]).astype(np.int8)
        dy = np.sign(y[at:end, None] - y[None, :]).astype(np.int8)
        for which, table in enumerate((dx * dy, dx * dx, dy * dy)):
            columns = np.add.reduceat(table, starts, axis=1, dtype=np.int64)
            np.add.at(sums[which], groups[at:end], columns)
    same, differs, others = (np.einsum("bi,ij,bj->b", drawn, table, drawn, optimize=True) for table in sums)
    scale = np.sqrt(differs * others)
    found: Floats = np.divide(same, scale, out=np.full(len(drawn), np.nan), where=scale > 0)
    return found


@dataclass(frozen=True, slots=True)
class WithinDocuments:
    """The mean of tau-b over documents, over those that have one."""

    documents: int
    of: int
    """How many documents there are: one whose summaries are all alike to either says nothing."""
    tau: float | None
    interval: Interval | None


def within_documents(ours: Sequence[float], people: Sequence[float], documents: Sequence[str]) -> WithinDocuments:
    """Of each document alone, which of its summaries is better."""
    places_of: dict[str, list[int]] = defaultdict(list)
    for n, document in enumerate(documents):
        places_of[document].append(n)
    found = [tau_b([ours[n] for n in those], [people[n] for n in those]) for those in places_of.values()]
    known = [one for one in found if one is not None]
    spread = spread_of_mean(known)
    whole = Interval(spread.low, spread.high) if spread else None
    return WithinDocuments(len(known), len(found), fmean(known) if known else None, whole)


def between_systems(
    ours: Sequence[float], people: Sequence[float], systems: Sequence[str], documents: Sequence[str]
) -> Correlation:
    """The correlation of the systems' means. The interval is by drawing other documents, not other systems."""
    system, document = places(systems), places(documents)
    counts = np.zeros((int(document.max()) + 1, int(system.max()) + 1)) if len(system) else np.zeros((0, 0))
    sums = np.zeros((2, *counts.shape))
    np.add.at(counts, (document, system), 1)
    for which, values in enumerate((ours, people)):
        np.add.at(sums[which], (document, system), np.asarray(values, dtype=np.float64))
    if counts.shape[1] < 2:
        return Correlation(counts.shape[1])
    means = sums.sum(axis=1) / counts.sum(axis=0)
    drawn = draws(len(counts))
    weights = drawn @ counts
    resampled = [
        np.divide(drawn @ part, weights, out=np.full_like(weights, np.nan), where=weights > 0) for part in sums
    ]
    tau = tau_b(*means.tolist())
    if tau is None:
        return Correlation(counts.shape[1])
    return Correlation(
        counts.shape[1],
        tau,
        interval(_taus(*resampled)) if len(counts) > 1 else None,
        float(stats.kendalltau(*means).pvalue),
        float(stats.spearmanr(*means).statistic),
        float(stats.pearsonr(*means).statistic),
    )


def _taus(x: Floats, y: Floats) -> Floats:
    """Tau-b along each row, by all pairs of columns; none where a column has no value."""
    one, other = np.triu_indices(x.shape[1], 1)
    dx, dy = np.sign(x[:, one] - x[:, other]), np.sign(y[:, one] - y[:, other])
    scale = np.sqrt((dx * dx).sum(axis=1) * (dy * dy).sum(axis=1))
    found: Floats = np.divide((dx * dy).sum(axis=1), scale, out=np.full(len(x), np.nan), where=scale > 0)
    return found


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
class ClassSeparation:
    """How well two classes are told apart."""

    n: int
    right: OfClass
    wrong: OfClass
    balanced: float | None = None
    interval: Interval | None = None


def told(said: Sequence[bool], people: Sequence[bool], groups: Sequence[str]) -> ClassSeparation:
    """Verdicts beside people's; the balanced accuracy wants both classes among people's."""
    ours, theirs = np.asarray(said, dtype=bool), np.asarray(people, dtype=bool)
    right, wrong = of_class(ours, theirs), of_class(~ours, ~theirs)
    if not (right.there and wrong.there):
        return ClassSeparation(len(ours), right, wrong)
    return ClassSeparation(
        len(ours),
        right,
        wrong,
        float(balanced_accuracy_score(theirs, ours)),
        _interval_of_classes(ours, theirs, groups),
    )


def of_class(said: Sequence[bool] | Flags, people: Sequence[bool] | Flags) -> OfClass:
    """Of the class whose members are true; there is no share of nothing."""
    if not len(people):
        return OfClass(None, None, 0)
    precision, recall, _, _ = precision_recall_fscore_support(
        people, said, pos_label=True, average="binary", zero_division=0.0
    )
    there = int(np.sum(people))
    return OfClass(float(precision) if np.any(said) else None, float(recall) if there else None, there)


def _interval_of_classes(said: Flags, people: Flags, groups: Sequence[str]) -> Interval | None:
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
class SelectiveAccuracy:
    """Of the items on which a judge is at least so sure: how many they are of all, and how often it is wrong."""

    least: float
    coverage: float
    risk: float | None


def risk_against_coverage(wrong: Sequence[bool], sure: Sequence[float], of: int) -> list[SelectiveAccuracy]:
    """The curve of a judge that may abstain: of all items, how many it judges at each degree of being sure, and how
    often it is wrong there. `of` are all the items, those without a verdict too; the surest come first."""
    order = sorted(range(len(wrong)), key=lambda n: -sure[n])
    curve: list[SelectiveAccuracy] = []
    mistakes = 0
    for at, n in enumerate(order, 1):
        mistakes += wrong[n]
        if at == len(order) or sure[order[at]] < sure[n]:
            curve.append(SelectiveAccuracy(sure[n], at / of, mistakes / at))
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
