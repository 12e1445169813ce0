"""What can be kept of a text that went wrong while it was written: one that loops, breaks off, or echoes its orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from redraft.document import Span
from redraft.text.sentences import ends_sentence, sentences
from redraft.text.units import words
from redraft.text.words import count_words

# A sentence that is said so often is said by a model that has lost its way.
_OFTEN = 3
# Shorter ones may well return ("And so it was."), and stand in any text ("Write plain prose.").
_FEWEST = 4
# But not so often with nothing in between, unless they are a single word.
_IN_A_ROW = 5
# What follows itself so often up to the very end, a few letters or up to a sentence, would have gone on like that.
_TURNS, _TURNS_OF_LONGER = 8, 4
_LONG_TURN, _LONGEST_TURN = 25, 200


def unlooped(text: str) -> str:
    """The text with one of each sentence, or line, that stands in it three times and more, and of the words that it
    was repeating when it broke off; the same where there is nothing of it."""
    text = _without_stutter(text)
    parts = list(_parts(text))
    said = [_said(text, part) for part in parts]
    loops = {key for key, times in Counter(said).items() if times >= _OFTEN and len(set(key)) >= _FEWEST}
    loops |= {key for key, row in groupby(said) if len(set(key)) > 1 and len(list(row)) >= _IN_A_ROW}
    if not loops:
        return text
    kept: list[Span] = []
    seen: set[tuple[str, ...]] = set()
    for part, key in zip(parts, said, strict=True):
        # What the end of the room has left of one more turn goes with the others.
        begun = part is parts[-1] and any(" ".join(turn).startswith(" ".join(key)) for turn in loops & seen)
        if not begun and (key not in loops or key not in seen):
            kept.append(part)
            seen.add(key)
    return _of(text, kept, parts)


def without_unfinished(text: str) -> str:
    """The text without its last sentence, where that has no end and at least half of the words stand before it."""
    found = sentences(text)
    if ends_sentence(text) or len(found) < 2:
        return text
    whole = text[: found[-1].start].rstrip()
    return whole if ends_sentence(whole) and 2 * count_words(whole) >= count_words(text) else text


def without_copies(text: str, instructions: str, material: Collection[str]) -> str:
    """The text without the sentences that stand in `instructions`, unless `material` has them, too."""
    parts = list(_parts(text))
    ordered = {_said(instructions, part) for part in _parts(instructions)}
    copies = {key for part in parts if len(key := _said(text, part)) >= _FEWEST and key in ordered}
    if not copies:
        return text
    given = [f" {' '.join(words(one))} " for one in material]
    copies = {key for key in copies if not any(f" {' '.join(key)} " in one for one in given)}
    return _of(text, [part for part in parts if _said(text, part) not in copies], parts)


def ends_in_loop(text: str) -> bool:
    """Whether a text that was cut off was saying the same over and over."""
    return _turn_at_end(text) > 0


def _without_stutter(text: str) -> str:
    """The text with one turn of what it breaks off in, where that are a few letters over and over."""
    length = 0 if ends_sentence(text) else _turn_at_end(text)
    if not length:
        return text
    start = len(text) - length
    while start and text[start - 1] == text[start - 1 + length]:
        start -= 1
    return text[: start + length].rstrip()


def _turn_at_end(text: str) -> int:
    """The length of what the text says over and over at its end; 0 where there is no such thing."""
    for length in range(2, _LONGEST_TURN + 1):
        turn, times = text[-length:], _TURNS if length <= _LONG_TURN else _TURNS_OF_LONGER
        if any(map(str.isalpha, turn)) and text.endswith(turn * times):
            return length
    return 0


def _parts(text: str) -> Iterator[Span]:
    """The sentences, and each line of one that has several."""
    for found in sentences(text):
        at = found.start
        for line in text[found.start : found.end].split("\n"):
            if line.strip():
                yield Span(at, at + len(line))
            at += len(line) + 1


def _said(text: str, part: Span) -> tuple[str, ...]:
    return tuple(words(text[part.start : part.end]))


def _of(text: str, kept: Sequence[Span], parts: Sequence[Span]) -> str:
    """The parts of a text that are kept, each with what stands before it."""
    before = {part: last.end for last, part in zip([Span(0, 0), *parts[:-1]], parts, strict=True)}
    return "".join(text[before[part] : part.end] for part in kept).strip()
