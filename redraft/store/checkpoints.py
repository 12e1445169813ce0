"""LangGraph's checkpoints, in a file of their own so that their writes do not block the database's."""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import ClassVar

from typing_extensions import override

from redraft.store.connection import Connection, Transaction
from redraft.store.sqlite import (
    IN_MEMORY,
    SqliteConnection,
    compact,
    connect,
    store_error,
)

_TEXT_ID = re.compile("[0-9a-f]{64}")
_PREFIX = "run-"
_OF_RUN = "(thread_id IN (:run, 'run-' || :run) OR substr(thread_id, 1, length(:run) + 1) = :run || '-'" + (
    " OR substr(thread_id, 1, length(:run) + 5) = 'run-' || :run || '-')"
)


class Checkpoints:
    """LangGraph's checkpoints of the runs of one database, in tables next to the others. LangGraph owns the tables;
    this class only deletes from them."""

    remedy: ClassVar = "delete the rows of thread {thread} from checkpoints, checkpoint_blobs, checkpoint_writes"
    """What to do about checkpoints that cannot be used, with the thread as `{thread}`."""
    columns: ClassVar[Mapping[str, str]] = {
        "checkpoints": "checkpoint::text",
        "checkpoint_blobs": "encode(blob, 'escape')",
        "checkpoint_writes": "encode(blob, 'escape')",
    }
    """The tables, and as text what each holds. A saver creates them when it is first used."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.place = connection.place
        """The file or the address that errors name."""

    def explained(self) -> AbstractContextManager[object]:
        """Translate database errors of LangGraph's saver into ours."""
        return self.connection.explained()

    def writing(self) -> AbstractContextManager[Transaction]:
        """Open a write transaction."""
        return self.connection.writing()

    def tables(self, raw: Transaction) -> Sequence[str]:
        """Return those of the tables that exist."""
        rows = raw.execute(self.connection.tables_query).fetchall()
        return sorted(self.columns.keys() & {row["name"] for row in rows})

    @property
    def size(self) -> int:
        """Return their size in bytes."""
        with self.writing() as raw:
            sums = [
                raw.execute(f"SELECT sum(pg_column_size(t.*)) AS n FROM {table} t").fetchone()  # noqa: S608
                for table in self.tables(raw)
            ]
        return sum(int(row["n"] or 0) for row in sums)

    def compact(self) -> None:
        """Give back the space of deleted threads to the file system, where they have a file of their own."""

    def close(self) -> None:
        """Close the checkpoints, where they have a connection of their own; harmless when repeated."""

    def forget(self, runs: Sequence[str]) -> None:
        """Remove the threads of runs."""
        with self.writing() as raw:
            for table in self.tables(raw):
                raw.executemany(f"DELETE FROM {table} WHERE {_OF_RUN}", [{"run": run} for run in runs])  # noqa: S608

    def texts(self, without: Sequence[str]) -> set[str]:
        """Return the ids of all texts that checkpoints refer to, except those of some runs."""
        texts: set[str] = set()
        with self.writing() as raw:
            for table in self.tables(raw):
                query = f"SELECT CAST(thread_id AS TEXT) AS thread, {self.columns[table]} AS content FROM {table}"  # noqa: S608
                for row in raw.execute(query).fetchall():
                    thread = row["thread"].removeprefix(_PREFIX)
                    if not any(thread == run or thread.startswith(f"{run}-") for run in without):
                        texts.update(_TEXT_ID.findall(row["content"] or ""))
        return texts


class SqliteCheckpoints(Checkpoints):
    """The checkpoints of one database, in a file next to it."""

    remedy = "move that file away"
    # In a file from elsewhere, a column may hold values of any type.
    columns: ClassVar = {"checkpoints": "CAST(checkpoint AS TEXT)", "writes": "CAST(value AS TEXT)"}

    def __init__(self, connection: SqliteConnection) -> None:
        super().__init__(connection)
        self._database = database = connection.path
        self.path = database.with_suffix(f".checkpoints{database.suffix or '.db'}")
        self.place = str(self.path)
        self._memory = f"file:/redraft-{secrets.token_hex(8)}?vfs=memdb" if database == IN_MEMORY else ""
        # A database in memory lasts as long as a connection to it is open.
        self._keeper = connect(self._memory) if self._memory else None

    def address(self) -> str:
        """Return the SQLite URI for LangGraph's saver. Creates the file, as private as the database."""
        if self._memory:
            return self._memory
        try:
            allowed = self._database.stat().st_mode & 0o777
            self.path.touch(mode=allowed)
        except OSError as error:
            raise store_error(error, self.path) from error
        for file in (self.path.with_name(self.path.name + suffix) for suffix in ("", "-wal", "-shm")):
            # A user who may write to another's file cannot change its permissions, and SQLite deletes the log when the
            # last connection closes, which may be another run's.
            with suppress(PermissionError, FileNotFoundError):
                mode = file.stat().st_mode & 0o777
                if mode & ~allowed:
                    file.chmod(mode & allowed)
        return self.path.absolute().as_uri()

    @override
    @contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error
        except ValueError as error:
            # This is what aiosqlite raises of a closed connection.
            if str(error) != "no active connection":
                raise
            raise store_error(error, self.path) from error

    @override
    def compact(self) -> None:
        with self._opened() as raw:
            compact(raw)

    @property
    @override
    def size(self) -> int:
        with self._opened() as raw:
            return int(raw.execute(SqliteConnection.size_query).fetchone()["bytes"])

    @override
    def close(self) -> None:
        if self._keeper is not None:
            self._keeper.close()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file if it exists."""
        address = self._memory or (self.address() if self.path.exists() else IN_MEMORY)
        with self.explained(), closing(connect(address)) as raw:
            yield raw

    @override
    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._opened() as raw:
            raw.execute("BEGIN IMMEDIATE")
            yield raw
            raw.execute("COMMIT")


def thread_of(run: str) -> str:
    """Return the thread on which redraft itself drives a run."""
    return f"{_PREFIX}{run}"
