"""Threads, cancelled tasks, other programs and full disks: each write is whole; and a run has one process at a time."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from redraft.errors import RunError, StoreError
from redraft.store import sqlite
from redraft.store.connection import off_loop
from redraft.store.store import Store
from tests.store.support import add_call, call, dump, fill, plain, start, started, wait_until_free

HELD, TICK, TICKS = 5.0, 0.01, 40


async def test_a_cancelled_write_is_completed(path: Path) -> None:
    with Store(path) as store, plain(path) as holder:
        holder.execute("BEGIN IMMEDIATE")
        storing = asyncio.create_task(off_loop(store.documents.add_text, "kept"))
        await asyncio.sleep(0.1)
        storing.cancel()
        asyncio.get_running_loop().call_later(0.2, holder.execute, "ROLLBACK")
        with pytest.raises(asyncio.CancelledError):
            await storing
        assert [row["text"] for row in store.connection.rows("SELECT text FROM texts")] == ["kept"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "redraft.db"


def intact(path: Path) -> bool:
    with plain(path) as database:
        return bool(database.execute("PRAGMA integrity_check").fetchone() == ("ok",))


def test_a_lasting_lock_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.2)
    with Store(path) as store:
        fill(store)
        before = dump(path)
        with plain(path) as locker:
            locker.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked") as caught:
                store.documents.add_text("ours")
            assert "close it there" in caught.value.hint
            assert "resume" in caught.value.hint
            # Reading goes on all the same.
            assert store.calls.find("key", None) is not None
            locker.execute("ROLLBACK")
        assert dump(path) == before
        store.documents.add_text("ours")


def test_a_full_disk_loses_nothing(path: Path) -> None:
    with Store(path) as store:
        fill(store)
        before = dump(path)
        raw = store.connection.raw
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.execute(f"PRAGMA max_page_count = {pages + 2}")
        for attempt in range(2):
            with pytest.raises(StoreError, match="full") as caught:
                add_call(store, call(f"big {attempt}", reply="x" * 100_000))
            assert "disk space" in caught.value.hint
            assert "resume" in caught.value.hint
            after = dump(path)
            # What was sent stays booked, with its prompt.
            assert [row[2] for row in after["calls"]] == ["key", *(f"big {n}" for n in range(attempt + 1))]
            first = {name: [row for row in after[name] if row[0] == 1] for name in ("calls", "messages")}
            assert after | first == before
        assert store.calls.find("key", None) is not None
        raw.execute("PRAGMA max_page_count = 1000000")
        add_call(store, call("big 0", reply="x" * 100_000))
        assert store.calls.find("big 0", None) is not None
    assert intact(path)


def _fail_half_way(store: Store, error: BaseException) -> None:
    with store.connection.writing() as raw:
        raw.execute("DELETE FROM records")
        raise error


def test_a_transaction_is_all_or_nothing(path: Path) -> None:
    with Store(path) as store:
        fill(store)
        before = dump(path)
        for error in (ValueError, KeyboardInterrupt):
            with pytest.raises(error):
                _fail_half_way(store, error())
        assert dump(path) == before
        store.documents.add_text("ours")


def test_threads_take_turns(path: Path) -> None:
    with Store(path) as store:
        fill(store)

        def work(n: int) -> None:
            add_call(store, call(f"key {n}", run="abc123"))
            assert store.calls.find(f"key {n}", "abc123") is not None
            store.runs.add_seconds("abc123", 1)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(100)))
        totals = store.calls.totals("abc123")
    assert (totals.calls, totals.seconds) == (101, 100)


def test_other_files_are_left_alone(path: Path) -> None:
    path.write_text("Dear diary. " * 100)
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert "not a redraft database" in caught.value.hint
    assert path.read_text() == "Dear diary. " * 100


def test_a_damaged_database_is_an_error(path: Path) -> None:
    with Store(path) as store:
        fill(store)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 40_000)
    with pytest.raises(StoreError) as caught, Store(path) as store:
        fill(store, "another")
    assert "damaged" in caught.value.hint


@pytest.mark.parametrize("name", ["folder", "file/redraft.db"])
def test_an_impossible_path_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(StoreError) as caught:
        Store(tmp_path / name)
    assert "`store`" in caught.value.hint
    assert str(tmp_path / name) in str(caught.value)


def test_a_closed_store_says_so(path: Path) -> None:
    store = Store(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.runs.latest(1)


_CLAIM = """
import sys
from redraft.store.store import Store
with Store(sys.argv[1]) as store, store.claim("abc123"):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_claim_ends_with_its_process(place: Path | str) -> None:
    with Store(place) as store:
        assert not store.is_claimed("abc123")
        with started(_CLAIM, place) as process:
            assert store.is_claimed("abc123")
            with pytest.raises(RunError, match="another process") as caught, store.claim("abc123"):
                pytest.fail("claimed twice")
            assert caught.value.hint
            with store.claim("another"):
                pass
            process.send_signal(signal.SIGKILL)
            process.wait(10)
        wait_until_free(store, "abc123")
        with pytest.raises(ValueError, match="no"), store.claim("abc123"):  # noqa: PT012
            assert store.is_claimed("abc123")
            with pytest.raises(RunError, match="another process"), store.claim("abc123"):
                pytest.fail("claimed twice")
            raise ValueError("no")
        assert not store.is_claimed("abc123"), "an error ends a claim, too"
        assert not isinstance(place, Path) or not list(place.parent.glob("*.lock"))


def test_a_momentary_lock_keeps_nobody_out(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        # As `is_claimed` holds it, while it looks.
        lock = FileLock(store.connection.lock_path("abc123"))  # type: ignore[attr-defined]
        lock.acquire()
        release = threading.Timer(0.1, os.unlink, [lock.lock_file])
        release.start()
        with store.claim("abc123"):
            pass
        release.join()
        lock.release()


_RACE = """
import os, sys, time
from redraft.errors import RunError
from redraft.store.store import Store
inside = sys.argv[2]
with Store(sys.argv[1]) as store:
    print("ready", flush=True)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        try:
            with store.claim("abc123"):
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                os.unlink(inside)
        except RunError:
            pass
"""


@pytest.mark.slow
def test_two_processes_never_claim_a_run(tmp_path: Path) -> None:
    processes = [start(_RACE, tmp_path / "redraft.db", tmp_path / "inside") for _ in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * 3
