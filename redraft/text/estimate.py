"""What a text probably costs in tokens, from the shapes of its words alone.

The figures were fitted to the o200k vocabulary with `benchmarks/tokens.py`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

# Costs are whole numbers, so that sums of them are exact: a thousandth of a token each.
UNIT = 1_000
# No piece is longer or dearer, so that the least budget reaches past one.
_LONGEST = 24
_DEAREST = 12.0

_SPACE, _NEWLINE, _LOWER, _UPPER, _ALPHABET, _SCRIPT, _IDEOGRAPH, _DIGIT, _MARK, _RARE = range(10)
_APOSTROPHES = (ord("'"), ord("’"))
_ASTRAL_IDEOGRAPHS = (0x20000, 0x3FFFF)
_IDEOGRAPHS = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF))


def estimate(text: str, margin: float) -> tuple[Integers, Integers]:
    """Where each piece of `text` ends, and what it costs, in thousandths of a token with `margin` included."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    if not len(codes):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    kinds = np.where(codes < 0x10000, _kinds()[np.minimum(codes, 0xFFFF)], _RARE)
    starts = _piece_starts(kinds)
    ends = np.append(starts[1:], len(codes))
    cost = _costs(codes, kinds, starts, ends)
    return ends, np.rint(cost * (margin * UNIT)).astype(np.int64)


@lru_cache(maxsize=1)
def _kinds() -> npt.NDArray[np.int8]:
    """The kind of every character of the basic plane."""
    return np.array([_kind(chr(code)) for code in range(0x10000)], dtype=np.int8)


def _kind(character: str) -> int:
    code = ord(character)
    if character in "\r\n":
        return _NEWLINE
    if character.isspace():
        return _SPACE
    if any(low <= code <= high for low, high in _IDEOGRAPHS):
        return _IDEOGRAPH
    category = unicodedata.category(character)
    if category[0] in "LM":
        if code < 0x0250:
            return _UPPER if category == "Lu" else _LOWER
        return _ALPHABET if 0x0370 <= code < 0x0530 else _SCRIPT
    if category[0] == "N":
        return _DIGIT
    return _MARK if (category[0] in "PS" and code < 0x2600) or 0x3000 <= code <= 0x303F or code >= 0xFF00 else _RARE


def _piece_starts(kinds: Integers) -> Integers:
    """A piece is a run of one kind; capitals go with the small letters after them, ideographs and the like alone."""
    before, after = kinds[:-1], kinds[1:]
    alone = (after == _IDEOGRAPH) | (after == _RARE)
    change = (before != after) & ~((before == _UPPER) & (after == _LOWER)) | alone
    runs = np.concatenate(([0], np.flatnonzero(change) + 1))
    lengths = np.diff(np.append(runs, len(kinds)))
    if lengths.max() <= _LONGEST:
        return runs
    place = np.arange(len(kinds)) - np.repeat(runs, lengths)
    return np.flatnonzero(place % _LONGEST == 0)


def _costs(codes: Integers, kinds: Integers, starts: Integers, ends: Integers) -> npt.NDArray[np.float64]:
    """The cost of each piece, in tokens."""
    length = ends - starts
    kind = kinds[starts]
    previous = np.concatenate(([_SPACE], kinds[starts[1:] - 1]))
    following = np.append(kinds[ends[:-1]], _SPACE)
    capitals = np.add.reduceat((kinds == _UPPER).astype(np.int64), starts)
    accents = np.add.reduceat(((codes > 0x7F) & (kinds <= _UPPER)).astype(np.int64), starts)
    excess = np.maximum(capitals - 1, 0)
    word = 1 + 0.07 * np.maximum(length - 4, 0) + 0.4 * np.maximum(length - 9, 0) + 0.25 * excess + 1.6 * accents
    # A single space belongs to the word after it; a line end to the mark before it.
    gap = np.where((length == 1) & (following != _DIGIT), 0.0, 1.0)
    before_letter = (length == 1) & _is_letter(following)
    inner = before_letter & _is_apostrophe(codes[starts]) & _is_letter(previous)
    joined = np.where(before_letter, 0.7, 1.0)
    mark = np.where(inner, 0.0, joined + 0.4 * np.maximum(length - 3, 0))
    astral = (codes[starts] >= _ASTRAL_IDEOGRAPHS[0]) & (codes[starts] <= _ASTRAL_IDEOGRAPHS[1])
    by_kind: dict[int, npt.NDArray[np.floating]] = {
        _SPACE: gap,
        _NEWLINE: np.where(previous == _MARK, 0.3, 1.0),
        _LOWER: np.minimum(word, _DEAREST),
        _UPPER: np.minimum(word, _DEAREST),
        _ALPHABET: 1 + 0.21 * np.maximum(length - 2, 0),
        _SCRIPT: np.maximum(1, 0.5 * length),
        _IDEOGRAPH: np.full(len(starts), 0.9),
        _DIGIT: np.ceil(length / 3),
        _MARK: mark,
        _RARE: np.where(astral, 4.0, 2.5),
    }
    return np.asarray(np.choose(kind, [by_kind[each] for each in range(len(by_kind))]), dtype=np.float64)


# Of short texts, which most are, `np.isin` would be half of the work.
def _is_letter(kind: Integers) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (kind == _LOWER) | (kind == _UPPER)
    return found


def _is_apostrophe(codes: Integers) -> npt.NDArray[np.bool_]:
    straight, curved = _APOSTROPHES
    found: npt.NDArray[np.bool_] = (codes == straight) | (codes == curved)
    return found
