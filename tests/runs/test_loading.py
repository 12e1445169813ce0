"""The provider's client is loaded side by side with preparing, where somebody is sure to be asked, and only there."""

from __future__ import annotations

import pytest

from redraft.runs import loading
from tests.judges import KEY, Court, island, told
from tests.runs.courts import Open


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that the client was loaded ahead: how many requests there had been by then."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return []


def watch(monkeypatch: pytest.MonkeyPatch, loaded: list[int], opened: Court) -> None:
    monkeypatch.setattr(loading, "load_openai", lambda: loaded.append(len(opened.sheets)))


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


async def test_it_is_not_loaded_for_models_of_other_kinds(
    court: Open, loaded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_over = court()
    watch(monkeypatch, loaded, handed_over)
    await handed_over.evaluate(told(1, 2))
    built_in = court()
    built_in.model = None
    await built_in.evaluate(told(1, 2))
    with court().served() as server:
        # A writer that is never asked.
        judged_by_itself = court()
        judged_by_itself.model = None
        writer = {"model": "openai:m", "base_url": server.base_url}
        await judged_by_itself.evaluate(told(1, 2), settings=writer, judges=["extractive"], metrics=["consistency"])
    assert loaded == []
