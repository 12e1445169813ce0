"""Whole runs: in which form they ask, what they are named by, and that they are stored whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import Document, Limits, Session, Store
from redraft.errors import BudgetError, StoreError
from redraft.runs.session import runner_of
from redraft.store.runs import Runs
from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand
from tests.judges import Harness, summary_of
from tests.llm.test_modes import mode_of
from tests.store.support import dump

pytestmark = pytest.mark.usefixtures("api_key")


async def test_run_keeps_its_reply_form(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    with harness.served() as server:
        with pytest.raises(BudgetError):
            await harness.evaluate(summary_of(1, 2), settings={"replies": "plain"}, limits=Limits(max_calls=1))
        run = harness.store.runs.latest(1)[0]
        assert run.settings.replies == "plain"
        await harness.resume(run.id, limits=Limits())
    assert len(server.seen) > 2
    assert {mode_of(request.body) for request in server.seen} == {"plain"}
    harness.store.close()


STORY = "# Light\n\nInes kept the light on the cape for years.\n\n## End\n\nOne night it went out and a ship sank.\n"


@pytest.mark.parametrize("name", ["link.md", "./book.md", "ABSOLUTE", "copy.md", "windows.md", "marked.md", "wide.md"])
def test_renamed_file_asks_nothing_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "book.md").write_text(STORY)
    (tmp_path / "link.md").symlink_to("book.md")
    (tmp_path / "copy.md").write_text(STORY)
    (tmp_path / "windows.md").write_bytes(STORY.replace("\n", "\r\n").encode())
    (tmp_path / "marked.md").write_bytes(STORY.encode("utf-8-sig"))
    (tmp_path / "wide.md").write_bytes(STORY.encode("utf-16"))
    with ChatServer() as server:
        command = LocalCommand(tmp_path, server.base_url, REDRAFT_MODEL="openai:m")
        first = command.run("summarize", "book.md", "--json").json
        count = len(server.seen)
        repeated = command.run("summarize", str(tmp_path / "book.md") if name == "ABSOLUTE" else name, "--json").json
        assert count == len(server.seen) > 0
    assert repeated["identity"] == first["identity"]
    assert repeated["source"] == first["source"]
    assert repeated["summary"] == first["summary"]


WORDS = "The keeper lit the lamp at dusk. The boat came in before the storm. "
TEXT = Document.from_text(WORDS * 4, title="The Lamp")
NO_ROOM = StoreError("database or disk is full")


async def test_run_and_given_summary_are_stored_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_session_closes_a_broken_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise NO_ROOM

    session = Session(tmp_path / "redraft.db")
    runner = runner_of(session)
    run = await runner.begin({"source": await session.add(TEXT), "strategy": "direct", "words": 10}, "summarize")
    await session.checkpointer()
    async with runner.at_work(run):
        with monkeypatch.context() as patch:
            patch.setattr(Runs, "set_status", full)
            with pytest.raises(StoreError, match="full"):
                await session.aclose()
    assert runner._saver is None, "its thread would keep the process from ending"
    with Store(tmp_path / "redraft.db") as store, store.claim(run):
        pass
