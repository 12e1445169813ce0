"""The prompts that write a summary: hierarchical merging, incremental updating, and all in one go."""

from __future__ import annotations

from redraft.prompts.contract import (
    Context,
    Excerpt,
    GivenModel,
    Language,
    Prompt,
    Question,
    SummaryText,
    SummaryTexts,
    WholeDocument,
)

NOTHING = "NOTHING"
"""What a part of a document is answered with that has nothing to say to the question."""


class ChunkGiven(GivenModel):
    """One chunk to summarize, as a part or as the beginning.

    Here and below `characters` is set where these are what lengths are counted in, for want of spaces between words.
    """

    excerpt: Excerpt
    words: int
    query: Question = None
    language: Language = None
    characters: bool = False


class MergeGiven(GivenModel):
    """Consecutive summaries to merge."""

    summaries: SummaryTexts
    words: int
    query: Question = None
    language: Language = None
    characters: bool = False


class MergeOnwardGiven(GivenModel):
    """Consecutive summaries to merge, and what came before them."""

    context: Context
    summaries: SummaryTexts
    words: int
    query: Question = None
    language: Language = None
    characters: bool = False


class UpdateGiven(GivenModel):
    """The next chunk, and the summary of all before it."""

    excerpt: Excerpt
    summary: SummaryText
    words: int
    query: Question = None
    language: Language = None
    characters: bool = False


class CompressGiven(GivenModel):
    """A summary that has grown too long."""

    summary: SummaryText
    current_words: int
    words: int
    query: Question = None
    language: Language = None
    characters: bool = False


class TidyGiven(GivenModel):
    """A summary to rid of traces of how it was made."""

    summary: SummaryText


class WholeGiven(GivenModel):
    """A whole document to summarize at once."""

    document: WholeDocument
    words: int
    query: Question = None
    language: Language = None
    characters: bool = False


SUMMARIZE_CHUNK = Prompt("summarize_chunk", ChunkGiven, str, "hierarchical: summarize one chunk of the document")
MERGE = Prompt("merge", MergeGiven, str, "hierarchical: merge consecutive summaries into one")
MERGE_ONWARD = Prompt(
    "merge_onward", MergeOnwardGiven, str, "hierarchical: merge consecutive summaries, knowing what came before"
)
BEGIN = Prompt("begin", ChunkGiven, str, "incremental: begin the summary from the first chunk")
UPDATE = Prompt("update", UpdateGiven, str, "incremental: work the next chunk into the summary")
COMPRESS = Prompt("compress", CompressGiven, str, "incremental: shorten a summary that has grown too long", 1.0)
TIDY = Prompt("tidy", TidyGiven, str, "remove traces of the process and of matter around the text")
SUMMARIZE_WHOLE = Prompt("summarize_whole", WholeGiven, str, "direct: summarize the whole document at once")
