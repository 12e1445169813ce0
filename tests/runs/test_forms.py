"""Whole runs: in which form they ask, what they are named by, endless thoughts, and stored whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import Document, DraftConfig, Limits, Session, Store
from redraft.errors import BudgetError, IncompleteError, RunError, StoreError
from redraft.llm.reasoning_budget import MAX_ROOM
from redraft.runs.session import runner_of
from redraft.store.runs import Runs
from tests.chatserver import Answer, ChatRequest, ChatServer
from tests.cli.local_command import LocalCommand
from tests.command import Command
from tests.judges import KEY, Harness, summary_of
from tests.llm.test_modes import mode_of
from tests.store.support import dump
from tests.support import story


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


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


@pytest.mark.slow
@pytest.mark.parametrize("form", [pytest.param("tools", marks=pytest.mark.nightly), "plain"])
def test_command_line_sets_the_reply_form(tmp_path: Path, form: str) -> None:
    harness = Harness(tmp_path / "harness")
    (tmp_path / "book.md").write_text(harness.document.text, "utf-8")
    (tmp_path / "summary.md").write_text(summary_of(1, 2), "utf-8")
    with harness.served() as server:
        command = Command(tmp_path, server.base_url)
        done = command.run(
            "evaluate", "book.md", "summary.md", "--model", "openai:m", "--set", f"replies={form}", "--json"
        )
    assert done.code == 0, done.err
    assert {mode_of(request.body) for request in server.seen} == {form}
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


async def test_endless_reasoning_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def musing(request: ChatRequest) -> Answer:
        limit = request.body["max_completion_tokens"]
        usage = {"prompt_tokens": 9, "completion_tokens": limit, "total_tokens": 9 + limit}
        return Answer("", finish_reason="length", usage=usage)

    with ChatServer(musing) as server, Store(tmp_path / "redraft.db") as store:
        settings = DraftConfig(
            model="openai:m",
            base_url=server.base_url,
            chunk_tokens=128,
            context_tokens=1024,
            words=60,
            strategy="hierarchical",
        )
        async with Session(store, settings=settings) as session:
            with pytest.raises(IncompleteError, match=f"{MAX_ROOM:,} tokens were not enough") as caught:
                await session.summarize(story(12))
        capabilities = store.capabilities.known(f"openai:m@{server.base_url}")
    assert "`reasoning_tokens`" in caught.value.hint
    # Each chunk takes a few requests until the room is as large as it may be, and no further tries with fewer words.
    assert len(server.seen) <= 8 * 3
    assert (capabilities.reasoning_tokens or 0) >= MAX_ROOM


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


async def test_run_without_its_summary_is_named(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        async with Session(store) as session:
            done = await session.evaluate(TEXT, "The keeper lit the lamp.")
            store.runs.set_status(done.run.id, "failed")
            with store.connection.writing() as raw:
                raw.execute("UPDATE drafts SET body = json_set(body, '$.node', 'another')")
            await (await session.checkpointer()).adelete_thread(f"run-{done.run.id}")
            with pytest.raises(RunError, match="was never stored"):
                await session.resume(done.run.id)


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
