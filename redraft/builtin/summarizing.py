"""Answers to the prompts that write a summary."""

from __future__ import annotations

import re

from redraft.builtin.composing import compose
from redraft.builtin.lexicon import PROCESS, PROCESS_OPENING, matter_around
from redraft.builtin.registry import answers
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
from redraft.text.languages import is_foreign, language_of
from redraft.text.sentences import sentences
from redraft.text.words import count_words

# What a summary that is already as long as it may be gives up for the next part of the document: room for one sentence,
# and no more than this share, lest it forget its own beginning after a few parts.
_NEWS_WORDS = 30
_NEWS_SHARE = 1 / 8
_BLANK_LINES = re.compile(r"\n\s*\n\s*")


@answers(BEGIN)
@answers(SUMMARIZE_CHUNK)
def summarize_chunk(given: ChunkGiven) -> str:
    """The sentences of the excerpt that matter most."""
    return compose([given.excerpt], [1], given.words, given.query)


@answers(SUMMARIZE_WHOLE)
def summarize_whole(given: WholeGiven) -> str:
    """The sentences of the document that matter most, from all its parts."""
    return compose([given.document], [1], given.words, given.query)


@answers(MERGE)
def merge(given: MergeGiven) -> str:
    """Each summary gets room in proportion to its length, so that beginning, middle and end all survive."""
    shares = [count_words(summary) for summary in given.summaries]
    return compose(given.summaries, shares, given.words, given.query)


@answers(MERGE_ONWARD)
def merge_onward(given: MergeOnwardGiven) -> str:
    """The context gets the share of an average summary: it tells of all that came before, they of what is new."""
    shares = [count_words(summary) for summary in given.summaries]
    of_context = min(count_words(given.context), sum(shares) / max(1, len(shares)))
    return compose([given.context, *given.summaries], [of_context, *shares], given.words, given.query)


@answers(UPDATE)
def update(given: UpdateGiven) -> str:
    """The excerpt gets what the former summary leaves free, and the room of a sentence where it leaves nothing."""
    former = count_words(given.summary)
    news = max(given.words - former, min(_NEWS_WORDS, given.words * _NEWS_SHARE))
    return compose([given.summary, given.excerpt], [given.words - news, news], given.words, given.query)


@answers(COMPRESS)
def compress(given: CompressGiven) -> str:
    """The sentences that matter least are dropped."""
    return compose([given.summary], [1], given.words - 1, given.query)


@answers(TIDY)
def tidy(given: TidyGiven) -> str:
    """Sentence by sentence, so that whatever is in order stays as it is, to the letter."""
    text, kept, end = given.summary, "", 0
    language = language_of(text)
    for span in sentences(text):
        gap, tidied = text[end : span.start], _tidied(text[span.start : span.end], language)
        if tidied or _BLANK_LINES.search(gap):
            kept += gap + tidied
        end = span.end
    kept += text[end:]
    return text if kept == text else _BLANK_LINES.sub("\n\n", kept.strip()) or text.strip()


def _tidied(sentence: str, language: str) -> str:
    """The sentence without an opening that betrays the process; nothing where all of it is out of place. Of a text in
    another language than English no more is known than what says so everywhere."""
    if is_foreign(language):
        return "" if matter_around(language).search(sentence) else sentence
    rest = PROCESS_OPENING.sub("", sentence)
    if rest != sentence:
        rest = rest[:1].upper() + rest[1:]
    return "" if PROCESS.search(rest) or matter_around(language).search(rest) else rest
