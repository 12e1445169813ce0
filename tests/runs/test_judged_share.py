"""A goal takes verdicts on enough of its items; where it lacks them it is unsure, and `resume` asks for them again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Evaluation, Finding
from redraft.evaluators.metric_info import goal_status, with_enough_verdicts
from redraft.events import Event, RoundSettled
from tests.judges import Court, Keepers, Said, Sheet, asked_of, told

SUMMARY = told(*range(1, 7))


class Omittable(Keepers):
    """Answers nothing about some keepers, however often it is asked; until it is told to speak."""

    def __init__(self, *silent: int) -> None:
        self.silent = set(silent)

    def answer_from_summary(self, sheet: Sheet) -> Said:
        said = super().answer_from_summary(sheet)
        known = [one for one in said["answers"] if asked_of(sheet.judged[one["id"]]) not in self.silent]
        return {"answers": known}


def evaluation(judged: int, unjudged: int, score: float = 1.0, **details: Any) -> Evaluation:
    return Evaluation("coverage", 1, "scored", score, judged, unjudged, details=details)


@pytest.mark.parametrize(
    ("one", "stands"),
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
def test_a_goal_takes_verdicts_on_enough_of_its_items(one: Evaluation | None, stands: str) -> None:
    assert goal_status(one, 0.8, 0.8) == stands


def test_a_score_on_less_than_half_of_its_items_is_none() -> None:
    assert with_enough_verdicts(evaluation(2, 2)) == evaluation(2, 2)
    few = with_enough_verdicts(evaluation(2, 7, trouble="the judge skipped 7 of the items, twice"))
    assert (few.outcome, few.score, few.judged, few.unjudged) == ("failed", None, 2, 7)
    assert few.reason == "only 2 of 9 items have a verdict: the judge skipped 7 of the items, twice"
    found = (Finding("coverage", "unanswered", "add", "Say who keeps it."),)
    said = with_enough_verdicts(replace(evaluation(2, 7), findings=found, held=("It is kept.",)))
    assert (said.score, said.findings, said.held) == (None, found, ("It is kept.",)), "what is sure may be mended"
    silent = Evaluation("coverage", 1, "not_applicable")
    assert with_enough_verdicts(silent) == silent


@pytest.mark.slow
async def test_goals_are_not_met_on_almost_nothing(tmp_path: Path) -> None:
    court = Court(tmp_path, Omittable(5, 6))
    events: list[Event] = []
    async with court.session(observer=events.append) as session:
        result = await session.refine(court.document, SUMMARY, words=400, goals={"coverage": 0.8})

    coverage = result.evaluations["coverage"]
    assert (coverage.score, coverage.judged, coverage.unjudged) == (1.0, 4, 2)
    assert (result.run.stop_reason, result.complete) == ("unsure", False)
    assert result.goals == {"coverage": {"at_least": 0.8, "met": None, "judged_share": 4 / 6}}
    settled = [dict(one.standings) for one in events if isinstance(one, RoundSettled)]
    assert settled == [{"coverage": "unsure"}] * len(result.rounds)
    assert not court.asked("revise")

    relaxed = await court.refine(SUMMARY, goals={"coverage": 0.8}, judged_share=0.6)
    assert (relaxed.run.stop_reason, relaxed.complete) == ("goals_met", True)
    court.store.close()


async def test_of_a_first_draft_with_too_few_verdicts_what_is_sure_is_mended(tmp_path: Path) -> None:
    court = Court(tmp_path, Omittable(3, 4, 5, 6))
    result = await court.refine(told(1), goals={"coverage": 0.8, "consistency": 0.9})

    coverage = result.evaluations["coverage"]
    assert (coverage.outcome, coverage.score, coverage.judged, coverage.unjudged) == ("failed", None, 2, 4)
    assert [(made.accepted, made.reason, len(made.findings)) for made in result.rounds[1:]] == [
        (True, "the revision is preferred in both orders", 1)
    ]
    assert (told(2) in result.draft.text, coverage.findings) == (True, ())
    assert (result.run.status, result.run.stop_reason) == ("done", "unsure")
    assert {metric: goal["met"] for metric, goal in result.goals.items()} == {"coverage": None, "consistency": True}
    court.store.close()


async def test_what_is_known_to_be_missing_is_mended_all_the_same(tmp_path: Path) -> None:
    court = Court(tmp_path, Omittable(6))
    result = await court.refine(told(1, 2, 3), goals={"coverage": 1.0}, judged_share=0.9)

    # Five of six have a verdict, and all of them are good in the end; on the sixth nobody says anything.
    assert [made.accepted for made in result.rounds] == [True, True]
    assert (result.scores["coverage"], result.run.stop_reason) == (1.0, "unsure")
    court.store.close()


@pytest.mark.slow
@pytest.mark.parametrize("repaired", [False, True])
async def test_resume_asks_again_for_what_has_no_verdict_and_for_nothing_else(tmp_path: Path, repaired: bool) -> None:
    script = Omittable(5, 6)
    court = Court(tmp_path, script)
    if repaired:
        court.script = _Repaired(script)
    result = await court.refine(SUMMARY, goals={"coverage": 0.8})
    assert result.run.stop_reason == "unsure"

    async def resumed() -> tuple[Any, list[set[int]]]:
        court.forget()
        async with court.session() as session:
            done = await session.resume(result.run.id)
        return done, [set(map(asked_of, sheet.judged.values())) for sheet in court.sheets if sheet.judged]

    # Still silent: it is asked for these two once more, each time.
    for _ in range(2):
        again, asked = await resumed()
        assert (again.run.stop_reason, asked) == ("unsure", [{5, 6}])
    script.silent.clear()
    done, asked = await resumed()
    assert (done.run.stop_reason, done.scores["coverage"], asked) == ("goals_met", 1.0, [{5, 6}])
    assert (await resumed())[1] == []
    court.store.close()


class _Repaired(Keepers):
    """The first reply to whatever is asked about the summary cannot be read."""

    def __init__(self, script: Keepers) -> None:
        self.script = script

    def answer_from_summary(self, sheet: Sheet) -> Said:
        return self.script(sheet) if sheet.again or len(sheet.ids) < 6 else "Well."


async def test_an_evaluation_is_resumed_for_what_has_no_verdict(tmp_path: Path) -> None:
    script = Omittable(6)
    court = Court(tmp_path, script)
    result = await court.evaluate(SUMMARY, metrics=("coverage",))
    assert (result.evaluations["coverage"].unjudged, result.complete) == (1, True)

    script.silent.clear()
    court.forget()
    async with court.session() as session:
        done = await session.resume(result.run.id)
    assert (done.evaluations["coverage"].judged, done.evaluations["coverage"].unjudged) == (6, 0)
    assert [list(map(asked_of, sheet.judged.values())) for sheet in court.sheets] == [[6]]
    court.store.close()


async def test_a_refinement_that_is_done_shows_what_has_no_verdict_and_is_resumed_for_it(tmp_path: Path) -> None:
    script = Omittable(6)
    court = Court(tmp_path, script)
    result = await court.refine(SUMMARY, goals={"coverage": 0.8})
    assert (result.run.stop_reason, result.complete) == ("goals_met", True)
    assert result.unjudged == result.record().unjudged == {"coverage": 1}

    script.silent.clear()
    court.forget()
    async with court.session() as session:
        done = await session.resume(result.run.id)
    assert (done.run.stop_reason, done.unjudged, done.evaluations["coverage"].judged) == ("goals_met", {}, 6)
    assert [asked_of(question) for sheet in court.sheets for question in sheet.judged.values()] == [6]
    court.store.close()


class Hasty(Keepers):
    """Asks two questions about some sentences of the summary, and passes over the others."""

    def __init__(self, *examined: int) -> None:
        self.examined = examined

    def ask_summary(self, sheet: Sheet) -> Said:
        said = super().ask_summary(sheet)
        known = [one for one in said["sentences"] if asked_of(sheet.judged[one["id"]]) in self.examined]
        return {"sentences": [one | {"questions": one["questions"] * 2} for one in known]}


async def test_a_sentence_that_is_passed_over_counts_as_much_as_the_others_claim(tmp_path: Path) -> None:
    for examined, judged, unjudged, outcome in ((4, 8, 4, "scored"), (2, 4, 8, "failed")):
        court = Court(tmp_path / str(examined), Hasty(*range(1, 1 + examined)))
        result = await court.evaluate(SUMMARY, metrics=("consistency",))
        consistency = result.evaluations["consistency"]
        assert (consistency.judged, consistency.unjudged, consistency.outcome) == (judged, unjudged, outcome)
        court.store.close()


@pytest.mark.slow
async def test_a_model_that_leads_is_told_what_is_unsure(tmp_path: Path) -> None:
    court = Court(tmp_path, Omittable(5, 6))
    summary = told(*range(1, 7), wrong={2: "Bob"})
    await court.refine(summary, goals={"coverage": 0.7, "consistency": 1.0}, policy="agent")

    board = court.asked("decide")[0].items("scoreboard").values()
    assert {row["metric"]: row["met"] for row in board} == {"coverage": "unsure", "consistency": "no"}
    court.store.close()
