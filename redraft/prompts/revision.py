"""The prompt that revises a summary after it has been judged."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from redraft.domain import Task
from redraft.prompts.contract import (
    Fence,
    GivenModel,
    Language,
    Lines,
    OutlineText,
    Prompt,
    Question,
    SummaryText,
    WholeText,
)
from redraft.prompts.findings import Point


class ReviseGiven(GivenModel):
    """A summary, what to do about it, and what must stay; the document where it fits, or else passages. Without points
    it is only shortened. Only the `tasks` that occur are explained; with `characters` lengths are counted in
    characters."""

    summary: SummaryText
    points: Annotated[list[Point], Fence("point", "the findings to correct")]
    keep: Annotated[list[str], Fence("keep", "the sentences to keep")]
    missing: Annotated[list[str], Lines("missing")] = Field(default_factory=list)
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


class CriticizeGiven(GivenModel):
    """A summary to criticize in general, and the document where it fits, or else passages."""

    summary: SummaryText
    document: WholeText = None
    passages: Annotated[list[str], Fence("passage", "the passages to read")] = Field(default_factory=list)
    words: int = 150
    query: Question = None
    language: Language = None


CRITICIZE = Prompt("criticize", CriticizeGiven, str, "refine --feedback generic: say what could be better", 0.5)
REVISE = Prompt("revise", ReviseGiven, str, "refine: revise a summary, point by point", 0.5)
