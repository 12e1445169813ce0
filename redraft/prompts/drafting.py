"""The prompts that write a summary: hierarchical merging, incremental updating, and all in one go."""

from __future__ import annotations

from redraft.prompts.contract import (
    Context,
    Excerpt,
    GivenModel,
    Prompt,
    Question,
    SummaryText,
    SummaryTexts,
    WholeDocument,
)


class ChunkGiven(GivenModel):
    excerpt: Excerpt
    words: int
    query: Question = None


class MergeGiven(GivenModel):
    summaries: SummaryTexts
    words: int
    query: Question = None


class MergeOnwardGiven(GivenModel):
    context: Context
    summaries: SummaryTexts
    words: int
    query: Question = None


class UpdateGiven(GivenModel):
    excerpt: Excerpt
    summary: SummaryText
    words: int
    query: Question = None


class CompressGiven(GivenModel):
    summary: SummaryText
    current_words: int
    words: int
    query: Question = None


class TidyGiven(GivenModel):
    summary: SummaryText


class WholeGiven(GivenModel):
    document: WholeDocument
    words: int
    query: Question = None


SUMMARIZE_CHUNK = Prompt("summarize_chunk", ChunkGiven, str, "hierarchical: summarize one chunk of the document")
MERGE = Prompt("merge", MergeGiven, str, "hierarchical: merge consecutive summaries into one")
MERGE_ONWARD = Prompt(
    "merge_onward", MergeOnwardGiven, str, "hierarchical: merge consecutive summaries, knowing what came before"
)
BEGIN = Prompt("begin", ChunkGiven, str, "incremental: begin the summary from the first chunk")
UPDATE = Prompt("update", UpdateGiven, str, "incremental: work the next chunk into the summary")
COMPRESS = Prompt("compress", CompressGiven, str, "incremental: shorten a summary that has grown too long", 1.0)
TIDY = Prompt("tidy", TidyGiven, str, "incremental: remove traces of the process and of non-narrative matter")
SUMMARIZE_WHOLE = Prompt("summarize_whole", WholeGiven, str, "direct: summarize the whole document at once")
