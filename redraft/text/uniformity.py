"""How evenly what a summary is about is spread over its source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np

from redraft.text.languages import ENGLISH, is_foreign
from redraft.text.units import Indexed
from redraft.text.vectors import stop_words

_WORDS = 20
_PARTS = 10
# What an apostrophe leaves of some words, and forms of one of these, which a list of words does not have.
_REMAINS = """
ain aren couldn d did didn does doesn doing don hadn haven isn ll m mustn needn s shouldn t ve wasn weren won wouldn
"""


def uniformity(summary: Sequence[str], source: Indexed, language: str = ENGLISH) -> float | None:
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
