"""Answering a question from a text: the place that says most of what the question says, and what it has besides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from redraft.models.extractive.details import details
from redraft.models.extractive.forms import Sought
from redraft.models.extractive.source import Source
from redraft.models.extractive.wording import Word, carries, is_number, words

# A place answers a question when it has this share of what the question says.
_SUPPORT = 0.5
_LONGEST_FILLER = 12
_REASON = re.compile(r"\b(?:because|since|so that|in order to|for fear|owing to|due to|as a result of)\b[^.;!?]*", re.I)
_TIME_OR_PLACE = re.compile(
    r"\b(?:on|in|at|after|before|during|by|until|when|while|near|to|from|into)\b[^,.;:!?]*", re.I
)


class Found(NamedTuple):
    """An answer and the lines that it rests on, the one that matters most first."""

    answer: str
    lines: list[int]


def look_up(source: Source, sought: Sought) -> Found | None:
    """The answer to a question; None where no place says enough of what the question says, or nothing besides."""
    telling = {key for key in sought.keys if carries(key)} or set(sought.keys)
    if not telling:
        return None
    best: tuple[float, int, Found] | None = None
    for number in source.places(sought.keys):
        support, lines = _support(source, telling, number)
        if support < _SUPPORT:
            continue
        keys = source.lines[number].keys
        steps = SequenceMatcher(None, sought.keys, keys, autojunk=False).get_matching_blocks()
        shared = sum(step.size for step in steps)
        if best is not None and (support, shared) <= best[:2]:
            continue
        if answer := _answer(source, sought, number, steps):
            best = (support, shared, Found(answer, lines))
    return best[2] if best else None


def _support(source: Source, telling: set[str], number: int) -> tuple[float, list[int]]:
    """The share of `telling` that a line has, together with the one before it where that has more of it."""
    own = telling & set(source.lines[number].keys)
    before = telling & set(source.lines[number - 1].keys) if number else set()
    lines = [number, number - 1] if before - own else [number]
    return len(own | before) / len(telling), lines


def _answer(source: Source, sought: Sought, number: int, blocks: Sequence[tuple[int, int, int]]) -> str:
    line = source.lines[number]
    text, of = source.text_of(number), line.own_words
    if sought.gap is not None and (filler := _filler(text, of, sought, blocks)):
        return filler
    return _by_kind(text, of, sought)


def _filler(text: str, of: Sequence[Word], sought: Sought, blocks: Sequence[tuple[int, int, int]]) -> str:
    """What stands between the words before the gap and those after it."""
    gap = sought.gap or 0
    first, end = 0, len(of)
    for here, there, size in blocks:
        before = min(size, max(0, gap - here))
        if before:
            first = there + before
        if size > before:
            end = there + before
            break
    if not 0 < end - first <= _LONGEST_FILLER:
        return ""
    if sought.wants is not None:
        inside = [d for d in details(text, of) if d.kind == sought.wants and first <= d.first and d.last < end]
        if inside:
            return ", ".join(text[d.start : d.end] for d in inside)
        return ""
    return text[of[first].start : of[end - 1].end]


def _by_kind(text: str, of: Sequence[Word], sought: Sought) -> str:
    """What a line has of the kind asked for and the question has not."""
    known = set(sought.keys)
    if sought.asks == "why":
        return next((found.group().strip() for found in _REASON.finditer(text)), "")
    kind = "number" if sought.asks == "when" else sought.wants
    if kind is not None:
        fresh = [
            detail
            for detail in details(text, of)
            if detail.kind == kind and not {word.key for word in of[detail.first : detail.last + 1]} & known
        ]
        if fresh:
            return ", ".join(text[detail.start : detail.end] for detail in fresh)
        if sought.wants is not None:
            return ""
    if sought.asks in ("when", "where"):
        phrases = (found.group().strip() for found in _TIME_OR_PLACE.finditer(text))
        return next((phrase for phrase in phrases if not known & _telling(phrase)), "")
    return _remainder(text, of, known)


def _telling(phrase: str) -> set[str]:
    return {word.key for word in words(phrase) if carries(word.key) or is_number(word.key)}


def _remainder(text: str, of: Sequence[Word], known: set[str]) -> str:
    """The longest stretch of a line that the question has nothing of."""
    best, first = (0, 0), 0
    for at in range(len(of) + 1):
        if at == len(of) or (of[at].key in known and carries(of[at].key)):
            if at - first > best[1] - best[0] and any(carries(word.key) for word in of[first:at]):
                best = (first, at)
            first = at + 1
    return text[of[best[0]].start : of[best[1] - 1].end] if best[1] else ""
