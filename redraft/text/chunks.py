"""Cuts a document into chunks within a token budget that end at chapters, scenes, paragraphs or sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from redraft.document import Chunk, Document, Span
from redraft.errors import UsageError
from redraft.text.places import starts_of
from redraft.text.sentences import is_heading, paragraph_seams, sentences
from redraft.text.tokens import Meter, Tokenizer, tokenizer_named


def windows(block: Sequence[Span], meter: Meter, most: int, following: Callable[[int, int], int]) -> Iterator[Span]:
    """Yield windows of as many sentences as fit into `most` tokens; `following(first, after)` returns the first
    sentence of the next window."""
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
    """Yield windows of `most` tokens, each of which repeats at most `overlap` tokens of the one before."""

    def following(first: int, after: int) -> int:
        first += 1
        while first < after and meter.tokens(block[first].start, block[after - 1].end) > overlap:
            first += 1
        return first

    return windows(block, meter, most, following)


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


# How much shorter, relative to the room, a chunk may be to end at a chapter or scene, and at a paragraph.
_FOR_A_SCENE, _FOR_A_PARAGRAPH = 0.4, 0.25
_SCENE = re.compile(r"[ \t]*(?:[*#•·⁂※~_=—–-][ \t]*){1,12}\n?[ \t]*\Z")
_SPEAKS = re.compile(r"[\s>*_]*[\"“„«「『‘—–―]")
_LONGEST_LINE = 120


@dataclass(frozen=True, slots=True)
class Ends:
    """Offsets at which chapters and scenes, and paragraphs outside a dialogue, begin."""

    scenes: Sequence[int]
    paragraphs: Sequence[int]

    @classmethod
    def of(cls, text: str, sections: Sequence[int] = ()) -> Ends:
        """Return the ends in a text, `sections` being known to begin some."""
        starts = [0, *paragraph_seams(text), len(text)]
        known, scenes, calm = frozenset(sections), list[int](), list[int]()
        before = ""
        for start, end in pairwise(starts):
            line = text[start : min(end, start + _LONGEST_LINE)].strip()
            heads = start in known or (end - start <= _LONGEST_LINE and is_heading(line))
            if (heads and not _is_heading(before)) or _SCENE.fullmatch(before):
                scenes.append(start)
            if not (_SPEAKS.match(before) and _SPEAKS.match(line)) and not _is_heading(before):
                calm.append(start)
            before = line
        return cls(scenes, calm)

    def last(self, start: int, limit: int) -> int | None:
        """Return the best end of a stretch from `start` to at most `limit`; None if there is none near the limit."""
        for places, share in ((self.scenes, _FOR_A_SCENE), (self.paragraphs, _FOR_A_PARAGRAPH)):
            at = bisect_right(places, limit) - 1
            if at >= 0 and places[at] > start and places[at] >= limit - share * (limit - start):
                return places[at]
        return None


def _is_heading(line: str) -> bool:
    return bool(line) and is_heading(line)


MIN_BUDGET = 16
LONGEST_REST = 256
"""The most tokens by which a chunk that ends with the sentence begun is larger than its budget."""

_CLAUSE_END = re.compile(r"[,;:—–)\]][\"'”’»]?(?=\s)|[、，；：]")
_SPACE = re.compile(r"(?<=\S)(?=\s)")
_LOOK_BACK = 2_000
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
    outside a dialogue. With `onward` a chunk has `budget` tokens and the rest of the sentence begun."""
    if budget < MIN_BUDGET:
        raise UsageError(f"a chunk of {budget} tokens is too small", hint=f"use --chunk-tokens {MIN_BUDGET} or more")
    text = document.text[:end]
    chunker = _Chunker(text, tokenizer, budget, tokenizer.measure(text), starts_of(document))
    if natural:
        chunker.ends = Ends.of(text, [section.span.start for section in document.sections])
    chunker.rest = LONGEST_REST if onward else 0
    return chunker.run(start)


def beginning(text: str, tokenizer: Tokenizer, tokens: int) -> int:
    """Return where the first `tokens` of a text end, as a chunk does."""
    return _beginning(text, tokenizer.name, tokens)


@lru_cache(maxsize=256)
def _beginning(text: str, tokenizer: str, tokens: int) -> int:
    measured = _measured(text, tokenizer)
    end = _Chunker(text, tokenizer_named(tokenizer), tokens, measured).cut(0, tokens)
    return end if text[end:].strip() else len(text)


@lru_cache(maxsize=2)
def _measured(text: str, tokenizer: str) -> Meter:
    """Return the measured text, cached for repeated requests on one text."""
    return tokenizer_named(tokenizer).measure(text)


class _Chunker:
    """Greedy cutting over one measured text. A chunk ends at a seam: after the line end, or before the space, that
    follows a sentence. No token joins the two sides of a seam, so one measurement gives exact counts between seams;
    only chunks that begin or end elsewhere are counted again."""

    def __init__(self, text: str, tokenizer: Tokenizer, budget: int, meter: Meter, bounds: Sequence[int] = ()) -> None:
        self._text = text
        self._bounds = [*(one for one in bounds if one < len(text)), len(text)]
        """The ends of documents, which no chunk crosses."""
        self._tokenizer = tokenizer
        self._budget = budget
        self._meter = meter
        self._paragraphs = [0, *paragraph_seams(text), len(text)]
        self._split: tuple[int, list[int]] = (-1, [])
        self.ends: Ends | None = None
        """Preferred ends of chunks."""
        self.rest = 0
        """The most tokens after the budget within which a sentence may end."""

    def run(self, start: int = 0) -> list[Chunk]:
        chunks: list[Chunk] = []
        exact = start == 0 or self._is_exact(start)
        while start < len(self._text):
            end = self.cut(start, self._budget)
            ends_exact = self._is_exact(end)
            if exact and ends_exact:
                tokens = self._meter.tokens(start, end)
            else:
                end, tokens = self._fit(start, end)
                ends_exact = self._is_exact(end)
            chunks.append(Chunk(len(chunks), Span(start, end), tokens))
            start, exact = end, ends_exact
        return chunks

    def _fit(self, start: int, end: int) -> tuple[int, int]:
        """Shorten a chunk without exact ends so that it fits, and count it."""
        allowed, most = self._budget, self._budget + self.rest
        while (tokens := self._tokenizer.count(self._text[start:end])) > most and end > start + 1:
            allowed -= tokens - most
            shorter = self.cut(start, allowed)
            end = shorter if shorter < end else start + max(1, (end - start) // 2)
        return end, tokens

    def cut(self, start: int, allowed: int) -> int:
        """Return where a chunk from `start` with `allowed` tokens ends."""
        bound = self._bounds[bisect_right(self._bounds, start)]
        if self._meter.tokens(start, bound) <= allowed:
            return bound
        limit = min(bound, self._meter.reach(start, max(0, allowed)))
        if self.ends is not None and (better := self.ends.last(start, limit)) is not None:
            return better
        if self.rest and (further := self._first_seam(limit, self._meter.reach(limit, self.rest))) is not None:
            return min(bound, further)
        seam = self._last_seam(limit)
        return seam if seam > start else self._forced(start, limit)

    def _first_seam(self, limit: int, most: int) -> int | None:
        """Return the first seam from `limit` to `most`, at which the sentence that `limit` is in ends."""
        at = bisect_right(self._paragraphs, limit) - 1
        begin = self._paragraphs[at]
        if begin == limit or at + 1 == len(self._paragraphs):
            return limit
        end = self._paragraphs[at + 1]
        seam = next((one for one in self._sentence_seams(begin, end) if one >= limit), end)
        return seam if seam <= most else None

    def _last_seam(self, limit: int) -> int:
        """Return the last seam at or before `limit`; only its paragraph is split into sentences."""
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

    def _is_exact(self, at: int) -> bool:
        return at == len(self._text) or bool(_EXACT.match(self._text, at))

    def _forced(self, start: int, limit: int) -> int:
        """Return an end within an over-long sentence: at a clause, else between words, else at a token."""
        floor = max(start, limit - _LOOK_BACK)
        for pattern in (_CLAUSE_END, _SPACE):
            ends = [m.end() for m in pattern.finditer(self._text, floor, min(limit + 1, len(self._text)))]
            ends = [end for end in ends if start < end <= limit and self._text[start:end].strip()]
            if ends:
                return ends[-1]
        return max(limit, start + 1)


def _seam(text: str, before: int, after: int) -> int:
    """Return the seam between a sentence that ends at `before` and the next, which begins at `after`."""
    line_end = text.rfind("\n", before, after)
    return line_end + 1 if line_end >= 0 else before
