"""The prompt that revises a summary after it has been judged."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from redraft.domain import Task
from redraft.prompts.contract import (
    Fence,
    FencedLines,
    Language,
    OutlineText,
    Prompt,
    PromptInput,
    Question,
    SummaryText,
    WholeText,
)
from redraft.prompts.tags import TaggedItem


class Point(TaggedItem):
    """A finding, by its number in the prompt. A prompt states the fields that are not empty, in this order. Only the
    metric, the task, the problem and the instruction are redraft's or the user's words."""

    metric: str = ""
    task: Task | Literal[""] = ""
    problem: str = ""
    instruction: str = ""
    sentence: str = ""
    question: str = ""
    says: str = ""
    """What the sentence says in answer to the question."""
    judged: str = ""
    """What a first judge found in the document, or objects to."""
    answer: str = ""
    """What the document says in answer to the question."""
    why: str = ""
    evidence: str = ""
    against: str = ""
    """Words of the document that are held against the finding."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the point, without its metric and task."""
        shown = {name: getattr(self, name) for name in type(self).model_fields}
        return tuple(text for name, text in shown.items() if name not in ("id", "metric", "task") and text)


class ReviseInput(PromptInput):
    """A summary, what to do about it, and what must stay; the document where it fits, or else passages. Without points
    it is only shortened. Only the `tasks` that occur are explained; with `characters` lengths are counted in
    characters."""

    summary: SummaryText
    points: Annotated[list[Point], Fence("point", "the findings to correct")]
    keep: Annotated[list[str], Fence("keep", "the sentences to keep")]
    missing: Annotated[list[str], FencedLines("missing")] = Field(default_factory=list)
    """What the summary lacks, of which a point may ask for some."""
    document: WholeText = None
    passages: Annotated[list[str], Fence("passage", "the passages to read")] = Field(default_factory=list)
    outline: OutlineText = None
    tasks: list[Task] = Field(default_factory=list)
    length: int = 0
    """How long the summary is now."""
    words: int | None
    """None for a revision without a word limit."""
    query: Question = None
    language: Language = None
    characters: bool = False


class CriticizeInput(PromptInput):
    """A summary to criticize in general, and the document where it fits, or else passages."""

    summary: SummaryText
    document: WholeText = None
    passages: Annotated[list[str], Fence("passage", "the passages to read")] = Field(default_factory=list)
    words: int = 150
    query: Question = None
    language: Language = None


CRITICIZE = Prompt("criticize", CriticizeInput, str, "refine --feedback generic: say what could be better", 0.5)
REVISE = Prompt("revise", ReviseInput, str, "refine: revise a summary, point by point", 0.5)
