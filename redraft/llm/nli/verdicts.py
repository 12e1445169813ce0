"""Whether a document bears a claim out, by how likely it is that the claim follows from its passages, or from two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from redraft.llm.nli.entailment import Entailment, Odds
from redraft.text.sentences import sentences
from redraft.text.words import words

SURE = 0.8
"""How likely a class has to be at least to be said. Set beforehand, and fitted to no data."""
# Passages are read in stretches of a paragraph's length: models of entailment are trained on such.
_STRETCH = 160
# How many of the stretches that share most words with a claim it is held against, and of how many of these in pairs.
_NEAREST, _PAIRED = 8, 3
# Beside a claim there has to be room for a premise that is worth reading.
_LEAST_ROOM = 32

Verdict = Literal["entailed", "contradicted", "neither"]


@dataclass(frozen=True, slots=True)
class EntailmentVerdict:
    """What is said of a claim, how surely, and by which premise, made of which passages."""

    verdict: Verdict
    odds: float
    premise: str
    passages: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Premise:
    text: str
    passages: frozenset[int]
    nearest: bool
    """Whether the stretch that shares most words with the claim is in it."""


def hold(model: Entailment, claims: Sequence[str], passages: Sequence[str]) -> list[EntailmentVerdict | None]:
    """What is said of each claim; None where no class is sure, and where a claim is too long to be read.

    All of them are put to the model at once.
    """
    premises = [_premises(model, claim, passages) for claim in claims]
    pairs = [(one.text, claim) for claim, some in zip(claims, premises, strict=True) for one in some]
    odds = iter(model.odds(pairs))
    return [_held(some, [next(odds) for _ in some]) for some in premises]


def _held(premises: Sequence[_Premise], odds: Sequence[Odds]) -> EntailmentVerdict | None:
    """One premise from which it follows is enough. Against it speaks only what stands nearest: of things that have
    little to do with each other, models call many contradictions."""
    if not premises:
        return None
    said = list(zip(premises, odds, strict=True))
    premise, best = max(said, key=lambda one: one[1].entailment)
    if best.entailment >= SURE:
        return EntailmentVerdict("entailed", best.entailment, premise.text, premise.passages)
    premise, worst = max((one for one in said if one[0].nearest), key=lambda one: one[1].contradiction)
    if worst.contradiction >= SURE:
        return EntailmentVerdict("contradicted", worst.contradiction, premise.text, premise.passages)
    least = min(one.neutral for one in odds)
    return EntailmentVerdict("neither", least, "", frozenset()) if least >= SURE else None


def _premises(model: Entailment, claim: str, passages: Sequence[str]) -> list[_Premise]:
    """The stretches nearest to a claim, and the nearest of them in pairs, as far as they fit beside it."""
    room = model.room(claim)
    if room < _LEAST_ROOM:
        return []
    said = set(words(claim))
    stretches = [
        (text, n) for n, passage in enumerate(passages) for text in model.windows(passage, min(room, _STRETCH))
    ]
    order = sorted(range(len(stretches)), key=lambda at: (-len(said & set(words(stretches[at][0]))), at))[:_NEAREST]
    found = [_Premise(stretches[at][0], frozenset({stretches[at][1]}), at == order[0]) for at in order]
    for pair in combinations(sorted(order[:_PAIRED]), 2):
        text = " ".join(stretches[at][0] for at in pair)
        if model.tokens(text) <= room:
            found.append(_Premise(text, frozenset(stretches[at][1] for at in pair), order[0] in pair))
    return found


def nearest_sentence(claim: str, text: str) -> str:
    """The sentence of a text that shares most words with a claim."""
    said = set(words(claim))
    found = [text[start:end] for start, end in sentences(text)] or [text]
    return max(found, key=lambda one: len(said & set(words(one))))
