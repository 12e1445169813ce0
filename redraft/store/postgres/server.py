"""PostgreSQL: connecting, executing statements, explaining errors, and claims by advisory locks."""

from __future__ import annotations

import logging
import re
import selectors
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, Cursor, Pipeline, errors
from psycopg.abc import AdaptContext
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import RowMaker
from psycopg.types.string import StrDumper, TextLoader
from typing_extensions import override

from redraft.errors import Advice, RunCommand, Set, StoreError, StoreLost, UsageError
from redraft.store.addresses import shown
from redraft.store.claims import CLAIM_SECONDS, Claims, taken
from redraft.store.connection import BUSY_SECONDS, Transaction, Values

_NAMED = re.compile(r"(?<!:):([a-z]\w*)")
# PostgreSQL stores every character except NUL. This unassigned one, with a digit, encodes NUL and itself.
_ESCAPE = "\U0010ffff"


@cache
def with_placeholders(query: str) -> bytes:
    """Return a statement with psycopg's placeholders in place of the store's."""
    return _NAMED.sub(r"%(\1)s", query.replace("%", "%%").replace("?", "%s")).encode()


class PostgresRow(dict[str, Any]):
    """A row whose values can also be accessed by index."""

    def __missing__(self, at: object) -> Any:
        if isinstance(at, int):
            return list(self.values())[at]
        raise KeyError(at)


def row_of(cursor: Cursor[Any]) -> RowMaker[PostgresRow]:
    """Return the row factory of a result. Hides the row number column, as SQLite does."""
    names = [column.name for column in cursor.description or ()]

    def row(values: Sequence[Any]) -> PostgresRow:
        named = PostgresRow(zip(names, values, strict=True))
        named.pop("rowid", None)
        return named

    return row


class _StrDumper(StrDumper):
    @override
    def dump(self, obj: str) -> Buffer | None:
        if "\x00" in obj or _ESCAPE in obj:
            obj = obj.replace(_ESCAPE, f"{_ESCAPE}1").replace("\x00", f"{_ESCAPE}0")
        return super().dump(obj)


class _StrLoader(TextLoader):
    @override
    def load(self, data: Buffer) -> Any:
        text = super().load(data)
        if isinstance(text, str) and _ESCAPE in text:
            text = text.replace(f"{_ESCAPE}0", "\x00").replace(f"{_ESCAPE}1", _ESCAPE)
        return text


class _BoolDumper(Dumper):
    """Dumps a bool as the integer that the columns hold."""

    @override
    def dump(self, obj: bool) -> Buffer | None:
        return b"1" if obj else b"0"


class _SumLoader(Loader):
    """Loads a sum of integers, which PostgreSQL returns as numeric."""

    @override
    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


def adapt(context: AdaptContext) -> None:
    """Make a connection read and write values as SQLite does."""
    assert context.adapters is not None
    adapters = context.adapters
    _BoolDumper.oid = adapters.types["int8"].oid
    adapters.register_dumper(str, _StrDumper)
    adapters.register_dumper(bool, _BoolDumper)
    adapters.register_loader("text", _StrLoader)
    adapters.register_loader("numeric", _SumLoader)


class PostgresResult:
    """The result of a statement. Reading it waits for the server if the statement was pipelined."""

    def __init__(self, session: PostgresTransaction, cursor: Cursor[PostgresRow]) -> None:
        self._session = session
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        if self._session.under_way is not None:
            # Flushing the pipeline is not enough: psycopg then waits for replies to statements that it has not sent, if
            # those exceed the socket buffer. Fetching one result sends all of them.
            self._session.execute("SELECT 1").fetchone()
        return self._cursor.rowcount

    def fetchone(self) -> PostgresRow | None:
        return self._cursor.fetchone()

    def fetchall(self) -> list[PostgresRow]:
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[PostgresRow]:
        return iter(self._cursor)


class PostgresTransaction(Transaction):
    """A PostgreSQL connection that executes the store's statements, one by one or pipelined (`under_way`)."""

    for_update = " FOR UPDATE"
    skip_locked = " FOR UPDATE SKIP LOCKED"

    def __init__(self, connection: Connection[PostgresRow], under_way: Pipeline | None = None) -> None:
        self._connection = connection
        self.under_way = under_way

    @override
    def execute(self, query: str, values: Values = (), /) -> PostgresResult:
        # A statement without values is sent unchanged: a comment in it may contain a question mark.
        cursor = (
            self._connection.execute(with_placeholders(query), values)
            if values
            else self._connection.execute(query.encode())
        )
        return PostgresResult(self, cursor)

    @override
    def executemany(self, query: str, rows: Iterable[Values], /) -> PostgresResult:
        cursor = self._connection.cursor()
        cursor.executemany(with_placeholders(query), rows)
        return PostgresResult(self, cursor)


SCHEMA = "redraft"
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
    ours = {
        "application_name": "redraft",
        "connect_timeout": 10,
        "client_encoding": "utf8",
        # As for the server, which we would wait for.
        **_KEEPALIVES,
        "tcp_user_timeout": 1000 * _GONE_SECONDS,
    }
    options = f"{parameters.get('options') or ''} {settings}".strip()
    return {**ours, **parameters, "options": options, "autocommit": True}


def connect(address: str) -> psycopg.Connection[PostgresRow]:
    """Connect to a server."""
    connection = psycopg.connect(**arguments(address), row_factory=row_of)
    adapt(connection)
    return connection


def has_message(connection: psycopg.Connection[PostgresRow]) -> bool:
    """Return whether the server has sent an unrequested message, such as that it is shutting down."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(connection, selectors.EVENT_READ)
        return bool(waiting.select(0))


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Translate the errors of a server into ours."""
    try:
        yield
    except psycopg.Error as error:
        kind = StoreLost if _is_gone(error) else StoreError
        raise kind(_said(error), place=place, fix=_advice(error)) from error


def _is_gone(error: psycopg.Error) -> bool:
    """Return whether an error means that the server is gone, rather than that the statement was wrong."""
    stopped = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)
    # Errors that do not come from a server have no SQLSTATE.
    cut_off = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None
    return cut_off or isinstance(error, stopped)


def _said(error: psycopg.Error) -> str:
    return " ".join((error.diag.message_primary or str(error) or type(error).__name__).split())


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
        case _:
            return "see ", RunCommand("runs"), ", and when the cause is gone ", RunCommand("resume")


T = TypeVar("T")
_IS_LOCKED = """
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = (%(number)s::bigint >> 32 & 4294967295)::oid AND objid = (%(number)s::bigint & 4294967295)::oid
"""


def lock_number(name: str) -> int:
    """Return the lock number for a name."""
    return int.from_bytes(sha256(f"redraft {name}".encode()).digest()[:8], signed=True)


class PostgresClaims(Claims):
    """The claims of one process, held by a dedicated connection.

    If that connection is lost, as when the server restarts, the claims are lost too; they are taken again before the
    next write. If another process has taken one meanwhile, this one writes nothing more.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._place = shown(address)
        self._lock = threading.RLock()
        self._held: set[str] = set()
        with explained(self._place):
            self._keeper = connect(address)

    @override
    @contextmanager
    def held(self, run: str) -> Iterator[None]:
        deadline = time.monotonic() + CLAIM_SECONDS
        while not self._take(run):
            if time.monotonic() > deadline:
                raise taken(run)
            time.sleep(0.05)
        try:
            yield
        finally:
            self._give_back(run)

    @override
    def is_held(self, run: str) -> bool:
        number = lock_number(run)
        return self._asked(lambda keeper: keeper.execute(_IS_LOCKED, {"number": number}).fetchone() is not None)

    def restore_lost(self) -> None:
        """Take the claims again that were lost with the connection."""
        with self._lock:
            if self._held and (self._keeper.closed or has_message(self._keeper)):
                self._asked(lambda keeper: keeper.execute("SELECT 1"))

    def close(self) -> None:
        """Release all claims; harmless when repeated."""
        self._keeper.close()

    def _take(self, run: str) -> bool:
        with self._lock:
            if run not in self._held and self._asked(lambda keeper: _try_lock(keeper, run)):
                self._held.add(run)
                return True
            return False

    def _give_back(self, run: str) -> None:
        with self._lock, suppress(psycopg.Error):
            self._held.discard(run)
            self._keeper.execute("SELECT pg_advisory_unlock(%s)", [lock_number(run)])

    def _asked(self, question: Callable[[psycopg.Connection[PostgresRow]], T]) -> T:
        """Return the server's answer, reconnecting if necessary."""
        with self._lock, explained(self._place):
            try:
                return question(self._keeper)
            except psycopg.OperationalError:
                if not self._keeper.closed:
                    raise
            self._keeper = self._connected_again()
            if lost := [run for run in self._held if not _try_lock(self._keeper, run)]:
                raise StoreError(
                    f"another process has resumed run {lost[0]} while the server was away", place=self._place
                )
            return question(self._keeper)

    def _connected_again(self) -> psycopg.Connection[PostgresRow]:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return connect(self._address)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)


def _try_lock(keeper: psycopg.Connection[PostgresRow], run: str) -> bool:
    row = keeper.execute("SELECT pg_try_advisory_lock(%s) AS ours", [lock_number(run)]).fetchone()
    return row is not None and bool(row["ours"])
