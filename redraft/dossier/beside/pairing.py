"""What two contestants differ by: over the items that both are judged by, or over documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from redraft.dossier.beside.aligned import ALIGNED
from redraft.dossier.beside.comparable import why_not
from redraft.dossier.beside.contents import Difference, FifthDifference, Range
from redraft.dossier.beside.contestants import Group
from redraft.dossier.beside.fifths import FIFTHS, counted_by_fifth, shares_by_fifth
from redraft.dossier.beside.intervals import LEAST, interval_of_mean
from redraft.dossier.beside.sides import Side

SHARE = "share"
SEEN = 0.0005
"""What is less than that is nothing at three digits."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two contestants on one document or on several."""

    first: Group
    second: Group
    documents: tuple[str, ...]

    @property
    def shared(self) -> tuple[str, ...]:
        """The documents that both have summaries of."""
        return tuple(one for one in self.documents if self.first.on(one) and self.second.on(one))

    @property
    def over_items(self) -> bool:
        """Whether there is one document only, so that nothing but its items can be drawn."""
        return len(self.documents) == 1

    def judged(self, metric: str) -> list[tuple[list[Side], list[Side]]]:
        """By shared document the runs of both that are comparable by a metric."""
        found = []
        for document in self.shared:
            mine, other = ([side for side in group.on(document) if metric in side.scored] for group in self.both)
            if mine and other and not why_not(metric, [*mine, *other]):
                found.append((mine, other))
        return found

    @property
    def both(self) -> tuple[Group, Group]:
        """The first and the second."""
        return self.first, self.second


def pairs(groups: Sequence[Group], documents: Sequence[str]) -> Iterator[Pair]:
    """Each two contestants that have a document in common."""
    for first, second in combinations(groups, 2):
        pair = Pair(first, second, tuple(documents))
        if pair.shared:
            yield pair


def differences(pair: Pair, metrics: Sequence[str]) -> Iterator[Difference]:
    """By metric what two contestants differ by. Of one document only items can be paired that are the document's."""
    for metric in metrics:
        if not all(any(metric in side.scored for side in group.sides) for group in pair.both):
            continue
        if pair.over_items:
            yield _over_items(pair, metric)
        else:
            yield _over_documents(pair, metric)


def _over_items(pair: Pair, metric: str) -> Difference:
    judged = pair.judged(metric)
    if not judged:
        sides = [side for group in pair.both for side in group.sides]
        return _difference(pair, metric, [], 0, f"They are not compared: {why_not(metric, sides)}.")
    (mine,), (other,) = judged[0]
    if metric not in ALIGNED:
        told = f"{_of_scores(pair, metric, mine.scored[metric] - other.scored[metric])} It is judged by each summary's "
        told += "own sentences, which cannot be paired: that has no interval."
        return _difference(pair, metric, [], 0, told, mine.scored[metric] - other.scored[metric])
    one, two = ({item.key: item.value for item in side.items if item.metric == metric} for side in (mine, other))
    shared = [(a, b) for key in one.keys() & two.keys() if (a := one[key]) is not None and (b := two[key]) is not None]
    found = [a - b for a, b in shared]
    return _difference(pair, metric, found, len(one.keys() | two.keys()) - len(found))


def _over_documents(pair: Pair, metric: str) -> Difference:
    judged = pair.judged(metric)
    found = [_mean(mine, metric) - _mean(other, metric) for mine, other in judged]
    left_out = len(pair.documents) - len(judged)
    if found:
        return _difference(pair, metric, found, left_out)
    sides = [side for document in pair.shared for group in pair.both for side in group.on(document)]
    reason = why_not(metric, [side for side in sides if metric in side.scored]) or "no document is judged for both"
    return _difference(pair, metric, [], left_out, f"They are not compared: {reason}.")


def _mean(sides: Sequence[Side], metric: str) -> float:
    """Of several runs of a contestant on one document, which are draws of the same, the mean."""
    return fmean(side.scored[metric] for side in sides)


def _difference(
    pair: Pair, metric: str, found: Sequence[float], left_out: int, says: str = "", value: float | None = None
) -> Difference:
    value = fmean(found) if found else value
    interval = interval_of_mean(found)
    return Difference(
        metric=metric,
        first=pair.first.letter,
        second=pair.second.letter,
        over="items" if pair.over_items else "documents",
        pairs=len(found),
        left_out=left_out,
        difference=value,
        interval=interval,
        says=says or _says(pair, metric, found, interval),
    )


def _says(pair: Pair, metric: str, found: Sequence[float], interval: Range | None) -> str:
    what = "item" if pair.over_items else "document"
    if not found:
        return f"They are not compared: no {what} is judged for both."
    over = f"over {len(found):,} {what}{'s' if len(found) > 1 else ''} judged for both"
    told = _of_scores(pair, metric, fmean(found), f", {over}")
    if interval is None:
        return f"{told} From fewer than {LEAST} no interval can be had."
    if interval.low == interval.high == 0:
        return f"{told} They do not differ in any of them."
    between = f"95 % of the resamples lie between {_signed(interval.low)} and {_signed(interval.high)}"
    if interval.has_zero:
        return f"{told} {between}. That includes 0: there may be no difference."
    return f"{told} {between}, which leaves out 0."


def _of_scores(pair: Pair, metric: str, difference: float, over: str = "") -> str:
    name, one, other = metric.replace("_", " "), pair.first.letter, pair.second.letter
    if abs(difference) < SEEN:
        return f"{name} is the same for {one} and {other}{over}."
    more = "higher" if difference > 0 else "lower"
    return f"{name} is {abs(difference):.3f} {more} for {one} than for {other}{over}."


def _signed(value: float) -> str:
    return "0" if abs(value) < SEEN else f"{value:+.3f}".replace("-", "−")


def differences_by_fifth(pair: Pair, metrics: Sequence[str]) -> Iterator[FifthDifference]:
    """Where in the document two contestants differ: in what they draw on, and in what they have of what is asked."""
    yield from _shares(pair)
    for metric in metrics:
        if metric in ALIGNED:
            for fifth in range(FIFTHS):
                yield from _scores_in(pair, metric, fifth)


def _shares(pair: Pair) -> Iterator[FifthDifference]:
    told = []
    for document in pair.shared:
        mine, other = (shares_by_fifth(group.on(document)) for group in pair.both)
        if mine and other:
            told.append((mine, other))
    for fifth in range(FIFTHS):
        if told:
            both = [(mine[fifth], other[fifth]) for mine, other in told]
            yield _by_fifth(pair, SHARE, fifth, both, "summaries" if pair.over_items else "documents")


def _scores_in(pair: Pair, metric: str, fifth: int) -> Iterator[FifthDifference]:
    both: list[tuple[float, float]] = []
    for mine, other in pair.judged(metric):
        one, two = (_values(sides, metric, fifth) for sides in (mine, other))
        shared = sorted(one.keys() & two.keys())
        if shared and pair.over_items:
            both += [(one[key], two[key]) for key in shared]
        elif shared:
            both.append((fmean(one[key] for key in shared), fmean(two[key] for key in shared)))
    if both:
        yield _by_fifth(pair, metric, fifth, both, "items" if pair.over_items else "documents")


def _values(sides: Sequence[Side], metric: str, fifth: int) -> Mapping[str, float]:
    """By item of a fifth what it counts for a contestant; what has no verdict in one of its runs counts nowhere."""
    told = [counted_by_fifth(side.items, metric, fifth) for side in sides]
    shared = set.intersection(*(set(one) for one in told))
    return {key: fmean(one[key] for one in told) for key in shared}


def _by_fifth(pair: Pair, measure: str, fifth: int, both: Sequence[tuple[float, float]], over: str) -> FifthDifference:
    found = [one - other for one, other in both]
    return FifthDifference.model_validate(
        {
            "measure": measure,
            "first": pair.first.letter,
            "second": pair.second.letter,
            "fifth": fifth + 1,
            "over": over,
            "pairs": len(found),
            "values": (fmean(one for one, _ in both), fmean(other for _, other in both)),
            "difference": fmean(found),
            "interval": interval_of_mean(found),
        }
    )
