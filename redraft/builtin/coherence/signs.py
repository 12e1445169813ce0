"""The signs by which a sentence of a summary may be seen to confuse: numbers that are read off the text alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, get_args

from redraft.builtin.coherence.introductions import Introduction, introduction
from redraft.builtin.coherence.reading import Line, Mention
from redraft.builtin.coherence.repeats import Repeat
from redraft.builtin.coherence.tables import (
    AIMS,
    BLOWS,
    GENERAL,
    HAPPENING,
    PORTRAIT,
    RELATIVE,
    RIDDLES,
    STOCK,
    STRAIN,
    SUMMING_UP,
)
from redraft.builtin.consistency.families import family
from redraft.builtin.verbs import KNOWN, is_past, is_present, plain_form
from redraft.text.wording import keys

Sign = Literal[
    "stakes",
    "strain",
    "verbs",
    "absent",
    "bare",
    "hardly",
    "newcomers",
    "portrait",
    "elsewhere",
    "happening",
    "taken up",
    "place",
    "late",
    "company",
    "length",
    "general",
    "summing up",
    "relative",
    "shared",
    "alike",
    "stock",
]
SIGNS: tuple[Sign, ...] = get_args(Sign)
"""
- stakes: aims, riddles and blows, which a reader wants explained;
- strain: what weighs on people or hinders them, of which a reader asks why;
- verbs: how much happens;
- absent: how long ago somebody named here was named last (a logarithm);
- bare, hardly: who is named for the first time without a word on who it is, or with hardly one;
- newcomers: who is named for the first time, the more the later in the summary;
- portrait: who somebody is, said in the middle of what happens;
- elsewhere: whether it names people, and none of those of the sentence before it;
- happening: events that are spoken of as known, and were not spoken of before;
- taken up: matters of which the last few sentences said nothing, and earlier ones did;
- place, late: how many sentences of the paragraph, and how many paragraphs, stand before;
- company: how many sentences the paragraph has;
- length: how many words it has (a square root);
- general: the share of words that fit any story;
- summing up: whether it speaks of the whole book, and neither first nor last;
- relative: clauses that say more of somebody or something in passing;
- shared, alike: what it has in common with another sentence, by weight and by share;
- stock: turns of phrase in which summaries repeat themselves.
"""

Signs = dict[Sign, float]

# However long a text is, no sign counts for more than it did in the summaries that the weights come from.
_MOST: Signs = {
    "stakes": 5,
    "strain": 3,
    "verbs": 5,
    "absent": 3.5,
    "bare": 3,
    "hardly": 2,
    "newcomers": 3,
    "happening": 2,
    "taken up": 6,
    "place": 5,
    "late": 10,
    "company": 6,
    "length": 7,
    "relative": 3,
    "shared": 20,
    "stock": 5,
}
# What the last so many sentences said is still present.
_PRESENT = 3
# The first sentences introduce: there a name alone is nothing to wonder at.
_OPENING = 3
# A sentence may speak of the whole book where it is one of the first or last so many.
_FRAME = (2, 3)


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
    spoken_of: set[str] = set()
    found: list[Signed] = []
    for at, (line, repeat) in enumerate(zip(lines, repeated, strict=True)):
        met = tuple(
            Met(mention, introduction(line, number))
            for number, mention in enumerate(line.mentions)
            if last_named.keys().isdisjoint(mention.own)
        )
        in_middle = _FRAME[0] <= at < len(lines) - _FRAME[1]
        before = lines[at - 1].names if at else frozenset[str]()
        signs = _own(line) | {
            "absent": math.log(1 + _gap(line, at, last_named)),
            "bare": sum(one.how == "bare" for one in met) if at >= _OPENING else 0,
            "hardly": sum(one.how == "hardly" for one in met),
            "newcomers": len(met) * at / len(lines),
            "portrait": at >= _OPENING and _is_portrait(line),
            "elsewhere": bool(line.names and before) and line.names.isdisjoint(before),
            "happening": sum(spoken_of.isdisjoint(keys(one)[-1:]) for one in HAPPENING.findall(line.text)),
            "taken up": sum(at - last_about.get(topic, at) > _PRESENT for topic in line.topics),
            "summing up": in_middle and SUMMING_UP.search(line.text) is not None,
            "shared": repeat.shared,
            "alike": repeat.alike,
        }
        found.append(Signed({sign: min(signs[sign], _MOST.get(sign, signs[sign])) for sign in SIGNS}, met))
        last_named.update((key, at) for mention in line.mentions for key in mention.own)
        last_about.update((topic, at) for topic in line.topics)
        spoken_of.update(line.keys)
    return found


def _gap(line: Line, at: int, last_named: Mapping[str, int]) -> int:
    """How many sentences ago that one of those named here was named last who has been away the longest."""
    known = [[last_named[key] for key in mention.own if key in last_named] for mention in line.mentions]
    return max((at - max(before) for before in known if before), default=0)


def _is_portrait(line: Line) -> bool:
    first = line.mentions[0].detail if line.mentions else None
    return first is not None and first.start == 0 and PORTRAIT.match(line.text, first.end) is not None


def _own(line: Line) -> Signs:
    """The signs that a sentence shows by itself."""
    return {
        "stakes": sum(len(pattern.findall(line.text)) for pattern in (AIMS, RIDDLES, BLOWS)),
        "strain": len(STRAIN.findall(line.text)),
        "verbs": sum(_happens(line.surface(at)) for at in range(len(line.words))),
        "place": line.place,
        "late": line.paragraph,
        "company": line.company,
        "length": math.sqrt(len(line.words)),
        "general": sum(key in _general() for key in line.keys) / max(1, len(line.words)),
        "relative": len(RELATIVE.findall(line.text)),
        "stock": len({family(key) for found in STOCK.findall(line.text) for key in keys(found)[:1]}),
    }


def _happens(word: str) -> bool:
    return word.islower() and (is_past(word) or (is_present(word) and plain_form(word) in KNOWN))


@cache
def _general() -> frozenset[str]:
    return frozenset(keys(GENERAL))
