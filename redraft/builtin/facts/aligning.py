"""Which facts a summary states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from redraft.builtin.consistency.families import family
from redraft.builtin.consistency.holding import ground_of
from redraft.builtin.registry import answers
from redraft.builtin.wording import carries, keys
from redraft.prompts.factual import ALIGN_FACTS, AlignGiven, Alignment, Alignments
from redraft.prompts.judging import Statement

# A fact is stated where two neighbouring sentences have this share of its telling words. It is not where all of the
# summary has less than the second share, and beside other facts that are stated; else it may be there in other words.
# With less than the third it is about something else.
_STATED, _MISSING, _STRANGE = 0.8, 0.34, 0.1


class _Beside(NamedTuple):
    """A fact beside a summary: at its best place, and in all of it."""

    near: float
    anywhere: float
    sentences: list[int]


@answers(ALIGN_FACTS)
def align_facts(given: AlignGiven) -> Alignments:
    """A fact is stated where a sentence, with a neighbour, has nearly all of its words and nothing else in its place."""
    found = [_beside(given.sentences, fact.fact) for fact in given.facts]
    readable = any(one.sentences for one in found)
    return Alignments(
        facts=[
            _alignment(fact.id, one, _MISSING if readable else _STRANGE)
            for fact, one in zip(given.facts, found, strict=True)
        ]
    )


def _alignment(number: int, found: _Beside, missing: float) -> Alignment:
    if found.sentences:
        return Alignment(id=number, stated="yes", sentences=found.sentences)
    return Alignment(id=number, stated="no" if found.anywhere < missing else "unsure", sentences=[])


def _beside(sentences: Sequence[Statement], fact: str) -> _Beside:
    wanted = _terms(fact)
    own = [_terms(one.sentence) for one in sentences]
    anywhere = _share(wanted, frozenset().union(*own))
    # Of two that have as much, one sentence before a pair of them.
    spans = [(at, end) for size in (1, 2) for at in range(len(own)) if (end := at + size) <= len(own)]
    best = max(spans, key=lambda span: _share(wanted, frozenset().union(*own[slice(*span)])), default=(0, 0))
    near = _share(wanted, frozenset().union(*own[slice(*best)]))
    if near < _STATED or _is_otherwise(fact, [one.sentence for one in sentences[slice(*best)]]):
        return _Beside(near, anywhere, [])
    return _Beside(near, anywhere, [one.id for one in sentences[slice(*best)]])


def _is_otherwise(fact: str, said: Sequence[str]) -> bool:
    """Whether the place has something else in the place of what the fact says."""
    return ground_of(tuple(said)).hold(fact).verdict == "contradicted"


def _share(wanted: frozenset[str], there: Iterable[str]) -> float:
    return len(wanted.intersection(there)) / len(wanted) if wanted else 0.0


@lru_cache(maxsize=4_096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(family(key) for key in keys(text) if carries(key))
