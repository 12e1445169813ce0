"""The prompts for drafting: chunks, merges, updates, and the outline of a document."""

from __future__ import annotations

from typing import Annotated

from redraft.domain import Span, TextKind
from redraft.prompts.contract import (
    OMITTABLE,
    SKIP_INVALID,
    Excerpt,
    Fence,
    Label,
    Language,
    MaxItems,
    OutlineText,
    Prompt,
    PromptInput,
    Question,
    ReplyModel,
    SummaryText,
    SummaryTexts,
    Text,
    Texts,
    WholeDocument,
)
from redraft.prompts.tags import LISTED, ONLY_KNOWN, ItemRef, TaggedItem

MAX_POINTS, MAX_NAMES = 12, 20


class PartSummary(TaggedItem):
    """The summary of one part of a document."""

    summary: str


class OutlineInput(PromptInput):
    """Summaries of consecutive parts of a document, and the most points and names to return."""

    summaries: Annotated[list[PartSummary], Fence("summary", "the summaries of consecutive parts")]
    points: int = MAX_POINTS
    names: int = MAX_NAMES
    language: Language = None


class Term(ReplyModel):
    """A person, a place or a term, and a phrase that says who or what it is."""

    name: Text
    phrase: Text


PartNames = Annotated[list[Annotated[int, ItemRef("summaries")]], LISTED, ONLY_KNOWN, OMITTABLE]


class Outline(ReplyModel):
    """What a document comes to."""

    kind: Annotated[TextKind, Label(TextKind, "kind", otherwise="other")]
    line: Text
    """What happens from beginning to end, or what is argued or found, in a sentence or two."""
    turning_points: Annotated[Texts, MaxItems("points")]
    cast: Annotated[list[Term], SKIP_INVALID, MaxItems("names")]
    central: PartNames
    """The parts that a summary of the whole needs most."""
    important: PartNames
    unneeded: PartNames
    """The parts that it does not need, such as appendices."""


class DocumentOutline(Outline):
    """An outline as stored: with the places of the parts that were summarized, by number."""

    places: dict[int, Span]

    def importance(self, span: Span) -> float:
        """Return what a part of the document contributes to a summary of the whole: its length, times up to three
        where the outline calls it important or central, and nothing where it calls it unneeded."""
        factors = dict.fromkeys(self.unneeded, 0) | dict.fromkeys(self.important, 2) | dict.fromkeys(self.central, 3)
        total = span.end - span.start
        for number, place in self.places.items():
            shared = min(span.end, place.end) - max(span.start, place.start)
            total += max(0, shared) * (factors.get(number, 1) - 1)
        return total


def outline_text(outline: Outline) -> str:
    """Return an outline as prompts show it, each text on one line."""
    lines = [f"Kind: {outline.kind}", f"Line: {outline.line}"]
    if outline.turning_points:
        lines += ["Turning points:", *(f"{at}. {point}" for at, point in enumerate(outline.turning_points, 1))]
    if outline.cast:
        lines.append(f"Cast: {'; '.join(f'{term.name}: {term.phrase}' for term in outline.cast)}")
    return "\n".join(" ".join(line.split()) for line in lines)


OUTLINE = Prompt("outline", OutlineInput, Outline, "the document's line, turning points and cast", 0.0)


Place = Annotated[str, Fence("place")]
"""Where a chunk stands: the document, the chapter, and the part's number."""
Before = Annotated[str, Fence("before")]
NOTHING = "NOTHING"
"""The reply for a part of a document that has nothing to say to the question."""


class WritingInput(PromptInput):
    """The common input of prompts that write. `kind` is the kind of text, which decides what a summary of it needs;
    with `characters` lengths are counted in characters."""

    words: int
    query: Question = None
    language: Language = None
    characters: bool = False
    kind: TextKind = "other"


class ChunkInput(WritingInput):
    """One chunk to summarize as a part of the whole: where it stands, and the last lines before it."""

    excerpt: Excerpt
    place: Place = ""
    before: Before = ""


class BeginInput(WritingInput):
    """The first chunk, with which a running summary begins."""

    excerpt: Excerpt
    place: Place = ""


class MergeInput(WritingInput):
    """Consecutive summaries to merge, and optionally the outline of the whole."""

    summaries: SummaryTexts
    outline: OutlineText = None


class MergeOnwardInput(MergeInput):
    """Consecutive summaries to merge, and what came before them."""

    context: Annotated[str, Fence("context", "the summary of all that comes before")]


class UpdateInput(WritingInput):
    """The next chunk, and the summary of all before it."""

    excerpt: Excerpt
    summary: Annotated[str, Fence("summary", "the summary of all that comes before")]
    place: Place = ""


class CompressInput(WritingInput):
    """A summary that has grown too long."""

    summary: SummaryText
    current_words: int


class TidyInput(PromptInput):
    """A summary to rid of traces of how it was made."""

    summary: SummaryText


class WholeInput(WritingInput):
    """A whole document to summarize at once."""

    document: WholeDocument


SUMMARIZE_CHUNK = Prompt("summarize_chunk", ChunkInput, str, "hierarchical: summarize one chunk of the document", 0.5)
MERGE = Prompt("merge", MergeInput, str, "hierarchical: merge consecutive summaries into one", 0.5)
MERGE_ONWARD = Prompt(
    "merge_onward", MergeOnwardInput, str, "hierarchical: merge consecutive summaries, knowing what came before", 0.5
)
BEGIN = Prompt("begin", BeginInput, str, "incremental: begin the summary from the first chunk", 0.5)
UPDATE = Prompt("update", UpdateInput, str, "incremental: work the next chunk into the summary", 0.5)
COMPRESS = Prompt("compress", CompressInput, str, "incremental: shorten a summary that has grown too long", 1.0)
TIDY = Prompt("tidy", TidyInput, str, "remove traces of the process, and repetitions", 0.5)
SUMMARIZE_WHOLE = Prompt("summarize_whole", WholeInput, str, "direct: summarize the whole document at once", 0.5)
