"""Trees of key facts: what is most central to an excerpt, to each of its topics, and what is told besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import fsum

from redraft.builtin.facts.telling import Told, distinct, tell
from redraft.builtin.registry import answers
from redraft.domain import Perspective
from redraft.errors import RejectedRequest
from redraft.prompts.factual import (
    KEYFACTS_ANALYTICAL,
    KEYFACTS_NARRATIVE,
    Branch,
    FactTree,
    GrowGiven,
    Root,
)
from redraft.text.words import count_words

# So many words of an excerpt give one fact of a level; that is about as many as people's trees have.
_WORDS_PER_ROOT, _WORDS_PER_BRANCH, _WORDS_PER_LEAF = 1_000, 350, 160
_MOST_ROOTS, _MOST_BRANCHES, _MOST_LEAVES = 4, 4, 4
# A topic is told from the next by how little the sentences on either side of a seam have in common.
_BLOCK = 5
_FEWEST_IN_TOPIC = 2
# How much a sentence of the other kind counts beside one of the kind that is sought.
_OTHER_KIND = 0.05


@answers(KEYFACTS_ANALYTICAL)
def grow_analytical(given: GrowGiven) -> FactTree:
    """How things are and why, the most central first."""
    return _grow(given.excerpt, "analytical")


@answers(KEYFACTS_NARRATIVE)
def grow_narrative(given: GrowGiven) -> FactTree:
    """What happens, in its order."""
    return _grow(given.excerpt, "narrative")


def _grow(excerpt: str, perspective: Perspective) -> FactTree:
    told = distinct(tell(excerpt))
    if len(told) < 2:
        raise RejectedRequest("it does not hold two sentences that could stand as facts")
    worth = {one: one.worth * (1.0 if one.happens == (perspective == "narrative") else _OTHER_KIND) for one in told}
    words = count_words(excerpt)
    topics = _topics(told, max(1, min(_MOST_ROOTS * _MOST_BRANCHES, round(words / _WORDS_PER_BRANCH))))
    count = max(1, min(_MOST_ROOTS, round(words / _WORDS_PER_ROOT), len(topics)))
    leaves = max(1, min(_MOST_LEAVES, round(words / _WORDS_PER_LEAF / len(topics))))
    stretches = [topics[len(topics) * at // count : len(topics) * (at + 1) // count] for at in range(count)]
    return FactTree(roots=[_root(topics, worth, leaves) for topics in stretches])


def _root(topics: Sequence[Sequence[Told]], worth: dict[Told, float], most_leaves: int) -> Root:
    """The most central of some topics, with a branch for each of them."""
    chief = max((told for topic in topics for told in topic), key=worth.__getitem__)
    branches: list[Branch] = []
    for topic in topics:
        first, *rest = sorted((told for told in topic if told is not chief), key=lambda told: -worth[told])
        leaves = sorted(rest[:most_leaves], key=lambda told: told.at)
        branches.append(Branch(fact=first.fact, leaves=[leaf.fact for leaf in leaves]))
    return Root(fact=chief.fact, branches=branches)


def _topics(told: Sequence[Told], count: int) -> list[list[Told]]:
    """The facts in stretches that are about one thing each, at most `count` of them."""
    seams = range(_FEWEST_IN_TOPIC, len(told) - _FEWEST_IN_TOPIC + 1)
    rarity = Counter(term for one in told for term in one.terms)
    chosen: list[int] = []
    for seam in sorted(seams, key=lambda seam: (_kinship(told, seam, rarity), seam)):
        if len(chosen) + 1 >= count:
            break
        if all(abs(seam - other) >= max(_FEWEST_IN_TOPIC, len(told) // (2 * count)) for other in chosen):
            chosen.append(seam)
    bounds = [0, *sorted(chosen), len(told)]
    return [list(told[first:end]) for first, end in pairwise(bounds)]


def _kinship(told: Sequence[Told], seam: int, rarity: Counter[str]) -> float:
    """How much the facts before and behind a seam have in common, what is everywhere counted little."""
    before = {term for one in told[max(0, seam - _BLOCK) : seam] for term in one.terms}
    behind = {term for one in told[seam : seam + _BLOCK] for term in one.terms}
    # Sets have no order, and the sum of fractions depends on it, but for `fsum`.
    whole = fsum(1 / rarity[term] for term in before | behind)
    return fsum(1 / rarity[term] for term in before & behind) / whole if whole else 0.0
