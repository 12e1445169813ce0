"""LangGraph's savers: one for checkpoints in a file, and by the extra `postgres` one for those on a server."""

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

from redraft.store.checkpoints import SqliteCheckpoints
from redraft.store.connection import BUSY_SECONDS, Checkpoints
from redraft.store.sqlite import explained
from redraft.store.threads import off_loop


async def open_saver(checkpoints: Checkpoints, closing: AsyncExitStack) -> BaseCheckpointSaver[Any]:
    """The saver for the checkpoints of a store, to be closed by the stack."""
    if isinstance(checkpoints, SqliteCheckpoints):
        with explained(checkpoints.path):
            return await _in_a_file(checkpoints, closing)
    from redraft.store.postgres.saver import on_a_server

    with checkpoints.explained():
        return await on_a_server(checkpoints, closing)


class FileSaver(AsyncSqliteSaver):
    """LangGraph's saver, which versions channels by texts of 49 characters: more than half of what a step takes up.

    They keep the channels of one fork apart from those of another where each is stored by itself. Here a checkpoint
    holds all of its own, for which numbers will do. A thread that was begun with texts goes on with them.
    """

    @override
    def get_next_version(self, current: Any, channel: None) -> Any:
        if isinstance(current, str):
            return super().get_next_version(current, channel)
        return BaseCheckpointSaver.get_next_version(self, current, channel)


async def _in_a_file(checkpoints: SqliteCheckpoints, closing: AsyncExitStack) -> FileSaver:
    address = await off_loop(checkpoints.address)
    saver = FileSaver(await aiosqlite.connect(address, uri=True, timeout=BUSY_SECONDS))
    closing.push_async_callback(_close, saver)
    await _set_up(saver)
    return saver


async def _close(saver: FileSaver) -> None:
    """Close a saver's connection when nobody is writing through it, and take back what was broken off in the midst.

    A run that was cancelled goes on for a moment to put away what it had begun. What it leaves half done would hold on
    to the connection, and with it to the lock on the file, until its remains are collected.
    """
    async with saver.lock:
        with suppress(sqlite3.Error):
            await saver.conn.rollback()
        await saver.conn.close()


async def _set_up(saver: FileSaver) -> None:
    """Several savers that do this to a new file at once lock each other out, and SQLite waits for none."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return await saver.setup()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.01)
