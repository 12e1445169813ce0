"""What a session is, besides its runs; and its budget over all of them, over real HTTP and several processes."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from typing_extensions import override

import redraft
from redraft import Budget, ChatModel, Limits, ModelSettings, Price, RedraftError, Session
from redraft.errors import BudgetError, Raise, UsageError, stored_advice
from tests.chatserver import ChatServer
from tests.judges import island
from tests.support import story

PRICE = Price(prompt=100, completion=200)
OPTIONS: dict[str, Any] = {"strategy": "direct", "words": 40, "context_tokens": 16_000}


def model_at(server: ChatServer) -> ModelSettings:
    return ModelSettings(model="openai:m", base_url=server.base_url, key_env="", price=PRICE)


async def summarized(session: Session, count: int) -> list[Any]:
    runs = (session.summarize(story(40 + number), **OPTIONS) for number in range(count))
    return await asyncio.gather(*runs, return_exceptions=True)


async def test_concurrent_runs_share_the_calls(tmp_path: Path) -> None:
    with ChatServer(latency=lambda *_: 0.05) as server:
        async with Session(tmp_path / "budget.db", model=model_at(server), budget=Budget(max_calls=3)) as session:
            outcomes = await summarized(session, 6)
    refused = [outcome for outcome in outcomes if isinstance(outcome, BudgetError)]
    assert len(server.seen) == 3
    assert len(refused) == 3
    assert str(refused[0]).startswith("the limit of 3 calls is used up")
    assert "a session with a larger budget, such as Budget(max_calls=6)" in refused[0].hint


async def test_concurrent_runs_share_the_cost(tmp_path: Path) -> None:
    with ChatServer(latency=lambda *_: 0.05) as server:
        async with Session(tmp_path / "budget.db", model=model_at(server), budget=Budget(max_cost=0.6)) as session:
            outcomes = await summarized(session, 8)
            spent = sum(session.store.calls.totals(run.id).cost_usd or 0 for run in session.store.runs.latest(9))
    refused = [outcome for outcome in outcomes if isinstance(outcome, BudgetError)]
    assert 0 < len(refused) < 8
    assert 0.2 < spent <= 0.6


async def test_judged_draft_is_kept_when_the_budget_ends(tmp_path: Path) -> None:
    with ChatServer() as server:
        async with Session(tmp_path / "budget.db", model=model_at(server), budget=Budget(max_calls=1)) as session:
            drafted = await session.summarize(story(40), metrics=["coverage"], **OPTIONS)
            assert (drafted.status, bool(drafted.summary)) == ("stopped", True)
            assert "coverage" not in drafted.scores
            with pytest.raises(BudgetError):
                await session.evaluate(story(40), "It was cold.", metrics=["coverage"], context_tokens=16_000)


async def test_runs_keep_limits_of_their_own(tmp_path: Path) -> None:
    with ChatServer() as server:
        terms: dict[str, Any] = {"limits": Limits(max_calls=1), "budget": Budget(max_calls=9)}
        async with Session(tmp_path / "budget.db", model=model_at(server), **terms) as session:
            assert (await session.summarize(story(40), **OPTIONS)).complete
            stopped = await session.summarize(story(200), strategy="hierarchical", chunk_tokens=256, words=40)
    assert (stopped.status, len(server.seen)) == ("stopped", 2)
    assert stopped.run.error is not None
    assert stopped.run.error["message"] == "the limit of 1 call is used up"
    assert stored_advice(stopped.run.error)[-1] == Raise("max_calls", 2, 1)


async def test_chapters_are_within_the_budget(tmp_path: Path) -> None:
    text = "\n\n".join(f"# Chapter {number}\n\n{story(30 + number).text}" for number in range(1, 6))
    (tmp_path / "book.md").write_text(text, "utf-8")
    with ChatServer() as server:
        async with Session(tmp_path / "budget.db", model=model_at(server), budget=Budget(max_calls=2)) as session:
            result = await session.summarize(tmp_path / "book.md", by_chapter=True, words=200, context_tokens=16_000)
    assert (result.status, len(server.seen)) == ("stopped", 2)


async def test_larger_budget_resumes_the_run(tmp_path: Path) -> None:
    with ChatServer() as server:
        path, model = tmp_path / "budget.db", model_at(server)
        async with Session(path, model=model, budget=Budget(max_calls=1, name="today")) as session:
            await session.summarize(story(40), **OPTIONS)
            with pytest.raises(BudgetError):
                await session.summarize(story(50), **OPTIONS)
            (run, _) = session.store.runs.latest(2)
        async with Session(path, model=model, budget=Budget(max_calls=2, name="today")) as session:
            assert (await session.resume(run.id)).complete
    assert len(server.seen) == 2


_PROCESS = """
import sys, redraft
from tests.support import story

address, first = sys.argv[1], int(sys.argv[2])
model = redraft.ModelSettings(model="openai:m", base_url=address, key_env="")
with redraft.SyncSession("budget.db", model=model, budget=redraft.Budget(max_calls=5, name="nightly")) as session:
    for number in range(first, first + 4):
        try:
            session.summarize(story(number), strategy="direct", words=40, context_tokens=16_000)
        except redraft.errors.BudgetError as error:
            print(error)
"""


@pytest.mark.slow
def test_processes_share_a_named_budget(tmp_path: Path) -> None:
    redraft.Store(tmp_path / "budget.db").close()
    with ChatServer(latency=lambda *_: 0.05) as server:
        lines = [[sys.executable, "-c", _PROCESS, server.base_url, str(first)] for first in (40, 60)]
        processes = [subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for line in lines]
        printed = "".join(process.communicate(timeout=120)[0] for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert len(server.seen) == 5
    assert printed.count("the limit of 5 calls is used up") == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_cost": -1}, "max_cost: must be more than 0"),
        ({"max_calls": 0}, "max_calls: must be at least 1"),
        ({"name": " "}, "the name of a budget is no text"),
    ],
)
def test_wrong_budget_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Budget(**values)


async def test_budget_in_dollars_needs_a_price(tmp_path: Path) -> None:
    with ChatServer() as server:
        model = ModelSettings(model="openai:m", base_url=server.base_url, key_env="")
        async with Session(tmp_path / "budget.db", model=model, budget=Budget(max_cost=1)) as session:
            with pytest.raises(UsageError, match="the price of openai:m is unknown"):
                await session.summarize(story(40), **OPTIONS)
    assert server.seen == []


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
