"""The event loop goes on however long another program holds the database."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from redraft.store.connection import off_loop
from tests.judges import Court, told

HELD, TICK, STALL = 0.8, 0.01, 0.2
SUMMARY = told(1, 2, wrong={3: "Bob"})


class Hold:
    """Holds the database as another program does, from the first time it is asked to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.began = self.ended = 0.0
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._hold)
            self._thread.start()
            self._ready.wait(10)

    def _hold(self) -> None:
        database = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        self.began = time.monotonic()
        self._ready.set()
        time.sleep(HELD)
        self.ended = time.monotonic()
        database.execute("ROLLBACK")
        database.close()

    def end(self) -> None:
        assert self._thread is not None, "nobody has asked for it"
        self._thread.join()


@asynccontextmanager
async def ticking() -> AsyncIterator[list[float]]:
    """Moments, as often as the loop finds the time to note them."""
    moments: list[float] = []

    async def tick() -> None:
        while True:
            moments.append(time.monotonic())
            await asyncio.sleep(TICK)

    task = asyncio.create_task(tick())
    try:
        yield moments
    finally:
        task.cancel()


def longest(moments: list[float], hold: Hold) -> float:
    """The longest that the loop stood still while the database was held."""
    inside = [moment for moment in moments if hold.began <= moment <= hold.ended]
    return max(later - earlier for earlier, later in zip([hold.began, *inside], [*inside, hold.ended], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "part", "write"),
    [
        ("coverage", "reservations", "settle"),
        ("coverage", "packs", "add"),
        ("consistency", "judgments", "keep_verdicts"),
        ("keyfact_recall", "keyfacts", "add"),
        ("booookscore", "judgments", "keep"),
    ],
)
async def test_the_loop_goes_on_while_a_draft_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: str, part: str, write: str
) -> None:
    court = Court(tmp_path)
    hold, shelf = Hold(court.store.path), getattr(court.store, part)
    writing = getattr(shelf, write)

    def held(*arguments: object) -> object:
        hold.begin()
        return writing(*arguments)

    monkeypatch.setattr(shelf, write, held)
    async with ticking() as moments:
        result = await court.evaluate(SUMMARY, metrics=(metric,))
        hold.end()
    court.store.close()
    assert result.evaluations[metric].outcome == "scored"
    assert longest(moments, hold) < STALL


@pytest.mark.slow
async def test_what_is_stored_is_stored_when_whoever_waits_is_cancelled(tmp_path: Path) -> None:
    court = Court(tmp_path)
    hold = Hold(court.store.path)
    hold.begin()
    storing = asyncio.create_task(off_loop(court.store.documents.add_text, "kept"))
    await asyncio.sleep(0.1)
    storing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await storing
    assert time.monotonic() >= hold.ended
    assert [row["text"] for row in court.store._connection.rows("SELECT text FROM texts")] == ["kept"]
    hold.end()
    court.store.close()


async def test_what_fails_behind_a_cancelled_task_is_no_complaint() -> None:
    go = threading.Event()
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))

    def fail() -> None:
        go.wait(10)
        raise ValueError("no")

    task = asyncio.create_task(off_loop(fail))
    await asyncio.sleep(0.05)
    task.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    del task
    await asyncio.sleep(0.05)
    assert complaints == []
