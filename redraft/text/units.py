"""Units of a text: words and signs, folded, with their n-grams; and how much of them a summary copies or repeats."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain
from math import gcd
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from redraft.lazy import pattern
from redraft.text.words import UNSPACED

_WORD = pattern(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")

# Underscores mark italics in plain text, so they are not part of a word.
_UNIT = pattern(rf"{_WORD.pattern}|[^\w\s]|_")

# Normalization is quadratic in the accents on a letter. A grapheme joiner limits that, as in Unicode's stream-safe text
# format.
_STACK = pattern(r"[^\w\s\x00-\x7f]{30}(?=[^\w\s\x00-\x7f])")

_JOINER = "\u034f"

# A long text is read in parts of about this many characters, which end with a line or a word.
_BLOCK = 1_000_000

_BLANK = pattern(r"\s")


@dataclass(frozen=True, slots=True)
class UnitIndex:
    """A long text as numbers: the number of each unit, and the numbers in text order."""

    numbers: Mapping[str, int]
    places: npt.NDArray[np.int32]


def units(text: str) -> list[str]:
    """Return the words and marks of `text`: "The _Orion_ sank!" has six of them."""
    return [unit for block in _blocks(text) for unit in _UNIT.findall(_folded(block))]


def words(text: str) -> list[str]:
    """Return the words of `text`."""
    return [word for block in _blocks(text) for word in _WORD.findall(_folded(block))]


def changed_words(one: str, other: str) -> set[str]:
    """Return the words by which two texts differ, in order: those of each that have no counterpart in the other."""
    first, second = words(one), words(other)
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    differing = (first[a:b] + second[c:d] for kind, a, b, c, d in blocks if kind != "equal")
    return {word for some in differing for word in some}


def indexed(text: str) -> UnitIndex:
    """Return the words and marks of a long text by number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    number = numbers.__getitem__
    parts = (np.fromiter(map(number, _UNIT.findall(_folded(block))), dtype=np.int32) for block in _blocks(text))
    places = np.concatenate([np.zeros(0, dtype=np.int32), *parts])
    return UnitIndex(dict(numbers), places)


def ngrams(found: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """Return all runs of `size` units, in order."""
    return zip(*(found[at:] for at in range(size)), strict=False)


def _blocks(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _BLOCK:
        match = _BLANK.search(text, start + _BLOCK)
        if match is None:
            break
        yield text[start : match.start()]
        start = match.end()
    yield text[start:] if start else text


def _folded(text: str) -> str:
    """Return the text in lower case with composed accents."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    return unicodedata.normalize("NFC", _STACK.sub(rf"\g<0>{_JOINER}", folded)).replace(_JOINER, "")


_UNKNOWN = -1
_AT_ONCE = 1_000_000
# A text is quoted if this share of it is in runs of at least this many units.
_QUOTED, _SHORTEST_RUN = 0.75, 3


class ExtractiveStats(NamedTuple):
    """The share of the summary in copied fragments, and the mean fragment length per unit."""

    coverage: float
    density: float


def longest_matches(summary: Sequence[str], source: UnitIndex) -> list[int]:
    """Return for each unit of the summary the length of the longest run from it that the source has."""
    numbers: dict[str, int] = {}
    numbered = [numbers.setdefault(unit, len(numbers)) for unit in summary]
    table = np.full(len(source.numbers), _UNKNOWN, dtype=np.int32)
    for unit, number in numbers.items():
        if (there := source.numbers.get(unit)) is not None:
            table[there] = number
    # The automaton finds where matches end; reversed texts give where they begin.
    return _Automaton(numbered[::-1]).longest(_backwards(source, table))[::-1]


def are_quoted(texts: Sequence[Sequence[str]], source: UnitIndex) -> list[bool]:
    """Return which of some texts are nearly quoted from the source: most of each is in copied runs."""
    matches = longest_matches([unit for text in texts for unit in text], source)
    found: list[bool] = []
    start = 0
    for text in texts:
        end = start + len(text)
        own = [min(match, end - at) for at, match in enumerate(matches[start:end], start)]
        copied = sum(run for run in _fragments(own) if run >= _SHORTEST_RUN)
        found.append(copied >= _QUOTED * len(text))
        start = end
    return found


def extractive(matches: Sequence[int]) -> ExtractiveStats | None:
    """Return coverage and density by greedy fragments; None for an empty summary."""
    if not matches:
        return None
    fragments = list(_fragments(matches))
    return ExtractiveStats(sum(fragments) / len(matches), sum(each * each for each in fragments) / len(matches))


def novel(summary: list[str], matches: Sequence[int], size: int) -> float | None:
    """Return the share of distinct n-grams that the source does not have; None without any."""
    found = dict(zip(ngrams(summary, size), matches, strict=False))
    return sum(match < size for match in found.values()) / len(found) if found else None


def _fragments(matches: Sequence[int]) -> Iterator[int]:
    at = 0
    while at < len(matches):
        if matches[at]:
            yield matches[at]
        at += matches[at] or 1


def _backwards(source: UnitIndex, table: npt.NDArray[np.int32]) -> Iterator[int]:
    """Return the source reversed, by the summary's numbers; one unknown unit replaces any run of them."""
    stream = table[source.places][::-1]
    known = stream != _UNKNOWN
    known[1:] |= known[:-1].copy()
    stream = stream[known]
    return chain.from_iterable(stream[at : at + _AT_ONCE].tolist() for at in range(0, len(stream), _AT_ONCE))


class _Automaton:
    """The suffix automaton of a text. A state stands for substrings that end at the same places; its link leads to the
    shorter ones that end at more."""

    def __init__(self, text: Sequence[int]) -> None:
        self._next: list[dict[int, int]] = [{}]
        self._links = [-1]
        self._lengths = [0]
        self._ends: list[int] = []
        """The state of each prefix of the text."""
        for unit in text:
            self._ends.append(self._extended(self._ends[-1] if self._ends else 0, unit))

    def _extended(self, last: int, unit: int) -> int:
        following, links, lengths = self._next, self._links, self._lengths
        new = self._state({}, 0, lengths[last] + 1)
        at = last
        while at >= 0 and unit not in following[at]:
            following[at][unit] = new
            at = links[at]
        if at < 0:
            return new
        target = following[at][unit]
        if lengths[target] > lengths[at] + 1:
            longer, target = target, self._state(dict(following[target]), links[target], lengths[at] + 1)
            links[longer] = target
            while at >= 0 and following[at].get(unit) == longer:
                following[at][unit] = target
                at = links[at]
        links[new] = target
        return new

    def _state(self, following: dict[int, int], link: int, length: int) -> int:
        self._next.append(following)
        self._links.append(link)
        self._lengths.append(length)
        return len(self._next) - 1

    def longest(self, other: Iterable[int]) -> list[int]:
        """Return for each position the longest substring ending there that the other text has too."""
        links, lengths = self._links, self._lengths
        best = self._met(other)
        by_length = sorted(range(1, len(best)), key=lengths.__getitem__)
        for state in reversed(by_length):
            if best[state]:
                best[links[state]] = lengths[links[state]]
        for state in by_length:
            best[state] = best[state] or best[links[state]]
        return [best[state] for state in self._ends]

    def _met(self, other: Iterable[int]) -> list[int]:
        """Return by state the longest substring that reading the other text ended in."""
        following, links, lengths = self._next, self._links, self._lengths
        best = [0] * len(lengths)
        state = length = 0
        for unit in other:
            after = following[state].get(unit)
            while after is None and state:
                state = links[state]
                length = lengths[state]
                after = following[state].get(unit)
            if after is not None:
                state = after
                length += 1
                if length > best[state]:
                    best[state] = length
        return best


_PAIRS = 20_000
_LONGEST = 200
# Steps of this share of a range cover it evenly, wherever they stop.
_GOLDEN = 0.618


def repeated(found: list[str], size: int) -> float | None:
    """Return the share of distinct n-grams that occur more than once; None without any."""
    counts = Counter(ngrams(found, size))
    return sum(count > 1 for count in counts.values()) / len(counts) if counts else None


def redundancy(sentences: Sequence[Sequence[str]]) -> float | None:
    """Return the mean ROUGE-L F1 of all pairs of sentences, given as words; None for fewer than two. At most 20,000
    evenly spread pairs, and 200 words of a sentence, are compared."""
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
    """Return the length of the longest common subsequence."""
    return _common(_places(one), len(one), other)


def _places(words: Sequence[str]) -> Mapping[str, int]:
    """Return the positions of each word as a bit mask."""
    places: defaultdict[str, int] = defaultdict(int)
    for at, word in enumerate(words):
        places[word] |= 1 << at
    return places


def _common(places: Mapping[str, int], length: int, other: Sequence[str]) -> int:
    """Return the longest common subsequence by Hyyrö's bit-parallel algorithm."""
    whole = row = (1 << length) - 1
    for word in other:
        if here := places.get(word):
            met = row & here
            row = (row + met | row - met) & whole
    return length - row.bit_count()


def _pairs(count: int) -> Iterator[tuple[int, Sequence[int]]]:
    """Return for each of this many items the later ones that it is compared with."""
    every = count * (count - 1) // 2
    if every <= _PAIRS:
        yield from ((first, range(first + 1, count)) for first in range(count - 1))
        return
    step = int(every * _GOLDEN)
    while gcd(step, every) != 1:
        step += 1
    row = start = 0
    chosen: dict[int, list[int]] = defaultdict(list)
    for at in sorted(pair * step % every for pair in range(_PAIRS)):
        while at >= start + count - 1 - row:
            start += count - 1 - row
            row += 1
        chosen[row].append(row + 1 + at - start)
    yield from chosen.items()
