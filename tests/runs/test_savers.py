"""The checkpoints of several runs at once, in a file that is new."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from redraft import Session, Store


async def test_a_new_file_that_another_run_is_setting_up_is_waited_for(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store:
        async with Session(store) as session:
            store.checkpoints.address()
            with closing(sqlite3.connect(store.checkpoints.path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                opening = asyncio.create_task(session.checkpointer())
                await asyncio.sleep(0.3)
                assert not opening.done()
                other.execute("COMMIT")
            await opening
            assert store.checkpoints.path.stat().st_size
