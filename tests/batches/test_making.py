"""Batches as an application makes them: in its own process or by others, stopped and gone on with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft import Document, DraftConfig, RedraftError, Session, UsageError
from redraft.batches.queue import Batches
from redraft.events import BatchProgress
from redraft.store.store import Store
from tests.chatserver import ChatServer, asked
from tests.judges import KEY
from tests.support import story

SHORT: dict[str, Any] = {"words": 60, "chunk_tokens": 192, "strategy": "hierarchical"}


class FirstWords:
    """A model of an application's own: nobody else knows it."""

    identity = "first-words:1"

    def __init__(self) -> None:
        self.requests = 0

    def most_tokens(self, sampling: redraft.prompts.Sampling) -> int:
        return 0

    async def ask(self, request: redraft.Request[Any, str]) -> redraft.Reply[str]:
        self.requests += 1
        text = " ".join(request.given.document.split()[: request.given.words]) + "."
        return redraft.Reply(text, text, redraft.Usage(len(request.text.split()), len(text.split())))


class SaysKeeper(redraft.Evaluator):
    """A metric of an application's own."""

    name = "says_keeper"
    aim = "content"

    async def evaluate(self, case: redraft.Case) -> redraft.Evaluation:
        return self.scored(1.0 if "keeper" in case.text else 0.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "in").mkdir()
    for n in range(4):
        (tmp_path / "in" / f"{n:03}.md").write_text(tale(n), "utf-8")
    return tmp_path


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def tale(number: int) -> str:
    return story(12).text.replace("The Keeper", f"The Keeper of light {number}").replace("keeper", f"keeper {number}")


def settings_at(server: ChatServer) -> DraftConfig:
    return DraftConfig(model="openai:m", base_url=server.base_url, context_tokens=1024)


@pytest.mark.slow
async def test_own_models_and_metrics_work_here(folder: Path, place: Path | str) -> None:
    model: Any = FirstWords()
    events: list[redraft.Event] = []
    memo = Document.from_text(tale(9), "A memo")
    sources: list[str | Path | Document] = [str(folder / "in"), memo, Document.from_text(" ", "Nothing")]
    asking: dict[str, Any] = {"strategy": "direct", "words": 20, "metrics": [SaysKeeper()], "folder": folder / "out"}
    async with Session(place, model=model, observer=events.append) as session:
        stored_id = await session.add(Document.from_text(tale(8), "Kept before"))
        first = await redraft.batch(session, [*sources, stored_id], **asking)
        answered = model.requests
        repeated = await redraft.batch(session, [*sources, stored_id], **asking)
        stored = await asyncio.to_thread(redraft.read_batch, session.store, first.name)
    assert (first.status, first.complete, len(first.items)) == ("done", False, 7)
    assert [item.state for item in first.items] == ["done"] * 5 + ["failed", "done"]
    done = {item.title: item for item in first.items if item.state == "done"}
    assert {"A memo", "Kept before"} <= done.keys()
    assert {item.scores["says_keeper"] for item in done.values()} == {1.0}
    assert all(item.summary and item.run and len(item.summary.split()) <= 21 for item in done.values())
    for empty in (first.items[5], repeated.items[5]):
        assert empty.error is not None
        assert empty.error["message"] == "the document is empty"
    assert (answered, model.requests) == (6, 6), "a document that is done is not asked about again"
    assert (repeated.name, repeated.items, stored.items) == (first.name, repeated.items, repeated.items)
    assert repr(first).startswith(f"BatchResult({first.name!r}, status='done', documents=7, done=6, failed=1, ")
    dumped = json.loads(json.dumps(first.model_dump(mode="json")))
    assert [row["state"] for row in dumped["documents"]] == [item.state for item in first.items]
    assert (dumped["items"]["done"], dumped["tables"][0]["name"]) == (6, "items")
    progress = [event for event in events if isinstance(event, BatchProgress)]
    assert {event.all for event in progress} == {7}
    assert (progress[-1].done, progress[-1].failed, progress[-1].status) == (6, 1, "done")
    assert any(isinstance(event, redraft.events.CallAnswered) for event in events)


@pytest.mark.slow
async def test_worker_processes_give_the_same(folder: Path, place: Path | str, server: ChatServer) -> None:
    events: list[redraft.Event] = []
    async with Session(place, settings=settings_at(server), observer=events.append) as session:
        result = await redraft.batch(session, [folder / "in"], workers=2, **SHORT)
        assert (result.status, result.complete, result.calls) == ("done", True, len(server.seen))
        assert len({asked(request) for request in server.seen}) == len(server.seen)
        repeated = await redraft.batch(session, [folder / "in"], **SHORT)
    assert repeated.items == tuple(replace(item, attempts=item.attempts) for item in result.items)
    assert result.calls == repeated.calls == len(server.seen)
    progress = [event for event in events if isinstance(event, BatchProgress)]
    assert (progress[-1].status, progress[-1].done, progress[-1].all) == ("done", 4, 4)
    assert [event.done for event in progress] == sorted(event.done for event in progress)


@pytest.mark.parametrize("workers", [None, 1])
@pytest.mark.slow
async def test_cancellation_returns_items_to_the_queue(folder: Path, place: Path | str, workers: int | None) -> None:
    with ChatServer(latency=lambda *_: 30.0) as server, Store(place) as store:
        async with Session(store, settings=settings_at(server)) as session:
            making = asyncio.create_task(redraft.batch(session, [folder / "in"], name="b", workers=workers, **SHORT))
            while len(server.seen) < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            assert Batches(store).counts("b").leased == 4
            making.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(making, 30)
            counts = Batches(store).counts("b")
            assert (counts.waiting, counts.leased) == (4, 0)
            assert Batches(store).get("b").status == "open"
            assert {item.deaths for item in Batches(store).items("b")} == {0}


@pytest.mark.parametrize(
    ("session_options", "options", "message"),
    [
        ({"model": FirstWords()}, {"workers": 2}, "first-words:1 is an object of this process"),
        ({"metrics": [SaysKeeper()]}, {"workers": 2}, "says_keeper is an object of this process"),
        ({"prices": redraft.price_table(None)}, {"workers": 2}, "a table of prices is an object"),
        ({}, {"workers": 0}, "there must be at least 1 worker"),
        ({}, {"goals": {"coverage": 0.5}, "review": True}, "a review works on one summary"),
        ({}, {"goals": {"coverage": 0.5}, "pack": "1f2e"}, "pack applies to one document only"),
        ({}, {"wordz": 5}, "there is no setting 'wordz'"),
        ({}, {"metrics": ["covrage"]}, "there is no metric 'covrage'"),
        ({}, {"goals": {"covrage": 0.5}}, "there is no metric 'covrage'"),
        ({}, {"sources": ["nowhere.md"]}, "no such file"),
        ({}, {"sources": []}, "no document was given"),
    ],
)
async def test_wrong_arguments_begin_no_batch(
    tmp_path: Path, session_options: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    async with Session(tmp_path / "a.db", **session_options) as session:
        asking = {"sources": [Document.from_text(tale(1), "One")], **options}
        with pytest.raises(RedraftError, match=message):
            await redraft.batch(session, **asking)
        assert Batches(session.store).all() == []
        with pytest.raises(redraft.errors.RunError, match="there is no batch 'gone'"):
            await redraft.resume_batch(session, "gone")


async def test_workers_need_a_database_on_disk() -> None:
    async with Session(":memory:") as session:
        memo = Document.from_text(tale(1), "One")
        with pytest.raises(UsageError, match="other workers cannot see a database in memory"):
            await redraft.batch(session, [memo], workers=2)
        assert (await redraft.batch(session, [memo], words=20)).complete
        with pytest.raises(UsageError, match="limits is of the type int"):
            await redraft.resume_batch(session, "b", limits=3)  # type: ignore[arg-type]
