"""HAMLET: chunk counts from token counts, on stories, and what its tables give of one another by our formulas.

Its books are not released. The chunks of a book are counted on the stories of SQuALITY, cut where the book has its
tokens: sentences of fiction are about as long there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from benchmarks.common import prose, stories, use_vocabulary
from benchmarks.papers import Check
from redraft.domain import Document
from redraft.evaluators.factual import gaps
from redraft.evaluators.reference.keyfacts import ALL, LEVELS
from redraft.evaluators.statistics import mean
from redraft.lab.agreement.sheets import margin_of_error
from redraft.text.chunks import chunk
from redraft.text.tokens import tokenizer_named

PAPER = "HAMLET"
# Table 8: the tokens of a book, and its chunks.
BOOKS = (
    *((74_392, 19), (85_616, 22), (89_884, 23), (93_337, 24), (96_274, 24), (96_311, 24), (98_082, 25), (98_497, 25)),
    *((104_102, 26), (107_565, 27), (107_728, 27), (107_933, 27), (108_780, 28), (111_603, 28), (113_253, 29)),
    (114_761, 29),
)
# Table 13: recall of all facts by fifth of the books; table 4: its gap.
FIFTHS = {
    "analytical, GPT-4o": ((0.35, 0.33, 0.34, 0.35, 0.37), 0.039),
    "analytical, GPT-4o-Mini": ((0.35, 0.33, 0.33, 0.34, 0.32), 0.026),
    "analytical, Claude-Sonnet": ((0.36, 0.35, 0.33, 0.35, 0.41), 0.071),
    "analytical, Claude-Haiku": ((0.34, 0.31, 0.32, 0.31, 0.38), 0.069),
    "analytical, Llama-405B": ((0.33, 0.32, 0.32, 0.31, 0.35), 0.037),
    "analytical, Llama-8B": ((0.31, 0.29, 0.29, 0.33, 0.32), 0.040),
    "narrative, GPT-4o": ((0.45, 0.43, 0.43, 0.42, 0.50), 0.086),
    "narrative, GPT-4o-Mini": ((0.40, 0.36, 0.36, 0.37, 0.39), 0.042),
    "narrative, Claude-Sonnet": ((0.44, 0.43, 0.44, 0.41, 0.53), 0.120),
    "narrative, Claude-Haiku": ((0.39, 0.38, 0.40, 0.37, 0.50), 0.128),
    "narrative, Llama-405B": ((0.40, 0.38, 0.41, 0.41, 0.48), 0.106),
    "narrative, Llama-8B": ((0.32, 0.32, 0.34, 0.35, 0.44), 0.123),
}
# Table 2: accuracy by dimension, and the mean.
VALIDATIONS = {"pass": ((99.3, 99.1, 90.3), 96.2), "fail": ((100, 91.6, 97.5), 96.4)}
_ROUNDED = 0.01
"""What a difference of two figures with two digits may be off."""


def checks() -> list[Check]:
    """Return the published figures beside ours."""
    return [*_chunk_counts(), *_gaps(), *_means(), _margin()]


def _chunk_counts() -> Iterator[Check]:
    if not stories():
        return
    use_vocabulary()
    tokenizer = tokenizer_named("o200k_base")
    text = prose(8 * max(tokens for tokens, _ in BOOKS))
    chunks = chunk(Document("stories", "Stories", text), tokenizer, 4_000, onward=True)
    ends = list(accumulate(one.tokens for one in chunks))
    for tokens, published in BOOKS:
        yield Check(PAPER, f"table 8, chunks of {tokens:,} tokens", published, bisect_left(ends, tokens) + 1)


def _gaps() -> Iterator[Check]:
    for name, (fifths, published) in FIFTHS.items():
        nothing = {level: {"recall": None} for level in LEVELS}
        found = gaps({str(n): {ALL: {"recall": one}, **nothing} for n, one in enumerate(fifths)})[ALL]
        assert found is not None
        yield Check(PAPER, f"table 4 from 13, gap, {name}", published, round(found, 3), _ROUNDED)


def _means() -> Iterator[Check]:
    for name, (dimensions, published) in VALIDATIONS.items():
        found = mean(dimensions)
        assert found is not None
        yield Check(PAPER, f"table 2, mean accuracy of {name}", published, round(found, 1))


def _margin() -> Check:
    """600 rows of the facts and sentences of 4,884 summaries: "over 98% confidence level with ±5%"."""
    found = margin_of_error(600, 10**6, 0.98)
    assert found is not None
    return Check(PAPER, "section 4, margin of 600 rows, 98%", 0.05, round(found, 4), 0.005, "at most")
