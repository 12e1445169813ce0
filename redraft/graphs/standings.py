"""What is shown of a draft: its scores, and where its goals stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from redraft.domain import REVIEW, Evaluation, Finding
from redraft.evaluators.goals import standing
from redraft.graphs.policy import scores_of
from redraft.settings import FIGURES, Refinement


class Stands(TypedDict):
    """What is shown of a draft: its scores, and where its goals stand."""

    scores: dict[str, float | None]
    standings: dict[str, str]


def stands(judged: Mapping[str, Evaluation], settings: Refinement) -> Stands:
    """The scores of a draft, and where its goals stand."""
    goals: dict[str, str] = {
        name: standing(judged.get(name), least, settings.judged_share) for name, least in settings.goals.items()
    }
    return {"scores": shown(scores_of(judged)), "standings": goals}


def shown(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    """The scores without those that are none: figures and a person's requests."""
    return {metric: score for metric, score in scores.items() if metric not in {REVIEW, *FIGURES}}


def findings_in(judged: Mapping[str, Evaluation], wanted: Sequence[str]) -> list[Finding]:
    """The findings with these ids, in their order."""
    known = {finding.id: finding for evaluation in judged.values() for finding in evaluation.findings}
    return [known[key] for key in wanted if key in known]
