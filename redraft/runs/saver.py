"""The checkpoint saver of a session: LangGraph's, in a file next to the database or on its server."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import AsyncExitStack, suppress
from typing import Any

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from typing_extensions import override

from redraft.store.checkpoints import Checkpoints, SqliteCheckpoints
from redraft.store.connection import BUSY_SECONDS, off_loop
from redraft.store.plain_serializer import PlainSerializer

# Seconds in which the thread of a saver ends.
_TO_STOP = 5.0
_ROWS_AT_ONCE = 64


class FileSaver(AsyncSqliteSaver):
    """LangGraph's SQLite saver with integers as channel versions. LangGraph's own versions are texts of 49 characters,
    more than half of a step's size, which keep the channels of forks apart where each is stored by itself. Here every
    checkpoint holds all of its channels. A thread that was started with texts continues with texts."""

    @override
    def get_next_version(self, current: Any, channel: None) -> Any:
        if isinstance(current, str):
            return super().get_next_version(current, channel)
        return BaseCheckpointSaver.get_next_version(self, current, channel)


async def open_saver(checkpoints: Checkpoints, closing: AsyncExitStack) -> BaseCheckpointSaver[Any]:
    """Open the checkpoint saver of a store; the stack closes it."""
    if not isinstance(checkpoints, SqliteCheckpoints):
        from redraft.store.postgres import on_a_server

        with checkpoints.explained():
            return await on_a_server(checkpoints, closing)
    with checkpoints.explained():
        connecting = aiosqlite.Connection(
            lambda: sqlite3.connect(checkpoints.address(), uri=True, timeout=BUSY_SECONDS),
            iter_chunk_size=_ROWS_AT_ONCE,
        )
        # Otherwise its thread would keep a process alive that forgets to close its session.
        connecting._thread.daemon = True
        try:
            saver = FileSaver(await connecting, serde=PlainSerializer(checkpoints.place))
        except (sqlite3.Error, OSError):
            # Its thread answers the event loop once more, which must not be closed by then.
            await off_loop(connecting._thread.join, _TO_STOP)
            raise

        async def close() -> None:
            """Close the connection once nothing is written through it, and roll back an interrupted write. A cancelled
            run continues for a moment to finish its writes. What it leaves half done would hold on to the connection,
            and with it to the lock on the file, until its remains are collected."""
            async with saver.lock:
                with suppress(sqlite3.Error):
                    await saver.conn.rollback()
                await saver.conn.close()

        closing.push_async_callback(close)
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            # SQLite does not wait when several processes create the tables in one new file.
            try:
                await saver.setup()
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.01)
        return saver
