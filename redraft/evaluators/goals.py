"""Whether a draft meets a goal: that takes a score, and verdicts on enough of the items that it is a score of."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from redraft.domain import Evaluation

Standing = Literal["met", "missed", "unsure"]
"""How a draft stands to a goal; `unsure` where nobody has said enough of it to tell."""

LEAST_SHARE = 0.5
"""A score on less than this share of its items is no score."""


def standing(evaluation: Evaluation | None, least: float, share: float) -> Standing:
    """How an evaluation stands to a goal, which takes verdicts on at least this share of the items."""
    if evaluation is None or evaluation.outcome in ("not_applicable", "measured"):
        return "missed"
    judged = evaluation.judged_share
    if evaluation.score is None or (judged is not None and judged < share):
        return "unsure"
    return "met" if evaluation.score >= least else "missed"


def founded(evaluation: Evaluation) -> Evaluation:
    """The evaluation, with its score only if that is of half of the items at least; what was found stands."""
    judged = evaluation.judged_share
    if evaluation.outcome != "scored" or judged is None or judged >= LEAST_SHARE:
        return evaluation
    trouble = evaluation.details.get("trouble")
    said = f": {trouble}" if trouble else ""
    reason = f"only {evaluation.judged:,} of {evaluation.judged + evaluation.unjudged:,} items have a verdict{said}"
    return replace(evaluation, outcome="failed", score=None, reason=reason)
