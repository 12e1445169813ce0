"""Threads, cancelled tasks, other programs and full disks: each write is whole or not there."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redraft.errors import StoreError
from redraft.store import sqlite
from redraft.store.connection import off_loop
from redraft.store.store import Store
from tests.store.support import add_call, call, dump, fill, plain

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
