"""The tables of LongSumEval's refinement: by subset (III), by initial score, by round, by threshold, by order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean, stdev

from redraft.dossier.beside.sides import LEAST, interval_of_mean
from redraft.evaluators.resampling import RESAMPLES
from redraft.experiments.longsumeval.design import Way
from redraft.experiments.longsumeval.records import Refined, RefinedOutcome
from redraft.reports.tables import Cell, Table, mean

ENDS = ("95% from", "95% to")
ALL = "all"
_QUARTERS = 4
_WHO = ("drafts by", "refined by")
_INTERVAL = (
    f"The interval holds 95 % of the means of {RESAMPLES:,} resamples of the documents; from fewer than {LEAST} there"
    " is none."
)
Row = tuple[Cell, ...]


def gain_table(outcome: RefinedOutcome) -> Table:
    """Table III: what refining gains on all summaries, and on those that begin low."""
    rows: list[Row] = []
    for group in outcome.groups:
        for way in outcome.design.ways:
            refined = outcome.of(group, way)
            for subset, some in _subsets(refined, outcome.design.lows):
                for metric in outcome.design.metrics:
                    rows.append((*group, way.thresholds, way.policy, subset, metric, *_gained(some, metric)))  # noqa: PERF401
    return Table(
        "gains",
        "What refining gains (LongSumEval, table III)",
        "The mean score of first drafts (initial) and of what became of them (refined), over the summaries that have"
        " both, with standard deviations. gain is the mean difference, and change that of the means in % of the initial"
        f" one. A subset has the first drafts with a score below what it says. {_INTERVAL}",
        basis(outcome),
        (
            *(*_WHO, "thresholds", "order", "subset", "metric", "initial", "sd initial", "refined", "sd refined"),
            *("change %", "gain", *ENDS, "documents", "summaries", "of"),
        ),
        tuple(rows),
    )


def _subsets(refined: Sequence[Refined], lows: dict[str, float]) -> Iterator[tuple[str, list[Refined]]]:
    yield ALL, list(refined)
    for metric, least in lows.items():
        low = [one for one in refined if (score := one.score(metric, 0)) is not None and score < least]
        yield f"{metric} < {least:g}", low


def _pairs(refined: Sequence[Refined], metric: str, after: int | None = None) -> list[tuple[str, float, float]]:
    """By document the score of a first draft and that after a round, or at the end, where there are both."""
    return [
        (one.document, before, then)
        for one in refined
        if (before := one.score(metric, 0)) is not None and (then := one.score(metric, after)) is not None
    ]


def _gained(refined: Sequence[Refined], metric: str) -> Row:
    pairs = _pairs(refined, metric)
    before, after = [one for _, one, _ in pairs], [one for _, _, one in pairs]
    first, last = mean(before), mean(after)
    change = 100 * (last - first) / first if first and last is not None else None
    gains = by_document([(document, then - one) for document, one, then in pairs])
    return (
        *(first, _sd(before), last, _sd(after), change, fmean(gains) if gains else None),
        *(*ends(gains), len(gains), len(pairs), len(refined)),
    )


def by_document(values: Sequence[tuple[str, float]]) -> list[float]:
    """The mean of each document's values: summaries of one document are drawn together."""
    found: dict[str, list[float]] = {}
    for document, value in values:
        found.setdefault(document, []).append(value)
    return [fmean(some) for some in found.values()]


def ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The interval of a mean over documents."""
    found = interval_of_mean(values)
    return (found.low, found.high) if found else (None, None)


def _sd(values: Sequence[float]) -> float | None:
    return stdev(values) if len(values) > 1 else None


def initial_table(outcome: RefinedOutcome) -> Table:
    """What refining gains by where a first draft begins."""
    rows: list[Row] = []
    for group in outcome.groups:
        for way in outcome.design.ways:
            for metric in outcome.design.metrics:
                pairs = _pairs(outcome.of(group, way), metric)
                for quarter in range(_QUARTERS):
                    own = [pair for pair in pairs if min(int(_QUARTERS * pair[1]), _QUARTERS - 1) == quarter]
                    gains = by_document([(document, then - one) for document, one, then in own])
                    begins = f"{quarter / _QUARTERS:g} to {(quarter + 1) / _QUARTERS:g}"
                    means = (mean([one for _, one, _ in own]), mean([then for _, _, then in own]))
                    rows.append(
                        (*group, way.thresholds, way.policy, metric, begins, *means,
                         fmean(gains) if gains else None, *ends(gains), len(own), len(pairs))
                    )  # fmt: skip
    return Table(
        "initial",
        "What refining gains by initial score",
        f"The summaries in four groups by the score of their first drafts; a score of 1 is in the last. {_INTERVAL}",
        basis(outcome),
        (
            *(*_WHO, "thresholds", "order", "metric", "initial score", "initial", "refined", "gain", *ENDS),
            *("summaries", "of"),
        ),
        tuple(rows),
    )


def round_table(outcome: RefinedOutcome) -> Table:
    """Where drafts stand after each round."""
    rows: list[Row] = []
    for group in outcome.groups:
        for way in outcome.design.ways:
            refined = [one for one in outcome.of(group, way) if one.stands]
            last = max((stand.round for one in refined for stand in one.stands), default=-1)
            for metric in outcome.design.metrics:
                for number in range(last + 1):
                    rows.append(  # noqa: PERF401
                        (*group, way.thresholds, way.policy, metric, number, *_after(refined, metric, number))
                    )
    return Table(
        "rounds",
        "Gain by round",
        "The mean score of the best drafts after a round, over the summaries with a score before and then; one that has"
        " come to its end stays where it was. gain is since the first draft, step since the round before. Revised are"
        f" the drafts that were revised in the round, and taken the revisions that were kept. {_INTERVAL}",
        basis(outcome),
        (
            *(*_WHO, "thresholds", "order", "metric", "round", "score", *ENDS, "gain", "gain from", "gain to", "step"),
            *("revised", "taken", "meet all", "summaries", "of"),
        ),
        tuple(rows),
    )


def _after(refined: Sequence[Refined], metric: str, number: int) -> Row:
    pairs = _pairs(refined, metric, number)
    before = _pairs(refined, metric, number - 1) if number else []
    scores = by_document([(document, then) for document, _, then in pairs])
    gains = by_document([(document, then - one) for document, one, then in pairs])
    step = mean([then for _, _, then in pairs]), mean([then for _, _, then in before])
    here = [stand for one in refined for stand in one.stands if stand.round == number]
    return (
        *(fmean(scores) if scores else None, *ends(scores), fmean(gains) if gains else None, *ends(gains)),
        step[0] - step[1] if step[0] is not None and step[1] is not None else None,
        *(sum(stand.revised for stand in here), sum(stand.accepted for stand in here)),
        *(sum(one.meets(number) is True for one in refined), len(pairs), len(refined)),
    )


def threshold_table(outcome: RefinedOutcome) -> Table:
    """What it takes to come up to each of the thresholds, and how many do."""
    rows: list[Row] = []
    for group in outcome.groups:
        for way in outcome.design.ways:
            refined = [one for one in outcome.of(group, way) if one.stands]
            start, end = [one.meets(0) for one in refined], [one.meets() for one in refined]
            taken = [one.taken for one in refined if one.taken is not None]
            priced = all(one.cost_usd is not None for one in taken)
            gains = [_gain(refined, metric) for metric in outcome.design.metrics]
            rows.append(
                (
                    *(*group, way.thresholds, way.policy, *gains, start.count(True), end.count(True)),
                    *(end.count(None), mean([one.revisions for one in refined])),
                    mean([one.words[1] - one.words[0] for one in refined if one.words]),
                    mean([one.calls for one in taken]),
                    mean([one.prompt_tokens + one.completion_tokens for one in taken]),
                    mean([one.cost_usd for one in taken]) if priced else None,
                    *(len(refined), len(outcome.of(group, way))),
                )
            )
    return Table(
        "thresholds",
        "Refining by threshold",
        "Of each metric the mean gain; how many first drafts meet all thresholds, and how many do at the end; of those"
        " that are open a score is missing. Revisions, words gained, calls, tokens and USD are means of one summary,"
        " the verdicts included; what an earlier way to refine has had judged already is not asked again.",
        basis(outcome),
        (
            *(*_WHO, "thresholds", "order", *(f"gain in {metric}" for metric in outcome.design.metrics)),
            *("met at first", "met at last", "open", "revisions", "words gained", "calls", "tokens", "USD"),
            *("summaries", "of"),
        ),
        tuple(rows),
    )


def _gain(refined: Sequence[Refined], metric: str) -> float | None:
    gains = by_document([(document, then - one) for document, one, then in _pairs(refined, metric)])
    return fmean(gains) if gains else None


def order_table(outcome: RefinedOutcome) -> Table:
    """What difference the order of the goals makes, on the same first drafts and up to the same thresholds."""
    rows: list[Row] = []
    for group in outcome.groups:
        for goals in outcome.design.thresholds:
            for first, second in combinations(outcome.design.orders, 2):
                mine, other = (outcome.of(group, Way(goals, order)) for order in (first, second))
                about = (*group, Way(goals, first).thresholds, first, second)
                rows += [(*about, metric, *_apart(mine, other, metric)) for metric in outcome.design.metrics]
    return Table(
        "orders",
        "The order of the goals",
        "The final score under the first order less that under the second, of the same first draft, as the mean over"
        f" documents. `paper` mends coverage first and takes every revision, the others take none by which another"
        f" goal's metric falls. {_INTERVAL}",
        basis(outcome),
        (
            *(*_WHO, "thresholds", "first", "second", "metric", "final, first", "final, second", "difference", *ENDS),
            *("documents", "summaries", "of"),
        ),
        tuple(rows),
    )


def _apart(mine: Sequence[Refined], other: Sequence[Refined], metric: str) -> Row:
    pairs = [
        (one.document, a, b)
        for one, two in zip(mine, other, strict=True)
        if (a := one.score(metric)) is not None and (b := two.score(metric)) is not None
    ]
    found = by_document([(document, a - b) for document, a, b in pairs])
    means = (mean([a for _, a, _ in pairs]), mean([b for _, _, b in pairs]))
    return (*means, fmean(found) if found else None, *ends(found), len(found), len(pairs), len(mine))


def failure_table(outcome: RefinedOutcome) -> Table:
    """What failed, and why."""
    rows: list[Row] = [(title, "", "", "", "", one.stage, one.code, one.message) for title, one in outcome.troubles]
    rows += [
        (one.title, one.system, one.writer, one.way.thresholds, one.way.policy, lost.stage, lost.code, lost.message)
        for one in outcome.refined
        if (lost := one.failure) is not None
    ]
    return Table(
        "failures",
        "What failed",
        "Repeat the command to try it again; what is done is not done again.",
        basis(outcome),
        ("document", *_WHO, "thresholds", "order", "stage", "code", "message"),
        tuple(rows),
    )


def basis(outcome: RefinedOutcome) -> str:
    """What the tables rest on, in a sentence or two."""
    status = [one.status for one in outcome.refined]
    metrics = outcome.design.metrics
    silent = sum(
        any(score is None for metric in metrics for score in (one.score(metric, 0), one.score(metric)))
        for one in outcome.refined
        if one.stands
    )
    return (
        f"Rests on {status.count('done')} of {len(status)} refined summaries of {len(outcome.documents)}"
        f" document{'s' * (len(outcome.documents) != 1)}; {status.count('failed')} failed,"
        f" {status.count('not made')} were not made; {silent} lack a score of some metric, first or last."
    )
