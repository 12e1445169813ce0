"""A run is stored whole or not at all, and a workshop closes whatever it has open, also when the disk is full."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import Document, Session, Store
from redraft.errors import RunError, StoreError
from redraft.store.runs import Runs
from tests.store.support import dump

WORDS = "The keeper lit the lamp at dusk. The boat came in before the storm. "
TEXT = Document.from_text(WORDS * 4, title="The Lamp")
NO_ROOM = StoreError("database or disk is full")


async def test_a_run_is_stored_with_its_summary_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise NO_ROOM

    async with Session(tmp_path / "redraft.db") as session:
        with monkeypatch.context() as patch:
            patch.setattr(Runs, "keep_draft", full)
            with pytest.raises(StoreError, match="full"):
                await session.evaluate(TEXT, "The keeper lit the lamp.")
        rows = dump(tmp_path / "redraft.db")
        assert (rows["runs"], rows["drafts"], rows["documents"]) == ([], [], [])
        assert (await session.evaluate(TEXT, "The keeper lit the lamp.")).status == "done"


async def test_a_run_that_was_stored_without_its_summary_is_told_in_a_sentence(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        async with Session(store) as session:
            done = await session.evaluate(TEXT, "The keeper lit the lamp.")
            store.runs.set_status(done.run.id, "failed")
            with store._connection.writing() as raw:
                raw.execute("UPDATE drafts SET node = 'another'")
            await (await session.checkpointer()).adelete_thread(f"run-{done.run.id}")
            with pytest.raises(RunError, match="was never stored"):
                await session.resume(done.run.id)


async def test_what_is_open_is_closed_though_nothing_can_be_put_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise NO_ROOM

    session = Session(tmp_path / "redraft.db")
    run = await session.begin({"source": await session.add(TEXT), "strategy": "direct", "words": 10}, "summarize")
    await session.checkpointer()
    async with session.at_work(run):
        with monkeypatch.context() as patch:
            patch.setattr(Runs, "set_status", full)
            with pytest.raises(StoreError, match="full"):
                await session.aclose()
    assert not session._driver.savers, "its thread would keep the process from ending"
    with Store(tmp_path / "redraft.db") as store, store.claim(run):
        pass
