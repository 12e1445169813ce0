"""Turns that somebody else leads, on a run that was begun to judge and not to refine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.errors import UsageError
from redraft.runs import turns
from tests.judges import Court, Keepers, Sheet, told

POOR = told(1, wrong={2: "Bob"})


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    made = Court(tmp_path)
    yield made
    made.store.close()


async def test_a_run_that_only_judges_takes_a_revision_that_gains(court: Court) -> None:
    run = (await court.evaluate(POOR, metrics=["coverage", "consistency"])).run.id
    async with court.shop() as shop, shop.working(run) as foreman:
        assert (await foreman.job()).refinement.goals == {"coverage": 1.0, "consistency": 1.0}
        said = (await shop.result(run)).evaluations["coverage"]
        missing = [one.id for one in said.findings if one.task == "add"]
        state = await turns.revise(foreman, missing, "")

        assert (state["accepted"], state["aims"], state["round"]) == (True, ["coverage"], 1)
        assert state["scores"] == {"coverage": 1.0, "consistency": pytest.approx(5 / 6)}
        rounds = court.store.judgments.rounds(run)
        assert [(made.number, made.accepted) for made in rounds] == [(0, True), (1, True)]


async def test_a_revision_for_one_metric_may_not_cost_another_that_the_run_judges_by(court: Court) -> None:
    run = (await court.evaluate(POOR, metrics=["coverage", "consistency"])).run.id
    async with court.shop() as shop, shop.working(run) as foreman:
        before = (await shop.result(run)).evaluations
        court.script = Worse()
        state = await turns.revise(foreman, [before["coverage"].findings[0].id], "")
        assert state["accepted"] is False
        assert state["reason"].startswith("consistency fell by")


class Worse(Keepers):
    """Tells of more keepers, and of most of them wrongly."""

    def revise(self, sheet: Sheet) -> str:
        return f"{sheet.within('summary')} {told(3, wrong={8: 'Jim', 9: 'Joe', 10: 'Jack'})}"


async def test_a_finding_of_a_metric_that_the_run_does_not_judge_by_can_be_mended(court: Court) -> None:
    run = (await court.evaluate(POOR, metrics=["coverage"])).run.id
    async with court.shop() as shop, shop.working(run) as foreman:
        said = await turns.judge(foreman, "consistency")
        state = await turns.revise(foreman, [one.id for one in said.findings], "")

        assert (state["accepted"], state["reason"]) == (True, "consistency gained 0.500")
        assert state["scores"]["consistency"] == 1.0


async def test_only_findings_on_the_best_draft_can_be_mended(court: Court) -> None:
    run = (await court.evaluate(POOR, metrics=["coverage"])).run.id
    async with court.shop() as shop, shop.working(run) as foreman:
        with pytest.raises(UsageError, match="there is no finding 'x'"):
            await turns.revise(foreman, ["x"], "")
