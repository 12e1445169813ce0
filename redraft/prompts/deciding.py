"""The prompt by which a model decides what the next revision of a summary is to mend."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from redraft.domain import Task
from redraft.prompts.contract import Fence, GivenModel, Prompt, ReplyModel, SummaryText


class Standing(GivenModel):
    """How the summary stands by one metric."""

    id: int
    metric: str
    score: str
    goal: str


class Option(GivenModel):
    """One finding that could be mended."""

    id: int
    metric: str
    task: Task
    sentence: str = ""
    question: str = ""
    answer: str = ""
    evidence: str = ""


class DecideGiven(GivenModel):
    """The best summary so far, how it stands, what is wrong with it, and what has been tried."""

    summary: SummaryText
    scoreboard: Annotated[list[Standing], Fence("metric")]
    findings: Annotated[list[Option], Fence("finding")]
    tried: Annotated[list[str], Fence("attempt")]
    passages: Annotated[list[str], Fence("passage")]
    rounds_left: int
    may_look_up: bool


def _listed(value: object) -> object:
    """A list where one thing, or nothing, was given."""
    return [] if value is None else value if isinstance(value, list) else [value]


_Numbers = Annotated[list[int], BeforeValidator(_listed)]
_Texts = Annotated[list[str], BeforeValidator(_listed)]


class Decision(ReplyModel):
    """What to do, and why: passages to look up first, findings to mend with an instruction, or to stop."""

    why: str
    look_up: _Texts = Field(default_factory=list)
    mend: _Numbers = Field(default_factory=list)
    instruction: str = ""
    stop: bool = False


DECIDE: Prompt[DecideGiven, Decision] = Prompt(
    "decide", DecideGiven, Decision, "refine: decide what the next revision is to mend, or to stop", 0.0
)
DECIDING: tuple[Prompt[Any, Any], ...] = (DECIDE,)
"""The prompts of whoever decides."""
