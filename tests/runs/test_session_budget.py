"""A budget over all runs of a session, over real HTTP: concurrent runs, processes, and limits of single runs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft import Budget, Limits, ModelSettings, Price, Session
from redraft.errors import BudgetError, Raise, UsageError, stored_advice
from tests.chatserver import ChatServer
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
