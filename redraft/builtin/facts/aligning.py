"""Which facts a summary states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from redraft.builtin.consistency.families import family
from redraft.builtin.consistency.holding import ground_of
from redraft.builtin.details import amounts
from redraft.builtin.facts.statements import read_statement
from redraft.builtin.registry import answers
from redraft.prompts.factual import ALIGN_FACTS, AlignGiven, Alignment, Alignments
from redraft.prompts.judging import Statement
from redraft.text.wording import carries, is_negation, is_number, keys

# A fact is stated where two neighbouring sentences have this share of its telling words. It is not where all of the
# summary has less than the second share, and beside other facts that are stated; else it may be there in other words.
# With less than the third it is about something else.
_STATED, _MISSING, _STRANGE = 0.8, 0.34, 0.1


class _Beside(NamedTuple):
    """A fact beside a summary: whether its best place says otherwise, how much of it is anywhere, what states it."""

    otherwise: bool
    anywhere: float
    sentences: list[int]


@answers(ALIGN_FACTS)
def align_facts(given: AlignGiven) -> Alignments:
    """A fact is stated where a sentence, with a neighbour, has nearly all of its words and nothing in their place."""
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
    absent = found.otherwise or found.anywhere < missing
    return Alignment(id=number, stated="no" if absent else "unsure", sentences=[])


def _beside(sentences: Sequence[Statement], fact: str) -> _Beside:
    wanted = _terms(fact)
    own = [_terms(one.sentence) for one in sentences]
    anywhere = _share(wanted, frozenset().union(*own))
    ground = ground_of(tuple(one.sentence for one in sentences))
    held = ground.hold(fact)
    if held.verdict == "contradicted":
        return _Beside(True, anywhere, [])
    if held.verdict == "borne out" and held.line is not None:
        return _Beside(False, anywhere, [sentences[ground.source.lines[held.line].text].id])
    # Of two that have as much, one sentence before a pair of them.
    spans = [(at, end) for size in (1, 2) for at in range(len(own)) if (end := at + size) <= len(own)]
    best = max(spans, key=lambda span: _share(wanted, frozenset().union(*own[slice(*span)])), default=(0, 0))
    place = " ".join(one.sentence for one in sentences[slice(*best)])
    stated = _share(wanted, frozenset().union(*own[slice(*best)])) >= _STATED and _agrees(fact, place)
    return _Beside(False, anywhere, [one.id for one in sentences[slice(*best)]] if stated else [])


def _agrees(fact: str, place: str) -> bool:
    """Whether the place has the verb and the numbers of a fact, and denies something where the fact does."""
    statement, there = read_statement(fact), keys(place)
    own = [word.key for word in statement.words]
    verb = "" if statement.verb is None else own[statement.verb.at]
    told = not verb or not carries(verb) or family(verb) in _terms(place)
    denied = any(map(is_negation, there)) != any(map(is_negation, own))
    return told and not denied and amounts(filter(is_number, own)) <= amounts(there)


def _share(wanted: frozenset[str], there: Iterable[str]) -> float:
    return len(wanted.intersection(there)) / len(wanted) if wanted else 0.0


@lru_cache(maxsize=4_096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(family(key) for key in keys(text) if carries(key))
