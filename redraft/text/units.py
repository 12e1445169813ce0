"""Units of a text: words and signs, folded, with their n-grams; and how much of them a summary copies or repeats."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

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


UnitIndex = tuple[Mapping[str, int], npt.NDArray[np.int32]]
"""A long text as numbers: the number of each unit, and the numbers in text order."""


def units(text: str) -> list[str]:
    """Return the words and marks of `text`: "The _Orion_ sank!" has six of them."""
    return [unit for block in _blocks(text) for unit in _UNIT.findall(_folded(block))]


def words(text: str) -> list[str]:
    """Return the words of `text`."""
    return [word for block in _blocks(text) for word in _WORD.findall(_folded(block))]


def indexed(text: str) -> UnitIndex:
    """Return the words and marks of a long text by number."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    number = numbers.__getitem__
    parts = (np.fromiter(map(number, _UNIT.findall(_folded(block))), dtype=np.int32) for block in _blocks(text))
    places = np.concatenate([np.zeros(0, dtype=np.int32), *parts])
    return dict(numbers), places


def ngrams(sequence: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """Return all runs of `size` units, in order."""
    return zip(*(sequence[at:] for at in range(size)), strict=False)


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


def longest_matches(summary: Sequence[str], source: UnitIndex) -> list[int]:
    """Return for each unit of the summary the length of the longest run from it that the source has.

    Summary and source are sorted together by what follows each place, by doubling the compared length. The longest run
    is in common with the nearest place of the source before or after it.
    """
    numbers, places_of_source = source
    codes = {unit: number for number, unit in enumerate(dict.fromkeys(summary), 2)}
    table = np.zeros(len(numbers), dtype=np.int64)
    for unit, code in codes.items():
        if (number := numbers.get(unit)) is not None:
            table[number] = code
    stream = table[places_of_source]
    # One sign stands for all units in a row that the summary does not have.
    stream = stream[(stream != 0) | (np.roll(stream, 1) != 0)]
    joined = np.concatenate(
        [np.array([codes[unit] for unit in summary], dtype=np.int64), [1], stream, [len(codes) + 2]]
    )
    # For each place the rank of the run of 1, 2, 4 ... units from it, until no two are equal, or as far as is needed.
    ranks = [np.unique(joined, return_inverse=True)[1].astype(np.int64)]
    while 2 ** (len(ranks) - 1) <= len(summary) and ranks[-1].max() < len(joined) - 1:
        following = np.zeros_like(joined)
        width = 2 ** (len(ranks) - 1)
        following[:-width] = ranks[-1][width:] + 1
        ranks.append(np.unique(ranks[-1] * (len(joined) + 1) + following, return_inverse=True)[1].astype(np.int64))
    order = np.argsort(ranks[-1], kind="stable")
    steps = np.arange(len(order))
    is_source = order > len(summary)
    before = np.maximum.accumulate(np.where(is_source, steps, -1))
    after = len(order) - 1 - np.maximum.accumulate(np.where(is_source[::-1], steps, -1))[::-1]
    place_of = np.empty(len(order), dtype=np.int64)
    place_of[order] = steps
    places = place_of[: len(summary)]
    # How many units from each place of the summary are the same as from the place of the source beside it.
    ones, last = np.arange(len(summary)), len(ranks[0]) - 1
    longest = np.zeros_like(ones)
    for neighbours in (before, after):
        nearest, length = order[np.clip(neighbours[places], 0, len(order) - 1)], np.zeros_like(ones)
        for width, rank in reversed([(2**power, rank) for power, rank in enumerate(ranks)]):
            same = rank[np.minimum(ones + length, last)] == rank[np.minimum(nearest + length, last)]
            length += width * (same & (ones + length < last) & (nearest + length <= last))
        longest = np.maximum(longest, length)
    matches: list[int] = longest.tolist()
    return matches


def extractive(matches: Sequence[int]) -> tuple[float, float] | None:
    """Return the share of the summary in copied fragments, and the mean fragment length per unit, by greedy fragments;
    None for an empty summary."""
    if not matches:
        return None
    fragments: list[int] = []
    at = 0
    while at < len(matches):
        fragments.append(matches[at])
        at += matches[at] or 1
    return sum(fragments) / len(matches), sum(length * length for length in fragments) / len(matches)


def novel(summary: list[str], matches: Sequence[int], size: int) -> float | None:
    """Return the share of distinct n-grams that the source does not have; None without any."""
    by_ngram = dict(zip(ngrams(summary, size), matches, strict=False))
    return sum(match < size for match in by_ngram.values()) / len(by_ngram) if by_ngram else None


_MOST_SENTENCES, _LONGEST = 200, 200


def repeated(sequence: list[str], size: int) -> float | None:
    """Return the share of distinct n-grams that occur more than once; None without any."""
    counts = Counter(ngrams(sequence, size))
    return sum(count > 1 for count in counts.values()) / len(counts) if counts else None


def redundancy(sentences: Sequence[Sequence[str]]) -> float | None:
    """Return the mean ROUGE-L F1 of all pairs of sentences, given as words; None for fewer than two. At most 200 evenly
    spread sentences, and 200 words of a sentence, are compared."""
    sentences = [sentence[:_LONGEST] for sentence in sentences if sentence]
    count = min(_MOST_SENTENCES, len(sentences))
    compared = [sentences[at * len(sentences) // count] for at in range(count)]
    scores: list[float] = []
    for at, sentence in enumerate(compared):
        places = word_places(sentence)
        lengths = ((common_length(places, len(sentence), later), len(later)) for later in compared[at + 1 :])
        scores += [2 * common / (len(sentence) + length) for common, length in lengths]
    return sum(scores) / len(scores) if scores else None


def word_places(words: Sequence[str]) -> Mapping[str, int]:
    """Return the positions of each word as a bit mask."""
    places: defaultdict[str, int] = defaultdict(int)
    for at, word in enumerate(words):
        places[word] |= 1 << at
    return places


def common_length(places: Mapping[str, int], length: int, second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of words, those of the first text by their places, by Hyyrö's
    bit-parallel algorithm."""
    full = row = (1 << length) - 1
    for word in second:
        if mask := places.get(word):
            met = row & mask
            row = (row + met | row - met) & full
    return length - row.bit_count()
