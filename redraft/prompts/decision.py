"""The prompt by which a model decides what the next revision of a summary is to mend."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from redraft.domain import Task
from redraft.prompts.contract import Also, AtMost, EachAlone, Fence, GivenModel, Prompt, ReplyModel, SummaryText
from redraft.prompts.qa import Quote
from redraft.prompts.tags import ONLY_KNOWN, Names, TaggedItem

_WORD = re.compile(r"\w+")
# No document has a place beyond.
_FAR = 10**12


class MetricStanding(GivenModel):
    """How the summary stands by one metric, and by its goal where it has one."""

    id: int
    metric: str
    score: str
    goal: str = ""
    met: str = ""


class FindingOption(TaggedItem):
    """One finding that could be mended."""

    metric: str
    task: Task
    problem: str
    sentence: str = ""
    question: str = ""
    answer: str = ""
    why: str = ""
    evidence: str = ""


class DecisionPassage(GivenModel):
    """Words of the document that were looked up, and where they stand."""

    place: str
    text: str


class DecideGiven(GivenModel):
    """The best summary so far, how it stands, what is wrong with it, what has been tried, and what was looked up."""

    summary: SummaryText
    scoreboard: Annotated[list[MetricStanding], Fence("metric")]
    findings: Annotated[list[FindingOption], Fence("finding")]
    tried: Annotated[list[str], Fence("attempt")]
    answers: Annotated[list[str], Fence("answer")]
    """What became of what has been looked up."""
    passages: Annotated[list[DecisionPassage], Fence("passage")]
    rounds_left: int
    at_most: int
    """How many findings a revision can deal with."""
    looks: int
    """How often something may be looked up before deciding; no more when 0."""
    requests: int
    """How many searches are answered at once, and how many places read."""


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


def _places(value: object) -> list[str]:
    """Places by their names, also one that is given as an object of two numbers."""
    return [place for one in _listed(value) if (place := _place(one))]


def _place(one: object) -> str:
    if isinstance(one, dict):
        ends = one.get("start"), one.get("end")
        return "-".join(str(end) for end in ends) if all(type(end) is int and abs(end) < _FAR for end in ends) else ""
    return one if isinstance(one, str) else str(one) if type(one) is int and abs(one) < _FAR else ""


_Text = Annotated[str, BeforeValidator(_text)]


class Contested(ReplyModel):
    """A finding that the document speaks against, and the document's words."""

    finding: Annotated[int, Names("findings"), Also("id")]
    quote: Quote


class Decision(ReplyModel):
    """What to do, and why: what to look up and read first, findings to mend with an instruction, or to stop."""

    why: _Text
    look_up: Annotated[list[str], BeforeValidator(_texts), AtMost("requests")] = Field(default_factory=list)
    read: Annotated[list[str], BeforeValidator(_places), AtMost("requests")] = Field(default_factory=list)
    mend: Annotated[list[Annotated[int, Names("findings")]], BeforeValidator(_named), ONLY_KNOWN] = Field(
        default_factory=list
    )
    kept: Annotated[list[Contested], BeforeValidator(_listed), EachAlone(), AtMost("at_most")] = Field(
        default_factory=list
    )
    instruction: _Text = ""
    stop: Annotated[bool, BeforeValidator(lambda value: value or False)] = False


DECIDE: Prompt[DecideGiven, Decision] = Prompt(
    "decide", DecideGiven, Decision, "refine: decide what the next revision is to mend, or to stop", 0.0
)
DECIDING: tuple[Prompt[Any, Any], ...] = (DECIDE,)
"""The prompts of whoever decides."""
