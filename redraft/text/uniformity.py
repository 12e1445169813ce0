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
# English words that say nothing of what a text is about, and what an apostrophe leaves of some. scikit-learn's list
# takes a second to import, and has words such as "fire", "bill" and "system" on it.
_STOP_WORDS = """
a about above after again against all almost alone along already also although always am among an and another any
anyone anything are around as at away back be became because become been before behind being below beside between both
but by came can cannot come could did do does doing done down during each either else enough even ever every everyone
everything few first for from get gets give given go goes going got had has have having he her here hers herself him
himself his how however i if in indeed into is it its itself just last least less let like made make many may me might
mine more most much must my myself neither never next no nobody none nor not nothing now of off often on once one only
onto or other others otherwise our ours ourselves out over own perhaps quite rather same see several shall she should
since so some someone something sometimes somewhere soon still such take than that the their theirs them themselves
then there therefore these they this those though through throughout thus to together too toward towards two under
until up upon us very was we well went were what whatever when where whether which while who whole whom whose why will
with within without would yet you your yours yourself yourselves ain aren couldn d didn doesn don hadn hasn haven isn
ll m mustn needn re s shouldn t ve wasn weren won wouldn
"""


def uniformity(summary: Sequence[str], source: Indexed, language: str = ENGLISH) -> float | None:
    """How evenly the source speaks of what matters in the summary, from 0 to 1; None where it never does.

    It is the entropy of where in the source, by tenths of it, the summary's twenty most important words occur, divided
    by that of words that occur in all tenths alike. Important are those that the summary has most often, the stop words
    of its language left out, and of words that it has as often those that come first.
    """
    stopped = stop_words(language) if is_foreign(language) else frozenset(_STOP_WORDS.split())
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
