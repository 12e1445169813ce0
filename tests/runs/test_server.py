"""Runs on a database on a server: killed and resumed, shared by two, copied in the midst, and through its restart."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redraft.store.store import Store
from tests import postgres
from tests.chatserver import ChatServer, asked
from tests.command import Command
from tests.judges import Harness, summary_of
from tests.support import story

pytestmark = postgres.needs_postgres
OPTIONS = ("-m", "openai:m", "-w", "120", "--chunk-tokens", "256", "--context-tokens", "2048", "--quiet")


@pytest.fixture
def address() -> Iterator[str]:
    with postgres.database() as made:
        yield made


@pytest.fixture
def book(tmp_path: Path) -> str:
    (tmp_path / "book.md").write_text(story(120).text, "utf-8")
    return "book.md"


def _until(true: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < 60
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_run_pays_once(tmp_path: Path, book: str, address: str) -> None:
    with ChatServer(latency=lambda *_: 0.3) as server:
        command = Command(tmp_path, server.base_url, REDRAFT_DB=address)
        running = command.start("summarize", book, *OPTIONS, "--concurrency", "2")
        _until(lambda: len(server.answered) >= 4)
        running.kill()
        running.communicate()
        with Store(address, must_exist=True) as store:
            [run] = store.runs.latest(9)
            assert store.status(run) == "killed"
        done = command.run("resume", run.id, "--quiet")
        assert done.code == 0, done.err
        repeats = sum(times - 1 for times in Counter(asked(request) for request in server.answered).values())
        assert repeats <= 2, "only what was in flight"
        record = command.run("show", run.id, "--json").json
        assert record["status"] == "done"
        assert not (tmp_path / "redraft.db").exists()


@pytest.mark.nightly
def test_run_survives_a_restart_of_the_server(tmp_path: Path, book: str) -> None:
    with postgres.restartable() as (address, restart), ChatServer(latency=lambda *_: 0.3) as server:
        command = Command(tmp_path, server.base_url, REDRAFT_DB=address)
        running = command.start("summarize", book, *OPTIONS, "--concurrency", "2")
        _until(lambda: len(server.answered) >= 4)
        restart()
        _, err = running.communicate(timeout=120)
        with Store(address) as store:
            [run] = store.runs.latest(9)
            if running.returncode:
                assert "redraft resume" in err
                assert command.run("resume", run.id, "--quiet").code == 0
            assert store.runs.get(run.id).status == "done"
        repeats = sum(times - 1 for times in Counter(asked(request) for request in server.answered).values())
        assert repeats <= 2, "only what was in flight"


@pytest.mark.nightly
async def test_teams_share_pack_and_texts(tmp_path: Path, address: str) -> None:
    teams = []
    for name in ("ann", "ben"):
        (tmp_path / name).mkdir()
        harness = Harness(tmp_path / name)
        harness.store.close()
        harness.store = Store(address)
        teams.append(harness)
    results = await asyncio.gather(*(harness.refine(summary_of(1, 2), rounds=2) for harness in teams))
    packs = {result.run.judging.pack for result in results if result.run.judging}
    assert len(packs) == 1
    assert len(teams[0].store.packs.all()) == 1
    assert results[0].summary == results[1].summary
    rows = postgres.dump(address)
    assert len(rows["documents"]) == 1
    answered = [row for row in rows["calls"] if row[11] == "ok"]
    assert len({row[2] for row in answered}) == len(answered)
    third = await teams[1].refine(summary_of(1, 2), rounds=2)
    assert third.usage.calls == 0
    for harness in teams:
        harness.store.close()
