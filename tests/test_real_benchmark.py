"""The benchmark of the real model, on a judge that goes by rules: what is saved, and how it goes on from there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.ledger import asked
from benchmarks.real_model import METRICS, STRATEGIES, Found, report, served_again, work
from tests.chatserver import ChatServer, Fault
from tests.judges import Keepers, Said, Sheet, behind, island, told

RUNS = len(STRATEGIES) + 1
"""One for each strategy, and a refinement."""


class Scribe(Keepers):
    """Judges and revises, and drafts where there is no summary to be revised."""

    def revise(self, sheet: Sheet) -> Said:
        return super().revise(sheet) or told(1, 3, wrong={2: "Bob"})


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(behind(Scribe())) as serving:
        yield serving


async def worked(folder: Path, server: ChatServer, saved: list[int] | None = None) -> Found:
    found = Found(save=lambda so_far: saved.append(len(so_far.lines)) if saved is not None else None)
    await work(found, "keepers", island(), folder / "keepers.db", server.base_url, 1, "simple")
    return found


async def stopped_after(requests: int, folder: Path, server: ChatServer, saved: list[int] | None = None) -> None:
    running = asyncio.create_task(worked(folder, server, saved))
    while len(server.seen) < requests:
        assert not running.done(), "it was done before it could be stopped"
        await asyncio.sleep(0.01)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


@pytest.mark.slow
async def test_what_was_stopped_goes_on_and_nothing_is_asked_twice(tmp_path: Path, server: ChatServer) -> None:
    stopped = list[int]()
    await stopped_after(12, tmp_path, server, stopped)
    assert stopped == [0], "what was asked until then is written down"
    before, saved = len(server.seen), list[int]()

    whole = await worked(tmp_path, server, saved)
    assert saved == list(range(1, RUNS + 1))
    assert (whole.deaths, whole.doubts) == ([], [])
    assert len(whole.evaluations) == RUNS * len(METRICS)
    texts = [(seen.messages[-1]["content"], seen.body.get("temperature")) for seen in server.seen[before:]]
    assert len(texts) == len(set(texts))

    asked_in_all = len(server.seen)
    again = await worked(tmp_path, server)
    assert len(server.seen) == asked_in_all
    assert again.lines == whole.lines
    assert again.seconds == whole.seconds > 0


def test_a_database_is_gone_on_with_at_the_address_that_its_runs_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def serving(*, threads: int, port: int) -> Iterator[str]:
        yield f"http://127.0.0.1:{port or 40_000 + threads}/v1"

    monkeypatch.setattr("benchmarks.real_model.real_model", serving)
    found = []
    for threads in (1, 2, 3):
        with served_again(tmp_path / "a.db", threads) as url:
            found.append(url)
    assert set(found) == {"http://127.0.0.1:40001/v1"}


async def test_attempts_that_were_given_up_with_a_run_are_no_failures_of_the_model(
    tmp_path: Path, server: ChatServer
) -> None:
    await stopped_after(8, tmp_path, server)
    assert all(one.read for one in asked(tmp_path / "keepers.db"))


async def test_a_run_that_has_died_stays_dead(tmp_path: Path, server: ChatServer) -> None:
    with ChatServer(lambda _: Fault("status", status=401)) as closed:
        first = await worked(tmp_path, closed)
    assert len(first.deaths) == len(STRATEGIES)
    later = await worked(tmp_path, server)
    assert len(later.deaths) == len(STRATEGIES)
    assert all("in an earlier run" in one for one in later.deaths)
    assert "no run died" not in "\n".join(report(later, "heading"))
