"""What people say of summaries, and how far raters agree beyond chance (kappa, AC1, alpha)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Rating = float | str | bool
Ratings = Sequence[Sequence[Rating | None]]
"""A row an item, a column a rater; None where a rater says nothing of an item."""
Level = Literal["nominal", "ordinal", "interval"]
"""Whether two ratings are the same or not, how many ranks they lie apart, or how far."""


def cohens_kappa(one: Sequence[Rating], other: Sequence[Rating]) -> float | None:
    """Of two raters of the same items; None where chance alone would have them always agree."""
    if not one or len({*one, *other}) < 2:
        return None
    first, second, n = Counter(one), Counter(other), len(one)
    equal = sum(a == b for a, b in zip(one, other, strict=True)) / n
    chance = sum(count * second[kind] for kind, count in first.items()) / n**2
    return (equal - chance) / (1 - chance)


def equal_share(ratings: Ratings) -> float | None:
    """The share of equal ratings over all pairs of raters of an item, each item counting as one."""
    shares = [_equal(Counter(row)) for row in _paired(ratings)]
    return sum(shares) / len(shares) if shares else None


def gwets_ac1(ratings: Ratings) -> float | None:
    """Gwet's first-order coefficient (2008), which holds where nearly all ratings are of one kind; 1 where all are."""
    equal = equal_share(ratings)
    known = [[rating for rating in row if rating is not None] for row in ratings]
    known = [row for row in known if row]
    kinds = {rating for row in known for rating in row}
    if equal is None:
        return None
    if len(kinds) < 2:
        return 1.0
    # How likely a rating is of a kind: the mean over items of the share of their raters who say so.
    likely = [sum(row.count(kind) / len(row) for row in known) / len(known) for kind in kinds]
    chance = sum(one * (1 - one) for one in likely) / (len(kinds) - 1)
    return (equal - chance) / (1 - chance)


def krippendorffs_alpha(ratings: Ratings, level: Level = "nominal") -> float | None:
    """Krippendorff's alpha (2011) from the table of coincidences; None where nobody differs in what is rated at all."""
    rows = list(_paired(ratings))
    kinds = sorted({rating for row in rows for rating in row}, key=lambda one: (str(type(one)), one))
    if len(kinds) < 2:
        return None
    place = {kind: n for n, kind in enumerate(kinds)}
    table = np.zeros((len(kinds), len(kinds)))
    for row in rows:
        counts = np.zeros(len(kinds))
        for rating in row:
            counts[place[rating]] += 1
        table += (np.outer(counts, counts) - np.diag(counts)) / (len(row) - 1)
    totals = table.sum(axis=1)
    apart = _DISTANCES[level](kinds, totals)
    expected = (np.outer(totals, totals) * apart).sum() / (totals.sum() - 1)
    return float(1 - (table * apart).sum() / expected) if expected else None


def _paired(ratings: Ratings) -> list[list[Rating]]:
    """The items that two have rated at least."""
    known = ([rating for rating in row if rating is not None] for row in ratings)
    return [row for row in known if len(row) > 1]


def _equal(counts: Counter[Rating | None]) -> float:
    n = counts.total()
    return sum(count * (count - 1) for count in counts.values()) / (n * (n - 1))


def _nominal(kinds: Sequence[Rating], _: np.ndarray) -> np.ndarray:
    return 1 - np.eye(len(kinds))


def _ordinal(_: Sequence[Rating], totals: np.ndarray) -> np.ndarray:
    """How many ratings lie between two, each end counting half."""
    middles = np.cumsum(totals) - totals / 2
    return np.asarray((middles[:, None] - middles[None, :]) ** 2)


def _interval(kinds: Sequence[Rating], _: np.ndarray) -> np.ndarray:
    values = np.asarray([float(kind) for kind in kinds])
    return np.asarray((values[:, None] - values[None, :]) ** 2)


_DISTANCES: Mapping[Level, Callable[[Sequence[Rating], np.ndarray], np.ndarray]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}


@dataclass(frozen=True, slots=True)
class Field:
    """Something that people were asked about summaries."""

    best: float | None = None
    """What they give a summary that has nothing wrong with it; None where that is not what they were asked."""
    metrics: tuple[str, ...] = ()
    """The metrics that measure the same."""


@dataclass(frozen=True, slots=True)
class HumanItem:
    """One summary, or one claim, with what people say of it by field."""

    id: str
    document: str
    """Which document it is of: all items of one document are drawn together."""
    summary: str
    people: Mapping[str, float]
    source: str = ""
    """The document's text."""
    system: str = ""
    """Who wrote it, where that is known."""
    sentences: tuple[str, ...] = ()
    """The sentences of the summary as people judged them, where they did so one by one."""
    labels: tuple[bool | None, ...] = ()
    """Whether people find each of them right; None where they did not say."""
    votes: Ratings = ()
    """What each of several people said, a row for everything that they were asked about."""
    kinds: tuple[str, ...] = ()
    """What was done to it or is wrong with it, where that is known."""
    pair: str = ""
    """Of two items of one pair people find one better than the other."""

    @property
    def text(self) -> str:
        """The summary as a judge reads it: what people judged as a sentence is one there too."""
        return "\n\n".join(self.sentences) or self.summary


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Something in a file that could not be read: where, and what is wrong with it."""

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """All that could be read of a file."""

    name: str
    fields: Mapping[str, Field]
    items: tuple[HumanItem, ...]
    troubles: tuple[FileProblem, ...] = ()
