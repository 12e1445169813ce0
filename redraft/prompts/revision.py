"""The prompts by which a model decides what to fix in a summary, and by which the summary is revised."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from redraft.domain import Task
from redraft.prompts.coherence import ChoiceRead
from redraft.prompts.contract import (
    AliasNames,
    Aside,
    Fence,
    Language,
    MaxItems,
    OutlineText,
    Prompt,
    PromptInput,
    Question,
    ReplyModel,
    SummaryText,
    Text,
    WholeText,
)
from redraft.prompts.qa import Reason
from redraft.prompts.tags import LISTED, ONLY_KNOWN, ItemRef, TaggedItem


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
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return tuple(text for name, text in fields.items() if name not in ("id", "metric", "task") and text)


class _SummaryInput(PromptInput):
    """A summary, and the document where it fits, or else passages."""

    summary: SummaryText
    document: WholeText = None
    passages: Annotated[list[str], Fence("passage", "the passages to read")] = Field(default_factory=list)
    query: Question = None
    language: Language = None


class ReviseInput(_SummaryInput):
    """A summary to correct in place, point by point; without points it is only shortened. Only the `tasks` that occur
    are explained; with `characters` lengths are counted in characters."""

    points: Annotated[list[Point], Fence("point", "the findings to correct")]
    outline: OutlineText = None
    tasks: list[Task] = Field(default_factory=list)
    length: int = 0
    """How long the summary is now."""
    words: int | None
    """None for a revision without a word limit."""
    characters: bool = False


DraftHas = Literal["in full", "in part", "not at all", "wrongly"]
"""How far a draft says what a reader must come away with."""


class MustKnow(PromptInput):
    """Something that a reader must come away with, from weight 3 to 1, and how far the draft has it. The quote is shown
    where the document is not."""

    weight: int
    draft: DraftHas | Literal[""] = ""
    question: str
    answer: str
    lacks: str = ""
    """What a draft that has it in part leaves out."""
    quote: str = ""


MustKnows = Annotated[list[MustKnow], Fence("must-know")]


class EditInput(ReviseInput):
    """A summary to write anew: where a newcomer stops in it, what a reader must come away with, and what it says beyond
    that. Where the document does not fit, `parts` are the summaries of its parts. `keep` are a person's
    requests that the draft meets."""

    parts: Annotated[list[str], Fence("part")] = Field(default_factory=list)
    stops: Annotated[list[str], Fence("stops", shared="lines")] = Field(default_factory=list)
    must_know: MustKnows = Field(default_factory=list)
    may_go: Annotated[list[str], Fence("may-go", shared="lines")] = Field(default_factory=list)
    keep: Annotated[list[str], Fence("keep", shared="lines")] = Field(default_factory=list)


class CriticizeInput(_SummaryInput):
    """A summary to criticize in general."""

    words: int = 150


class ChooseInput(PromptInput):
    """Two drafts of a summary, what a reader must come away with, and what the document is known to contradict."""

    must_know: MustKnows = Field(default_factory=list)
    errors: Annotated[list[str], Fence("errors", shared="lines")] = Field(default_factory=list)
    query: Question = None
    first: Annotated[str, Fence("first", "the first summary")]
    second: Annotated[str, Fence("second", "the second summary")]


class DraftChoice(ReplyModel):
    """Which draft a newcomer understands better, which has more of what matters, and which is better, and why."""

    reason: Reason
    clear: ChoiceRead
    content: ChoiceRead
    overall: ChoiceRead


CRITICIZE = Prompt("criticize", CriticizeInput, str, "refine with generic feedback: say what could be better", 0.5)
REVISE = Prompt("revise", ReviseInput, str, "refine: correct a summary in place, point by point", 0.5)
EDIT = Prompt("edit", EditInput, str, "refine: write a summary anew, as an editor", 0.5)
CHOOSE_DRAFT = Prompt("choose_draft", ChooseInput, DraftChoice, "refine: which of two drafts is better")


class DecideInput(PromptInput):
    """The best summary so far, how it stands, what is wrong with it, and what has been tried."""

    summary: SummaryText
    scoreboard: Annotated[list[str], Fence("scores", "the scores", shared="lines")]
    """By each metric the score, the goal if any, and whether it is met."""
    findings: Annotated[list[Point], Fence("finding", "the findings to choose from")] = Field(default_factory=list)
    tried: Annotated[list[str], Fence("attempt", "the earlier revisions")]
    rounds_left: int
    length: int
    """How long the summary is now, and how long it may be, in words; with `characters` in characters."""
    words: int
    characters: bool = False
    at_most: int
    """The most findings of a revision."""


class Decision(ReplyModel):
    """What to do, and why: findings to fix with an instruction, or to stop."""

    why: Annotated[Text, BeforeValidator(lambda value: value or "")]
    fix: Annotated[
        list[Annotated[int, ItemRef("findings")]], LISTED, ONLY_KNOWN, AliasNames("mend"), MaxItems("at_most")
    ] = Field(default_factory=list)
    instruction: Aside = ""
    stop: Annotated[bool, BeforeValidator(lambda value: value or False)] = False


DECIDE: Prompt[DecideInput, Decision] = Prompt(
    "decide", DecideInput, Decision, "refine: decide what the next revision should fix, or to stop"
)
