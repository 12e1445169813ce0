"""Where in a document a text comes from as a whole: the share of each part, the curve, and how even that is."""

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
"""At how many places, evenly spread, the height of the curve is told."""
# The least width of the curve's bells: a sentence is about what stands around it, too.
_NARROWEST = 0.02


class OriginMass(NamedTuple):
    """How much of a text comes from a place of its document, which is told by its middle, from 0 to 1."""

    at: float
    share: float


def masses(traced: Sequence[SentenceOrigin], length: int) -> list[OriginMass]:
    """The places of the sentences that come from somewhere. Each sentence counts one, parted among its places."""
    return [
        OriginMass(
            (link.span.start + link.span.end) / 2 / length, link.weight / sum(other.weight for other in one.links)
        )
        for one in traced
        for link in one.links
    ]


def shares(found: Sequence[OriginMass], parts: Sequence[tuple[float, float]]) -> list[float]:
    """Which share of what is traced comes from each part, told by its beginning and its end, from 0 to 1."""
    whole = sum(mass.share for mass in found) or 1.0
    return [sum(mass.share for mass in found if start <= mass.at < end) / whole for start, end in parts]


def bins(count: int) -> list[tuple[float, float]]:
    """So many parts of equal length."""
    return [(at / count, (at + 1) / count) for at in range(count)]


def parts_of(spans: Sequence[Span], length: int) -> list[tuple[float, float]]:
    """Spans of a document as parts of it."""
    return [(span.start / length, span.end / length) for span in spans]


def spread(found: Sequence[OriginMass], parts: int) -> float | None:
    """The entropy over so many parts of equal length, by that of an even spread; None for fewer than two parts."""
    if parts < 2:
        return None
    told = [share for share in shares(found, bins(parts)) if share > 0]
    return min(1.0, max(0.0, -sum(share * log(share) for share in told) / log(parts)))


def spread_by_chance(sentences: int, parts: int) -> float | None:
    """The mean spread of so many sentences that come from anywhere with equal chances."""
    if parts < 2:
        return None
    one, other = log(1 / parts), log(1 - 1 / parts)
    ways = (lgamma(sentences + 1) - lgamma(many + 1) - lgamma(sentences - many + 1) for many in range(1, sentences + 1))
    held = sum(
        exp(way + many * one + (sentences - many) * other) * many * log(many) for many, way in enumerate(ways, 1)
    )
    return (log(sentences) - parts * held / sentences) / log(parts)


def density(found: Sequence[OriginMass]) -> list[float]:
    """The curve from the beginning to the end of the document: 1 where as much comes from as from anywhere.

    It is a sum of bells whose width goes by how far the places are apart (Scott's rule). What lies beyond the ends is
    folded back, so that the mean is 1.
    """
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
# What an apostrophe leaves of some words, and forms of one of these, which a list of words does not have.
_REMAINS = """
ain aren couldn d did didn does doesn doing don hadn haven isn ll m mustn needn s shouldn t ve wasn weren won wouldn
"""


def uniformity(summary: Sequence[str], source: UnitIndex, language: str = ENGLISH) -> float | None:
    """How evenly the source speaks of what matters in the summary, from 0 to 1; None where it never does.

    It is the entropy of where in the source, by tenths of it, the summary's twenty most important words occur, divided
    by that of words that occur in all tenths alike. Important are those that the summary has most often, the stop words
    of its language left out, and of words that it has as often those that come first.
    """
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
