"""The sentence with which the page of a run begins."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from redraft.domain import Evaluation
from redraft.report.dossier.contents import Dossier
from redraft.report.pages.dossier import verdict, view


class Judged(NamedTuple):
    """A metric's score, its goal and whether that is met."""

    metric: str
    score: float | None
    goal: float | None = None
    met: bool | None = None
    reason: str = ""


def clauses(status: str, judged: list[Judged]) -> list[str]:
    """Return the clauses of the verdict with their signs."""
    evaluations = {
        metric: Evaluation(metric, 1, "failed" if score is None else "scored", score, judged=1, reason=reason)
        for metric, score, _, _, reason in judged
    }
    goals = {metric: {"at_least": goal, "met": met} for metric, _, goal, met, _ in judged if goal is not None}
    return [f"{sign} {says}".strip() for _, sign, says in verdict(status, evaluations, goals)]


@pytest.mark.parametrize(
    ("status", "judged", "says"),
    [
        ("done", [Judged("consistency", 0.959, 0.9, True), Judged("coverage", 0.31, 0.8, False)],
         "✓ Consistency 0.95 (goal 0.9 met); ✗ coverage 0.31 (goal 0.8 missed)"),
        ("done", [Judged("coverage", 0.79999, 0.8, None)], "? Coverage 0.79 (goal 0.8 undecided)"),
        ("done", [Judged("keyfact_recall", None, 0.5, False)], "? Keyfact recall not scored (goal 0.5)"),
        ("done", [Judged("coverage", 0.5), Judged("statistics", None)], "Coverage 0.50"),
        ("done", [Judged("coverage", None, reason="0 of 3; no model"), Judged("clarity", None, reason="no model")],
         "Coverage and clarity were not judged: no model"),
        ("done", [Judged("a", None, 0.5, reason="1; x"), Judged("b", None, 0.5, reason="y"), Judged("c", 1, 0.5, True)],
         "? A not scored (goal 0.5; 1; x); ? b not scored (goal 0.5; y); ✓ c 1.00 (goal 0.5 met)"),
        ("done", [], "Not judged"),
        ("waiting", [Judged("coverage", 0.2, 0.8, False)],
         "Waiting for your review.; ✗ Coverage 0.20 (goal 0.8 missed)"),
        ("failed", [], "Failed."),
    ],
)  # fmt: skip
def test_verdict_states_goals_and_scores(status: str, judged: list[Judged], says: str) -> None:
    assert "; ".join(clauses(status, judged)) == says


def test_scores_name_judges_as_all_of_the_page_does(dossier: Dossier) -> None:
    judges = view(dossier, names={"extractive": "m (on this machine)"})["judged_by"]
    assert judges
    assert all(who.startswith("m (on this machine), an offline check") for who in judges.values())
