"""How much a text repeats itself: n-grams that occur more than once, and sentences that say the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from redraft.text.units import ngrams

_PAIRS = 20_000
_LONGEST = 200
# Steps of this share of a range meet all of it evenly, wherever one stops.
_GOLDEN = 0.618


def repeated(found: list[str], size: int) -> float | None:
    """The share of the different n-grams that occur more than once; None for a text without any."""
    counts = Counter(ngrams(found, size))
    return sum(count > 1 for count in counts.values()) / len(counts) if counts else None


def redundancy(sentences: Sequence[Sequence[str]]) -> float | None:
    """The mean ROUGE-L F1 of all pairs of sentences, given as their words; None for fewer than two sentences.

    Of more than 20,000 pairs as many are taken, spread evenly over all of them, and of sentences of more than 200 words
    the first 200, so that the time is linear in the length of the text.
    """
    compared = [sentence[:_LONGEST] for sentence in sentences if sentence]
    total = pairs = 0.0
    for first, others in _pairs(len(compared)):
        one = compared[first]
        places = _places(one)
        for other in others:
            total += 2 * _common(places, len(one), compared[other]) / (len(one) + len(compared[other]))
            pairs += 1
    return total / pairs if pairs else None


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest sequence that both have in this order, with or without gaps."""
    return _common(_places(one), len(one), other)


def _places(words: Sequence[str]) -> Mapping[str, int]:
    """For each word the places where it stands, as the bits of a number."""
    places: defaultdict[str, int] = defaultdict(int)
    for at, word in enumerate(words):
        places[word] |= 1 << at
    return places


def _common(places: Mapping[str, int], length: int, other: Sequence[str]) -> int:
    """Hyyrö's algorithm: a row of the textbook's table is one number, whose zeros are the places where it rises."""
    whole = row = (1 << length) - 1
    for word in other:
        if here := places.get(word):
            met = row & here
            row = (row + met | row - met) & whole
    return length - row.bit_count()


def _pairs(count: int) -> Iterator[tuple[int, Sequence[int]]]:
    """Each of so many things with those after it that it is compared with."""
    every = count * (count - 1) // 2
    if every <= _PAIRS:
        yield from ((first, range(first + 1, count)) for first in range(count - 1))
        return
    step = int(every * _GOLDEN)
    while gcd(step, every) != 1:
        step += 1
    row = start = 0
    chosen: dict[int, list[int]] = defaultdict(list)
    for at in sorted(turn * step % every for turn in range(_PAIRS)):
        while at >= start + count - 1 - row:
            start += count - 1 - row
            row += 1
        chosen[row].append(row + 1 + at - start)
    yield from chosen.items()
