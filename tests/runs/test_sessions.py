"""What a session is, besides its runs: closed once, its runs listed, reviewed by functions, and told to callbacks."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from typing_extensions import override

import redraft
from redraft import ChatModel, RedraftError, Session, UsageError
from tests.judges import island

TEXT = "The board met at seven. " * 3 + "It was cold, and nothing was agreed on."
MINUTES = redraft.Document.from_text(TEXT, "Minutes")
FERRY = redraft.Document.from_text(
    "The ferry sank in March off the island of Sarn. The mill burned down in May. Nobody saw it. " * 6, "The Ferry"
)
WRONG = "The board met at eight."


async def test_closed_session_says_so(tmp_path: Path) -> None:
    session = Session(tmp_path / "redraft.db")
    events = session.stream(MINUTES, words=12)
    await anext(events)
    await session.aclose()
    with pytest.raises(redraft.errors.StoreError) as of_events:
        async for _ in events:
            pass
    assert "the session was closed" in of_events.value.hint
    calls = (
        session.result("3fa2c1d0"),
        session.runs(),
        session.add(MINUTES),
        session.summarize(MINUTES, words=12),
        session.fork("3fa2c1d0", 0),
        session.ask(MINUTES, "Who met?", follow="3fa2c1d0"),
        session.question("3fa2c1d0"),
        session.checkpointer(),
    )
    for call in calls:
        with pytest.raises(UsageError, match=r"the session on .*redraft\.db is closed") as raised:
            await call
        assert f"`async with redraft.Session({str(tmp_path / 'redraft.db')!r}) as session`" in raised.value.hint
    await session.aclose()


async def test_runs_are_listed(tmp_path: Path) -> None:
    async with Session(tmp_path / "redraft.db") as session:
        drafted = await session.summarize(MINUTES, words=12)
        judged = await session.evaluate(FERRY, "The ferry sank in March.", metrics=["consistency"])
        assert [run.run for run in await session.runs()] == [judged.run.id, drafted.run.id]
        assert [run.run for run in await session.runs(1)] == [judged.run.id]
        (listed,) = await session.runs(status="done", document="minutes", model="extractive")
        assert (listed.run, listed.kind, listed.title) == (drafted.run.id, "summarize", "Minutes")
        assert await session.runs(kind="refine") == []
        with pytest.raises(UsageError, match="is not a status of runs"):
            await session.runs(status="finished")
        with pytest.raises(UsageError, match="0 runs cannot be listed"):
            await session.runs(0)


@pytest.mark.filterwarnings("error")
async def test_unread_stream_begins_no_run() -> None:
    async with Session(":memory:") as session:
        async with aclosing(session.stream(MINUTES)):
            pass
        gc.collect()
        assert session.store.runs.latest(1) == []


async def test_reviewer_is_not_asked_forever() -> None:
    problems: list[str] = []

    def nonsense(question: redraft.ReviewQuestion) -> dict[str, Any]:
        problems.append(question["problem"])
        return {"drop": [99]}

    options: dict[str, Any] = {"goals": {"consistency": 0.95}, "review": True}
    async with Session(":memory:", reviewer=nonsense) as session:  # type: ignore[arg-type]
        result = await asyncio.wait_for(session.refine(MINUTES, f"{WRONG} It was cold.", **options), 20)
        waiting = await session.question(result.run.id)
    assert result.run.status == "waiting"
    assert waiting is not None
    assert "there is no finding '99'" in waiting["problem"]
    assert len(problems) == 3


def test_traces_need_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY", "LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("langsmith.run_trees._CLIENT", None)
    with pytest.raises(UsageError, match="tracing to LangSmith needs a key"):
        Session(":memory:", trace_to_langsmith=True)


class Heard(BaseCallbackHandler):
    """Keeps the tags and metadata of each request to a chat model."""

    def __init__(self) -> None:
        self.asked: list[tuple[set[str], dict[str, Any]]] = []

    @override
    def on_chat_model_start(self, *args: Any, **details: Any) -> None:
        self.asked.append((set(details["tags"] or ()), details["metadata"] or {}))


def session(folder: Path, **config: Any) -> Session:
    chat = FakeListChatModel(responses=["The keeper number 1 is called Tom1 and lives at station 7 by the cold sea."])
    return Session(folder / "x.db", model=ChatModel(chat), **config)


async def test_callbacks_of_session_and_call_are_merged(tmp_path: Path) -> None:
    heard, mine = Heard(), Heard()
    async with session(tmp_path, callbacks=[heard], tags=["all"], metadata={"team": "a", "job": 1}) as opened:
        result = await opened.summarize(
            island(3), words=30, strategy="direct", callbacks=[mine], tags=["one"], metadata={"job": 2}
        )
        ((tags, metadata),) = mine.asked
        assert heard.asked == mine.asked
        assert {"all", "one"} <= tags
        assert (metadata["team"], metadata["job"]) == ("a", 2)
        assert "callbacks" not in result.run.settings.model_dump()
        await opened.summarize(island(4), words=30, strategy="direct")
    assert len(mine.asked) == 1, "those of a call are for that call"
    assert len(heard.asked) == 2
    assert "one" not in heard.asked[1][0]


CALLS: dict[str, Callable[[Session, Heard], Coroutine[Any, Any, object]]] = {
    "ask": lambda opened, heard: opened.ask(island(3), "Who is number 1?", callbacks=[heard]),
    "build": lambda opened, heard: opened.build(island(3), callbacks=[heard]),
    "compare": lambda opened, heard: opened.compare(island(3), "It is Tom1.", "It is Tom2.", callbacks=[heard]),
    "evaluate": lambda opened, heard: opened.evaluate(island(3), "It is Tom1.", callbacks=[heard]),
}


@pytest.mark.parametrize("call", CALLS)
async def test_every_call_takes_callbacks(tmp_path: Path, call: str) -> None:
    heard = Heard()
    async with session(tmp_path) as opened:
        with suppress(RedraftError):  # The model always says the same.
            await CALLS[call](opened, heard)
    assert heard.asked
