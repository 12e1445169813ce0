"""How far a document is read at each step: the thesis's thirteen, those that somebody sets, or what a short one has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.errors import UsageError

USUAL = "10000:128000:10000"
"""The thesis's: from 10,000 tokens to 128,000 by 10,000."""
_FEWEST_TOKENS = 64
_MOST_STEPS = 100
# Where a document is too short for the usual steps, it has so many at most, none of fewer tokens than these.
_STEPS, _SHORTEST = 13, 256
# What is summarized has this many times the words of its summary, at least.
_LONGER = 2


@dataclass(frozen=True, slots=True)
class Step:
    """So many tokens are read; without `until` all of the document, which has about so many."""

    number: int
    tokens: int
    until: int | None


def read_steps(words: str) -> tuple[int, ...]:
    """The steps of START:STOP:STEP, with STOP as the last of them, or of N,N..."""
    try:
        if ":" in words:
            start, stop, by = (int(word) for word in words.split(":"))
            fitting = 0 < start <= stop <= start + _MOST_STEPS * by
            steps = (*range(start, stop, by), stop) if fitting else ()
        else:
            steps = tuple(sorted({int(word) for word in words.split(",")}))
    except ValueError:
        raise _no_steps(words) from None
    if not steps or steps[0] < _FEWEST_TOKENS or len(steps) > _MOST_STEPS or list(steps) != sorted(set(steps)):
        raise _no_steps(words)
    return steps


def _no_steps(words: str) -> UsageError:
    return UsageError(
        f"--until: {words!r:.60} are no steps",
        hint=f"write START:STOP:STEP, such as {USUAL}, or N,N...: at most {_MOST_STEPS} steps, each of"
        f" {_FEWEST_TOKENS} tokens or more",
    )


def steps_of(asked: Sequence[int] | None, tokens: int, words: int, limit: int | None) -> tuple[tuple[Step, ...], str]:
    """The steps for a document of so many tokens and words, and what there is to say where they are not as asked.

    Without steps that are `asked` they are the usual ones, or equal parts of a document that has room for fewer than
    two of these. `limit` is the length of its summaries, if that is known.
    """
    usual = read_steps(USUAL)
    wanted = tuple(asked or usual)
    within = [one for one in wanted if one < tokens]
    if len(within) == len(wanted):
        return tuple(Step(n, one, one) for n, one in enumerate(within, 1)), ""
    if asked or len(within) > 1:
        steps = [*(Step(n, one, one) for n, one in enumerate(within, 1)), Step(len(within) + 1, tokens, None)]
        return tuple(steps), f"has about {tokens:,} tokens: {len(steps)} steps, the last of which is all of it"
    by_length = words // (_LONGER * limit) if limit else _STEPS
    count = max(1, min(_STEPS, tokens // _SHORTEST, by_length))
    parts = [Step(n, round(n * tokens / count), round(n * tokens / count)) for n in range(1, count)]
    said = f"has about {tokens:,} tokens, too few for steps of {usual[0]:,}: {count} of about {tokens // count:,} each"
    return (*parts, Step(count, tokens, None)), said
