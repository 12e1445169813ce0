"""The prompt by which a judge rules on findings: does the document say what the summary says?"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from redraft.domain import RulingVerdict
from redraft.prompts.contract import Also, Fence, Prompt, ReplyModel, lenient
from redraft.prompts.qa import IDS, LABELS, DocumentView, Quote, Reason
from redraft.prompts.tags import Names, TaggedItem


class RulingPoint(TaggedItem):
    """What a summary says, and what a first judge said of it; `against` are words held against that."""

    sentence: str
    question: str = ""
    says: str = ""
    judged: str = ""
    against: str = ""


class RuleGiven(DocumentView):
    """What is read of the document, what to rule on, and whether a point is contested with a quote."""

    points: Annotated[list[RulingPoint], Fence("point", "the findings to rule on")]
    contested: bool = False


_SAME: dict[str, RulingVerdict] = {
    "support": "supported",
    "supports": "supported",
    "implied": "supported",
    "contradict": "contradicted",
    "contradicts": "contradicted",
    "not there": "absent",
    "missing": "absent",
    "unsure": "unclear",
    "unknown": "unclear",
}


class RuledPoint(ReplyModel):
    """Why, the document's words that decide, and the verdict."""

    id: Annotated[int, Names("points"), IDS]
    reason: Reason
    quote: Quote
    verdict: Annotated[RulingVerdict, BeforeValidator(lenient(RulingVerdict, None, _SAME)), Also(*LABELS)]


class RuledPoints(ReplyModel):
    """One entry for each point."""

    points: list[RuledPoint]


RULE_ON_FINDINGS = Prompt(
    "rule_on_findings", RuleGiven, RuledPoints, "refine: rule on findings before they are fixed", 0.0
)
