"""Cutting a text into windows of whole sentences that overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from redraft.document import Span
from redraft.text.tokens import Meter


def windows(block: Sequence[Span], meter: Meter, most: int, following: Callable[[int, int], int]) -> Iterator[Span]:
    """As many sentences as fit into `most` tokens, and again from another one.

    `following` says from which, by the first of the window and the one after its last; it lies behind the first.
    """
    first, after = 0, 0
    while True:
        after = max(after, first + 1)
        while after < len(block) and meter.tokens(block[first].start, block[after].end) <= most:
            after += 1
        yield Span(block[first].start, block[after - 1].end)
        if after == len(block):
            return
        first = following(first, after)


def overlapping(block: Sequence[Span], meter: Meter, most: int, overlap: int) -> Iterator[Span]:
    """Windows of `most` tokens each of which begins with at most `overlap` tokens of the one before it."""

    def following(first: int, after: int) -> int:
        first += 1
        while first < after and meter.tokens(block[first].start, block[after - 1].end) > overlap:
            first += 1
        return first

    return windows(block, meter, most, following)


def pieces(text: str, sentence: Span, meter: Meter, longest: int, size: int) -> Iterator[Span]:
    """The sentence, or where it has more than `longest` tokens pieces of `size`, that end between words where there
    are any."""
    start, end = sentence
    while meter.tokens(start, end) > longest:
        limit = min(end, max(meter.reach(start, size), start + 1))
        space = max(text.rfind(" ", start, limit), text.rfind("\n", start, limit))
        piece = text[start : space if space > start else limit].rstrip()
        yield Span(start, start + len(piece))
        start += len(piece)
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield Span(start, end)
