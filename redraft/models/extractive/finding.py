"""Answering a question from a text: the place that says most of what the question says, and what it has besides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from redraft.models.extractive.details import Detail
from redraft.models.extractive.forms import Sought
from redraft.models.extractive.source import Source
from redraft.models.extractive.wording import Word, carries, is_number, words

# A place answers a question when it has this share of what the question says; less will do where it has the words that
# stand next to the answer.
_SUPPORT = 0.6
_SUPPORT_IN_PLACE = 0.4
# A name says less of what is asked than any other word: the people of a story are in every sentence of it.
_NAME_WEIGHT = 0.5
_CLOSE = 3
_LONGEST_FILLER = 12
_REASON = re.compile(r"\b(?:because|since|so that|in order to|for fear|owing to|due to|as a result of)\b[^.;!?]*", re.I)
_TIME_OR_PLACE = re.compile(
    r"\b(?:on|in|at|after|before|during|by|until|when|while|near|to|from|into)\b[^,.;:!?]*", re.I
)


class Found(NamedTuple):
    """An answer and the lines that it rests on, the one that matters most first."""

    answer: str
    lines: list[int]


class _Place(NamedTuple):
    """A line, its words and its names and numbers."""

    text: str
    of: list[Word]
    details: list[Detail]


def look_up(source: Source, sought: Sought) -> Found | None:
    """The answer to a question; None where no place says enough of what the question says, or nothing besides."""
    weights = {key: _NAME_WEIGHT if key in sought.names else 1.0 for key in sought.keys if carries(key)}
    weights = weights or dict.fromkeys(sought.keys, 1.0)
    best: tuple[float, int, Found] | None = None
    for number in source.places(sought.keys):
        support, own, lines = _support(source, weights, number)
        if support < _SUPPORT_IN_PLACE:
            continue
        keys = source.lines[number].keys
        steps = SequenceMatcher(None, sought.keys, keys, autojunk=False).get_matching_blocks()
        shared = sum(step.size for step in steps)
        if best is not None and (support, shared) <= best[:2]:
            continue
        place = _Place(source.text_of(number), source.words_of(number), source.details_of(number))
        answer = _filler(place, sought, steps) if own >= _SUPPORT_IN_PLACE else ""
        if not answer and support >= _SUPPORT:
            answer = _by_kind(place, sought)
        if answer:
            best = (support, shared, Found(answer, lines))
    return best[2] if best else None


def _support(source: Source, weights: Mapping[str, float], number: int) -> tuple[float, float, list[int]]:
    """The share of the weights that a line has with the one before it, and by itself; and the lines that it takes."""
    own = weights.keys() & set(source.lines[number].keys)
    before = weights.keys() & set(source.lines[number - 1].keys) if number else set()
    lines = [number, number - 1] if before - own else [number]
    whole = sum(weights.values())
    return sum(weights[key] for key in own | before) / whole, sum(weights[key] for key in own) / whole, lines


def _filler(place: _Place, sought: Sought, blocks: Sequence[tuple[int, int, int]]) -> str:
    """What stands between the words before the gap and those after it, where they are there."""
    if sought.gap is None:
        return ""
    text, of = place.text, place.of
    first, end = 0, len(of)
    held = False
    for here, there, size in blocks:
        before = min(size, max(0, sought.gap - here))
        if before:
            first = there + before
            held = sought.gap - here - before < _CLOSE and (before > 1 or carries(sought.keys[here]))
        if size > before:
            end = there + before
            held |= here + before - sought.gap < _CLOSE and (size - before > 1 or carries(sought.keys[here + before]))
            break
    if not held or not 0 < end - first <= _LONGEST_FILLER:
        return ""
    if sought.wants is None:
        return text[of[first].start : of[end - 1].end]
    inside = [known for known in place.details if known.kind == sought.wants and known.first >= first]
    close = [known for known in inside if known.last < end and min(known.first - first, end - 1 - known.last) < _CLOSE]
    return ", ".join(text[known.start : known.end] for known in close)


def _by_kind(place: _Place, sought: Sought) -> str:
    """What a line has of the kind asked for and the question has not."""
    text, of = place.text, place.of
    known = set(sought.keys)
    if sought.asks == "why":
        return next((found.group().strip() for found in _REASON.finditer(text)), "")
    kind = "number" if sought.asks == "when" else sought.wants
    if kind is not None:
        fresh = [
            detail
            for detail in place.details
            if detail.kind == kind and not {word.key for word in of[detail.first : detail.last + 1]} & known
        ]
        if fresh:
            return ", ".join(text[detail.start : detail.end] for detail in fresh)
        if sought.wants is not None:
            return ""
    if sought.asks in ("when", "where"):
        phrases = (found.group().strip() for found in _TIME_OR_PLACE.finditer(text))
        return next((phrase for phrase in phrases if not known & _telling(phrase)), "")
    return _remainder(place, known)


def _telling(phrase: str) -> set[str]:
    return {word.key for word in words(phrase) if carries(word.key) or is_number(word.key)}


def _remainder(place: _Place, known: set[str]) -> str:
    """The longest stretch of a line that the question has nothing of."""
    text, of = place.text, place.of
    best, first = (0, 0), 0
    for at in range(len(of) + 1):
        if at == len(of) or (of[at].key in known and carries(of[at].key)):
            if at - first > best[1] - best[0] and any(carries(word.key) for word in of[first:at]):
                best = (first, at)
            first = at + 1
    return text[of[best[0]].start : of[best[1] - 1].end] if best[1] else ""
