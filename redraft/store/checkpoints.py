"""LangGraph's checkpoints, in a file of their own so that their writes do not block the database's."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from typing import ClassVar

from typing_extensions import override

from redraft.store.connection import Connection
from redraft.store.sqlite import IN_MEMORY, SqliteConnection, store_error

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


class SqliteCheckpoints(Checkpoints):
    """The checkpoints of one database, in a file next to it."""

    remedy = "move that file away"

    def __init__(self, connection: SqliteConnection) -> None:
        super().__init__(connection)
        self._database = database = connection.path
        self.path = database.with_suffix(f".checkpoints{database.suffix or '.db'}")
        self.place = str(self.path)
        self._memory = f"file:/redraft-{secrets.token_hex(8)}?vfs=memdb" if database == IN_MEMORY else ""
        self.keeper = SqliteConnection(IN_MEMORY, uri=self._memory) if self._memory else None

    def address(self) -> str:
        """Return the SQLite URI for LangGraph's saver. Creates the file, as private as the database."""
        if self._memory:
            return self._memory
        try:
            allowed = self._database.stat().st_mode & 0o777
            self.path.touch(mode=allowed)
            # It switches to write-ahead logging in its turn, for which LangGraph's saver would not wait.
            SqliteConnection(self.path).close()
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
    def opened(self) -> AbstractContextManager[Connection]:
        if self.keeper is not None:
            return nullcontext(self.keeper)
        return closing(SqliteConnection(self.path if self.path.exists() else IN_MEMORY))


def thread_of(run: str) -> str:
    """Return the thread on which redraft itself drives a run."""
    return f"{_PREFIX}{run}"
