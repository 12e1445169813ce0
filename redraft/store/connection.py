"""The interface of databases: statements in one dialect, and transactions.

Statements use the SQL that SQLite and PostgreSQL share: `?` or `:name` for values, `ON CONFLICT` for existing rows,
integers for booleans, and `RETURNING` for new ids. `json_each` is built into SQLite; on a server the schema defines it.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from redraft.errors import RunError, Set, StoreError

VERSION = "205_evidence"
"""The name of the schema, as databases record it. Another schema has another name."""
BUSY_SECONDS = 60.0
# `is_claimed` may take a lock for a moment, which must not fail others that want the run.
CLAIM_SECONDS = 0.5
_SURROGATES = re.compile("[\ud800-\udfff]")
Values = Sequence[object] | Mapping[str, object]

Row = Any
"""A row of a result: its values by column name."""


class Transaction(Protocol):
    """A database connection within a transaction."""

    def execute(self, query: str, values: Any = ..., /) -> Any:
        """Execute a statement; return a cursor with `fetchone`, `fetchall` and `rowcount`."""

    def executemany(self, query: str, rows: Any, /) -> object:
        """Execute a statement once for each row of values."""


class Connection(ABC):
    """A database that several threads may share.

    Every write is its own transaction: it waits for its turn at the start, never fails because another process wrote
    meanwhile, and is durable when it returns.
    """

    place: str
    """The name of the database in messages, without secrets."""
    only_read = False
    """Whether the database is read-only."""
    raw: Any
    """The connection of the database's own library."""
    _lock: threading.RLock
    _is_closed = False
    loss = ""
    """A sentence that says that the file of the open database was deleted or replaced; empty if it was not. What is
    written after that is gone when it is closed."""

    @abstractmethod
    def writing(self, *, is_preview: bool = False) -> AbstractContextManager[Transaction]:
        """Open a write transaction, one at a time in a database. Within another of this connection, join that one. A
        preview is rolled back at the end."""

    @abstractmethod
    def explained(self) -> AbstractContextManager[None]:
        """Translate the errors of the database into ours."""

    @abstractmethod
    def session(self) -> AbstractContextManager[Transaction]:
        """Return what reads: the transaction of this thread, or a connection."""

    def rows(self, query: str, values: Values = ()) -> list[Row]:
        """Return all rows of a SELECT."""
        with self.session() as raw:
            return list(raw.execute(query, values).fetchall())

    def row(self, query: str, values: Values = ()) -> Row | None:
        """Return the first row of a SELECT."""
        with self.session() as raw:
            return raw.execute(query, values).fetchone()

    def write(self, query: str, values: Values = ()) -> int:
        """Execute one statement that writes; return how many rows it concerned."""
        with self.writing() as raw:
            return int(raw.execute(query, values).rowcount)

    @abstractmethod
    def try_claim(self, run: str) -> bool:
        """Claim a run for this process until it is released or the process dies. Return whether it was free."""

    @abstractmethod
    def release(self, run: str) -> None:
        """End the claim on a run."""

    @abstractmethod
    def is_claimed(self, run: str) -> bool:
        """Return whether a living process has claimed the run."""

    @contextmanager
    def claim(self, run: str) -> Iterator[None]:
        """Claim a run for the duration of the context; raises `RunError` if another process has."""
        deadline = time.monotonic() + CLAIM_SECONDS
        while not self.try_claim(run):
            if time.monotonic() > deadline:
                raise RunError(f"run {run} is in use by another process", hint="wait for it, or stop it first")
            time.sleep(0.02)
        try:
            yield
        finally:
            self.release(run)

    def clock(self) -> float:
        """Return the seconds since 1970 by the clock that all writers to this database share."""
        return time.time()

    @abstractmethod
    def compact(self) -> None:
        """Give back the space of deleted rows to the file system."""

    @property
    def size(self) -> int:
        """Return the bytes in use, approximately; within a transaction, as of its last change."""
        return int(self.rows(self.size_query)[0]["bytes"])

    size_query: ClassVar[str]
    tables_query: ClassVar[str]
    """A SELECT of the names of all tables."""
    versions_table: ClassVar[str]
    versions_query: ClassVar[str]
    """A SELECT of the names of the schemas that the database records, from the table of versions."""

    def tables(self) -> set[str]:
        """Return the names of the tables, but for the table of versions."""
        return {row["name"] for row in self.rows(self.tables_query)} - {self.versions_table}

    @abstractmethod
    def create(self, raw: Transaction) -> None:
        """Create the tables, and record the version."""

    def close(self) -> None:
        """Close the connection; harmless when repeated."""
        with self._lock:
            self._is_closed = True
            self.raw.close()

    def prepare(self, *, may_create: bool = True) -> bool:
        """Create the tables in a new database. Return whether there are any; raise for those of another version."""
        if self._is_current():
            return True
        if not may_create:
            return False
        # Two processes may open a new database at once: the second finds nothing left to do.
        with self.writing() as raw:
            if not self._is_current():
                if tables := self.tables():
                    raise StoreError(
                        f"this is the database of another program (it has a table {min(tables)})",
                        place=self.place,
                        fix=("name another database with ", Set("db")),
                    )
                self.create(raw)
        return True

    def _is_current(self) -> bool:
        """Return whether the database has the schema. Raises for one of another version."""
        has_versions = any(row["name"] == self.versions_table for row in self.rows(self.tables_query))
        versions = [row["name"] for row in self.rows(self.versions_query)] if has_versions else []
        if others := [name for name in versions if name != VERSION]:
            raise StoreError(
                f"the database was written by another version of redraft (it has {others[-1]})",
                place=self.place,
                fix=("use that version, such as to export what you need, or name another database with ", Set("db")),
            )
        return VERSION in versions


def schema_statements() -> list[str]:
    """Return the statements of the schema: each ends at an unindented line that ends with a semicolon."""
    schema = Path(__file__).with_name("schema.sql").read_text("utf-8")
    return re.findall(r"^CREATE (?:.*;|(?s:.*?)\n\S.*;)$", schema, re.MULTILINE)


P = ParamSpec("P")
T = TypeVar("T")


def storable(value: T) -> T:
    """Return a text with lone surrogates, which UTF-8 cannot encode, replaced by question marks; other values as they
    are."""
    is_plain = not isinstance(value, str) or value.isascii()
    return value if is_plain else cast("T", _SURROGATES.sub("?", str(value)))


async def off_loop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread. A cancelled caller waits for its end, so nothing is left half done."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        # Retrieved, so that asyncio does not warn about an exception that was never retrieved.
        task.exception()
        raise


_SCHEMES = ("postgresql://", "postgres://")

_HIDDEN = ("password", "sslpassword")


def is_server(address: str | Path) -> bool:
    """Return whether this is the address of a PostgreSQL server."""
    return isinstance(address, str) and address.startswith(_SCHEMES)


def is_only_here(address: str | Path) -> bool:
    """Return whether the address has another meaning on another machine: a file, a socket, or `localhost`."""
    if not is_server(address):
        return True
    parts = urlsplit(str(address))
    query = dict(parse_qsl(parts.query))
    named = (query.get("service"), query.get("hostaddr"), query.get("host"), parts.hostname, os.environ.get("PGHOST"))
    host = unquote(next(filter(None, named), "localhost"))
    return host in ("localhost", "::1") or host.startswith(("/", "127."))


def shown(address: str | Path) -> str:
    """Return the address without its password."""
    if not is_server(address):
        return str(address)
    parts = urlsplit(str(address))
    user, at, host = parts.netloc.rpartition("@")
    # Not parsed again: the text of an invalid address may contain part of a password.
    name = user.partition(":")[0]
    query = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in _HIDDEN]
    parameters = f"?{urlencode(query, quote_via=quote, safe='/')}" if query else ""
    return f"{parts.scheme}://{name}{at}{host}{parts.path}{parameters}"


_PREFIX = "run-"
_TABLES = {"checkpoints", "checkpoint_blobs", "checkpoint_writes", "writes"}
"""Those of LangGraph's savers, which create them when they are first used; each database has some of them."""
_OF_RUN = "(thread_id IN (:run, 'run-' || :run) OR substr(thread_id, 1, length(:run) + 1) = :run || '-'" + (
    " OR substr(thread_id, 1, length(:run) + 5) = 'run-' || :run || '-')"
)


class Checkpoints:
    """LangGraph's checkpoints of the runs of one database, in tables next to the others. LangGraph owns the tables;
    this class only deletes from them."""

    remedy: ClassVar = "delete the rows of thread {thread} from checkpoints, checkpoint_blobs, checkpoint_writes"
    """What to do about checkpoints that cannot be used, with the thread as `{thread}`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.place = connection.place
        """The file or the address that errors name."""
        self.keeper: Connection | None = None
        """A connection to checkpoints in memory, which last as long as one is open."""

    def explained(self) -> AbstractContextManager[object]:
        """Translate database errors of LangGraph's saver into ours."""
        return self.connection.explained()

    @property
    def size(self) -> int:
        """Return the bytes in a file of their own."""
        with self.opened() as database:
            return 0 if database is self.connection else database.size

    def opened(self) -> AbstractContextManager[Connection]:
        """Open the database that has them, which is empty where it is a file that does not exist yet."""
        return nullcontext(self.connection)

    def forget(self, runs: Sequence[str]) -> None:
        """Remove the threads of runs."""
        with self.opened() as connection, connection.writing() as raw:
            for table in sorted(_TABLES & connection.tables()):
                raw.executemany(f"DELETE FROM {table} WHERE {_OF_RUN}", [{"run": run} for run in runs])  # noqa: S608


def thread_of(run: str) -> str:
    """Return the thread on which redraft itself drives a run."""
    return f"{_PREFIX}{run}"
