"""Cutting a document into chunks that fit a token budget and end where a sentence ends."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

from redraft.domain import Chunk, Document, Span
from redraft.errors import UsageError
from redraft.text.sentences import paragraph_seams, sentences
from redraft.text.tokens import Meter, Tokenizer

MIN_BUDGET = 16

_CLAUSE_END = re.compile(r"[,;:—–)\]][\"'”’»]?(?=\s)|[、，；：]")
_SPACE = re.compile(r"(?<=\S)(?=\s)")
_LOOK_BACK = 2_000


def chunk(document: Document, tokenizer: Tokenizer, budget: int) -> list[Chunk]:
    """Cut `document` into chunks of at most `budget` tokens. The spans cover the text exactly and in order."""
    if budget < MIN_BUDGET:
        raise UsageError(f"a chunk of {budget} tokens is too small", hint=f"use --chunk-tokens {MIN_BUDGET} or more")
    return _Chunker(document.text, tokenizer, budget).run()


class _Chunker:
    """Greedy cutting over one measured text.

    A chunk ends at a *seam*: after the line end that follows a sentence, else before the space that follows it. No
    token of the vocabularies in use joins the two sides of a seam, so the counts of the one measurement are exact for
    every chunk between seams. Only a chunk cut elsewhere, within an over-long sentence, is counted again.
    """

    def __init__(self, text: str, tokenizer: Tokenizer, budget: int) -> None:
        self._text = text
        self._tokenizer = tokenizer
        self._budget = budget
        self._meter: Meter = tokenizer.measure(text)
        self._paragraphs = [0, *paragraph_seams(text), len(text)]
        self._split: tuple[int, list[int]] = (-1, [])

    def run(self) -> list[Chunk]:
        chunks: list[Chunk] = []
        start, clean = 0, True
        while start < len(self._text):
            end, seam = self._cut(start)
            if not (clean and seam):
                end, seam = self._shrink(start, end, seam)
            counted = self._meter.tokens(start, end) if clean and seam else self._count(start, end)
            chunks.append(Chunk(len(chunks), Span(start, end), counted))
            start, clean = end, seam
        return chunks

    def _cut(self, start: int) -> tuple[int, bool]:
        """Where a chunk that begins at `start` ends, and whether that is a seam."""
        if self._meter.tokens(start, len(self._text)) <= self._budget:
            return len(self._text), True
        limit = self._meter.reach(start, self._budget)
        seam = self._last_seam(limit)
        if seam > start:
            return seam, self._is_exact(seam)
        return self._forced(start, limit), False

    def _last_seam(self, limit: int) -> int:
        """The last seam at or before `limit`. Only the paragraph that `limit` falls into is split into sentences."""
        at = bisect_right(self._paragraphs, limit) - 1
        begin = self._paragraphs[at]
        if begin == limit or at + 1 == len(self._paragraphs):
            return begin
        seams = self._sentence_seams(begin, self._paragraphs[at + 1])
        found = bisect_right(seams, limit) - 1
        return seams[found] if found >= 0 else begin

    def _sentence_seams(self, begin: int, end: int) -> list[int]:
        if self._split[0] != begin:
            spans = sentences(self._text, Span(begin, end))
            seams = [_seam(self._text, a.end, b.start) for a, b in pairwise(spans)]
            self._split = (begin, seams)
        return self._split[1]

    def _is_exact(self, seam: int) -> bool:
        """A slash joins the line end before it in one vocabulary."""
        return self._text[seam : seam + 1] != "/"

    def _forced(self, start: int, limit: int) -> int:
        """An over-long sentence ends at a clause, else between words, else at a token; at least one character on."""
        floor = max(start, limit - _LOOK_BACK)
        for pattern in (_CLAUSE_END, _SPACE):
            ends = [m.end() for m in pattern.finditer(self._text, floor, min(limit + 1, len(self._text)))]
            ends = [end for end in ends if start < end <= limit and self._text[start:end].strip()]
            if ends:
                return ends[-1]
        return max(limit, start + 1)

    def _shrink(self, start: int, end: int, seam: bool) -> tuple[int, bool]:
        """Cut a chunk whose count the one measurement cannot vouch for until it fits."""
        while (over := self._count(start, end) - self._budget) > 0 and end > start + 1:
            share = over / (over + self._budget)
            end, seam = max(start + 1, end - max(1, int((end - start) * share))), False
        return end, seam

    def _count(self, start: int, end: int) -> int:
        return self._tokenizer.count(self._text[start:end])


def _seam(text: str, before: int, after: int) -> int:
    """The seam between a sentence that ends at `before` and the next, which begins at `after`."""
    line_end = text.rfind("\n", before, after)
    return line_end + 1 if line_end >= 0 else before
