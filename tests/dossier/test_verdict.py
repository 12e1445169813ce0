"""The sentence with which a run's page begins."""

from __future__ import annotations

from typing import Any

import pytest

from redraft.report.dossier.contents import Score, verdict


def score(
    metric: str, value: float | None, goal: float | None = None, met: bool | None = None, reason: str = ""
) -> Score:
    told: dict[str, Any] = dict.fromkeys(("initial", "certificate", "interval"))
    told |= {"reason": reason, "goal": goal, "met": met}
    return Score(metric=metric, outcome="scored", score=value, judged=1, unjudged=0, missing=(), offline_check=False,
                 stands_on="", details={}, **told)  # fmt: skip


@pytest.mark.parametrize(
    ("status", "scores", "says"),
    [
        ("done", [score("consistency", 0.959, 0.9, True), score("coverage", 0.31, 0.8, False)],
         "✓ Consistency 0.95 (goal 0.90 met); ✗ coverage 0.31 (goal 0.80 missed)"),
        ("done", [score("coverage", 0.79999, 0.8, None)], "? Coverage 0.79 (goal 0.80 undecided)"),
        ("done", [score("keyfact_recall", None, 0.5, False)], "? Keyfact recall not scored (goal 0.50)"),
        ("done", [score("coverage", 0.5), score("statistics", None)], "Coverage 0.50"),
        ("done", [score("coverage", None, reason="0 of 3; no model"), score("clarity", None, reason="no model")],
         "Coverage and clarity were not judged: no model"),
        ("done", [score("a", None, 0.5, reason="1; x"), score("b", None, 0.5, reason="y"), score("c", 1.0, 0.5, True)],
         "? A not scored (goal 0.50; 1; x); ? b not scored (goal 0.50; y); ✓ c 1.00 (goal 0.50 met)"),
        ("done", [], "Not judged"),
        ("waiting", [score("coverage", 0.2, 0.8, False)],
         "Waiting for your review.; ✗ Coverage 0.20 (goal 0.80 missed)"),
        ("failed", [], "Failed."),
    ],
)  # fmt: skip
def test_it_says_which_goals_were_met(status: str, scores: list[Score], says: str) -> None:
    assert "; ".join(f"{one.sign} {one.says}".strip() for one in verdict(status, scores)) == says


def test_no_meaning_goes_by_colour_alone() -> None:
    parts = verdict("done", [score("a", 0.5, 0.5, True), score("b", 0.1, 0.5, False), score("c", 0.1, 0.5, None)])
    assert [(one.kind, one.sign) for one in parts] == [("met", "✓"), ("missed", "✗"), ("unsure", "?")]
