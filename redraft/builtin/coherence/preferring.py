"""Saying which of two summaries is better, where something can be counted that decides it: faults, and inventions.

How much a summary tells and how well, nobody can count: of two that only differ in that, it cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from redraft.builtin.coherence.analysis import Analysed, analyse
from redraft.builtin.registry import answers
from redraft.builtin.wording import is_number, keys
from redraft.prompts.coherence import PREFER_SUMMARY, Choice, PreferGiven, Preferred
from redraft.text.words import same_words

Respect = Literal["detail", "structure", "logic"]

# What is wrong with so many more of one summary's sentences than of the other's decides.
_CLEARLY = 0.1
_FEWER: Mapping[Respect, str] = {
    "detail": "has fewer names and numbers that the document does not have",
    "structure": "repeats itself less",
    "logic": "has fewer sentences that are broken, point at nobody or contradict another",
}


@answers(PREFER_SUMMARY)
def prefer_summary(given: PreferGiven) -> Preferred:
    """Each respect by itself; all together where no two of them disagree."""
    if same_words(given.first, given.second):
        return Preferred(reason="Both say the same.", detail="tie", structure="tie", logic="tie", overall="tie")
    first, second = _faults(given.first, given.document), _faults(given.second, given.document)
    chosen: dict[Respect, Choice] = {respect: _choice(first[respect], second[respect]) for respect in _FEWER}
    decided = set(chosen.values()) - {"tie"}
    overall: Choice = decided.pop() if len(decided) == 1 else "tie"
    said = [_FEWER[respect] for respect in _FEWER if chosen[respect] == overall]
    return Preferred(
        reason="It cannot tell: nothing that can be counted decides."
        if overall == "tie"
        else f"The {overall} summary {', and '.join(said)}.",
        detail=chosen["detail"],
        structure=chosen["structure"],
        logic=chosen["logic"],
        overall=overall,
    )


def _faults(summary: str, document: str | None) -> Mapping[Respect, float]:
    """The shares of a summary's sentences in which something is wrong beyond doubt."""
    of = analyse(summary)
    known = frozenset(keys(document)) if document else None
    return {
        "detail": _share([known is not None and not _details(one) <= known for one in of]),
        "structure": _share([one.repeat.twin is not None for one in of]),
        "logic": _share([one.contradicts is not None or bool(one.faults) for one in of]),
    }


def _details(one: Analysed) -> frozenset[str]:
    return one.line.names | frozenset(filter(is_number, one.line.keys))


def _share(of: list[bool]) -> float:
    return sum(of) / len(of) if of else 0.0


def _choice(first: float, second: float) -> Choice:
    if abs(first - second) < _CLEARLY:
        return "tie"
    return "first" if first < second else "second"
