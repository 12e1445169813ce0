"""What a run can be for: an order that cannot be meant is refused in a sentence, before there is a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.errors import UsageError
from redraft.runs.prepare import Order
from redraft.settings import Compare, Evaluate, Judging, Part, Purpose, Refine, Refinement, Settings, Summarize
from tests.judges import Court

JUDGING = Judging(metrics=("coverage",))
REFINEMENT = Refinement(goals={"coverage": 0.5})
DRAFTING: list[Purpose] = [Summarize(), Evaluate(judging=JUDGING), Refine(judging=JUDGING, refinement=REFINEMENT)]


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    made = Court(tmp_path)
    yield made
    made.store.close()


@pytest.mark.parametrize("judging", [None, JUDGING])
@pytest.mark.parametrize("refinement", [None, REFINEMENT])
async def test_a_summary_that_nobody_makes_and_nobody_hands_over_is_refused(
    court: Court, judging: Judging | None, refinement: Refinement | None
) -> None:
    settings = court.settings({"strategy": "given"})
    with pytest.raises(UsageError, match="`given` makes no draft") as caught:
        async with court.shop() as shop:
            await shop.summarize(court.document, settings=settings, judging=judging, refinement=refinement)
    assert "evaluate" in caught.value.hint
    assert court.store.runs.latest(9) == []
    assert court.sheets == []


@pytest.mark.parametrize("purpose", DRAFTING, ids=lambda one: one.kind)
def test_a_draft_is_given_where_one_is_handed_over(purpose: Purpose) -> None:
    assert Order(purpose).settled(Settings()).strategy == "auto"
    for settings in (Settings(), Settings(strategy="given")):
        assert Order(purpose, given="A draft.").settled(settings).strategy == "given"


@pytest.mark.parametrize("purpose", [Compare(judging=JUDGING), Part(kind="a trial", judging=JUDGING)])
def test_nothing_is_drafted_where_the_run_is_for_something_else(purpose: Purpose) -> None:
    assert Order(purpose).settled(Settings()).strategy == "given"
