"""A metric that fails takes no other down with it, also where what it needs cannot be built."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.domain import Usage
from redraft.errors import RefusedReply
from redraft.evaluators.reference.keyfact_builder import KeyFactBuilder
from tests.judges import Harness, PerfectModel, ScriptedReply, Sheet, summary_of

POOR = summary_of(1, wrong={2: "Bob"})
ALL = ("keyfact_recall", "coverage", "consistency")
NO_FACTS = "The Keepers: no key fact could be built: no analytical key facts of chunk 1/1: Not that."


class Mute(PerfectModel):
    """Will say nothing about some things."""

    def __init__(self, *silent: str, saying: ScriptedReply | None = None) -> None:
        self.silent = silent
        self.saying = saying or RefusedReply("Not that.", text="", usage=Usage())

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        return self.saying if sheet.prompt.startswith(self.silent) else super().__call__(sheet)


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, Mute("keyfacts"))


@pytest.mark.slow
async def test_missing_key_facts_fail_recall_alone(harness: Harness) -> None:
    result = await harness.evaluate(POOR, metrics=ALL)
    scored = {name: evaluation.outcome for name, evaluation in result.evaluations.items()}
    assert scored == dict.fromkeys(ALL, "scored") | {"keyfact_recall": "failed", "statistics": "measured"}
    assert result.evaluations["keyfact_recall"].reason == NO_FACTS
    assert (result.status, result.complete, result.scores["keyfact_recall"]) == ("incomplete", False, None)

    harness.script = PerfectModel()
    harness.clear_sheets()
    mended = await harness.resume(result.run.id)
    assert mended.complete
    assert mended.evaluations["coverage"] == result.evaluations["coverage"]
    assert not harness.asked("ask_document", "answer_from_summary", "ask_summary", "answer_from_document")


async def test_exception_while_building_fails_dependent_metrics(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(builder: KeyFactBuilder) -> None:
        raise ZeroDivisionError("bad arithmetic")

    monkeypatch.setattr(KeyFactBuilder, "build", broken)
    evaluations = (await harness.evaluate(POOR, metrics=(*ALL, "faithfulness"))).evaluations

    assert [evaluations[name].outcome for name in (*ALL, "faithfulness")] == ["failed", "scored", "scored", "scored"]
    assert evaluations["keyfact_recall"].reason == "ZeroDivisionError: bad arithmetic"
