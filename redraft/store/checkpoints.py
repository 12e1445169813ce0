"""LangGraph's checkpoints, in a file of their own so that their writes do not block the database's."""

from __future__ import annotations

import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from typing_extensions import override

from redraft.store.connection import BUSY_SECONDS, Checkpoints
from redraft.store.sqlite import IN_MEMORY, OpenFile, compact, files_of, size_of, store_error

_TEXT_ID = re.compile(rb"[0-9a-f]{64}")
_TABLES = (("checkpoints", "checkpoint"), ("writes", "value"))
OF_RUN = "(thread_id IN (:run, 'run-' || :run) OR substr(thread_id, 1, length(:run) + 1) = :run || '-'" + (
    " OR substr(thread_id, 1, length(:run) + 5) = 'run-' || :run || '-')"
)


class SqliteCheckpoints(Checkpoints):
    """The checkpoints of one database, in a file next to it."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self.path = database.with_suffix(f".checkpoints{database.suffix or '.db'}")
        self._memory = f"file:/redraft-{secrets.token_hex(8)}?vfs=memdb" if database == IN_MEMORY else None
        # A database in memory lasts as long as a connection to it is open.
        self._file: OpenFile | None = None
        self._keeper = sqlite3.connect(self._memory, uri=True, check_same_thread=False) if self._memory else None

    def address(self) -> str:
        """Return the SQLite URI for LangGraph's saver. Creates the file, as private as the database."""
        if self._memory:
            return self._memory
        allowed = self._database.stat().st_mode & 0o777
        self.path.touch(mode=allowed)
        for file in files_of(self.path):
            # A user who may write to another's file cannot change its permissions, and SQLite deletes the log when the
            # last
            # connection closes, which may be another run's.
            with suppress(PermissionError, FileNotFoundError):
                mode = file.stat().st_mode & 0o777
                if mode & ~allowed:
                    file.chmod(mode & allowed)
        return self.path.absolute().as_uri()

    def watch(self) -> None:
        """Notice from now on if the file, which a saver has opened, is deleted or replaced."""
        if not self._memory:
            self._file = OpenFile(self.path)

    @property
    @override
    def loss(self) -> str:
        if self._file is None or not (what := self._file.loss):
            return ""
        return f"the file {self.path} {what} during the run: a stopped run starts again, with its stored answers"

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
    def forget(self, runs: Sequence[str]) -> None:
        with self._opened() as raw:
            raw.execute("BEGIN IMMEDIATE")
            for run in runs:
                for table, _ in self._tables(raw):
                    raw.execute(f"DELETE FROM {table} WHERE {OF_RUN}", {"run": run})  # noqa: S608
            raw.execute("COMMIT")

    @override
    def bytes_of(self, runs: Sequence[str]) -> int:
        total = 0
        with self._opened() as raw:
            for run in runs:
                for table, column in self._tables(raw):
                    query = f"SELECT coalesce(sum(length({column})), 0) FROM {table} WHERE {OF_RUN}"  # noqa: S608
                    total += raw.execute(query, {"run": run}).fetchone()[0]
        return total

    @override
    def texts(self, without: Sequence[str]) -> set[str]:
        found: set[bytes] = set()
        with self._opened() as raw:
            for table, column in self._tables(raw):
                for thread, value in raw.execute(f"SELECT thread_id, {column} FROM {table}"):  # noqa: S608
                    if not any(_belongs(thread, run) for run in without):
                        found.update(_TEXT_ID.findall(value or b""))
        return {text.decode() for text in found}

    @override
    def compact(self) -> None:
        with self._opened() as raw:
            compact(raw)

    @property
    @override
    def size(self) -> int:
        with self._opened() as raw:
            return size_of(raw)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file if it exists."""
        there = self._memory or (self.address() if self.path.exists() else ":memory:")
        with (
            self.explained(),
            closing(sqlite3.connect(there, timeout=BUSY_SECONDS, isolation_level=None, uri=True)) as raw,
        ):
            yield raw

    def _tables(self, raw: sqlite3.Connection) -> list[tuple[str, str]]:
        """Return the existing tables; a saver creates them when it is first used."""
        there = {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return [table for table in _TABLES if table[0] in there]

    @override
    def close(self) -> None:
        if self._keeper is not None:
            self._keeper.close()


def thread_of(run: str) -> str:
    """Return the thread on which redraft itself drives a run."""
    return f"run-{run}"


def _belongs(thread: str, run: str) -> bool:
    """Return whether a thread belongs to a run, as in the SQL statements above."""
    return thread in (run, thread_of(run)) or thread.startswith((f"{run}-", f"{thread_of(run)}-"))
