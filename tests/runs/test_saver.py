"""Opening the checkpoint saver of a store."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import AsyncExitStack
from pathlib import Path

import aiosqlite.core
import pytest

from redraft.errors import StoreError
from redraft.runs.open_runs import open_saver
from redraft.store.checkpoints import SqliteCheckpoints
from redraft.store.sqlite import SqliteConnection


def test_failed_saver_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiosqlite.core.LOG, "debug", lambda *_: time.sleep(0.05))
    database = tmp_path / "redraft.db"
    database.touch()
    checkpoints = SqliteCheckpoints(SqliteConnection(database))
    checkpoints.path.mkdir()

    async def opened() -> int:
        async with AsyncExitStack() as closing:
            with pytest.raises(StoreError, match=r"redraft\.checkpoints\.db"):
                await open_saver(checkpoints, closing)
        return sum("connection_worker" in thread.name for thread in threading.enumerate())

    assert asyncio.run(opened()) == 0
