"""The prompt by which a model decides what the next revision of a summary is to mend."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from redraft.domain import Task
from redraft.prompts.contract import Fence, GivenModel, Prompt, ReplyModel, SummaryText
from redraft.prompts.tags import ONLY_KNOWN, Item, Names

_WORD = re.compile(r"\w+")


class Standing(GivenModel):
    """How the summary stands by one metric, and by its goal where it has one."""

    id: int
    metric: str
    score: str
    goal: str = ""
    met: str = ""


class Option(Item):
    """One finding that could be mended."""

    metric: str
    task: Task
    problem: str
    sentence: str = ""
    question: str = ""
    answer: str = ""
    why: str = ""
    evidence: str = ""


class DecideGiven(GivenModel):
    """The best summary so far, how it stands, what is wrong with it, what has been tried, and what was looked up."""

    summary: SummaryText
    scoreboard: Annotated[list[Standing], Fence("metric")]
    findings: Annotated[list[Option], Fence("finding")]
    tried: Annotated[list[str], Fence("attempt")]
    passages: Annotated[list[str], Fence("passage")]
    rounds_left: int
    at_most: int
    """How many findings a revision can deal with."""
    searches: int
    """How many passages may be asked for before deciding; none any more when 0."""


def _listed(value: object) -> list[object]:
    """A list where one thing, or nothing, was given."""
    return [] if value is None else value if isinstance(value, list) else [value]


def _named(value: object) -> list[object]:
    """Whatever names a finding, also among other words."""
    return [name for one in _listed(value) for name in (_WORD.findall(one) if isinstance(one, str) else [one])]


def _texts(value: object) -> list[str]:
    return [one for one in _listed(value) if isinstance(one, str)]


def _text(value: object) -> str:
    return " ".join(_texts(value))


_Text = Annotated[str, BeforeValidator(_text)]


class Decision(ReplyModel):
    """What to do, and why: passages to look up first, findings to mend with an instruction, or to stop."""

    why: _Text
    look_up: Annotated[list[str], BeforeValidator(_texts)] = Field(default_factory=list)
    mend: Annotated[list[Annotated[int, Names("findings")]], BeforeValidator(_named), ONLY_KNOWN] = Field(
        default_factory=list
    )
    instruction: _Text = ""
    stop: Annotated[bool, BeforeValidator(lambda value: value or False)] = False


DECIDE: Prompt[DecideGiven, Decision] = Prompt(
    "decide", DecideGiven, Decision, "refine: decide what the next revision is to mend, or to stop", 0.0
)
DECIDING: tuple[Prompt[Any, Any], ...] = (DECIDE,)
"""The prompts of whoever decides."""
