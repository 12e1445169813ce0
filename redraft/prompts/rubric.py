"""The prompt of a rubric: how far a summary meets one requirement, and where it falls short."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from redraft.prompts.contract import (
    OMITTABLE,
    SKIP_INVALID,
    UNSURE,
    AliasNames,
    Aside,
    Fence,
    MaxItems,
    Prompt,
    PromptInput,
    ReplyModel,
    SummaryText,
)
from redraft.prompts.qa import LABELS, Quote, Reason

NO_LEVEL = 0
"""The level of a summary that cannot be judged by the requirement."""
_MAX_FAULTS = 8
_NUMBER = re.compile(r"\W*(?:level\W*)?([0-9]{1,2})(?![0-9]|[.,][0-9])", re.IGNORECASE)

# The usual levels, by their number. With other numbers, only the two ends are described.
_WORST, _BEST = "not met", "fully met"
_USUAL = {
    2: (_WORST, "met"),
    3: (_WORST, "partly met", _BEST),
    4: (_WORST, "partly met", "mostly met", _BEST),
    5: (_WORST, "met to a small extent", "partly met", "met, with small exceptions", _BEST),
}


def _level(value: object) -> object:
    """Return the number at the start of a text such as "4 of 5" or "Level 4"; a judge that cannot tell gives none."""
    if value is None or value == UNSURE:
        return NO_LEVEL
    match = _NUMBER.match(value) if isinstance(value, str) else None
    if isinstance(value, bool) or (isinstance(value, str) and match is None):
        raise ValueError("the level is not a whole number")
    return int(match[1]) if match else value


class RubricInput(PromptInput):
    """A summary, and the question that it answers, if any."""

    summary: SummaryText
    question: Annotated[str | None, Fence("question")] = None


class Fault(ReplyModel):
    """A passage of the summary that falls short."""

    quote: Quote
    problem: Annotated[Aside, AliasNames("fault", "issue", "description", "what is wrong")]


class RubricVerdict(ReplyModel):
    """A judge's verdict."""

    faults: Annotated[
        list[Fault], BeforeValidator(lambda value: value or []), OMITTABLE, SKIP_INVALID, MaxItems(_MAX_FAULTS)
    ]
    reason: Reason
    level: Annotated[
        int,
        BeforeValidator(_level),
        WithJsonSchema({"type": "integer"}),
        AliasNames("score", "rating", "grade", *LABELS),
    ]


def rubric_prompt(name: str, requirement: str, levels: int | Sequence[str]) -> Prompt[RubricInput, RubricVerdict]:
    """Return the prompt that judges by a requirement. The requirement is part of the template, so another requirement
    is another prompt, with another hash."""
    # From 1; empty where a level between the ends has no description.
    described: Sequence[str] = levels if not isinstance(levels, int) else _USUAL.get(levels, ())
    if isinstance(levels, int) and not described:
        described = (_WORST, *[""] * (levels - 2), _BEST)
    listed = [f"{number}: {description}\n" for number, description in enumerate(described, 1) if description]
    if len(listed) < len(described):
        listed.append("The levels between them are evenly spaced.\n")
    texts = {"REQUIREMENT": requirement, "LEVELS": "".join(listed), "MOST": str(_MAX_FAULTS)}
    # In the template their braces have no meaning.
    parts = {name: text.strip().replace("{", "{{ '{' }}") for name, text in texts.items()}
    written = (Path(__file__).parent / "templates" / "rubric.md").read_text("utf-8")
    template = re.sub("|".join(parts), lambda match: parts[match[0]], written)
    return Prompt(name, RubricInput, RubricVerdict, f"{name}: how far a summary meets a requirement", template=template)
