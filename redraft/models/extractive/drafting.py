"""Answers to the prompts that write a summary."""

from __future__ import annotations

import re

from redraft.models.extractive.composing import compose
from redraft.models.extractive.lexicon import MATTER_AROUND, PROCESS, PROCESS_OPENING
from redraft.models.extractive.registry import answers
from redraft.prompts.drafting import (
    BEGIN,
    COMPRESS,
    MERGE,
    MERGE_ONWARD,
    SUMMARIZE_CHUNK,
    SUMMARIZE_WHOLE,
    TIDY,
    UPDATE,
    ChunkGiven,
    CompressGiven,
    MergeGiven,
    MergeOnwardGiven,
    TidyGiven,
    UpdateGiven,
    WholeGiven,
)
from redraft.text.sentences import sentences
from redraft.text.words import count_words

# How much of a summary that is already as long as it may be gives way to the next part of the document.
_NEWS_SHARE = 1 / 8
_BLANK_LINES = re.compile(r"\n\s*\n\s*")
_SPACES = re.compile(r"[ \t]{2,}")


@answers(BEGIN)
@answers(SUMMARIZE_CHUNK)
def summarize_chunk(given: ChunkGiven) -> str:
    return compose([given.excerpt], [1], given.words, given.query)


@answers(SUMMARIZE_WHOLE)
def summarize_whole(given: WholeGiven) -> str:
    return compose([given.document], [1], given.words, given.query)


@answers(MERGE)
def merge(given: MergeGiven) -> str:
    shares = [count_words(summary) for summary in given.summaries]
    return compose(given.summaries, shares, given.words, given.query)


@answers(MERGE_ONWARD)
def merge_onward(given: MergeOnwardGiven) -> str:
    """The context gets the share of an average summary: it tells of all that came before, the summaries of what is new."""
    shares = [count_words(summary) for summary in given.summaries]
    of_context = min(count_words(given.context), sum(shares) / max(1, len(shares)))
    return compose([given.context, *given.summaries], [of_context, *shares], given.words, given.query)


@answers(UPDATE)
def update(given: UpdateGiven) -> str:
    """The former summary keeps its words, but for the few that the excerpt needs when there is no room left for it."""
    kept = min(count_words(given.summary), given.words * (1 - _NEWS_SHARE))
    return compose([given.summary, given.excerpt], [kept, given.words - kept], given.words, given.query)


@answers(COMPRESS)
def compress(given: CompressGiven) -> str:
    return compose([given.summary], [1], given.words - 1, given.query)


@answers(TIDY)
def tidy(given: TidyGiven) -> str:
    """Sentence by sentence, so that whatever is in order stays as it is, to the letter."""
    text, kept, end = given.summary, [], 0
    for span in sentences(text):
        sentence = text[span.start : span.end]
        gap, tidied = text[end : span.start], _tidied(sentence)
        kept.append(gap + tidied if tidied else "\n\n" if "\n" in gap else " ")
        end = span.end
    if (tidied := "".join(kept) + text[end:]) == text:
        return text
    return _without_holes(tidied) or text.strip()


def _tidied(sentence: str) -> str:
    """The sentence without an opening that betrays the process; nothing where all of it is out of place."""
    rest = PROCESS_OPENING.sub("", sentence)
    if rest != sentence:
        rest = rest[:1].upper() + rest[1:]
    return "" if PROCESS.search(rest) or MATTER_AROUND.search(rest) else rest


def _without_holes(text: str) -> str:
    """Close the gaps that sentences have left behind."""
    paragraphs = _BLANK_LINES.split(text.strip())
    return "\n\n".join(_SPACES.sub(" ", paragraph).strip() for paragraph in paragraphs)
