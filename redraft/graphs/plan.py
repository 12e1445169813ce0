"""The plan of a run, computed before it starts: chunks, levels, limits, calls and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from statistics import median
from typing import Any

from redraft.agents.structured_writer import MARGIN, max_intermediate_words
from redraft.agents.writer import MIN_WINDOW
from redraft.domain import Chunk, Document, Span
from redraft.errors import PlanError, Set
from redraft.prompts import summarization
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Prompt
from redraft.settings import AUTO, LEVEL_RATIO, MERGING, DraftConfig, reads_prompts
from redraft.text.places import part_of
from redraft.text.tokens import Tokenizer
from redraft.text.words import count, count_words

CONTEXT_SHARE = 0.2
MAX_LEVELS = 12
# A running summary may exceed the limit by this factor before it is cut, so that it can be compressed.
OVERFLOW = 1.5
DEFAULT_WORDS = 600
LINES_BEFORE = 60
"""The approximate number of words shown before a chunk."""
_MIN_WORDS = 20
_MIN_LEVEL_WORDS = 15
_MIN_CHAPTER_WORDS = 10
# Summaries use rarer words than what they summarize.
_REPLY_SLACK = 1.15
# The tokens of a summary by which BooookScore's released code estimates the number of levels.
_ASSUMED_SUMMARY = 450
# The prompts whose size depends on the settings and the document, and what they are measured with.
_SAMPLED = (
    *(summarization.SUMMARIZE_CHUNK, summarization.MERGE, summarization.MERGE_ONWARD, summarization.UPDATE),
    *(summarization.COMPRESS, summarization.TIDY, summarization.SUMMARIZE_WHOLE),
)
_TEXT = "."
_SAMPLE: dict[str, Any] = {
    **dict.fromkeys(("excerpt", "before", "context", "summary", "document"), _TEXT),
    "words": 600,
    "current_words": 600,
    "kind": "narrative",
}


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the summary tree: 0 summarizes chunks, the others merge the level below."""

    words: int
    """The limit of one summary."""
    reply_tokens: int
    room: int
    """Tokens for summaries and context in one merge prompt; for level 0, for the chunk."""
    pieces: int
    """The number of summaries if all below use their whole limits."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The maximum requests of a run if every reply is valid at the first try."""

    strategy: str
    document_tokens: int
    document_words: int
    chunks: int
    words: int
    tokens_per_word: float
    levels: tuple[Level, ...]
    label_tokens: int
    calls: int
    lead_tokens: int = 0
    """The tokens that a prompt has room for before its chunk."""
    outlines: int = 0
    """The number of calls that outline the document."""
    compressions: int = 0
    """The maximum number of calls that only shorten."""
    tidying: int = 0
    """The maximum number of calls that tidy the result."""

    @property
    def expected_calls(self) -> int:
        """The calls of a run whose texts need neither shortening nor tidying."""
        return self.calls - self.compressions - self.tidying


class Planner:
    """Plans one document under given settings: a method for each of redraft's strategies, and what a strategy of your
    own needs. A plan is what progress shows; it is not compared with `limits`, which every call counts against."""

    def __init__(
        self, document: Document, chunks: Sequence[Chunk], settings: DraftConfig, tokenizer: Tokenizer, book: PromptBook
    ) -> None:
        assert settings.words is not None
        self.settings = settings
        self.words = settings.words
        self.chunks = chunks
        self._document, self._book, self._tokenizer = document, book, tokenizer
        self._overheads: dict[str, int] = {}
        self.tokens = sum(chunk.tokens for chunk in chunks)
        words = [count_words(document.text[chunk.span.start : chunk.span.end]) for chunk in chunks]
        self._document_words = sum(words)
        # The paper's ratio, unless the document's language needs more tokens for a word; the median leaves out chunks
        # of blank lines.
        ratios = [chunk.tokens / count for chunk, count in zip(chunks, words, strict=True) if count]
        self._tokens_per_word = max(1 / LEVEL_RATIO, _REPLY_SLACK * median(ratios))

    def empty_plan(self) -> Plan:
        """Return the plan of a run whose draft is given."""
        return self.made((), 0)

    def reply(self, words: int) -> int:
        """Return the tokens of a reply of this many words."""
        return max(16, int(words * self._tokens_per_word) + 1)

    def overhead(self, prompt: Prompt[Any, Any]) -> int:
        """Return the tokens of a prompt without its texts. Those of stories are slightly longer; the margin covers
        that."""
        if prompt.name not in self._overheads:
            text = self._rendered(prompt) if prompt in _SAMPLED else self._book.template(prompt)
            self._overheads[prompt.name] = self._tokenizer.count(text)
        return self._overheads[prompt.name]

    def _rendered(self, prompt: Prompt[Any, Any], summaries: int = 1) -> str:
        """Return a prompt with hardly any text, and the longest place that a chunk of the document has."""
        fields, settings, values = prompt.given.model_fields, self.settings, dict(_SAMPLE)
        values |= {"query": settings.query, "language": settings.language, "summaries": [_TEXT] * summaries}
        if "place" in fields:
            chunks = self.chunks
            places = (part_of(self._document, chunk.span, chunk.index + 1, len(chunks)) for chunk in chunks)
            values["place"] = max(places, key=len)
        return self._book.render(prompt, prompt.given(**{name: values[name] for name in fields if name in values}))

    @cached_property
    def _merge(self) -> int:
        """The tokens of the longer prompt that merges, without its texts."""
        return max(self.overhead(summarization.MERGE), self.overhead(summarization.MERGE_ONWARD))

    @cached_property
    def _label(self) -> int:
        """The tokens that a summary takes in a merge besides its text."""
        two = self._tokenizer.count(self._rendered(summarization.MERGE, 2))
        return two - self.overhead(summarization.MERGE)

    def fits(self, needed: int, what: str) -> None:
        """Raise `PlanError` if `needed` tokens exceed the window."""
        window = self.settings.context_tokens
        if needed > window:
            raise PlanError(
                f"{what} needs {needed:,} tokens, more than the window of {window:,}",
                fix=(
                    "use ",
                    Set("context_tokens", ceil(needed / 1024) * 1024),
                    " if the model has such a window, or smaller ",
                    *(Set("chunk_tokens"), " or ", Set("words"), ", or another ", Set("strategy")),
                ),
            )

    def made(self, levels: Sequence[Level], calls: int, **more: int) -> Plan:
        """Return a plan with these levels and calls, and `more` of its numbers."""
        return Plan(
            strategy=self.settings.draft_strategy,
            document_tokens=self.tokens,
            document_words=self._document_words,
            chunks=len(self.chunks),
            words=self.words,
            tokens_per_word=self._tokens_per_word,
            levels=tuple(levels),
            label_tokens=self._label,
            calls=calls,
            **more,
        )

    def direct(self) -> Plan:
        """Return the plan of one prompt."""
        reply = self.reply(self.words)
        prompt = self.tokens + self.overhead(summarization.SUMMARIZE_WHOLE)
        self.fits(prompt + reply + MARGIN, "the whole document in one prompt")
        return self.made((Level(self.words, reply, self.tokens, 1),), 1)

    def incremental(self) -> Plan:
        """Return the plan of a running summary."""
        room = self.reply(int(self.words * OVERFLOW))
        update = self.overhead(summarization.UPDATE)
        largest = max(chunk.tokens for chunk in self.chunks)
        self.fits(largest + update + 2 * room + MARGIN, "a chunk with the running summary")
        chunks = len(self.chunks)
        levels = [Level(self.words, room, largest, chunks)]
        return self.made(levels, 2 * chunks + 1, compressions=chunks, tidying=1)

    def hierarchical(self) -> Plan:
        """Return the plan of a tree."""
        settings = self.settings
        if settings.words_as == "target" and not settings.by_chapter:
            # The limits of BooookScore's released code, which estimates the number of levels; where there are more, the
            # further ones have the whole limit.
            room = settings.context_tokens - self._merge - MARGIN
            limits, pieces, size = [settings.token_cap(self.words)], len(self.chunks), settings.chunk_tokens
            while (pieces := ceil(pieces / max(2, room // size))) > 1:
                limits.insert(0, int(limits[0] * LEVEL_RATIO))
                size = _ASSUMED_SUMMARY
            limits = [*limits, *limits[-1:] * MAX_LEVELS][:MAX_LEVELS]
            levels = self._levels([max(_MIN_LEVEL_WORDS, round(limit * LEVEL_RATIO)) for limit in limits])
        else:
            # The lowest tree whose top has room for the whole limit, or else for some of it.
            heights = range(0 if len(self.chunks) == 1 else 1, MAX_LEVELS)
            trees = (self._tree(height, whole=whole) for whole in (True, False) for height in heights)
            levels = next(filter(None, trees), [])
        if not levels:
            raise PlanError(
                f"{len(self.chunks):,} summaries cannot be merged into one of {self.words} words in a window of"
                f" {settings.context_tokens:,} tokens: too few fit into one prompt",
                fix=("use a larger ", Set("context_tokens"), ", if the model has it, or fewer ", Set("words")),
            )
        lead = 0
        if not settings.by_chapter:
            chunk = max(chunk.tokens for chunk in self.chunks) + self.overhead(summarization.SUMMARIZE_CHUNK)
            needed = chunk + self.reply(max_intermediate_words(levels[0].words, "leaf", self.words)) + MARGIN
            self.fits(needed, "a chunk with its summary")
            lead = min(self.reply(LINES_BEFORE), settings.context_tokens - needed)
        top = self.reply(self.words)
        tidy = top + self.overhead(summarization.TIDY)
        self.fits(tidy + top + MARGIN, "the summary with its tidied form")
        # Chapters are summarized by runs of their own.
        drafted_levels = levels[1:] if settings.by_chapter else levels
        # A language model with a large enough window outlines the document for a general summary.
        can_outline = reads_prompts(settings.model) and settings.context_tokens >= MIN_WINDOW
        outlines = int(can_outline and settings.query is None and len(self.chunks) > 1)
        calls = sum(level.pieces for level in drafted_levels) + 1 + outlines
        return self.made(levels, calls, lead_tokens=lead, outlines=outlines, tidying=1)

    def _levels(self, limits: Sequence[int]) -> list[Level]:
        """Return the levels of a tree with these limits, as many as it takes to one summary; none if they are too
        few."""
        levels = [self._level(limits[0], len(self.chunks))]
        while levels[-1].pieces > 1 and len(levels) < len(limits):
            level, size = self._level(limits[len(levels)], 1), levels[-1].reply_tokens + self._label
            context = min(level.reply_tokens, int(level.room * CONTEXT_SHARE))
            first, later = level.room // size, (level.room - context) // size
            if (left := levels[-1].pieces - first) > 0:
                if min(first, later) < 2:
                    return []
                level = replace(level, pieces=1 + ceil(left / later))
            levels.append(level)
        return levels if levels[-1].pieces == 1 else []

    def _tree(self, height: int, *, whole: bool) -> list[Level]:
        """Return the levels of a tree with at most `height` levels of merges; none if that is too low. A level of one
        merge is the top. It has room for the whole limit, or unless `whole` for at least the limit of the level
        below."""
        limits = [max(_MIN_LEVEL_WORDS, round(self.words * LEVEL_RATIO ** (height - at))) for at in range(height + 1)]
        if self.settings.by_chapter:
            limits[0] = chapter_words(self.words)
        levels = self._levels([min(limit, self.words) for limit in limits])
        if len(levels) > 1:
            below, top = levels[-2:]
            size = below.reply_tokens + self._label
            room = int((top.room + top.reply_tokens - below.pieces * size) / self._tokens_per_word) - 1
            if room < self.words and (whole or len(levels) < height):
                return []
            levels[-1] = self._level(min(self.words, max(room, top.words)), 1)
        return levels

    def _level(self, words: int, pieces: int) -> Level:
        reply_tokens = self.reply(max_intermediate_words(words, "merge", self.words))
        room = self.settings.context_tokens - self._merge - reply_tokens - MARGIN
        return Level(words, self.reply(words), room, pieces)


def running_target(words: int, index: int, chunks: int) -> int:
    """Return the length to aim at after the chunk `index`: the limit's share that has been read, with a minimum."""
    return min(words, max(_MIN_LEVEL_WORDS, int(words * (index + 1) / chunks)))


def chapter_words(words: int, of_chapter: int | None = None) -> int:
    """Return the limit of a chapter's summary: half of the whole's, and a third of the chapter at most."""
    half = max(_MIN_CHAPTER_WORDS, words // 2)
    return half if of_chapter is None else min(half, max(_MIN_CHAPTER_WORDS, of_chapter // 3))


def fitting_words(requested: int | None, document_words: int) -> int:
    """Return the length of the summary: as wanted, or a default that shortens even a short document."""
    if document_words < _MIN_WORDS:
        raise PlanError(f"the document has only {count(document_words, 'word')}", hint="give a longer document")
    if requested is None:
        return max(10, min(DEFAULT_WORDS, document_words // 3))
    if requested >= document_words:
        raise PlanError(
            f"the document has {document_words} words, no more than the {requested} asked for",
            fix=("use ", Set("words", max(10, document_words // 3)), ", or leave it out"),
        )
    return requested


DIRECT = "direct"


def choose_strategy(
    document: Document, read: Span, settings: DraftConfig, tokenizer: Tokenizer, book: PromptBook
) -> tuple[str, str]:
    """Return the strategy, and why if it is chosen for the document: direct if it fits the window. The built-in model
    merges because it has no window."""
    if settings.strategy != AUTO:
        return settings.strategy, ""
    if not reads_prompts(settings.model):
        return MERGING, ""
    text = document.text[slice(*read)]
    tokens, window = tokenizer.count(text), settings.context_tokens
    try:
        single_chunk = [Chunk(0, read, tokens)]
        Planner(document, single_chunk, settings.model_copy(update={"strategy": DIRECT}), tokenizer, book).direct()
    except PlanError:
        return MERGING, f"draft in parts: the document ({tokens:,} tokens) does not fit the model's window ({window:,})"
    return DIRECT, f"direct draft: the document fits the model's window ({tokens:,} of {window:,} tokens)"
