"""Cuts a document into chunks within a token budget that end at chapters, scenes, paragraphs or sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from redraft.document import Chunk, Document, Span
from redraft.errors import Set, UsageError
from redraft.text.sentences import BreakPoints
from redraft.text.tokens import Meter, Tokenizer


def windows(block: Sequence[Span], meter: Meter, limit: int, following: Callable[[int, int], int]) -> Iterator[Span]:
    """Yield windows of as many sentences as fit into `limit` tokens; `following(first, after)` returns the first
    sentence of the next window."""
    first, after = 0, 0
    while True:
        after = max(after, first + 1)
        while after < len(block) and meter.tokens(block[first].start, block[after].end) <= limit:
            after += 1
        yield Span(block[first].start, block[after - 1].end)
        if after == len(block):
            return
        first = following(first, after)


def overlapping(block: Sequence[Span], meter: Meter, limit: int, overlap: int) -> Iterator[Span]:
    """Yield windows of `limit` tokens, each of which repeats at most `overlap` tokens of the one before."""

    def following(first: int, after: int) -> int:
        first += 1
        while first < after and meter.tokens(block[first].start, block[after - 1].end) > overlap:
            first += 1
        return first

    return windows(block, meter, limit, following)


def pieces(text: str, sentence: Span, meter: Meter, longest: int, size: int) -> Iterator[Span]:
    """Yield the sentence, or pieces of `size` tokens if it has more than `longest`, cut between words if possible."""
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


MIN_BUDGET = 16
LONGEST_REST = 256
"""The most tokens by which a chunk that ends with the sentence begun is larger than its budget."""

# Tokens end after a line end, or before a blank, unless more line ends or a slash follow. Long runs of blanks are not
# searched, as that would be repeated at each cut.
_EXACT = re.compile(r"(?:(?<=\n)(?!/)|(?<=\S)(?=[^\S\x1c-\x1f]))(?!\s{0,40}[\r\n]|\s{40})")


def chunk(
    document: Document,
    tokenizer: Tokenizer,
    budget: int,
    end: int | None = None,
    *,
    start: int = 0,
    natural: bool = False,
    onward: bool = False,
) -> list[Chunk]:
    """Cut `document` into chunks of at most `budget` tokens that cover the text from `start` to `end` exactly and in
    order; no chunk spans two documents. A `natural` cut prefers the end of a chapter, a scene, or a paragraph
    outside a dialogue, and is not within a table that fits. With `onward` a chunk has `budget` tokens and the rest of
    the sentence begun."""
    if budget < MIN_BUDGET:
        raise UsageError(
            f"a chunk of {budget} tokens is too small", fix=("use ", Set("chunk_tokens", MIN_BUDGET), " or more")
        )
    text = document.text[:end]
    seams = BreakPoints(text, [section.span.start for section in document.sections] if natural else None)
    ends = [*(mark.start for mark in document.members if mark.start < len(text)), len(text)]
    rest = LONGEST_REST if onward else 0
    tables = [Span(mark.start, mark.end) for mark in document.marks if mark.kind == "table"] if natural else []
    chunker = _Chunker(text, tokenizer, budget, tokenizer.measure(text), seams, ends, rest, tables)
    return chunker.run(start)


@lru_cache(maxsize=256)
def beginning(text: str, tokenizer: Tokenizer, tokens: int) -> int:
    """Return where the first `tokens` of a text end, as a chunk does."""
    chunker = _Chunker(text, tokenizer, tokens, _measured(text, tokenizer), BreakPoints(text), [len(text)])
    end = chunker.cut(0, tokens)
    return end if text[end:].strip() else len(text)


@lru_cache(maxsize=2)
def _measured(text: str, tokenizer: Tokenizer) -> Meter:
    """Return the measured text, cached for repeated requests on one text."""
    return tokenizer.measure(text)


@dataclass(frozen=True, slots=True)
class _Chunker:
    """Greedy cutting over one measured text. A chunk ends at a seam. No token joins the two sides of a seam, so one
    measurement gives exact counts between seams; only chunks that begin or end elsewhere are counted again."""

    text: str
    tokenizer: Tokenizer
    budget: int
    meter: Meter
    seams: BreakPoints
    ends: Sequence[int]
    """The ends of documents, which no chunk crosses."""
    rest: int = 0
    """The most tokens after the budget within which a sentence may end."""
    tables: Sequence[Span] = ()
    """Tables, within which a chunk that begins before them does not end."""

    def run(self, start: int) -> list[Chunk]:
        chunks: list[Chunk] = []
        allowed, before = self.budget, len(self.text) + 1
        while start < len(self.text):
            end = self.cut(start, allowed)
            if end >= before:
                end = start + max(1, (before - start) // 2)
            exact = all(at in (0, len(self.text)) or _EXACT.match(self.text, at) for at in (start, end))
            tokens = self.meter.tokens(start, end) if exact else self.tokenizer.count(self.text[start:end])
            over = 0 if exact else tokens - self.budget - self.rest
            if over > 0 and end > start + 1:
                # Counted by itself it does not fit: once more, shorter.
                allowed, before = allowed - over, end
            else:
                chunks.append(Chunk(len(chunks), Span(start, end), tokens))
                start, allowed, before = end, self.budget, len(self.text) + 1
        return chunks

    def cut(self, start: int, allowed: int) -> int:
        """Return where a chunk from `start` with `allowed` tokens ends."""
        bound = self.ends[bisect_right(self.ends, start)]
        if self.meter.tokens(start, bound) <= allowed:
            return bound
        limit = min(bound, self.meter.reach(start, max(0, allowed)))
        furthest = self.meter.reach(limit, self.rest) if self.rest else limit
        end = min(bound, self.seams.end_near(start, limit, furthest))
        return next((table.start for table in self.tables if start < table.start < end < table.end), end)
