"""The forecast bounds what judging comes to, stage by stage, also where a document does not fit the window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redraft.runs.forecast import Forecast, forecast
from redraft.runs.prepare import RunSpec, prepare
from redraft.settings import BuildKeyfacts, BuildQuestions, DraftConfig, Evaluate, JudgeConfig, Purpose
from tests.judges import Court, Keepers, Said, Sheet, island, keepers_in, told, tree_of

PROMPTS = {
    "asking about the document": ("ask_document", "rank_questions"),
    "coverage": ("answer_from_summary", "compare_answers"),
    "consistency": ("ask_summary", "answer_from_document"),
    "finding key facts": ("keyfacts_analytical", "keyfacts_narrative"),
    "validating key facts": ("facts_faithful", "facts_objective", "facts_significant"),
    "asking what the trees answer": ("query_analytical", "query_narrative"),
    "keyfact_recall": ("align_facts",),
    "faithfulness": ("verify_sentences",),
}
METRICS = ("coverage", "consistency", "keyfact_recall", "faithfulness")
# Keepers that the document does not know of, for whom all of it must be searched.
SUMMARY = told(*range(1, 25), wrong={n: f"Bob{n}" for n in range(500, 520)})


class Brief(Keepers):
    """Keeps to the room that there is for a tree."""

    def keyfacts_analytical(self, sheet: Sheet) -> Said:
        return tree_of(list(keepers_in(sheet.within("excerpt")).items())[: sheet.wanted // 40])

    keyfacts_narrative = keyfacts_analytical


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    made = Court(tmp_path, Brief(), document=island(300))
    yield made
    made.store.close()


def narrow(court: Court, **settings: Any) -> DraftConfig:
    """A window that the document does not fit."""
    return court.settings({"context_tokens": 2000, "strategy": "given", **settings})


def forecast_of(court: Court, settings: DraftConfig, **judging: Any) -> Forecast:
    return foreseen(court, settings, Evaluate(judging=JudgeConfig(**judging)))


def foreseen(court: Court, settings: DraftConfig, purpose: Purpose) -> Forecast:
    prepared = prepare(court.document, settings, court.model, SUMMARY)
    return forecast(prepared, RunSpec(purpose, given=SUMMARY))


@pytest.mark.slow
def test_what_rests_on_facts_or_sentences_that_nobody_knows_is_told_as_about_so_much(court: Court) -> None:
    settings = narrow(court)
    given = forecast_of(court, settings, metrics=METRICS)
    assert [stage.name for stage in given.stages if stage.about] == ["validating key facts", "keyfact_recall"]
    assert not forecast_of(court, settings, metrics=("coverage", "consistency", "faithfulness", "booookscore")).about
    drafted = prepare(court.document, court.settings({"strategy": "incremental"}), court.model)
    ahead = forecast(
        drafted, RunSpec(Evaluate(judging=JudgeConfig(metrics=("coverage", "consistency", "faithfulness"))))
    )
    assert [stage.name for stage in ahead.stages if stage.about] == ["consistency", "faithfulness"]


@pytest.mark.nightly
async def test_no_stage_takes_more_than_was_foreseen(court: Court) -> None:
    settings = narrow(court)
    most = forecast_of(court, settings, metrics=METRICS)
    await court.evaluate(SUMMARY, settings=settings.model_dump(), metrics=METRICS)

    stages = {stage.name: stage for stage in most.stages}
    assert list(stages) == list(PROMPTS)
    for name, prompts in PROMPTS.items():
        asked = court.asked(*prompts)
        assert 0 < len(asked) <= stages[name].calls, name
        assert sum(sheet.wanted for sheet in asked) <= stages[name].completion_tokens + 60 * len(asked), name


@pytest.mark.nightly
async def test_aligning_the_facts_for_faithfulness_alone_is_foreseen_too(court: Court) -> None:
    settings = narrow(court)
    await court.evaluate(SUMMARY, settings=settings.model_dump(), metrics=("keyfact_recall",))
    facts = court.store.keyfacts.latest(court.document.id)
    assert facts is not None
    key = facts.id
    other = told(*range(1, 30))
    most = forecast(
        prepare(court.document, settings, court.model, other),
        RunSpec(Evaluate(judging=JudgeConfig(metrics=("faithfulness",), keyfacts=key)), given=other),
    )
    court.forget()
    await court.evaluate(other, settings=settings.model_dump(), metrics=("faithfulness",), keyfacts=key)

    assert [stage.name for stage in most.stages] == ["faithfulness", "aligning key facts"]
    for stage, prompt in zip(most.stages, ("verify_sentences", "align_facts"), strict=True):
        asked = court.asked(prompt)
        assert 0 < len(asked) <= stage.calls, stage.name
        assert sum(sheet.wanted for sheet in asked) <= stage.completion_tokens + 60 * len(asked), stage.name


def test_a_query_is_held_against_one_tree_and_its_chunk(court: Court) -> None:
    whole = forecast_of(court, narrow(court), metrics=METRICS[2:])
    answer = forecast_of(court, narrow(court, query="Who?"), metrics=METRICS[2:])
    calls = {
        name: [stage.calls for one in (answer, whole) for stage in one.stages if stage.name == name] for name in PROMPTS
    }
    assert calls["finding key facts"][0] == calls["finding key facts"][1]
    assert calls["keyfact_recall"][0] * 10 <= calls["keyfact_recall"][1]
    assert calls["faithfulness"][0] < calls["faithfulness"][1]


def test_who_does_what_is_told(court: Court) -> None:
    built = foreseen(court, court.settings(), BuildKeyfacts(judging=JudgeConfig()))
    assert {stage.name: stage.by for stage in built.stages} == {
        "finding key facts": "judge",
        "validating key facts": "validator",
        "asking what the trees answer": "judge",
    }
    asked = foreseen(court, court.settings(), BuildQuestions(judging=JudgeConfig()))
    assert [stage.name for stage in asked.stages] == ["asking about the document"]
