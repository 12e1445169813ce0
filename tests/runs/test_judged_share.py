"""A goal takes verdicts on enough of its items; where it lacks them it is unsure, and `resume` asks for them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Evaluation
from redraft.evaluators.metric_info import goal_status
from redraft.events import Event, RoundSettled
from tests.judges import Harness, PerfectModel, ScriptedReply, Sheet, keeper_in, summary_of

SUMMARY = summary_of(*range(1, 7))


class Omittable(PerfectModel):
    """Answers nothing about some keepers, however often it is asked; until it is told to speak."""

    def __init__(self, *silent: int) -> None:
        self.silent = set(silent)

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        answers = super().answer_from_summary(sheet)["answers"]
        return {"answers": [item for item in answers if keeper_in(sheet.judged[item["id"]]) not in self.silent]}


def evaluation(judged: int, unjudged: int, score: float = 1.0, **details: Any) -> Evaluation:
    return Evaluation("coverage", 1, "scored", score, judged, unjudged, details=details)


@pytest.mark.parametrize(
    ("judged", "status"),
    [
        (evaluation(8, 2), "met"),
        (evaluation(8, 2, score=0.79), "missed"),
        (evaluation(79, 21), "unsure"),
        (evaluation(79, 21, score=0.1), "unsure"),
        (evaluation(0, 0), "met"),
        (Evaluation("coverage", 1, "failed", unjudged=4), "unsure"),
        (Evaluation("coverage", 1, "not_applicable"), "missed"),
        (None, "missed"),
    ],
)
def test_goal_needs_verdicts_on_its_items(judged: Evaluation | None, status: str) -> None:
    assert goal_status(judged, 0.8, 0.8) == status


@pytest.mark.slow
async def test_few_verdicts_meet_no_goal(tmp_path: Path) -> None:
    harness = Harness(tmp_path, Omittable(5, 6))
    events: list[Event] = []
    async with harness.session(observer=events.append) as session:
        result = await session.refine(harness.document, SUMMARY, words=400, goals={"coverage": 0.8})

    coverage = result.evaluations["coverage"]
    assert (coverage.score, coverage.judged, coverage.unjudged) == (1.0, 4, 2)
    assert (result.run.stop_reason, result.complete) == ("unsure", False)
    assert result.goals == {"coverage": {"at_least": 0.8, "met": None, "judged_share": 4 / 6}}
    standings = [dict(event.standings) for event in events if isinstance(event, RoundSettled)]
    assert standings == [{"coverage": "unsure"}] * len(result.rounds)
    assert not harness.asked("revise")

    relaxed = await harness.refine(SUMMARY, goals={"coverage": 0.8}, judged_share=0.6)
    assert (relaxed.run.stop_reason, relaxed.complete) == ("goals_met", True)


async def test_sure_findings_are_corrected(tmp_path: Path) -> None:
    harness = Harness(tmp_path, Omittable(3, 4, 5, 6))
    result = await harness.refine(summary_of(1), goals={"coverage": 0.8, "consistency": 0.9})

    coverage = result.evaluations["coverage"]
    assert (coverage.outcome, coverage.score, coverage.judged, coverage.unjudged) == ("failed", None, 2, 4)
    assert [(round_.accepted, round_.reason, len(round_.findings)) for round_ in result.rounds[1:]] == [
        (True, "the revision is preferred in both orders", 1)
    ]
    assert (summary_of(2) in result.draft.text, coverage.findings) == (True, ())
    assert (result.run.status, result.run.stop_reason) == ("done", "unsure")
    assert {metric: goal["met"] for metric, goal in result.goals.items()} == {"coverage": None, "consistency": True}


@pytest.mark.slow
async def test_resume_repeats_only_missing_verdicts(tmp_path: Path) -> None:
    script = Omittable(5, 6)
    harness = Harness(tmp_path, script)
    result = await harness.refine(SUMMARY, goals={"coverage": 0.8})
    assert result.run.stop_reason == "unsure"

    async def resumed() -> tuple[Any, list[set[int]]]:
        harness.clear_sheets()
        async with harness.session() as session:
            done = await session.resume(result.run.id)
        return done, [set(map(keeper_in, sheet.judged.values())) for sheet in harness.sheets if sheet.judged]

    # Still silent: it is asked for these two once more, each time.
    for _ in range(2):
        resumed_result, calls = await resumed()
        assert (resumed_result.run.stop_reason, calls) == ("unsure", [{5, 6}])
    script.silent.clear()
    done, calls = await resumed()
    assert (done.run.stop_reason, done.scores["coverage"], calls) == ("goals_met", 1.0, [{5, 6}])
    assert (await resumed())[1] == []


@pytest.mark.parametrize("refines", [False, True])
async def test_resume_asks_for_missing_verdicts(tmp_path: Path, refines: bool) -> None:
    script = Omittable(6)
    harness = Harness(tmp_path, script)
    if refines:
        result = await harness.refine(SUMMARY, goals={"coverage": 0.8})
        assert result.run.stop_reason == "goals_met"
    else:
        result = await harness.evaluate(SUMMARY, metrics=("coverage",))
    assert result.complete
    assert result.unjudged == result.record().unjudged == {"coverage": 1}

    script.silent.clear()
    harness.clear_sheets()
    async with harness.session() as session:
        resumed = await session.resume(result.run.id)
    assert (resumed.evaluations["coverage"].judged, resumed.unjudged) == (6, {})
    assert [keeper_in(question) for sheet in harness.sheets for question in sheet.judged.values()] == [6]
