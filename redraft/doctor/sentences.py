"""What an evaluation says of one sentence of a summary: that it is wrong, that it is right, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from redraft.agents.factfinder import SUPPORTED
from redraft.domain import Evaluation
from redraft.evaluators.base import statements_of
from redraft.evaluators.consensus import OPEN
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.faithfulness import Faithfulness

Said = Literal["wrong", "right", "open"]

# Where a metric has its verdicts: in which of the details, under which name the sentence's number, and what is right.
_VERDICTS = {
    Consistency.name: ("claims", "sentence", CONSISTENT),
    Faithfulness.name: ("sentences", "id", SUPPORTED),
}


def said_of(evaluation: Evaluation, summary: str) -> dict[str, Said]:
    """By sentence of the summary what a metric says of it.

    A sentence is wrong if anything in it is. Of one of redraft's own metrics the verdicts themselves are read, those of
    an evaluation without a score, too; of any other metric its findings.
    """
    statements = statements_of(summary)
    if evaluation.metric not in _VERDICTS:
        rest: Said = "right" if evaluation.outcome == "scored" else "open"
        accused = {finding.sentence for finding in evaluation.findings}
        return {one.sentence: "wrong" if one.sentence in accused else rest for one in statements}
    verdicts = _verdicts(evaluation)
    return {one.sentence: verdicts.get(one.id, "open") for one in statements}


def _verdicts(evaluation: Evaluation) -> dict[int, Said]:
    """By number of the sentence."""
    where, number, right = _VERDICTS[evaluation.metric]
    items: Any = evaluation.details.get(where) or ()
    found: dict[int, Said] = {}
    for item in items:
        said = _said(item, right)
        # What is wrong stays wrong, whatever else of the sentence is right; what is right stays so beside what is open.
        if found.get(item[number]) != "wrong" and said != "open":
            found[item[number]] = said
    return found


def _said(item: Mapping[str, object], right: str) -> Said:
    if item["verdict"] in OPEN:
        return "open"
    return "right" if item["verdict"] == right else "wrong"
