"""Whether a draft meets a goal: that takes a score, and verdicts on enough of the items that it is a score of."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from redraft.domain import Evaluation
from redraft.errors import UsageError
from redraft.evaluators.known import known
from redraft.settings import EXTRACTIVE, GIVEN_STRATEGY, Judging, Refinement, Settings

SELF_CHECK = "self-check"
"""What the scores are called that the built-in model gives to what it has written itself."""
NOT_QUALITY = f"A {SELF_CHECK}, which the built-in model gives to what it has written itself, measures no quality."
Standing = Literal["met", "missed", "unsure"]
"""How a draft stands to a goal; `unsure` where nobody has said enough of it to tell."""

LEAST_SHARE = 0.5
"""A score on less than this share of its items is no score."""


def judges_itself(settings: Settings, judging: Judging | None) -> bool:
    """Whether the built-in model writes, and nobody but the built-in model judges."""
    if judging is None or settings.model != EXTRACTIVE:
        return False
    return set(judging.judges or (settings.model,)) == {EXTRACTIVE}


def self_checks(settings: Settings, judging: Judging | None, refinement: Refinement | None) -> frozenset[str]:
    """The metrics by which the built-in model judges what it writes itself. A summary that is only judged it has not
    written, and by a metric without a prompt it is not asked."""
    writes = refinement is not None or settings.strategy != GIVEN_STRATEGY
    if judging is None or not writes or not judges_itself(settings, judging):
        return frozenset()
    metrics = (*judging.metrics, *(refinement.goals if refinement else ()))
    return frozenset(name for name in metrics if (one := known(name)) is not None and one.prompts)


def refuse_self_check(settings: Settings, judging: Judging | None, refinement: Refinement | None) -> None:
    """Refuse goals that the built-in model would call met in its own work, unless that is what is wanted."""
    if refinement is None or refinement.allow_self_check:
        return
    goals = sorted(self_checks(settings, judging, refinement) & refinement.goals.keys())
    if goals:
        raise UsageError(
            f"the built-in model would judge what it has written itself: that is a {SELF_CHECK} and tells nothing of"
            f" quality, so {' and '.join(goals)} can be no goal",
            hint="name a judge, such as --judge openai:gpt-5-mini; or take it for what it is with --allow-self-check"
            " (allow_self_check=True in Python)",
        )


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
