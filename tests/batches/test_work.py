"""Workers on a batch: what becomes of each document, and what stops them all."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from redraft.batches.engine import Engine, WorkerPool, WorkerProcess
from redraft.batches.queue import Batch, Batches
from redraft.batches.request import BatchRequest, budget_key_of
from redraft.batches.sources import add_items, items_of
from redraft.batches.tables import read_snapshot
from redraft.batches.worker import BatchWorker, WorkerTerms
from redraft.domain import record_json
from redraft.llm.budget import PriceTable
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import DraftConfig, Limits
from redraft.store.store import Store
from tests.chatserver import ChatRequest, ChatServer, Fault, Reply, asked, summarizer
from tests.judges import KEY
from tests.plugged import package
from tests.support import story

LOCAL = Engine(WorkerProcess, 2)


def pids_of(worker_pool: WorkerPool) -> list[int]:
    return [pid for worker in worker_pool.running if (pid := worker.pid)]


pytestmark = pytest.mark.slow

in_a_file = pytest.mark.parametrize("place", ["file"], indirect=True)
_PRICES = '[prices]\n"m" = { prompt = 100.0, completion = 100.0 }\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "prices.toml").write_text(_PRICES, "utf-8")
    return tmp_path


@pytest.fixture
def store(folder: Path, place: Path | str) -> Iterator[Store]:
    with Store(place) as opened_store:
        yield opened_store


def documents(folder: Path, count: int, sentences: int = 12) -> None:
    for n in range(count):
        text = story(sentences).text.replace("The Keeper", f"The Keeper of light {n}")
        (folder / "in" / f"{n:03}.md").write_text(text.replace("keeper", f"keeper {n}"), "utf-8")


def opened(store: Store, folder: Path, url: str = "", **limits: object) -> Limits:
    """A batch of all there is in the folder; a document of 12 sentences takes two calls."""
    model = {"model": "openai:m", "base_url": url, "context_tokens": 1024} if url else {}
    settings = DraftConfig.model_validate({"words": 60, "chunk_tokens": 192, "strategy": "hierarchical", **model})
    bounds = Limits.model_validate({"concurrency": 4, **limits})
    batch = Batch("b", record_json(BatchRequest(settings)), bounds.model_dump(mode="json"), str(folder / "out"))
    Batches(store).open(batch)
    add_items(store, "b", [str(folder / "in")])
    return bounds


def worked(store: Store, limits: Limits, prices: PriceTable | None = None, name: str = "w") -> None:
    asyncio.run(BatchWorker(ExperimentRunner(store, limits, prices), "b", name, lease_seconds=5.0).work())


def states(store: Store) -> Counter[str]:
    return Counter(item.state for item in Batches(store).items("b"))


async def _until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def test_documents_become_files_and_failures_errors(store: Store, folder: Path) -> None:
    documents(folder, 3)
    (folder / "in" / "empty.txt").write_text("", "utf-8")
    lines = [{"id": "a/../b", "text": story(12).text}, {"path": "in/000.md"}, {"id": "gone", "path": "gone.md"}]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, [*lines, {"id": "void", "text": " "}])), "utf-8")
    limits = opened(store, folder)
    assert add_items(store, "b", [str(folder / "corpus.jsonl")]) == 3, "one of the paths is known"
    worked(store, limits)
    rows = {Path(row.source).name: row for row in items_of(store, "b")}
    assert states(store) == {"done": 4, "failed": 3}
    assert {name: row.error["message"] for name, row in rows.items() if row.error} == {
        "empty.txt": "empty.txt: the document is empty",
        "gone.md": f"{folder / 'gone.md'}: no such file",
        "corpus.jsonl#void": "the document is empty",
    }
    assert {path.name for path in (folder / "out").iterdir()} == {"000.md", "001.md", "002.md", "a-..-b.md"}
    for row in rows.values():
        if row.state == "done":
            assert (folder / "out" / str(row.file)).read_text("utf-8") == f"{row.summary}\n"
            assert store.runs.get(str(row.run)).status == "done"


def test_a_used_up_budget_stops_the_batch(store: Store, folder: Path) -> None:
    documents(folder, 4)
    with ChatServer() as server:
        worked(store, opened(store, folder, server.base_url, max_calls=5))
        assert len(server.seen) == 5
        stopped = read_snapshot(store, "b")
        assert (stopped.status, stopped.calls) == ("stopped", 5)
        assert stopped.error is not None
        assert "the limit of 5 calls is used up" in stopped.error["message"]
        assert states(store)["failed"] == 0
        worked(store, opened(store, folder, server.base_url, max_calls=100))
        assert states(store) == {"done": 4}
        assert len({asked(request) for request in server.seen}) == len(server.seen)


def test_a_refused_key_fails_no_document(store: Store, folder: Path) -> None:
    documents(folder, 3)
    with ChatServer(lambda request: Fault("status", status=401, message="no such key")) as server:
        worked(store, opened(store, folder, server.base_url))
        assert len(server.seen) <= 6, "each document that was begun has asked about its two chunks"
    snapshot = read_snapshot(store, "b")
    assert (snapshot.status, snapshot.counts.waiting) == ("stopped", 3)
    assert snapshot.error is not None
    assert snapshot.error["code"] == "key"


async def test_a_pause_finishes_items_cancellation_stops(store: Store, folder: Path) -> None:
    documents(folder, 6)
    release = asyncio.Event()
    loop = asyncio.get_running_loop()
    write = summarizer()

    async def script(request: ChatRequest) -> Reply:
        await _until(release.is_set)
        return write(request)

    with ChatServer(script) as server:
        limits = opened(store, folder, server.base_url, concurrency=2)
        working = loop.create_task(BatchWorker(ExperimentRunner(store, limits), "b", "w", lease_seconds=1.0).work())
        await _until(lambda: len(server.seen) >= 2)
        Batches(store).set_status("b", "paused")
        release.set()
        await working
        assert states(store) == {"done": 2, "waiting": 4}
        release.clear()
        opened(store, folder, server.base_url, concurrency=2)
        working = loop.create_task(BatchWorker(ExperimentRunner(store, limits), "b", "w", lease_seconds=1.0).work())
        await _until(lambda: server.in_flight >= 2)
        Batches(store).set_status("b", "cancelled")
        await asyncio.wait_for(working, 10)
        assert states(store) == {"done": 2, "waiting": 4}
        release.set()
    assert {item.deaths for item in Batches(store).items("b")} == {0}


def _ledger(store: Store) -> list[Any]:
    return store.connection.rows("SELECT * FROM calls")


@pytest.mark.nightly
def test_killed_workers_pay_nothing_twice(store: Store, folder: Path) -> None:
    documents(folder, 7)
    chance, write = random.Random(5), summarizer()

    def script(request: ChatRequest) -> Reply:
        drawn = chance.random()
        kinds = ("drop", "drop_midway", "malformed", "no_choices")
        if drawn < 0.1:
            return Fault(kinds[int(drawn * 40)])
        return Fault("status", status=503) if drawn < 0.15 else write(request)

    kills = 0
    with ChatServer(script, latency=lambda *_: 0.2) as server:
        opened(store, folder, server.base_url, max_cost=50.0)
        terms = WorkerTerms(store.address, "b", "", 0, 2, prices=str(folder / "prices.toml"))
        with WorkerPool(store, LOCAL, terms, lambda note: None) as worker_pool:
            began = time.monotonic()
            while worker_pool.repair():
                assert time.monotonic() - began < 200
                if kills < 3 and len(server.seen) > 4 * (kills + 1):
                    os.kill(chance.choice(pids_of(worker_pool)), signal.SIGKILL)
                    kills += 1
                time.sleep(0.1)
        assert kills >= 2
        assert states(store) == {"done": 7}
        assert {path.stem for path in (folder / "out").iterdir()} == {f"{n:03}" for n in range(7)}
        answered = Counter(asked(seen) for seen in server.answered)
    ledger = _ledger(store)
    lost = sum(row["outcome"] in ("lost", "cancelled") for row in ledger)
    repeated = sum(times - 1 for times in answered.values())
    assert repeated <= lost, "only what was in flight when a worker died is asked again"
    calls, cost = store.calls.used(budget_key_of("b"))
    assert calls == len([row for row in ledger if row["outcome"] != "rate_limited"])
    assert cost is not None
    assert cost <= 50.0


_POISON = "import os, signal\n\n\ndef read(data, name):\n    os.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.mark.nightly
@in_a_file
def test_deadly_items_are_set_aside(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents(folder, 1)
    (folder / "in" / "deadly.poison").write_text("Boo.", "utf-8")
    package(folder / "site", {"redraft.readers": {"poison": "poison:read"}}, "poison", {"poison": _POISON})
    monkeypatch.syspath_prepend(folder / "site")
    with ChatServer() as server:
        limits = opened(store, folder, server.base_url)
        Batches(store).add("b", [])
        add_items(store, "b", [str(folder / "in" / "deadly.poison")])
        terms = WorkerTerms(store.address, "b", "", 0, 1)
        with WorkerPool(store, LOCAL, terms, lambda note: None) as worker_pool:
            while worker_pool.repair():
                time.sleep(0.1)
        assert limits.concurrency == 4
    items = {Path(item.source).name: item for item in Batches(store).items("b")}
    deadly = items.pop("deadly.poison")
    assert (deadly.state, deadly.deaths) == ("aside", 3)
    assert deadly.error is not None
    assert "SIGKILL" in deadly.error["message"]
    assert {item.state for item in items.values()} == {"done"}
    assert max(item.deaths for item in items.values()) <= 1


def test_orphaned_workers_return_their_items(store: Store, folder: Path) -> None:
    documents(folder, 2)
    with ChatServer(latency=lambda *_: 30.0) as server:
        opened(store, folder, server.base_url)
        process = WorkerProcess(WorkerTerms(store.address, "b", "w", 0, 1), lambda note: None).process
        while len(server.seen) < 2:
            time.sleep(0.05)
        assert process.stdin is not None
        process.stdin.close()  # as when whoever holds the other end has died
        assert process.wait(20) == 0
    assert states(store) == {"waiting": 2}
