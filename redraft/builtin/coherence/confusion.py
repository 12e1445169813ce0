"""Saying which sentences of a summary confuse their readers, so far as that can be told without understanding it.

Four things can: that something is said twice, that it is said once so and once otherwise, that a sentence points back
where there is nothing, and that its wording is broken. Of every other sentence the judge cannot tell whether it
confuses: what people ask about, they mostly ask about sentences that look like any other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from redraft.builtin.cast import Cast
from redraft.builtin.coherence.repeats import Repeat, repeats
from redraft.builtin.pointing import goes_on, points_at_nobody
from redraft.builtin.registry import answers
from redraft.prompts.coherence import (
    FIND_CONFUSION,
    Confusion,
    ConfusionGiven,
    Confusions,
    ErrorType,
    SummarySentence,
)
from redraft.prompts.contract import UNSURE
from redraft.text.cleaning import one_line
from redraft.text.sentences import ends_sentence, worded
from redraft.text.wording import listed

# A pronoun that begins a sentence stands for somebody in the last few.
_REACH = 2
_LONGEST_QUOTE = 80
_DOUBLED = re.compile(r"\b(the|a|an|of|to|and|their|its|been|for|with|from|at) \1\b", re.IGNORECASE)
_HANGING = listed(
    "a an the and or but of to with from into because which who whose when while his their its your our my"
)
_FEWEST_WORDS = 5


class Doubt(NamedTuple):
    """A kind of confusion, and what it makes a reader ask."""

    type: ErrorType
    question: str


@answers(FIND_CONFUSION)
def find_confusion(given: ConfusionGiven) -> Confusions:
    """A verdict on each sentence that confuses beyond doubt, in their order; the others are left open."""
    texts = worded(given.summary)
    shift, places = _places(texts, given.sentences)
    found = doubts(given.summary, is_part=shift > 0)
    asked = {one.id: found[places[one.id]] if one.id in places else () for one in given.sentences}
    return Confusions(sentences=[_verdict(number, own) for number, own in asked.items()])


def _verdict(number: int, found: Sequence[Doubt]) -> Confusion:
    if not found:
        return Confusion(id=number, questions=[], types=[UNSURE])
    return Confusion(id=number, questions=[one.question for one in found], types=[one.type for one in found])


@lru_cache(maxsize=8)
def doubts(summary: str, *, is_part: bool = False) -> tuple[tuple[Doubt, ...], ...]:
    """What confuses in each sentence of a summary, or of a part from its middle.

    It is kept, as a summary is asked about in many small parts.
    """
    texts = worded(summary)
    cast, repeated = Cast(texts), repeats(texts)
    found: list[tuple[Doubt, ...]] = []
    for at, text in enumerate(texts):
        own: list[Doubt | None] = [_repeated(repeated[at], texts)]
        if not (is_part and at < _REACH):
            own.append(_pointing(text, texts[max(0, at - _REACH) : at], cast))
        own.append(_worded(text))
        found.append(tuple(one for one in own if one))
    return tuple(found)


def _repeated(repeat: Repeat | None, texts: Sequence[str]) -> Doubt | None:
    if repeat is None:
        return None
    if not repeat.is_opposite:
        return Doubt("duplication", "Why is this said twice?")
    before = texts[repeat.of].rstrip(" .!?")
    quote = before if len(before) <= _LONGEST_QUOTE else before[:_LONGEST_QUOTE].rpartition(" ")[0] + " …"
    return Doubt("inconsistency", f'Which is true, this or what was said before: "{quote}"?')


def _pointing(text: str, before: Sequence[str], cast: Cast) -> Doubt | None:
    if pronoun := points_at_nobody(text, before, cast):
        return Doubt("entity omission", f'Who is meant by "{pronoun.group().lower()}"?')
    if not before and goes_on(text):
        return Doubt("discontinuity", "What does this go on from?")
    return None


def _worded(text: str) -> Doubt | None:
    """What is wrong with the wording of a sentence: a word stands there twice, or it breaks off."""
    if _DOUBLED.search(text):
        return Doubt("language", "What is this sentence meant to say?")
    written = text.split()
    if len(written) >= _FEWEST_WORDS and not ends_sentence(text) and written[-1] in _HANGING:
        return Doubt("language", "How does this sentence go on?")
    return None


def _places(texts: Sequence[str], asked: Sequence[SummarySentence]) -> tuple[int, dict[int, int]]:
    """By how much the numbers of the sentences are too high, and where each sentence stands.

    Of several that are the same, the one meant is that nearest to its number. A part of a long summary is numbered as
    the whole: then all numbers are too high by the same, and those of the sentences that stand there once say by how
    much.
    """
    there: dict[str, list[int]] = defaultdict(list)
    for at, text in enumerate(texts):
        there[text].append(at)
    wanted = {one.id: one_line(one.sentence) for one in asked}
    known = [number - 1 - there[text][0] for number, text in wanted.items() if len(there.get(text, ())) == 1]
    shift = max(set(known), key=known.count) if known else max(0, max(wanted, default=0) - len(texts))
    return shift, {
        number: min(there[text], key=lambda at: abs(at - (number - 1 - shift)))
        for number, text in wanted.items()
        if text in there
    }
