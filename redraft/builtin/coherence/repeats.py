"""Two sentences of one summary of which the later says again what the earlier has said, or the opposite of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from redraft.builtin.consistency.families import family
from redraft.text.wording import carries, is_negation, is_number, words
from redraft.text.words import words_key

# Two sentences say the same when they share this much of what either says, and so many words that say something.
_SAME, _FEWEST_SHARED = 0.75, 4
# A copy that says less than this is no repetition: people do answer "Yes." twice.
_FEWEST_IN_COPY = 2


class Repeat(NamedTuple):
    """The earlier sentence that one repeats."""

    of: int
    is_opposite: bool
    """Whether one number differs, or one of the two is denied."""


class _Line(NamedTuple):
    """A sentence, as it is held against others."""

    words: str
    said: frozenset[str]
    """The families of its words that say something, without numbers and negations."""
    names: tuple[str, ...]
    """In their order: who loves whom is not who is loved by whom."""
    numbers: frozenset[str]
    is_denied: bool


def repeats(sentences: Sequence[str]) -> list[Repeat | None]:
    """For each sentence of a summary, the first before it that it repeats in all or nearly all of its words."""
    lines = _read(sentences)
    often = Counter(key for line in lines for key in line.said)
    copies: dict[str, int] = {}
    holders: dict[str, list[int]] = defaultdict(list)
    found: list[Repeat | None] = []
    for at, line in enumerate(lines):
        rarest = sorted(line.said, key=lambda key: (often[key], key))
        # Of two that share so much, so many of the rarest words of each have one in common.
        telling = rarest[: len(rarest) - ceil(_SAME * len(rarest)) + 1]
        first = copies.setdefault(line.words, at) if len(line.said) >= _FEWEST_IN_COPY else at
        near = sorted({other for key in telling for other in holders[key]}) if first == at else []
        like = ((other, _is_opposite(lines[other], line)) for other in near)
        known = next((Repeat(other, opposite) for other, opposite in like if opposite is not None), None)
        found.append(Repeat(first, is_opposite=False) if first < at else known)
        for key in telling if first == at else ():
            holders[key].append(at)
    return found


def _read(sentences: Sequence[str]) -> list[_Line]:
    found = [words(text) for text in sentences]
    # What has a capital within a sentence is a name at the beginning of one as well.
    names = {
        word.key
        for text, of in zip(sentences, found, strict=True)
        for word in of
        if word.start and text[word.start].isupper() and carries(word.key)
    }
    return [
        _Line(
            words_key(text),
            frozenset(
                family(word.key)
                for word in of
                if carries(word.key) and not (is_number(word.key) or is_negation(word.key))
            ),
            tuple(dict.fromkeys(word.key for word in of if word.key in names)),
            frozenset(word.key for word in of if is_number(word.key)),
            any(is_negation(word.key) for word in of),
        )
        for text, of in zip(sentences, found, strict=True)
    ]


def _is_opposite(one: _Line, other: _Line) -> bool | None:
    """Whether a sentence says the opposite of another, or the same; None where it says something else."""
    if len(one.said & other.said) < max(_FEWEST_SHARED, _SAME * len(one.said | other.said)) or one.names != other.names:
        return None
    differing = len(one.numbers - other.numbers), len(other.numbers - one.numbers)
    if differing == (0, 0):
        return one.is_denied != other.is_denied
    return True if differing == (1, 1) and one.is_denied == other.is_denied else None
