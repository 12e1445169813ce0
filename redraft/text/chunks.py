"""Cuts a document into chunks within a token budget that end at chapters, scenes, paragraphs or sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

from redraft.document import Chunk, Document, Span
from redraft.errors import Set, UsageError
from redraft.text.sentences import is_heading, paragraph_seams, sentences
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
    sections = [section.span.start for section in document.sections] if natural else None
    ends = [*(mark.start for mark in document.members if mark.start < len(text)), len(text)]
    rest = LONGEST_REST if onward else 0
    tables = [Span(mark.start, mark.end) for mark in document.marks if mark.kind == "table"] if natural else []
    chunker = _Chunker(text, tokenizer, budget, tokenizer.measure(text), ends, sections, rest, tables)
    return chunker.run(start)


@lru_cache(maxsize=256)
def beginning(text: str, tokenizer: Tokenizer, tokens: int) -> int:
    """Return where the first `tokens` of a text end, as a chunk does."""
    chunker = _Chunker(text, tokenizer, tokens, _measured(text, tokenizer), [len(text)])
    end = chunker.cut(0, tokens)
    return end if text[end:].strip() else len(text)


@lru_cache(maxsize=2)
def _measured(text: str, tokenizer: Tokenizer) -> Meter:
    """Return the measured text, cached for repeated requests on one text."""
    return tokenizer.measure(text)


# How much shorter, relative to the room, a stretch may be to end at a chapter or scene, and at a paragraph.
_FOR_A_SCENE, _FOR_A_PARAGRAPH = 0.4, 0.25
_SCENE = re.compile(r"[ \t]*(?:[*#•·⁂※~_=—–-][ \t]*){1,12}\n?[ \t]*\Z")
_SPEAKS = re.compile(r"[\s>*_]*[\"“„«「『‘—–―]")
_LONGEST_LINE = 120
_CLAUSE_END = re.compile(r"[,;:—–)\]][\"'”’»]?(?=\s)|[、，；：]")
_SPACE = re.compile(r"(?<=\S)(?=\s)")
# How far back to search for an end within a sentence.
_LOOKED_BACK = 2_000


@dataclass
class _Chunker:
    """Greedy cutting over one measured text. A chunk ends at a seam: after the line end, or before the space, that
    follows a sentence. Seams are found where they are needed. No token joins the two sides of one, so one measurement
    gives exact counts between seams; only chunks that begin or end elsewhere are counted again."""

    text: str
    tokenizer: Tokenizer
    budget: int
    meter: Meter
    ends: Sequence[int]
    """The ends of documents, which no chunk crosses."""
    sections: Sequence[int] | None = None
    """Offsets known to begin chapters; if given, ends of chapters, scenes, and paragraphs outside a dialogue are
    preferred."""
    rest: int = 0
    """The most tokens after the budget within which a sentence may end."""
    tables: Sequence[Span] = ()
    """Tables, within which a chunk that begins before them does not end."""
    _split: tuple[int, list[int]] = field(default=(-1, []), init=False)

    def run(self, start: int) -> list[Chunk]:
        chunks: list[Chunk] = []
        allowed, before = self.budget, len(self.text) + 1
        while start < len(self.text):
            end = self.cut(start, allowed)
            if end >= before:
                end = start + max(1, (before - start) // 2)
            exact = all(at in (0, len(self.text)) or _EXACT.match(self.text, at) for at in (start, end))
            tokens = measured = self.meter.tokens(start, end)
            if not exact:
                tokens = self.tokenizer.count(self.text[start:end])
            # Only a chunk that was to end with the sentence begun may be larger than the budget.
            over = 0 if exact else tokens - self.budget - (self.rest if measured > allowed else 0)
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
        end = min(bound, self._end_near(start, limit, furthest))
        return next((table.start for table in self.tables if start < table.start < end < table.end), end)

    @cached_property
    def _paragraphs(self) -> list[int]:
        return [0, *paragraph_seams(self.text), len(self.text)]

    @cached_property
    def _preferred(self) -> tuple[tuple[list[int], float], ...]:
        """The offsets at which chapters and scenes, and paragraphs outside a dialogue, begin."""
        if self.sections is None:
            return ()
        section_starts, scenes, calm = frozenset(self.sections), list[int](), list[int]()
        before = ""
        for start, end in pairwise(self._paragraphs):
            line = self.text[start : min(end, start + _LONGEST_LINE)].strip()
            heads = start in section_starts or (end - start <= _LONGEST_LINE and is_heading(line))
            if (heads and not is_heading(before)) or _SCENE.fullmatch(before):
                scenes.append(start)
            if not (_SPEAKS.match(before) and _SPEAKS.match(line)) and not is_heading(before):
                calm.append(start)
            before = line
        return ((scenes, _FOR_A_SCENE), (calm, _FOR_A_PARAGRAPH))

    def _end_near(self, start: int, limit: int, furthest: int) -> int:
        """Return the best end of a stretch from `start` to about `limit`: a preferred one near it, the end of the
        sentence that `limit` is in if it ends by `furthest`, the last seam before it, or else one within a
        sentence."""
        for places, share in self._preferred:
            at = bisect_right(places, limit) - 1
            if at >= 0 and places[at] > start and places[at] >= limit - share * (limit - start):
                return places[at]
        seams = self._around(limit)
        after = [seam for seam in seams if limit <= seam <= furthest] if furthest > limit else []
        if after:
            return after[0]
        before = [seam for seam in seams if start < seam <= limit]
        # Within an over-long sentence: at a clause, else between words, else at a token.
        for pattern in () if before else (_CLAUSE_END, _SPACE):
            floor, stop = max(start, limit - _LOOKED_BACK), min(limit + 1, len(self.text))
            ends = [match.end() for match in pattern.finditer(self.text, floor, stop)]
            before = before or [end for end in ends if start < end <= limit and self.text[start:end].strip()]
        return before[-1] if before else max(limit, start + 1)

    def _around(self, limit: int) -> list[int]:
        """Return the seams of the paragraph that `limit` is in, with its ends."""
        at = bisect_right(self._paragraphs, limit) - 1
        begin = self._paragraphs[at]
        if begin == limit or at + 1 == len(self._paragraphs):
            return [begin]
        end = self._paragraphs[at + 1]
        if self._split[0] != begin:
            pairs = pairwise(sentences(self.text, Span(begin, end)))
            line_ends = ((a.end, self.text.rfind("\n", a.end, b.start)) for a, b in pairs)
            seams = (line_end + 1 if line_end >= 0 else sentence_end for sentence_end, line_end in line_ends)
            self._split = (begin, [begin, *seams, end])
        return self._split[1]
