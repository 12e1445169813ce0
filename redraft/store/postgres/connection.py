"""Connections to PostgreSQL, and checkpoints in it."""

from __future__ import annotations

import asyncio
import math
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from typing import Any, ClassVar

import psycopg
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from typing_extensions import override

from redraft.errors import Advice, RunCommand
from redraft.store.addresses import shown
from redraft.store.checkpoints import STARTS_OVER, Checkpoints, thread_of
from redraft.store.connection import BUSY_SECONDS, Connection, Scope, Transaction, Values
from redraft.store.plain_serializer import PlainSerializer
from redraft.store.postgres.server import (
    SCHEMA,
    PostgresClaims,
    PostgresRow,
    PostgresTransaction,
    adapt,
    arguments,
    explained,
    has_message,
    lock_number,
    row_of,
)
from redraft.store.sqlite import VERSION, another_program, is_current, schema_statements

# With one more for claims, and as many for checkpoints, 16 processes stay below a server's default limit of 100.
MAX_CONNECTIONS = 2
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::double precision AS now"
# Clocks drift apart too little in this time to matter for a lease.
_CLOCK_SECONDS = 60.0
_FLUSHED_LATER = "set_config('synchronous_commit', 'off', true)"
# A write without effect: makes a transaction that only calls functions wait for the commit as configured.
_FLUSH = "SELECT pg_logical_emit_message(true, 'redraft', '')"
_ALONE = f"pg_advisory_xact_lock({lock_number('write')})"
_BESIDE = f"pg_advisory_xact_lock_shared({lock_number('write')})"
_USED = """
    SELECT (SELECT coalesce(sum(pg_column_size(text)), 0) FROM texts)
    + (SELECT coalesce(sum(pg_column_size(body)), 0) FROM message_texts) AS bytes
"""


_APPLIED = "redraft_steps"
# SQLite has this function.
_JSON_EACH = """
CREATE FUNCTION json_each(given text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT value FROM pg_catalog.json_array_elements_text(given::json) $$
"""
_TRIGGER = re.compile(r"CREATE TRIGGER (\w+) AFTER (.+) ON (\w+) BEGIN(.+)END;", re.DOTALL)
_FRAME = r"""
CREATE FUNCTION \1() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN\4RETURN NULL; END $$;
CREATE TRIGGER \1 AFTER \2 ON \3 FOR EACH ROW EXECUTE FUNCTION \1();
"""
_DIALECT = (
    (r"--.*", ""),
    (r"\bINTEGER PRIMARY KEY", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    (r"\bINTEGER\b", "bigint"),
    (r"\bREAL\b", "double precision"),
    (r"\bBLOB\b", "bytea"),
    # What orders or compares texts does so by their characters, as SQLite does.
    (r"\bTEXT\b", 'text COLLATE "C"'),
    (r"(REFERENCES \w+\(\w+\)(?: ON DELETE CASCADE)?)", r"\1 DEFERRABLE"),
    (r"\) STRICT, WITHOUT ROWID;", ");"),
    # Counts the rows that SQLite would count.
    (r"\n\) STRICT;", ",\n    rowid bigint GENERATED ALWAYS AS IDENTITY\n);"),
)


def _server_statements() -> Iterator[str]:
    """Yield the statements of the schema in the dialect of a server."""
    yield _JSON_EACH
    for statement in schema_statements():
        for pattern, replacement in _DIALECT:
            statement = re.sub(pattern, replacement, statement)
        # A server takes one statement at a time.
        yield from re.split(r"\n(?=CREATE TRIGGER)", _TRIGGER.sub(_FRAME, statement))


class PostgresConnection(Connection):
    """A connection to PostgreSQL, one per thread, reopened when lost."""

    def __init__(self, address: str, claims: PostgresClaims) -> None:
        self.address = address
        self.place = shown(address)
        self._claims = claims
        self._here = threading.local()
        self._clock = -math.inf, 0.0
        """When the server's clock was last read, and how far it is ahead of ours."""
        self._pool: ConnectionPool[psycopg.Connection[PostgresRow]] = ConnectionPool(
            kwargs={**arguments(address), "row_factory": row_of},
            configure=adapt,
            check=_check,
            min_size=1,
            max_size=MAX_CONNECTIONS,
            timeout=BUSY_SECONDS,
            open=True,
        )

    @override
    @contextmanager
    def writing(self, scope: Scope = "all", *names: str) -> Iterator[PostgresTransaction]:
        if (session := self._session) is not None:
            assert self._here.locks == (_ALONE,), "what this would lock is not locked by the transaction that it is in"
            with self.explained():
                yield session
            return
        # Sorted, so that no two transactions deadlock.
        numbers = sorted({lock_number(f"of {name}") for name in names})
        named = (_BESIDE, *(f"pg_advisory_xact_lock({number})" for number in numbers))
        self._claims.restore_lost()
        with self._transaction(_WRITE, {"all": (_ALONE,), "names": named, "rows": ()}[scope]) as session:
            yield session

    @override
    @contextmanager
    def rolled_back(self) -> Iterator[PostgresTransaction]:
        with self._transaction(_WRITE, (_ALONE,), keep=False) as session:
            yield session

    @override
    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._transaction(_READ, keep=False):
            yield

    @override
    def rows(self, query: str, parameters: Values = ()) -> list[PostgresRow]:
        with self._talking() as session:
            return session.execute(query, parameters).fetchall()

    @override
    def row(self, query: str, parameters: Values = ()) -> PostgresRow | None:
        with self._talking() as session:
            return session.execute(query, parameters).fetchone()

    @override
    def clock(self) -> float:
        """Return the server's time, since clocks of machines differ."""
        read_at, ahead = self._clock
        if time.monotonic() - read_at >= _CLOCK_SECONDS:
            with self._talking() as session:
                read_at = time.monotonic()
                there: float = session.execute(_CLOCK).fetchall()[0]["now"]
                # The server read its clock somewhere in between.
                ahead = there - (read_at + time.monotonic()) / 2
            self._clock = read_at, ahead
        return time.monotonic() + ahead

    def explained(self) -> AbstractContextManager[None]:
        """Translate the server's errors into ours."""
        return explained(self.place)

    @override
    def compact(self) -> None:
        """Reclaim the space of deleted rows."""
        tables = self.rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        with self._talking() as session:
            session.execute(f"VACUUM (SKIP_LOCKED) {', '.join(row['tablename'] for row in tables)}")

    @property
    @override
    def size(self) -> int:
        return self.used

    @property
    @override
    def used(self) -> int:
        row = self.row(_USED)
        return int(row["bytes"]) if row else 0

    @override
    def prepare(self, *, may_create: bool) -> bool:
        there = self.row("SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = ?", (SCHEMA, _APPLIED))
        if there and is_current(self._applied(), self.place):
            return True
        if not may_create:
            return False
        # Two processes may open a new database at once: the second finds nothing left to do.
        with self.writing() as raw:
            tables = self.rows("SELECT tablename FROM pg_tables WHERE schemaname = ?", (SCHEMA,))
            names = {row["tablename"] for row in tables}
            if names and _APPLIED not in names:
                message = f"the schema {SCHEMA} is another program's (it has a table {min(names)})"
                raise another_program(message, self)
            if not self.row("SELECT 1 FROM pg_namespace WHERE nspname = ?", (SCHEMA,)):
                raw.execute(f"CREATE SCHEMA {SCHEMA}")
            raw.execute(f"CREATE TABLE IF NOT EXISTS {_APPLIED} (name text PRIMARY KEY)")
            if not self._applied():
                for statement in _server_statements():
                    raw.execute(statement)
                raw.execute(f"INSERT INTO {_APPLIED} (name) VALUES (?)", (VERSION,))  # noqa: S608
        return True

    def _applied(self) -> list[str]:
        return [row["name"] for row in self.rows(f"SELECT name FROM {_APPLIED} ORDER BY name")]  # noqa: S608

    @override
    def close(self) -> None:
        self._pool.close()
        self._claims.close()

    @property
    def _session(self) -> PostgresTransaction | None:
        """Return the session of this thread's transaction."""
        return getattr(self._here, "session", None)

    @contextmanager
    def _talking(self) -> Iterator[PostgresTransaction]:
        with self.explained():
            if (session := self._session) is not None:
                yield session
                return
            with self._pool.connection() as raw:
                yield PostgresTransaction(raw)

    @contextmanager
    def _transaction(
        self, begin: str, locks: Sequence[str] = (), *, keep: bool = True
    ) -> Iterator[PostgresTransaction]:
        # If this fails, the pool takes the connection back.
        with self.explained(), self._pool.connection() as raw, raw.pipeline() as under_way:
            session = PostgresTransaction(raw, under_way)
            session.execute(begin)
            if keep:
                session.execute(f"SELECT {', '.join((_FLUSHED_LATER, *locks))}")
            elif locks:
                session.execute(f"SELECT {', '.join(locks)}")
            self._here.session, self._here.locks = session, tuple(locks)
            try:
                yield session
                session.execute("COMMIT" if keep else "ROLLBACK")
                if keep:
                    session.execute(_FLUSH)
            finally:
                self._here.session = session.under_way = None


def _check(raw: psycopg.Connection[PostgresRow]) -> None:
    """Check a connection before use if the server has sent something unrequested."""
    if has_message(raw):
        ConnectionPool.check_connection(raw)


class PostgresCheckpoints(Checkpoints):
    """The checkpoints of one database."""

    columns: ClassVar = {
        "checkpoints": "checkpoint::text",
        "checkpoint_blobs": "encode(blob, 'escape')",
        "checkpoint_writes": "encode(blob, 'escape')",
    }

    def __init__(self, connection: PostgresConnection) -> None:
        self.connection, self.place = connection, connection.place

    @override
    def restart_advice(self, run: str) -> Advice:
        thread = f"the rows of thread {thread_of(run)} from {', '.join(self.columns)}"
        return f"delete {thread}, then ", RunCommand("resume", run), f": {STARTS_OVER}"

    @override
    def explained(self) -> AbstractContextManager[None]:
        return self.connection.explained()

    @override
    def _writing(self) -> AbstractContextManager[PostgresTransaction]:
        return self.connection.writing()

    @override
    def _tables(self, raw: Transaction) -> set[str]:
        return {row[0] for row in raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")}

    @override
    def compact(self) -> None:
        """Do nothing: the tables are compacted with the database."""

    @property
    @override
    def size(self) -> int:
        with self._writing() as raw:
            tables = self.columns.keys() & self._tables(raw)
            sums = [raw.execute(f"SELECT sum(pg_column_size(t.*)) AS n FROM {table} t") for table in tables]  # noqa: S608
            return sum(int(row["n"] or 0) for result in sums for row in result)


_TRY_LOCK = f"SELECT pg_try_advisory_lock({lock_number('checkpoints')}) AS ours"
_UNLOCK = f"SELECT pg_advisory_unlock({lock_number('checkpoints')})"


async def on_a_server(checkpoints: Checkpoints, closing: AsyncExitStack) -> AsyncPostgresSaver:
    """Return the checkpoint saver of a store on a server; the stack closes it."""
    assert isinstance(checkpoints, PostgresCheckpoints)
    settings: dict[str, Any] = {**arguments(checkpoints.connection.address), "prepare_threshold": 0}
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        kwargs={**settings, "row_factory": dict_row},
        check=AsyncConnectionPool.check_connection,
        min_size=1,
        max_size=MAX_CONNECTIONS,
        timeout=BUSY_SECONDS,
        open=False,
    )
    await closing.enter_async_context(pool)
    saver = AsyncPostgresSaver(pool, serde=PlainSerializer(checkpoints.place))
    async with pool.connection() as raw:
        # CREATE INDEX CONCURRENTLY waits for all transactions, which may wait for our lock, so none may be held.
        while True:
            lock = await (await raw.execute(_TRY_LOCK)).fetchone()
            if lock and lock["ours"]:
                break
            await asyncio.sleep(0.05)
        try:
            await saver.setup()
        finally:
            await raw.execute(_UNLOCK)
    return saver
