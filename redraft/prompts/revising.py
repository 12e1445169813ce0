"""The prompt that revises a summary after it has been judged."""

from __future__ import annotations

from typing import Annotated, Literal

from redraft.prompts.contract import Fence, GivenModel, Prompt, Question, SummaryText

Task = Literal["add", "correct", "change"]
"""`add` what is missing, `correct` what is wrong, `change` as a person or another judge has put it."""


class Point(GivenModel):
    """One thing to do: the instruction, the sentence that it is about, what the document says, and its words."""

    id: int
    task: Task
    instruction: str
    sentence: str = ""
    answer: str = ""
    evidence: str = ""


class ReviseGiven(GivenModel):
    """A summary, what to do about it, and what must stay. The document is there where it fits."""

    summary: SummaryText
    points: Annotated[list[Point], Fence("point")]
    keep: Annotated[list[str], Fence("keep")]
    document: Annotated[str | None, Fence("document")] = None
    words: int
    query: Question = None


REVISE = Prompt("revise", ReviseGiven, str, "refine: revise a summary, point by point", 0.5)
