"""The prompts that write a summary: hierarchical merging, incremental updating, and all in one go."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from redraft.domain import TextKind
from redraft.prompts.contract import (
    Context,
    Excerpt,
    Fence,
    GivenModel,
    Language,
    OutlineText,
    Prompt,
    Question,
    SummaryText,
    SummaryTexts,
    WholeDocument,
)

Place = Annotated[str, Fence("place")]
"""Where a chunk stands: in which document, in which chapter, and which part of how many it is."""
Before = Annotated[str, Fence("before")]
Sources = Annotated[list[str], Fence("source")]
NOTHING = "NOTHING"
"""What a part of a document is answered with that has nothing to say to the question."""


class _Given(GivenModel):
    """What every prompt that writes is given besides its texts.

    `kind` is what kind of text the document is, which decides what a summary of it cannot do without; `characters` is
    set where these are what lengths are counted in, for want of spaces between words.
    """

    words: int
    query: Question = None
    language: Language = None
    characters: bool = False
    kind: TextKind = "other"


class ChunkGiven(_Given):
    """One chunk to summarize as a part of the whole: where it stands, and the last lines before it."""

    excerpt: Excerpt
    place: Place = ""
    before: Before = ""


class BeginGiven(_Given):
    """The first chunk, with which a running summary begins."""

    excerpt: Excerpt
    place: Place = ""


class MergeGiven(_Given):
    """Consecutive summaries to merge; the outline of the whole, and what of the document each of them rests on, where
    these are in view."""

    summaries: SummaryTexts
    outline: OutlineText = None
    sources: Sources = Field(default_factory=list)


class MergeOnwardGiven(MergeGiven):
    """Consecutive summaries to merge, and what came before them."""

    context: Context


class UpdateGiven(_Given):
    """The next chunk, and the summary of all before it."""

    excerpt: Excerpt
    summary: SummaryText
    place: Place = ""


class CompressGiven(_Given):
    """A summary that has grown too long."""

    summary: SummaryText
    current_words: int


class TidyGiven(GivenModel):
    """A summary to rid of traces of how it was made."""

    summary: SummaryText


class WholeGiven(_Given):
    """A whole document to summarize at once."""

    document: WholeDocument


SUMMARIZE_CHUNK = Prompt("summarize_chunk", ChunkGiven, str, "hierarchical: summarize one chunk of the document")
MERGE = Prompt("merge", MergeGiven, str, "hierarchical: merge consecutive summaries into one")
MERGE_ONWARD = Prompt(
    "merge_onward", MergeOnwardGiven, str, "hierarchical: merge consecutive summaries, knowing what came before"
)
BEGIN = Prompt("begin", BeginGiven, str, "incremental: begin the summary from the first chunk")
UPDATE = Prompt("update", UpdateGiven, str, "incremental: work the next chunk into the summary")
COMPRESS = Prompt("compress", CompressGiven, str, "incremental: shorten a summary that has grown too long", 1.0)
TIDY = Prompt("tidy", TidyGiven, str, "remove traces of the process, and what is said twice")
SUMMARIZE_WHOLE = Prompt("summarize_whole", WholeGiven, str, "direct: summarize the whole document at once")
