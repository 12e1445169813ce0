"""Shares that two contestants have of the same things, their difference, and how much other things would change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from redraft.evaluators.bootstrap import RESAMPLES, Interval, draws, interval
from redraft.report.reports.tables import Cell

FEWEST = 5
"""From fewer documents nothing can be said of others: the pairs of those that there are, are drawn instead."""
COLUMNS = ("of first", "of second", "difference", "95% from", "95% to")


class Both(NamedTuple):
    """What both contestants have of one thing: a part of a whole each."""

    document: str
    first: tuple[float, float]
    second: tuple[float, float]


def how(pairs: str) -> str:
    """How the interval comes about, for the caption of a table about so named pairs."""
    return (
        f"The interval holds 95 % of {RESAMPLES:,} resamples of what is drawn: documents with all of their {pairs}, or"
        f" {pairs} where there are fewer than {FEWEST} documents; from fewer than {FEWEST} of these there is none."
    )


def difference(found: Sequence[Both], pairs: str) -> Iterator[Cell]:
    """The cells of `COLUMNS`, and what they rest on: the pairs, their documents, and which of both is drawn."""
    documents = list(dict.fromkeys(one.document for one in found))
    over_documents = len(documents) >= FEWEST
    groups = [one.document if over_documents else str(n) for n, one in enumerate(found)]
    places = {name: n for n, name in enumerate(dict.fromkeys(groups))}
    sums = np.zeros((len(places), 4))
    for group, one in zip(groups, found, strict=True):
        sums[places[group]] += (*one.first, *one.second)
    first, second = (float(value[0]) if np.isfinite(value[0]) else None for value in _shares(sums.sum(axis=0)[None, :]))
    between = _interval(sums)
    yield first
    yield second
    yield first - second if first is not None and second is not None else None
    yield between.low if between else None
    yield between.high if between else None
    yield len(found)
    yield len(documents)
    yield "documents" if over_documents else pairs


def interval_of_share(parts: Sequence[tuple[float, float]]) -> Interval | None:
    """How much a share would differ if others had been drawn of the things that each have a part of it and of its
    whole: the same for the same things in any order; None for too few."""
    if len(parts) < FEWEST:
        return None
    sums = np.asarray(sorted(parts), dtype=np.float64)
    found, _ = _shares(np.hstack([draws(len(sums)) @ sums] * 2))
    return interval(found)


def _interval(sums: np.ndarray) -> Interval | None:
    if len(sums) < FEWEST:
        return None
    one, other = _shares(draws(len(sums)) @ sums)
    return interval(one - other)


def _shares(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shares of the first and of the second in each row; none where there is nothing to have a part of."""
    nothing = np.full(len(sums), np.nan)
    one, other = (
        np.divide(sums[:, at], sums[:, at + 1], out=nothing.copy(), where=sums[:, at + 1] > 0) for at in (0, 2)
    )
    return one, other
