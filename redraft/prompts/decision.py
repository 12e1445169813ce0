"""The prompt by which a model decides what the next revision of a summary should fix."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from redraft.prompts.contract import (
    AliasNames,
    Fence,
    MaxItems,
    Prompt,
    PromptInput,
    ReplyModel,
    SkipInvalid,
    SummaryText,
)
from redraft.prompts.qa import Quote
from redraft.prompts.revision import Point
from redraft.prompts.tags import ONLY_KNOWN, ItemRef

_WORD = re.compile(r"\w+")
# No document has a place beyond.
_FAR = 10**12


class MetricStatus(PromptInput):
    """The summary's score by one metric, and its goal, if any."""

    id: int
    metric: str
    score: str
    goal: str = ""
    met: str = ""


class DecisionPassage(PromptInput):
    """A passage of the document that was looked up, and its place."""

    place: str
    text: str


class DecideInput(PromptInput):
    """The best summary so far, how it stands, what is wrong with it, what has been tried, and what was looked up."""

    summary: SummaryText
    scoreboard: Annotated[list[MetricStatus], Fence("metric", "the scores")]
    findings: Annotated[list[Point], Fence("finding", "the findings to choose from")]
    tried: Annotated[list[str], Fence("attempt", "the earlier revisions")]
    answers: Annotated[list[str], Fence("answer", "the outcome of each lookup")]
    """The outcome of each lookup."""
    passages: Annotated[list[DecisionPassage], Fence("passage", "the passages that were looked up")]
    rounds_left: int
    length: int
    """How long the summary is now, and how long it may be, in words; with `characters` in characters."""
    words: int
    characters: bool = False
    at_most: int
    """The most findings of a revision."""
    looks: int
    """How many lookups are left."""
    requests: int
    """How many searches, and how many places, are answered at once."""


def _listed(value: object) -> list[object]:
    """Return a value as a list; null is an empty one."""
    return [] if value is None else value if isinstance(value, list) else [value]


def _named(value: object) -> list[object]:
    """Return whatever may name a finding, word by word."""
    return [name for one in _listed(value) for name in (_WORD.findall(one) if isinstance(one, str) else [one])]


def _texts(value: object) -> list[str]:
    return [one for one in _listed(value) if isinstance(one, str)]


def _text(value: object) -> str:
    return " ".join(_texts(value))


def _places(value: object) -> list[str]:
    """Return places by name, including objects with two numbers."""
    return [place for one in _listed(value) if (place := _place(one))]


def _place(one: object) -> str:
    if isinstance(one, dict):
        ends = one.get("start"), one.get("end")
        return "-".join(str(end) for end in ends) if all(type(end) is int and abs(end) < _FAR for end in ends) else ""
    return one if isinstance(one, str) else str(one) if type(one) is int and abs(one) < _FAR else ""


_Text = Annotated[str, BeforeValidator(_text)]


class ContestedFinding(ReplyModel):
    """A finding that the document speaks against, and the document's words."""

    finding: Annotated[int, ItemRef("findings"), AliasNames("id")]
    quote: Quote


class Decision(ReplyModel):
    """What to do, and why: what to look up and read first, findings to fix with an instruction, or to stop."""

    why: _Text
    look_up: Annotated[list[str], BeforeValidator(_texts), MaxItems("requests")] = Field(default_factory=list)
    read: Annotated[list[str], BeforeValidator(_places), MaxItems("requests")] = Field(default_factory=list)
    fix: Annotated[
        list[Annotated[int, ItemRef("findings")]],
        BeforeValidator(_named),
        ONLY_KNOWN,
        AliasNames("mend"),
        MaxItems("at_most"),
    ] = Field(default_factory=list)
    kept: Annotated[list[ContestedFinding], BeforeValidator(_listed), SkipInvalid(), MaxItems("at_most")] = Field(
        default_factory=list
    )
    instruction: _Text = ""
    stop: Annotated[bool, BeforeValidator(lambda value: value or False)] = False


DECIDE: Prompt[DecideInput, Decision] = Prompt(
    "decide", DecideInput, Decision, "refine: decide what the next revision should fix, or to stop", 0.0
)
