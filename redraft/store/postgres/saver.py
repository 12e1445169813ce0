"""LangGraph's saver for checkpoints on a server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from redraft.store.connection import BUSY_SECONDS, Checkpoints
from redraft.store.postgres.checkpoints import PostgresCheckpoints
from redraft.store.postgres.claims import lock_number
from redraft.store.postgres.connection import MOST_CONNECTIONS
from redraft.store.postgres.server import arguments

_TRY_LOCK = f"SELECT pg_try_advisory_lock({lock_number('checkpoints')}) AS ours"
_UNLOCK = f"SELECT pg_advisory_unlock({lock_number('checkpoints')})"


async def on_a_server(checkpoints: Checkpoints, closing: AsyncExitStack) -> AsyncPostgresSaver:
    """The saver for the checkpoints of a store on a server, to be closed by the stack."""
    assert isinstance(checkpoints, PostgresCheckpoints)
    given: dict[str, Any] = {**arguments(checkpoints.connection.address), "prepare_threshold": 0}
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        kwargs={**given, "row_factory": dict_row},
        check=AsyncConnectionPool.check_connection,
        min_size=1,
        max_size=MOST_CONNECTIONS,
        timeout=BUSY_SECONDS,
        open=False,
    )
    await closing.enter_async_context(pool)
    saver = AsyncPostgresSaver(pool)
    async with pool.connection() as raw:
        # It builds its indexes beside all that goes on, which waits for whoever waits for a lock: so nobody may.
        while True:
            found = await (await raw.execute(_TRY_LOCK)).fetchone()
            if found and found["ours"]:
                break
            await asyncio.sleep(0.05)
        try:
            await saver.setup()
        finally:
            await raw.execute(_UNLOCK)
    return saver
