"""The tables of a grid about judges: which summaries they prefer (BooookScore, table 4), and how far they agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import TypeVar

from redraft.agreement.correlation import tau_b
from redraft.agreement.raters import cohens_kappa, equal_share, krippendorffs_alpha
from redraft.experiments.grid.counting import ENDS, basis, ends
from redraft.experiments.grid.records import GridOutcome, Preferred, Voted
from redraft.prompts.coherence import ASPECTS, Aspect
from redraft.reports.tables import Cell, Table

_ALL = "all"
T = TypeVar("T")
_WORTH = {"a": 1.0, "b": -1.0, "tie": 0.0}


def preference_table(outcome: GridOutcome) -> Table:
    """Table 4 of BooookScore: how often which of two is preferred, in what."""
    rows: list[tuple[Cell, ...]] = []
    for first, second in outcome.design.pairs:
        for judge in outcome.judges:
            pairs = [one for one in outcome.preferred if (one.first, one.second, one.judge) == (first, second, judge)]
            rows += [(first, second, judge, aspect, *_shares(pairs, aspect)) for aspect in ASPECTS]
    return Table(
        "preferences",
        "Preferences (BooookScore, table 4)",
        "Every judge is asked about each pair twice, with either summary in the first place. The shares are of the"
        " pairs with a verdict. Among the ties are those that lean to one summary, which one order names, and those in"
        " which the order decides, since each order names another. balance is the share of the first less that of the"
        " second, with the interval that holds 95 % of resamples of the documents. Of cannot tell the judge gave no"
        " verdict in both orders; two summaries that are one text are a tie that nobody was asked about.",
        basis(outcome),
        (
            *("first", "second", "judge", "aspect", "first %", "second %", "tie %", "balance", *ENDS),
            *("verdicts", "for first", "for second", "ties", "lean to first", "lean to second", "order decides"),
            *("same text", "cannot tell", "failed", "of"),
        ),
        tuple(rows),
    )


def _shares(pairs: Sequence[Preferred], aspect: Aspect) -> tuple[Cell, ...]:
    votes = [one.votes[aspect] for one in pairs if aspect in one.votes]
    said = {winner: sum(vote.winner == winner for vote in votes) for winner in _WORTH}
    shares = [100 * number / len(votes) if votes else None for number in said.values()]
    worth = [_WORTH[vote.winner] for vote in votes]
    done = [one for one in pairs if one.status == "done"]
    return (
        *shares,
        fmean(worth) if worth else None,
        *ends(worth),
        len(votes),
        *said.values(),
        *_ties(votes),
        sum(one.same for one in pairs),
        len(done) - len(votes),
        sum(one.status == "failed" for one in pairs),
        len(pairs),
    )


def _ties(votes: Sequence[Voted]) -> tuple[int, int, int]:
    leaning = [vote.leaning for vote in votes]
    return leaning.count("a"), leaning.count("b"), sum(vote.order_decides for vote in votes)


def agreement_table(outcome: GridOutcome) -> Table:
    """How far several judges agree, in scores and in preferences."""
    rows: list[tuple[Cell, ...]] = []
    for metric in outcome.design.metrics:
        told = {judge: _scores(outcome, judge, metric) for judge in outcome.judges}
        for one, other in combinations(outcome.judges, 2):
            pairs = _shared(told[one], told[other])
            rows.append((metric, one, other, len(pairs), *_of_scores(pairs)))
        rows += _of_all(metric, outcome, [told[judge] for judge in outcome.judges], nominal=False)
    for aspect in ASPECTS if outcome.design.prefers else ():
        said = {judge: _winners(outcome, judge, aspect) for judge in outcome.judges}
        for one, other in combinations(outcome.judges, 2):
            both = _shared(said[one], said[other])
            rows.append((f"preference: {aspect}", one, other, len(both), *_of_votes(both)))
        rows += _of_all(f"preference: {aspect}", outcome, [said[judge] for judge in outcome.judges], nominal=True)
    return Table(
        "judges",
        "How far the judges agree",
        "Of scores over the summaries that both judges score: the mean of the first judge's less the second's,"
        " Kendall's tau-b, and Krippendorff's alpha for intervals. Of preferences over the pairs on which both have a"
        " verdict: the share of equal verdicts, Cohen's kappa, and Krippendorff's alpha for names. The rows of all"
        " judges have alpha, over what two of them have judged at least.",
        basis(outcome),
        ("of", "judge", "other judge", "items", "difference", "tau-b", "equal", "kappa", "alpha"),
        tuple(rows),
    )


def _scores(outcome: GridOutcome, judge: str, metric: str) -> dict[object, float]:
    return {
        one.summary.key: score
        for one in outcome.judged
        if one.judge == judge and (score := one.score(metric)) is not None
    }


def _winners(outcome: GridOutcome, judge: str, aspect: Aspect) -> dict[object, str]:
    """What a judge says of the pairs that somebody had to be asked about."""
    return {
        (one.document, one.first, one.second): one.votes[aspect].winner
        for one in outcome.preferred
        if one.judge == judge and aspect in one.votes and not one.same
    }


def _shared(one: Mapping[object, T], other: Mapping[object, T]) -> list[tuple[T, T]]:
    return [(value, other[key]) for key, value in one.items() if key in other]


def _of_scores(pairs: Sequence[tuple[float, float]]) -> tuple[Cell, ...]:
    if not pairs:
        return (None, None, None, None, None)
    one, other = zip(*pairs, strict=True)
    apart = fmean(a - b for a, b in pairs)
    return (apart, tau_b(one, other), None, None, krippendorffs_alpha(pairs, "interval"))


def _of_votes(pairs: Sequence[tuple[str, str]]) -> tuple[Cell, ...]:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    return (None, None, equal_share(pairs), cohens_kappa(one, other), krippendorffs_alpha(pairs))


def _of_all(
    what: str, outcome: GridOutcome, told: Sequence[Mapping[object, float | str]], *, nominal: bool
) -> Iterator[tuple[Cell, ...]]:
    """Alpha over all judges, where there are more than the two of a row above."""
    if len(outcome.judges) > 2:
        keys = dict.fromkeys(key for of_one in told for key in of_one)
        rated = [[of_one.get(key) for of_one in told] for key in keys]
        items = sum(sum(value is not None for value in row) > 1 for row in rated)
        equal = equal_share(rated) if nominal else None
        alpha = krippendorffs_alpha(rated, "nominal" if nominal else "interval")
        yield (what, _ALL, _ALL, items, None, None, equal, None, alpha)
