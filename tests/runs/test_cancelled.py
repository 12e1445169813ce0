"""A run that is cancelled at any moment leaves no file locked behind, however long its remains are held on to."""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chatserver import ChatServer, Seen
from tests.judges import seen_on
from tests.test_real_benchmark import Scribe, worked

TRIES = 25


@pytest.fixture
def nothing_is_collected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.nightly
@pytest.mark.usefixtures("nothing_is_collected")
async def test_what_is_cancelled_locks_no_file(tmp_path: Path) -> None:
    judge = Scribe()

    def serve(seen: Seen) -> str:
        said = judge(seen_on(seen))
        return said if isinstance(said, str) else json.dumps(said)

    for number in range(TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        with ChatServer(serve) as server:  # type: ignore[arg-type]
            running = asyncio.create_task(worked(folder, server))
            while len(server.seen) < 3 + number % 16 and not running.done():  # noqa: ASYNC110
                await asyncio.sleep(0.003)
            await asyncio.sleep(0.001 * (number % 7))
            running.cancel()
            await asyncio.wait([running])
        for file in folder.glob("*.checkpoints.db"):
            raw = sqlite3.connect(file, timeout=0.5, isolation_level=None)
            raw.execute("BEGIN IMMEDIATE")
            raw.execute("ROLLBACK")
            raw.close()
