"""PostgreSQL: the dialect, error messages, the connection, and checkpoints."""

from __future__ import annotations

import asyncio
import logging
import re
import selectors
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from typing import Any

import psycopg
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, Cursor, errors
from psycopg.abc import AdaptContext
from psycopg.adapt import Buffer
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg.types.numeric import IntLoader
from psycopg.types.string import StrDumper, TextLoader
from psycopg_pool import AsyncConnectionPool
from typing_extensions import override

from redraft.errors import Advice, RunCommand, Set, StoreError, StoreLost, UsageError
from redraft.store.connection import (
    BUSY_SECONDS,
    VERSION,
    Checkpoints,
    Connection,
    Transaction,
    Values,
    schema_statements,
    shown,
)
from redraft.store.plain_serializer import PlainSerializer

Raw = psycopg.Connection[DictRow]
SCHEMA = "redraft"
# For checkpoints: with the other one, 16 processes stay below a server's default limit of 100.
_MAX_CONNECTIONS = 2
_VERSIONS = "redraft_steps"
_NAMED = re.compile(r"(?<!:):([a-z]\w*)")
# PostgreSQL stores every character except NUL. This unassigned one, with a digit, encodes NUL and itself.
_ESCAPE = "\U0010ffff"
# A process suspended within a write would block all others.
_IDLE_SECONDS = 60
# So each side notices within 40 seconds that the other is gone, even if it is idle.
_GONE_SECONDS = 40
_KEEPALIVES = {"keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 4}
_SETTINGS = {
    "search_path": SCHEMA,
    "lock_timeout": f"{BUSY_SECONDS:g}s",
    "idle_in_transaction_session_timeout": f"{_IDLE_SECONDS}s",
    "jit": "off",
    # What a vanished machine holds, such as claims, is released as soon as the server notices.
    **{f"tcp_{name}": f"{value}" for name, value in _KEEPALIVES.items()},
    "tcp_user_timeout": f"{_GONE_SECONDS}s",
}
# It would log every reconnection of the pool, and results left over after errors.
logging.getLogger("psycopg").addHandler(logging.NullHandler())
logging.getLogger("psycopg").propagate = False


# The dialect.


@cache
def with_placeholders(query: str) -> bytes:
    """Return a statement with psycopg's placeholders in place of the store's."""
    return _NAMED.sub(r"%(\1)s", query.replace("%", "%%").replace("?", "%s")).encode()


class _StrDumper(StrDumper):
    @override
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace(_ESCAPE, f"{_ESCAPE}1").replace("\x00", f"{_ESCAPE}0"))


class _StrLoader(TextLoader):
    @override
    def load(self, data: Buffer) -> Any:
        text = super().load(data)
        return text.replace(f"{_ESCAPE}0", "\x00").replace(f"{_ESCAPE}1", _ESCAPE) if isinstance(text, str) else text


def adapt(context: AdaptContext) -> None:
    """Make a connection read and write values as SQLite does."""
    assert context.adapters is not None
    context.adapters.register_dumper(str, _StrDumper)
    context.adapters.register_loader("text", _StrLoader)
    # The type of a sum of integers.
    context.adapters.register_loader("numeric", IntLoader)


# SQLite has this function.
_JSON_EACH = """
CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT value FROM pg_catalog.json_array_elements_text(list::json) $$
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
    (r"(REFERENCES \w+\(\w+\)(?: ON DELETE (?:CASCADE|SET NULL))?)", r"\1 DEFERRABLE"),
    (r"\) STRICT, WITHOUT ROWID;", ");"),
    # Counts the rows that SQLite would count.
    (r"\n\) STRICT;", ",\n    rowid bigint GENERATED ALWAYS AS IDENTITY\n);"),
)


# Connections.


def arguments(address: str) -> dict[str, Any]:
    """Return the connection arguments."""
    try:
        parameters = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        # The library's message may contain part of the password.
        raise UsageError(
            "the address of the database cannot be read", hint="write postgresql://USER@HOST/DATABASE"
        ) from None
    settings = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
    defaults = {
        "application_name": "redraft",
        "connect_timeout": 10,
        "client_encoding": "utf8",
        # As for the server, which we would wait for.
        **_KEEPALIVES,
        "tcp_user_timeout": 1000 * _GONE_SECONDS,
    }
    options = f"{parameters.get('options') or ''} {settings}".strip()
    return {**defaults, **parameters, "options": options, "autocommit": True}


def _advice(error: psycopg.Error) -> Advice:
    match error:
        case errors.LockNotAvailable() | errors.QueryCanceled():
            return "another program has locked the database: close it there, then ", RunCommand("resume")
        case errors.DiskFull():
            return "free some disk space on the server, then ", RunCommand("resume"), "; stored results are safe"
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            ask = "redraft must be allowed to write there: ask the server's administrator, or name another with "
            return ask, Set("db")
        case errors.UndefinedFunction() | errors.UndefinedTable() | errors.UndefinedColumn():
            return "redraft's tables there were changed: name another database with ", Set("db")
        case psycopg.OperationalError():
            if "password" in str(error):
                return "give the password in PGPASSWORD or in ~/.pgpass"
            return "check that the server runs and can be reached, then ", RunCommand("resume")
    return "see ", RunCommand("runs"), ", and when the cause is gone ", RunCommand("resume")


def _lock_number(name: str) -> int:
    """Return the lock number for a name."""
    return int.from_bytes(sha256(f"redraft {name}".encode()).digest()[:8], signed=True)


_BEGIN = f"SELECT set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock({_lock_number('write')})"
# A write without effect: makes a transaction that only calls functions wait for the commit as configured.
_FLUSH = "SELECT pg_logical_emit_message(true, 'redraft', '')"
_IS_LOCKED = """
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = (:number::bigint >> 32 & 4294967295)::oid AND objid = (:number::bigint & 4294967295)::oid
"""


class PostgresConnection(Connection):
    """A connection to PostgreSQL that threads share, one at a time. It is opened again when it was lost.

    A claim is an advisory lock of its session. With the connection it is lost, as when the server restarts, and taken
    again before the next statement. If another process has taken it meanwhile, this one writes nothing more.
    """

    tables_query = f"SELECT tablename AS name FROM pg_tables WHERE schemaname = '{SCHEMA}'"  # noqa: S608
    versions_table = _VERSIONS
    versions_query = f"SELECT name FROM {_VERSIONS} ORDER BY name"  # noqa: S608
    size_query = """
        SELECT (SELECT coalesce(sum(pg_column_size(text)), 0) FROM texts)
        + (SELECT coalesce(sum(pg_column_size(body)), 0) FROM message_texts) AS bytes
    """

    def __init__(self, address: str) -> None:
        self.address, self.place = address, shown(address)
        self._lock = threading.RLock()
        self._claims: set[str] = set()
        self._is_writing = False
        """Whether a write transaction is in progress."""
        with self.explained():
            self._connect()

    def _connect(self) -> None:
        self.raw: Raw = psycopg.connect(**arguments(self.address), row_factory=dict_row)
        adapt(self.raw)

    def execute(self, query: str, values: Values = (), /) -> Cursor[DictRow]:
        """Execute a statement. One without values is sent unchanged: a comment in it may contain a question mark."""
        return self.raw.execute(with_placeholders(query), values) if values else self.raw.execute(query.encode())

    def executemany(self, query: str, rows: Iterable[Values], /) -> None:
        """Execute a statement once for each row of values."""
        self.raw.cursor().executemany(with_placeholders(query), rows)

    def _reconnect_if_lost(self) -> None:
        """Connect again if the server has closed the connection, which it says unasked."""
        if self._is_closed:
            return
        if not self.raw.closed:
            with selectors.DefaultSelector() as waiting:
                waiting.register(self.raw, selectors.EVENT_READ)
                if not waiting.select(0):
                    return
            try:
                self.raw.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                if not self.raw.closed:
                    raise
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._connect()
                break
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        if lost := [run for run in self._claims if not self._try_lock(run)]:
            # So the next statement finds out again.
            self.raw.close()
            raise StoreError(f"another process has resumed run {lost[0]} while the server was away", place=self.place)

    @override
    @contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            message = " ".join((error.diag.message_primary or str(error) or type(error).__name__).split())
            # The server is gone, rather than the statement wrong. Only errors of a server have an SQLSTATE.
            is_cut_off = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None
            stopped = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)
            kind = StoreLost if is_cut_off or isinstance(error, stopped) else StoreError
            raise kind(message, place=self.place, fix=_advice(error)) from error

    @override
    @contextmanager
    def session(self) -> Iterator[Transaction]:
        with self._lock, self.explained():
            if not self._is_writing:
                self._reconnect_if_lost()
            yield self

    @override
    @contextmanager
    def writing(self, *, is_preview: bool = False) -> Iterator[Transaction]:
        with self.session():
            if self._is_writing:
                yield self
                return
            # The lock ends before the flush, which others need not wait for.
            with self.raw.transaction(force_rollback=is_preview):
                self.execute(_BEGIN)
                self._is_writing = True
                try:
                    yield self
                finally:
                    self._is_writing = False
            self.execute(_FLUSH)

    @override
    def try_claim(self, run: str) -> bool:
        with self.session():
            if run in self._claims or not self._try_lock(run):
                return False
            self._claims.add(run)
            return True

    def _try_lock(self, run: str) -> bool:
        row = self.raw.execute("SELECT pg_try_advisory_lock(%s) AS ours", [_lock_number(run)]).fetchone()
        return row is not None and bool(row["ours"])

    @override
    def release(self, run: str) -> None:
        with self._lock, suppress(psycopg.Error):
            self._claims.discard(run)
            self.raw.execute("SELECT pg_advisory_unlock(%s)", [_lock_number(run)])

    @override
    def is_claimed(self, run: str) -> bool:
        return self.row(_IS_LOCKED, {"number": _lock_number(run)}) is not None

    @override
    def clock(self) -> float:
        """Return the server's time, since clocks of machines differ."""
        (row,) = self.rows("SELECT extract(epoch FROM clock_timestamp())::double precision AS now")
        return float(row["now"])

    @override
    def compact(self) -> None:
        """Reclaim the space of deleted rows."""
        with self.session() as session:
            session.execute(f"VACUUM (SKIP_LOCKED) {', '.join(sorted(self.tables()))}")

    @override
    def create(self, raw: Transaction) -> None:
        # Even where it exists, IF NOT EXISTS needs the right to create one.
        if not self.row("SELECT 1 FROM pg_namespace WHERE nspname = ?", (SCHEMA,)):
            raw.execute(f"CREATE SCHEMA {SCHEMA}")
        raw.execute(f"CREATE TABLE IF NOT EXISTS {_VERSIONS} (name text PRIMARY KEY)")
        raw.execute(_JSON_EACH)
        for statement in schema_statements():
            for pattern, replacement in _DIALECT:
                statement = re.sub(pattern, replacement, statement)
            # A server takes one statement at a time.
            for part in re.split(r"\n(?=CREATE TRIGGER)", _TRIGGER.sub(_FRAME, statement)):
                raw.execute(part)
        raw.execute(f"INSERT INTO {_VERSIONS} (name) VALUES (?)", (VERSION,))  # noqa: S608


# Checkpoints.


_TRY_LOCK = f"SELECT pg_try_advisory_lock({_lock_number('checkpoints')}) AS ours"
_UNLOCK = f"SELECT pg_advisory_unlock({_lock_number('checkpoints')})"


async def on_a_server(checkpoints: Checkpoints, closing: AsyncExitStack) -> AsyncPostgresSaver:
    """Return the checkpoint saver of a store on a server; the stack closes it."""
    assert isinstance(checkpoints.connection, PostgresConnection)
    settings: dict[str, Any] = {**arguments(checkpoints.connection.address), "prepare_threshold": 0}
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        kwargs={**settings, "row_factory": dict_row},
        check=AsyncConnectionPool.check_connection,
        min_size=1,
        max_size=_MAX_CONNECTIONS,
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
