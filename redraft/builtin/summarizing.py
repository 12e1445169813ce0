"""Answers to the prompts that write a summary."""

from __future__ import annotations

import re

from redraft.builtin.composing import compose
from redraft.builtin.lexicon import matter_around
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
    BeginGiven,
    ChunkGiven,
    CompressGiven,
    MergeGiven,
    MergeOnwardGiven,
    TidyGiven,
    UpdateGiven,
    WholeGiven,
)
from redraft.prompts.outlining import OUTLINE, Outline, OutlineGiven
from redraft.text.languages import language_of
from redraft.text.sentences import sentences
from redraft.text.words import count_words

# What a summary that is already as long as it may be gives up for the next part of the document: room for one sentence,
# and no more than this share, lest it forget its own beginning after a few parts.
_NEWS_WORDS = 30
_NEWS_SHARE = 1 / 8
_BLANK_LINES = re.compile(r"\n\s*\n\s*")


@answers(BEGIN)
def begin(given: BeginGiven) -> str:
    """As of any other part."""
    return compose([given.excerpt], [1], given.words, given.query)


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
    """Without what stands around a text and is not part of it; whatever is in order stays as it is, to the letter.

    A summary of sentences of the document says nothing of how it was written.
    """
    text, kept, end = given.summary, "", 0
    around = matter_around(language_of(text))
    for span in sentences(text):
        gap, sentence = text[end : span.start], text[span.start : span.end]
        tidied = "" if around.search(sentence) else sentence
        if tidied or _BLANK_LINES.search(gap):
            kept += gap + tidied
        end = span.end
    kept += text[end:]
    return text if kept == text else _BLANK_LINES.sub("\n\n", kept.strip()) or text.strip()


@answers(OUTLINE)
def outline(_: OutlineGiven) -> Outline:
    """Nothing: which sentences of a text are its turning points takes somebody who can read."""
    return Outline(kind="other", line="", turning_points=[], cast=[])
