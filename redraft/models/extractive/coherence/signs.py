"""The signs by which a sentence of a summary may be seen to confuse: numbers that are read off the text alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple, get_args

from redraft.models.extractive.coherence.introductions import Introduction, introduction
from redraft.models.extractive.coherence.reading import Line, Mention
from redraft.models.extractive.coherence.repeats import Repeat
from redraft.models.extractive.coherence.tables import (
    AIMS,
    BLOWS,
    GENERAL,
    HAPPENING,
    KIN,
    RELATIVE,
    RIDDLES,
    STOCK,
)
from redraft.models.extractive.consistency.families import family
from redraft.models.extractive.verbs import KNOWN, is_past, is_present, plain_form
from redraft.models.extractive.wording import keys

Sign = Literal[
    "stakes",
    "verbs",
    "absent",
    "bare",
    "hardly",
    "names",
    "introduced again",
    "place",
    "general",
    "relative",
    "kin",
    "happening",
    "taken up",
    "shared",
    "alike",
    "runs",
    "stock",
]
SIGNS: tuple[Sign, ...] = get_args(Sign)
"""
- stakes: aims, riddles and blows, which a reader wants explained;
- verbs: how much happens;
- absent: how long ago somebody named here was named last (a logarithm);
- bare, hardly: who is named for the first time without a word on who it is, or with hardly one;
- names: how many are named;
- introduced again: who is introduced, and was named before;
- place: how many sentences of the paragraph stand before;
- general: the share of words that fit any story;
- relative: clauses that say more of somebody or something in passing;
- kin: relations between people;
- happening: events that are spoken of as known;
- taken up: matters of which the last few sentences said nothing, and earlier ones did;
- shared, alike, runs: what it has in common with another sentence, by weight, by share, and word for word;
- stock: turns of phrase in which summaries repeat themselves.
"""

Signs = dict[Sign, float]

# However long a text is, no sign counts for more than it did in the summaries that the weights come from.
_MOST: dict[Sign, float] = {
    "stakes": 5,
    "verbs": 5,
    "absent": 3.5,
    "bare": 3,
    "hardly": 2,
    "names": 6,
    "introduced again": 2,
    "place": 5,
    "relative": 3,
    "kin": 4,
    "happening": 2,
    "taken up": 6,
    "shared": 20,
    "runs": 5,
    "stock": 5,
}
# What the last so many sentences said is still present.
_PRESENT = 3
# The first sentences introduce: there a name alone is nothing to wonder at.
_OPENING = 3


class Met(NamedTuple):
    """Somebody or something named for the first time, and how."""

    mention: Mention
    how: Introduction


class Signed(NamedTuple):
    """The signs of a sentence, and whom it names for the first time."""

    signs: Signs
    met: tuple[Met, ...]


def signs_of(lines: Sequence[Line], repeated: Sequence[Repeat]) -> list[Signed]:
    """The signs of every sentence of a summary."""
    last_named: dict[str, int] = {}
    last_about: dict[str, int] = {}
    found: list[Signed] = []
    for at, (line, repeat) in enumerate(zip(lines, repeated, strict=True)):
        met: list[Met] = []
        again, gap = 0, 0
        for number, mention in enumerate(line.mentions):
            before = [last_named[key] for key in mention.own if key in last_named]
            how = introduction(line, number)
            if not before:
                met.append(Met(mention, how))
            else:
                gap = max(gap, at - max(before))
                again += how == "told"
        signs = _own(line) | {
            "absent": math.log(1 + gap),
            "bare": sum(one.how == "bare" for one in met) if at >= _OPENING else 0,
            "hardly": sum(one.how == "hardly" for one in met),
            "introduced again": again,
            "taken up": sum(at - last_about.get(topic, at) > _PRESENT for topic in line.topics),
            "shared": repeat.shared,
            "alike": repeat.alike,
            "runs": repeat.runs,
        }
        found.append(Signed({sign: min(signs[sign], _MOST.get(sign, signs[sign])) for sign in SIGNS}, tuple(met)))
        last_named.update((key, at) for mention in line.mentions for key in mention.own)
        last_about.update((topic, at) for topic in line.topics)
    return found


def _own(line: Line) -> Signs:
    """The signs that a sentence shows by itself."""
    return {
        "stakes": sum(len(pattern.findall(line.text)) for pattern in (AIMS, RIDDLES, BLOWS)),
        "verbs": sum(_happens(line.surface(at)) for at in range(len(line.words))),
        "names": len({mention.own for mention in line.mentions}),
        "place": line.place,
        "general": sum(key in _general() for key in line.keys) / max(1, len(line.words)),
        "relative": len(RELATIVE.findall(line.text)),
        "kin": len(KIN.findall(line.text)),
        "happening": len(HAPPENING.findall(line.text)),
        "stock": len({family(key) for found in STOCK.findall(line.text) for key in keys(found)[:1]}),
    }


def _happens(word: str) -> bool:
    return word.islower() and (is_past(word) or (is_present(word) and plain_form(word) in KNOWN))


@cache
def _general() -> frozenset[str]:
    return frozenset(keys(GENERAL))
