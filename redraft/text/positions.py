"""Measures where in a document a text comes from: the share of each part, the density, and how even it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np

from redraft.document import Span
from redraft.text.languages import ENGLISH, is_foreign
from redraft.text.origins import SentenceOrigin
from redraft.text.units import UnitIndex
from redraft.text.vectors import stop_words

POINTS = 50
"""The number of evenly spread points of the density."""
# The least bandwidth: a sentence is also about its surroundings.
_NARROWEST = 0.02


class OriginMass(NamedTuple):
    """The share of a text that comes from a place, given by its middle, from 0 to 1."""

    at: float
    share: float


def masses(traced: Sequence[SentenceOrigin], length: int) -> list[OriginMass]:
    """Return the places of the traced sentences; each sentence counts one, divided among its places."""
    return [
        OriginMass(
            (link.span.start + link.span.end) / 2 / length, link.weight / sum(other.weight for other in one.links)
        )
        for one in traced
        for link in one.links
    ]


def shares(found: Sequence[OriginMass], parts: Sequence[tuple[float, float]]) -> list[float]:
    """Return the share of the traced content that comes from each part, given by begin and end, from 0 to 1."""
    whole = sum(mass.share for mass in found) or 1.0
    return [sum(mass.share for mass in found if start <= mass.at < end) / whole for start, end in parts]


def bins(count: int) -> list[tuple[float, float]]:
    """Return this many parts of equal length."""
    return [(at / count, (at + 1) / count) for at in range(count)]


def parts_of(spans: Sequence[Span], length: int) -> list[tuple[float, float]]:
    """Return spans of a document as parts of it."""
    return [(span.start / length, span.end / length) for span in spans]


def spread(found: Sequence[OriginMass], parts: int) -> float | None:
    """Return the entropy over this many equal parts, relative to an even spread; None for fewer than two."""
    if parts < 2:
        return None
    told = [share for share in shares(found, bins(parts)) if share > 0]
    return min(1.0, max(0.0, -sum(share * log(share) for share in told) / log(parts)))


def spread_by_chance(sentences: int, parts: int) -> float | None:
    """Return the mean spread of this many sentences from random places."""
    if parts < 2:
        return None
    one, other = log(1 / parts), log(1 - 1 / parts)
    ways = (lgamma(sentences + 1) - lgamma(many + 1) - lgamma(sentences - many + 1) for many in range(1, sentences + 1))
    held = sum(
        exp(way + many * one + (sentences - many) * other) * many * log(many) for many, way in enumerate(ways, 1)
    )
    return (log(sentences) - parts * held / sentences) / log(parts)


def density(found: Sequence[OriginMass]) -> list[float]:
    """Return the density along the document, 1 being the mean: a kernel estimate with Scott's bandwidth, reflected at
    the ends."""
    if not found:
        return []
    at, share = np.array(found).T
    share = share / share.sum()
    middle = float(share @ at)
    deviation = float(np.sqrt(share @ (at - middle) ** 2))
    width = max(_NARROWEST, deviation * len(found) ** -0.2)
    points = (np.arange(POINTS) + 0.5) / POINTS
    curve = np.zeros(POINTS)
    for mirrored in (at, -at, 2 - at):
        curve += np.exp(-(((points[:, None] - mirrored[None, :]) / width) ** 2) / 2) @ share
    heights: list[float] = (curve / curve.mean()).tolist()
    return heights


_WORDS = 20
_PARTS = 10
# Parts of contractions, and some inflected forms, that stop word lists lack.
_REMAINS = """
ain aren couldn d did didn does doesn doing don hadn haven isn ll m mustn needn s shouldn t ve wasn weren won wouldn
"""


def uniformity(summary: Sequence[str], source: UnitIndex, language: str = ENGLISH) -> float | None:
    """Return how evenly the source mentions the summary's twenty most frequent content words, from 0 to 1; None where
    it never does. It is the entropy over tenths of the source, relative to an even spread; ties go to the words that
    come first."""
    stopped = stop_words(language) if is_foreign(language) else stop_words().union(_REMAINS.split())
    counts = Counter(unit for unit in summary if unit[0].isalnum() and unit not in stopped)
    important = np.zeros(len(source.numbers), dtype=np.bool_)
    important[[source.numbers[word] for word, _ in counts.most_common(_WORDS) if word in source.numbers]] = True
    places = np.flatnonzero(important[source.places])
    if not len(places):
        return None
    tenths = np.bincount(places * _PARTS // len(source.places))
    shares = tenths[tenths > 0] / len(places)
    entropy = -float((shares * np.log(shares)).sum()) / log(_PARTS)
    return min(1.0, max(0.0, entropy))
