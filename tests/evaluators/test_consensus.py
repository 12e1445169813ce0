"""Several judges, or one several times."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from redraft import JudgeConfig, Session
from redraft.domain import Evaluation
from redraft.evaluators.base import DISPUTED, agreement
from tests.judges import (
    KEY,
    UNANSWERABLE,
    Harness,
    PerfectModel,
    ScriptedReply,
    Sheet,
    function_model,
    island,
    keeper_in,
    summary_of,
)


def test_agreement_is_the_share_of_equal_verdicts() -> None:
    assert agreement([{0: "a", 1: "b"}, {0: "a", 1: "a", 2: "c"}, {1: "a"}]) == 2 / 4
    assert agreement([{0: "a"}]) is None
    assert agreement([{0: "a"}, {1: "a"}]) is None


class Blind(PerfectModel):
    """Sees only some keepers in a summary."""

    def __init__(self, *request: int) -> None:
        self.seen = request

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        reply = super().answer_from_summary(sheet)
        for answer in reply["answers"]:
            if keeper_in(sheet.judged[answer["id"]]) not in self.seen:
                answer["answer"] = UNANSWERABLE
        return reply


async def panel(folder: Path, *scripts: PerfectModel) -> tuple[Evaluation, list[list[str]]]:
    """What judges say of the coverage of six keepers, and which prompts each was asked."""
    harnesses = [Harness(folder / str(n), script) for n, script in enumerate(scripts)]
    judges = [function_model(harness.reply_to, f"judge {n}") for n, harness in enumerate(harnesses)]
    async with Session(folder / "redraft.db", model=function_model(PerfectModel()), judges=judges) as session:
        result = await session.evaluate(
            island(), summary_of(1, 2, 3, 4, 5, 6), judging=JudgeConfig(metrics=("coverage",))
        )
    return result.evaluations["coverage"], [sorted({sheet.prompt for sheet in harness.sheets}) for harness in harnesses]


async def test_majority_decides_items_and_mean_the_score(tmp_path: Path) -> None:
    coverage, _ = await panel(tmp_path, Blind(1, 2, 3), Blind(1, 2), Blind(1, 4))

    assert coverage.score == pytest.approx((3 / 6 + 2 / 6 + 2 / 6) / 3)
    details: Any = coverage.details
    verdicts = [question["verdict"] for question in details["questions"]]
    assert verdicts == ["answered", "answered", *["unanswered"] * 4]
    assert [judge["score"] for judge in details["judges"]] == pytest.approx([3 / 6, 2 / 6, 2 / 6])
    # Of three pairs and six items: they differ on 3 in two pairs, on 4 in two, on 2 in two.
    assert details["agreement"] == pytest.approx(12 / 18)
    assert details["spread"]["highest"] == 3 / 6


async def test_split_judges_give_a_disputed_finding(tmp_path: Path) -> None:
    coverage, _ = await panel(tmp_path, Blind(1, 2), Blind(1, 3))

    details: Any = coverage.details
    assert [question["verdict"] for question in details["questions"]] == [
        "answered",
        DISPUTED,
        DISPUTED,
        *["unanswered"] * 3,
    ]
    assert [question["value"] for question in details["questions"]] == [1.0, 0.5, 0.5, 0.0, 0.0, 0.0]
    assert (coverage.score, details["by_kind"]["who"]["score"]) == (2 / 6, 2 / 6)
    # What both say comes before what one of them says.
    assert [(keeper_in(question.question), question.said_by) for question in coverage.findings] == [
        (4, (2, 2)),
        (5, (2, 2)),
        (6, (2, 2)),
        (2, (1, 2)),
        (3, (1, 2)),
    ]
    assert (coverage.judged, coverage.unjudged) == (6, 0)


@pytest.mark.slow
async def test_repeated_judge_samples_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    class Fickle(PerfectModel):
        """Overlooks as many keepers as it has been asked before."""

        def __init__(self) -> None:
            self.turn = 0

        def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
            self.turn += 1
            return Blind(*range(self.turn, 7)).answer_from_summary(sheet)

    harness = Harness(tmp_path, Fickle())
    with harness.served():
        result = await harness.evaluate(summary_of(1, 2, 3, 4, 5, 6), metrics=("coverage",), repeat=3)

    requests = Counter(sheet.prompt for sheet in harness.sheets if sheet.prompt != "compare_answers")
    assert requests == {"ask_document": 1, "answer_from_summary": 3}
    details: Any = result.evaluations["coverage"].details
    assert sorted(judge["score"] for judge in details["judges"]) == pytest.approx([4 / 6, 5 / 6, 1.0])
    assert details["spread"] == {
        "n": 3,
        "mean": pytest.approx(5 / 6),
        "sd": pytest.approx(1 / 6),
        "lowest": 4 / 6,
        "highest": 1.0,
    }
    assert len({judge["judge"] for judge in details["judges"]}) == 3


class Mute(PerfectModel):
    """Never says what a summary says."""

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        return "I would rather not."


async def test_failing_judge_leaves_the_others_to_decide(tmp_path: Path) -> None:
    coverage, _ = await panel(tmp_path, Blind(1, 2, 3), Mute())

    assert (coverage.score, coverage.judged, coverage.unjudged) == (3 / 6, 6, 0)
    assert "no JSON object" in str(coverage.details["trouble"])
