"""Saying which of two summaries is better, by counting what is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from redraft.builtin.coherence.analysis import Analysed, analyse
from redraft.builtin.consistency.families import family
from redraft.builtin.registry import answers
from redraft.builtin.wording import keys
from redraft.prompts.coherence import PREFER_SUMMARY, Choice, PreferGiven, Preferred
from redraft.text.words import count_words, same_words

Respect = Literal["detail", "structure", "logic"]

# Differences up to this share of the larger figure are none.
_CLOSE: Mapping[Respect, float] = {"detail": 0.1, "structure": 0.05, "logic": 0.05}
# What the respects count for in the whole. A summary that says more is better only if it can be followed.
_COUNTS: Mapping[Respect, float] = {"detail": 0.4, "structure": 0.25, "logic": 0.35}
_CLOSE_OVERALL = 0.05
# How much a name tells beside other words, and what a text gains by density.
_NAME = 2.0
_DENSITY = 0.5
_MORE: Mapping[Respect, str] = {
    "detail": "tells more",
    "structure": "is better connected and repeats itself less",
    "logic": "leaves fewer questions open",
}


class Merits(NamedTuple):
    """What can be counted in one summary, each the better the larger."""

    detail: float
    structure: float
    logic: float


@answers(PREFER_SUMMARY)
def prefer_summary(given: PreferGiven) -> Preferred:
    """Each respect by itself, and all together. What is close is a tie, and so are two texts of the same words."""
    if same_words(given.first, given.second):
        return Preferred(reason="Both say the same.", detail="tie", structure="tie", logic="tie", overall="tie")
    first, second = merits(given.first, given.document), merits(given.second, given.document)
    leads: dict[Respect, float] = {
        "detail": _lead(first.detail, second.detail),
        "structure": _lead(first.structure, second.structure),
        "logic": _lead(first.logic, second.logic),
    }
    whole = sum(_COUNTS[respect] * leads[respect] for respect in _COUNTS)
    overall = _choice(whole, _CLOSE_OVERALL)
    return Preferred(
        reason=_reason(overall, leads),
        detail=_choice(leads["detail"], _CLOSE["detail"]),
        structure=_choice(leads["structure"], _CLOSE["structure"]),
        logic=_choice(leads["logic"], _CLOSE["logic"]),
        overall=overall,
    )


def merits(summary: str, document: str | None = None) -> Merits:
    """What there is in a summary. With the document at hand, only words that it has too count as detail."""
    of = analyse(summary)
    if not of:
        return Merits(0.0, 0.0, 0.0)
    topics = frozenset[str]().union(*(one.line.topics for one in of))
    names = frozenset[str]().union(*(one.line.names for one in of))
    if document:
        known = frozenset(keys(document))
        topics, names = topics & frozenset(map(family, known)), names & known
    said = len(topics) + _NAME * len(names)
    density = said / max(1, count_words(summary))
    return Merits(said * density**_DENSITY, _structure(of), _share([not one.confuses for one in of]))


def _structure(of: Sequence[Analysed]) -> float:
    """How many sentences have a word or name of the one before, or open a paragraph, and how few are repetitions."""
    tied = [second.line.place == 0 or bool(_about(first) & _about(second)) for first, second in pairwise(of)]
    fresh = [one.repeat.twin is None for one in of]
    return (1 + _share(tied)) / 2 * _share(fresh)


def _share(of: Sequence[bool]) -> float:
    return sum(of) / len(of) if of else 1.0


def _about(one: Analysed) -> frozenset[str]:
    return one.line.topics | one.line.names


def _lead(first: float, second: float) -> float:
    """By what share of the larger the first is ahead; negative where the second is."""
    largest = max(first, second)
    return (first - second) / largest if largest else 0.0


def _choice(lead: float, close: float) -> Choice:
    if abs(lead) <= close:
        return "tie"
    return "first" if lead > 0 else "second"


def _reason(overall: Choice, leads: Mapping[Respect, float]) -> str:
    """The decision in one sentence."""
    if overall == "tie":
        return "Neither summary is clearly better."
    sign = 1 if overall == "first" else -1
    ahead = [_MORE[respect] for respect in leads if sign * leads[respect] > _CLOSE[respect]]
    return f"The {overall} summary {' and '.join(ahead) if ahead else 'is a little better in most respects'}."
