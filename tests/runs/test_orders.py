"""What a run can be for: an order that cannot be meant is refused in a sentence, before there is a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.errors import UsageError
from redraft.runs.prepare import RunSpec
from redraft.settings import (
    Compare,
    DraftConfig,
    Evaluate,
    ExperimentPart,
    JudgeConfig,
    Purpose,
    Refine,
    RefineConfig,
    Summarize,
)
from tests.judges import Court

JUDGING = JudgeConfig(metrics=("coverage",))
REFINEMENT = RefineConfig(goals={"coverage": 0.5})
DRAFTING: list[Purpose] = [Summarize(), Evaluate(judging=JUDGING), Refine(judging=JUDGING, refinement=REFINEMENT)]


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    made = Court(tmp_path)
    yield made
    made.store.close()


@pytest.mark.parametrize("judging", [None, JUDGING])
@pytest.mark.parametrize("refinement", [None, REFINEMENT])
async def test_a_summary_that_nobody_makes_and_nobody_hands_over_is_refused(
    court: Court, judging: JudgeConfig | None, refinement: RefineConfig | None
) -> None:
    settings = court.settings({"strategy": "given"})
    with pytest.raises(UsageError, match="`given` makes no draft") as caught:
        async with court.session() as session:
            await session.summarize(court.document, settings=settings, judging=judging, refinement=refinement)
    assert "evaluate" in caught.value.hint
    assert court.store.runs.latest(9) == []
    assert court.sheets == []


@pytest.mark.parametrize("purpose", DRAFTING, ids=lambda one: one.kind)
def test_a_draft_is_given_where_one_is_handed_over(purpose: Purpose) -> None:
    assert RunSpec(purpose).settled(DraftConfig()).strategy == "auto"
    for settings in (DraftConfig(), DraftConfig(strategy="given")):
        assert RunSpec(purpose, given="A draft.").settled(settings).strategy == "given"


@pytest.mark.parametrize("purpose", [Compare(judging=JUDGING), ExperimentPart(kind="a trial", judging=JUDGING)])
def test_nothing_is_drafted_where_the_run_is_for_something_else(purpose: Purpose) -> None:
    assert RunSpec(purpose).settled(DraftConfig()).strategy == "given"
