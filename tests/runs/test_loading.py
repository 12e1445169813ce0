"""The provider's client is loaded side by side with preparing, where somebody is sure to be asked, and only there."""

from __future__ import annotations

import pytest

from redraft import JudgeConfig, RefineConfig
from redraft.runs import manager
from tests.judges import KEY, Court, island, told
from tests.runs.courts import Open


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that the client was loaded ahead: how many requests there had been by then."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return []


def watch(monkeypatch: pytest.MonkeyPatch, loaded: list[int], opened: Court) -> None:
    monkeypatch.setattr(manager, "load_openai", lambda: loaded.append(len(opened.sheets)))


@pytest.mark.slow
async def test_it_is_loaded_once_and_before_anybody_is_asked(
    court: Open, loaded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = court()
    watch(monkeypatch, loaded, opened)
    with opened.served():
        await opened.evaluate(told(1, 2))
        assert loaded == [0]
        assert opened.sheets
        await opened.evaluate(told(1, 2))
        await opened.evaluate(told(3))
        assert loaded == [0], "of a document that is known there may be all answers"
        await opened.evaluate(told(3), document=island(20))
    assert len(loaded) == 2


@pytest.mark.slow
async def test_it_is_not_loaded_for_models_of_other_kinds(
    court: Open, loaded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_over = court()
    watch(monkeypatch, loaded, handed_over)
    await handed_over.evaluate(told(1, 2))
    built_in = court()
    built_in.model = None
    await built_in.evaluate(told(1, 2))


@pytest.mark.slow
async def test_where_there_is_a_draft_the_judge_is_asked_and_not_the_writer(
    court: Open, loaded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = court()
    watch(monkeypatch, loaded, opened)
    with opened.served() as server:
        opened.model = None
        where = {"model": "openai:m", "base_url": server.base_url}
        goals = RefineConfig(goals={"consistency": 0.1}, allow_self_check=True)
        async with opened.session(judges=["extractive"]) as session:
            settings = opened.settings(where)
            await session.refine(opened.document, told(1, 2), settings=settings, refinement=goals)
        assert loaded == []
        async with opened.session(judges=["openai:judge"]) as session:
            judged = opened.settings({"model": "extractive", "base_url": None})
            judging = JudgeConfig(base_url=server.base_url, metrics=("consistency",))
            await session.evaluate(island(20), told(1, 2), settings=judged, judging=judging)
    assert loaded == [0]
