"""Counting tokens: with the model's own vocabulary where it can be had, with a calibrated estimate where not.

A document is measured once. The resulting `Meter` answers "how many tokens has this span" and "how far does this
budget reach" in logarithmic time, so nothing downstream counts again.
"""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import tiktoken

ESTIMATE = "estimate"
_FALLBACK_ENCODING = "o200k_base"
_LOAD_SECONDS = 10.0
_MARGIN = 1.15
# One encoder call handles about this many characters; its token list is turned into an array before the next.
_BLOCK = 1_000_000

Offsets = npt.NDArray[np.int64]


class Meter:
    """Token counts for every span of one text.

    `ends[i]` is the character offset at which token i ends, `cost[i]` what the first i tokens count together. A token
    that a span cuts through is counted whole, so a count is never too small at a place where tokens cannot join.
    """

    def __init__(self, ends: Offsets, cost: npt.NDArray[np.float64] | None = None) -> None:
        self._ends = ends
        self._cost = cost

    def tokens(self, start: int, end: int) -> int:
        """The number of tokens in the span."""
        if end <= start:
            return 0
        first = int(np.searchsorted(self._ends, start, side="right"))
        last = int(np.searchsorted(self._ends, end, side="right"))
        if last < len(self._ends) and (last == 0 or self._ends[last - 1] < end):
            last += 1
        if self._cost is None:
            return last - first
        return int(np.ceil(self._cost[last] - self._cost[first] - 1e-9))

    def reach(self, start: int, budget: int) -> int:
        """The furthest offset so that the tokens from `start` to it fit the budget."""
        first = int(np.searchsorted(self._ends, start, side="right"))
        if self._cost is None:
            last = first + budget
        else:
            last = int(np.searchsorted(self._cost, self._cost[first] + budget + 1e-9, side="right")) - 1
        if last >= len(self._ends):
            return int(self._ends[-1]) if len(self._ends) else 0
        # Several tokens may end in one character (an emoji): it only fits if all of them do.
        end = int(self._ends[last - 1]) if last > first else start
        if last > first and self._ends[last] == end:
            end = int(self._ends[np.searchsorted(self._ends, end, side="left") - 1]) if end - 1 > start else start
        return max(end, start)


class Tokenizer(Protocol):
    """Counts tokens; `name` is recorded with every run that relied on it."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...

    def measure(self, text: str) -> Meter: ...


class TiktokenTokenizer:
    """OpenAI's byte-pair encoder."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding
        values = encoding.token_byte_values()
        self._sizes = np.ones(encoding.n_vocab, dtype=np.int64)
        self._sizes[[encoding.encode_single_token(value) for value in values]] = [len(value) for value in values]
        self.name = encoding.name

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))

    def measure(self, text: str) -> Meter:
        parts: list[Offsets] = []
        for start, end in _blocks(text):
            block = text[start:end]
            tokens = self._encoding.encode_to_numpy(block, disallowed_special=())
            parts.append(_to_characters(block, np.cumsum(self._sizes[tokens])) + start)
        return Meter(np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64))


def _blocks(text: str) -> list[tuple[int, int]]:
    """Stretches that can be encoded apart with the same result: no token joins a letter and the space after it."""
    cuts, start = [], 0
    while start < len(text):
        end = min(start + _BLOCK, len(text))
        if end < len(text):
            space = text.rfind(" ", start + 1, end)
            while space > start and text[space - 1].isspace():
                space -= 1
            end = space if space > start else end
        cuts.append((start, end))
        start = end
    return cuts


def _to_characters(block: str, byte_ends: Offsets) -> Offsets:
    """Turn offsets into the UTF-8 form of `block` into character offsets, a character counting once it has begun."""
    if block.isascii():
        return byte_ends
    data = np.frombuffer(block.encode("utf-8"), dtype=np.uint8)
    begun = np.cumsum((data & 0xC0) != 0x80)
    return begun[byte_ends - 1].astype(np.int64)


# What a piece of text costs, in tokens of a modern vocabulary; measured by `benchmarks/tokens.py`.
_PIECE = re.compile(
    r"(?P<word> ?[A-Za-z]+)"
    r"|(?P<cjk>[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])"
    r"|(?P<digits>[0-9]{1,3})"
    r"|(?P<letters> ?[^\W\d_A-Za-z\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+)"
    r"|(?P<newline>\s*\n)"
    r"|(?P<space>[^\S\n]+)"
    r"|(?P<mark>.)"
)
_CJK_COST = 0.8
_MARK_COST = 0.9


def _piece_cost(kind: str | None, length: int, first: str) -> float:
    if kind == "word":
        return 1.0 if length <= 9 else 1.0 + (length - 9) / 5
    if kind == "letters":
        return max(1.0, length / 3.2)
    if kind == "cjk":
        return _CJK_COST
    if kind == "mark":
        return _MARK_COST if ord(first) < 0x2E80 else 2.5
    return 1.0


class EstimatingTokenizer:
    """Estimates from the shape of the text; errs on the side of too many."""

    name = ESTIMATE

    def count(self, text: str) -> int:
        return self.measure(text).tokens(0, len(text))

    def measure(self, text: str) -> Meter:
        ends, costs = [], [0.0]
        for piece in _PIECE.finditer(text):
            start, end = piece.span()
            ends.append(end)
            costs.append(_piece_cost(piece.lastgroup, end - start, text[start]))
        return Meter(np.asarray(ends, dtype=np.int64), np.cumsum(costs) * _MARGIN)


def tokenizer_for(model: str) -> tuple[Tokenizer, str]:
    """The tokenizer of an OpenAI model name, and a warning where it is not the model's own."""
    import tiktoken

    try:
        name = tiktoken.encoding_name_for_model(model)
        warning = ""
    except KeyError:
        name = _FALLBACK_ENCODING
        warning = f"token counts for {model} are approximated with {name}"
    encoding = _load(name)
    if encoding is None:
        return EstimatingTokenizer(), (
            f"the tokenizer vocabulary {name} is not available; token counts are estimated with a margin of"
            f" {_MARGIN - 1:.0%} (set TIKTOKEN_CACHE_DIR to a folder that holds it)"
        )
    return TiktokenTokenizer(encoding), warning


def tokenizer_named(name: str) -> Tokenizer:
    """The tokenizer a stored run was planned with, or the estimate where it is gone."""
    encoding = None if name == ESTIMATE else _load(name)
    return EstimatingTokenizer() if encoding is None else TiktokenTokenizer(encoding)


@lru_cache(maxsize=4)
def _load(name: str) -> tiktoken.Encoding | None:
    """Load a vocabulary, from the cache or the network. tiktoken's download has no time-out, so it runs in a thread
    that is left behind when the network swallows it."""
    import tiktoken

    loaded: list[tiktoken.Encoding] = []

    def load() -> None:
        try:
            loaded.append(tiktoken.get_encoding(name))
        except Exception:  # noqa: BLE001 - network, disk, checksum: whatever it is, the estimate takes over
            return

    thread = threading.Thread(target=load, daemon=True, name="tiktoken-vocabulary")
    thread.start()
    thread.join(_LOAD_SECONDS)
    return loaded[0] if loaded else None
