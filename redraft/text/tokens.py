"""Counts tokens with the model's own vocabulary if there is one, otherwise with a calibrated estimate."""

from __future__ import annotations

import os
import re
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import tiktoken


Integers = npt.NDArray[np.int64]

# Costs are whole thousandths of a token, so that sums are exact.
UNIT = 1_000
# The limits of a piece, so that the least budget reaches past one.
_LONGEST = 24
_DEAREST = 12.0

_SPACE, _NEWLINE, _LOWER, _UPPER, _ALPHABET, _SCRIPT, _IDEOGRAPH, _DIGIT, _MARK, _RARE = range(10)
_ASTRAL_IDEOGRAPHS = (0x20000, 0x3FFFF)
_IDEOGRAPHS = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF))


def estimate(text: str, margin: float) -> tuple[Integers, Integers]:
    """Return the end of each piece of `text`, and its cost in thousandths of a token, with `margin` included."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    if not len(codes):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    kinds = np.where(codes < 0x10000, _kinds()[np.minimum(codes, 0xFFFF)], _RARE)
    # Pieces are runs of one kind, capitals with the small letters after them, and single ideographs.
    before, after = kinds[:-1], kinds[1:]
    alone = (after == _IDEOGRAPH) | (after == _RARE)
    change = (before != after) & ~((before == _UPPER) & (after == _LOWER)) | alone
    starts = np.concatenate(([0], np.flatnonzero(change) + 1))
    lengths = np.diff(np.append(starts, len(kinds)))
    if lengths.max() > _LONGEST:
        place = np.arange(len(kinds)) - np.repeat(starts, lengths)
        starts = np.flatnonzero(place % _LONGEST == 0)
    ends = np.append(starts[1:], len(codes))
    cost = _costs(codes, kinds, starts, ends)
    return ends, np.rint(cost * (margin * UNIT)).astype(np.int64)


@lru_cache(maxsize=1)
def _kinds() -> npt.NDArray[np.int8]:
    """Return the kind of every character of the basic plane."""
    kinds = np.full(0x10000, _RARE, dtype=np.int8)
    for code, character in enumerate(map(chr, range(0x10000))):
        category = unicodedata.category(character)
        if character in "\r\n":
            kinds[code] = _NEWLINE
        elif character.isspace():
            kinds[code] = _SPACE
        elif any(low <= code <= high for low, high in _IDEOGRAPHS):
            kinds[code] = _IDEOGRAPH
        elif category[0] in "LM" and code < 0x0250:
            kinds[code] = _UPPER if category == "Lu" else _LOWER
        elif category[0] in "LM":
            kinds[code] = _ALPHABET if 0x0370 <= code < 0x0530 else _SCRIPT
        elif category[0] == "N":
            kinds[code] = _DIGIT
        elif (category[0] in "PS" and code < 0x2600) or 0x3000 <= code <= 0x303F or code >= 0xFF00:
            kinds[code] = _MARK
    return kinds


def _costs(codes: Integers, kinds: Integers, starts: Integers, ends: Integers) -> npt.NDArray[np.float64]:
    """Return the cost of each piece, in tokens."""
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
    # For short texts, which most are, `np.isin` would take half of the time.
    before_letter = (length == 1) & ((following == _LOWER) | (following == _UPPER))
    apostrophe = (codes[starts] == ord("'")) | (codes[starts] == ord("’"))
    inner = before_letter & apostrophe & ((previous == _LOWER) | (previous == _UPPER))
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
    return np.asarray(np.choose(kind, [by_kind[number] for number in range(len(by_kind))]), dtype=np.float64)


ESTIMATE = "estimate"
_FALLBACK_ENCODING = "o200k_base"
_LOAD_SECONDS = 10.0
_FROM_DISK_SECONDS = 60.0
"""Loading a vocabulary from disk takes seconds of processor time, and many more on a busy machine."""
_loading = threading.Lock()
MARGIN = 1.15
# The characters of one encoder call, which limits its memory.
_BLOCK = 250_000
# If a stretch of this many characters has no boundary, as in an encoded picture, a token is cut.
_LONGEST_BLOCK = 2 * _BLOCK
_RUN = 50_000
_CUT = re.compile(r"(?<=\S)(?= \S)|(?<=\S\n)(?=[^\s/])")
_BLANKS = re.compile(r"\s{2,}")

Ends = npt.NDArray[np.uint32]


class Meter:
    """Token counts for every span of one text. Token i ends at `ends[i]`, and the first i tokens cost `cost[i]` units
    of `unit` to a token; without `cost` each costs one.

    A token that a span cuts is counted in full, so counts are never too small at token boundaries.
    """

    def __init__(self, ends: Ends, cost: Integers | None = None, unit: int = 1) -> None:
        self._ends = ends
        self._cost = cost
        self._unit = unit

    def tokens(self, start: int, end: int) -> int:
        """Return the number of tokens in the span."""
        if end <= start:
            return 0
        return -(-(self._cost_to(end, whole=True) - self._cost_to(start, whole=False)) // self._unit)

    def reach(self, start: int, budget: int) -> int:
        """Return the furthest offset up to which the tokens from `start` fit the budget."""
        limit = self._cost_to(start, whole=False) + budget * self._unit
        count = limit if self._cost is None else int(np.searchsorted(self._cost, limit, side="right")) - 1
        count = min(count, len(self._ends))
        # Several tokens may end in one character (an emoji): it only fits if all of them do.
        while 0 < count < len(self._ends) and self._ends[count - 1] == self._ends[count]:
            count -= 1
        return max(start, int(self._ends[count - 1]) if count > 0 else 0)

    def _cost_to(self, offset: int, *, whole: bool) -> int:
        """Return the cost of the tokens up to `offset`; with `whole`, including one that it cuts."""
        # A number of the same type avoids a copy of the array.
        count = int(np.searchsorted(self._ends, np.uint32(offset), side="right"))
        if whole and count < len(self._ends) and (int(self._ends[count - 1]) if count else 0) < offset:
            count += 1
        return count if self._cost is None else int(self._cost[count])


@dataclass(frozen=True)
class Tokenizer:
    """Counts tokens with a vocabulary, by OpenAI's byte-pair encoder; without one it estimates them from the shape of
    the text, and tends to overestimate. Measurements of a tokenizer are cached by its hash."""

    encoding: tiktoken.Encoding | None = None
    margin: float = MARGIN
    """The factor of an estimate."""

    @property
    def name(self) -> str:
        """Return the vocabulary, or `estimate`, which is recorded with every run that relied on it."""
        return self.encoding.name if self.encoding else ESTIMATE

    def measure(self, text: str) -> Meter:
        """Count every span of `text` in advance."""
        parts, costs = [np.zeros(0, dtype=np.uint32)], [np.zeros(1, dtype=np.int64)]
        for start, block in _blocks(text):
            if self.encoding:
                # A program may pass half of a surrogate pair, although no file has one.
                data = block.encode("utf-8", "replace")
                codes = self.encoding.encode_to_numpy(data.decode(), disallowed_special=())
                ends: Integers = np.cumsum(_sizes(self.encoding)[codes])
                if not block.isascii():
                    # A character counts once it has begun.
                    begins = (np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80
                    ends = np.cumsum(begins)[ends - 1].astype(np.int64)
            else:
                ends, cost = estimate(block, self.margin)
                costs.append(cost)
            parts.append((start + ends).astype(np.uint32))
        if self.encoding:
            return Meter(np.concatenate(parts))
        return Meter(np.concatenate(parts), np.cumsum(np.concatenate(costs)), UNIT)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return self.measure(text).tokens(0, len(text))


@cache
def _sizes(encoding: tiktoken.Encoding) -> Integers:
    """Return the length of each token of a vocabulary in bytes, which takes a third of a second."""
    values, sizes = encoding.token_byte_values(), np.ones(encoding.n_vocab, dtype=np.int64)
    sizes[[encoding.encode_single_token(value) for value in values]] = [len(value) for value in values]
    return sizes


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield stretches, each after its offset, that can be encoded separately with the same result: no token joins a
    letter and the space after it."""
    # Runs of a million blanks, which overflow the encoder's stack, are cut, each from its own start.
    has_run = any(text[at : at + _RUN].isspace() for at in range(0, len(text) - _RUN + 1, _RUN))
    runs = [match.span() for match in _BLANKS.finditer(text)] if has_run else []
    cuts = [cut for first, last in runs if last - first >= 2 * _RUN for cut in range(first + _RUN, last, _RUN)]
    start = 0
    for stop in [*cuts, len(text)]:
        while stop - start > _BLOCK:
            match = _CUT.search(text, start + _BLOCK, min(stop, start + _LONGEST_BLOCK))
            end = match.start() if match else min(stop, start + _LONGEST_BLOCK)
            yield start, text[start:end]
            start = end
        if stop > start:
            yield start, text[start:stop]
            start = stop


def tokenizer_for(model: str) -> tuple[Tokenizer, str]:
    """Return the tokenizer of an OpenAI model, and a warning if it is not the model's own."""
    import tiktoken

    try:
        name = tiktoken.encoding_name_for_model(model)
        warning = ""
    except KeyError:
        name = _FALLBACK_ENCODING
        warning = f"token counts for {model} are approximated with {name}"
    tokenizer = _vocabulary(name)
    if tokenizer is None:
        return Tokenizer(), (
            f"the tokenizer vocabulary {name} is not available; token counts are estimated with a margin of"
            f" {MARGIN - 1:.0%} (set TIKTOKEN_CACHE_DIR to a folder that holds it)"
        )
    return tokenizer, warning


def tokenizer_named(name: str) -> Tokenizer:
    """Return the tokenizer that a stored run was planned with, or the estimate if it is no longer available."""
    return (None if name == ESTIMATE else _vocabulary(name)) or Tokenizer()


_loaded: dict[str, tiktoken.Encoding | None] = {}


def _vocabulary(name: str) -> Tokenizer | None:
    """Return the tokenizer of a vocabulary from the cache or the network, loaded once for concurrent documents, in a
    daemon thread, since tiktoken's download has no time-out; None if it is not available."""
    import tiktoken

    def load() -> None:
        with suppress(Exception):  # network, disk, checksum: whatever it is, the estimate takes over
            _loaded[name] = tiktoken.get_encoding(name)

    with _loading:
        if name not in _loaded:
            thread = threading.Thread(target=load, daemon=True, name="tiktoken-vocabulary")
            thread.start()
            folder = os.environ.get("TIKTOKEN_CACHE_DIR", "")
            has_files = os.path.isdir(folder) and bool(os.listdir(folder))
            thread.join(_FROM_DISK_SECONDS if has_files else _LOAD_SECONDS)
        encoding = _loaded.setdefault(name, None)
    return None if encoding is None else Tokenizer(encoding)
