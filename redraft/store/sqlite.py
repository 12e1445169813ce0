"""SQLite: transactions, settings, claims by locks of files, error messages, and checkpoints in a file of their own,
so that their writes do not block the database's."""

from __future__ import annotations

import fcntl
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout
from typing_extensions import override

from redraft.errors import Advice, RunCommand, Set, StoreError
from redraft.store.connection import BUSY_SECONDS, VERSION, Checkpoints, Connection, Transaction, schema_statements

_VERSIONS = "_sqlite_migrations"  # as sqlite-utils calls it
IN_MEMORY = Path(":memory:")
PRIVATE = 0o600
"""File mode: only the owner may read books and summaries."""


class SqliteConnection(Connection):
    """A SQLite connection that threads share, one at a time. Every write is a `BEGIN IMMEDIATE` transaction, which
    survives the death of the process."""

    tables_query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    versions_table = _VERSIONS
    versions_query = f"SELECT name FROM {_VERSIONS} WHERE migration_set = 'redraft' ORDER BY rowid"  # noqa: S608
    size_query = (
        "SELECT (page_count - freelist_count) * page_size AS bytes"
        " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
    )

    def __init__(self, path: Path, *, to_read: bool = False, only_read: bool = False, uri: str = "") -> None:
        """Open the database. With `to_read` a read-only file is opened as it is; with `only_read` any file is. Several
        connections to a database in memory share it under a `uri`."""
        self.path, self.place = path, str(path)
        self._lock = threading.RLock()
        self._file: os.stat_result | None = None
        """The file when it was opened."""
        self._claims: dict[str, BaseFileLock | None] = {}
        self._stamp: tuple[int, ...] = ()
        """The state of the file when it was opened to be read."""
        # SQLite needs a writable directory even to read a database with a write-ahead log.
        writable = path == IN_MEMORY or not path.exists() or all(os.access(p, os.W_OK) for p in (path, path.parent))
        self.only_read = only_read or (to_read and not writable)
        with self.explained():
            if self.only_read:
                self._open_to_read()
                return
            if path != IN_MEMORY:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(mode=PRIVATE)
            self.raw = connect(uri or path)
            deadline = time.monotonic() + BUSY_SECONDS
            try:
                while True:
                    # SQLite does not wait when several processes switch to write-ahead logging at once.
                    try:
                        self.raw.execute("PRAGMA journal_mode=WAL")
                        break
                    except sqlite3.OperationalError as error:
                        if "locked" not in str(error) or time.monotonic() > deadline:
                            raise
                        time.sleep(0.01)
                self.raw.execute("PRAGMA synchronous=NORMAL")
                self.raw.execute("PRAGMA foreign_keys=ON")
                self._file = None if path == IN_MEMORY else path.stat()
                self._absolute = path.absolute()
            except BaseException:
                self.raw.close()
                raise

    def _open_to_read(self) -> None:
        self._stamp = _stamp_of(self.path)
        log, index = (self.path.with_name(self.path.name + suffix) for suffix in ("-wal", "-shm"))
        # SQLite reads a log without its index, as in a copy, only where it may create one.
        mode = "mode=ro&readonly_shm=1" if index.exists() else "mode=ro" if _bytes_in(log) else "immutable=1"
        self.raw = connect(f"{self.path.absolute().as_uri()}?{mode}")

    @override
    @contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise store_error(error, self.path) from error

    @override
    @contextmanager
    def session(self) -> Iterator[Transaction]:
        with self._lock, self.explained():
            if self._stamp and not self.raw.in_transaction and self._stamp != _stamp_of(self.path):
                # Others have written to the file.
                self.raw.close()
                self._open_to_read()
            yield self.raw

    @override
    @contextmanager
    def writing(self, *, is_preview: bool = False) -> Iterator[Transaction]:
        with self._lock, self.explained():
            if self.raw.in_transaction:
                yield self.raw
                return
            try:
                self.raw.execute("BEGIN IMMEDIATE")
                yield self.raw
                self.raw.execute("ROLLBACK" if is_preview else "COMMIT")
            except BaseException:
                # SQLite has already rolled back after some errors, such as a full disk.
                with suppress(sqlite3.Error):
                    self.raw.execute("ROLLBACK")
                raise

    @override
    def try_claim(self, run: str) -> bool:
        if run in self._claims:
            return False
        if self.path == IN_MEMORY:
            # Only this process uses it.
            self._claims[run] = None
            return True
        # A claim may be taken in one thread and released in another.
        lock = FileLock(self.lock_path(run), mode=PRIVATE, thread_local=False)
        with self.explained():
            try:
                lock.acquire(timeout=0)
            except Timeout:
                return False
        self._claims[run] = lock
        return True

    @override
    def release(self, run: str) -> None:
        if (lock := self._claims.pop(run)) is not None:
            Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    @override
    def is_claimed(self, run: str) -> bool:
        if self.path == IN_MEMORY:
            return run in self._claims
        try:
            with self.lock_path(run).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def lock_path(self, run: str) -> Path:
        """Return the file whose lock claims a run."""
        return self.path.with_name(f"{self.path.name}.{run}.lock")

    @property
    def loss(self) -> str:  # type: ignore[override]
        # SQLite goes on with a deleted or replaced file, and never says that nobody else sees it.
        try:
            if self._file is None or os.path.samestat(self._absolute.stat(), self._file):
                return ""
            loss = "was replaced"
        except (FileNotFoundError, NotADirectoryError):
            loss = "was deleted or moved"
        except OSError:
            return ""
        return f"the database {self.place} {loss} during the run: the run and its answers are not stored"

    @override
    def compact(self) -> None:
        with self._lock, self.explained():
            compact(self.raw)

    @override
    def create(self, raw: Transaction) -> None:
        # Imports NumPy, which would dominate the start-up of commands that use a database that exists.
        from sqlite_utils import Database
        from sqlite_utils.migrations import Migrations

        migrations = Migrations("redraft")

        @migrations(name=VERSION)
        def create_tables(database: Database) -> None:
            for statement in schema_statements():
                database.execute(statement)

        migrations.apply(Database(self.raw))


def connect(address: Path | str) -> sqlite3.Connection:
    """Connect with rows by column name, and damaged text decoded as far as possible."""
    raw = sqlite3.connect(
        address,
        uri=isinstance(address, str),
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    raw.row_factory = sqlite3.Row
    raw.text_factory = lambda data: data.decode("utf-8", "replace")
    return raw


def _stamp_of(path: Path) -> tuple[int, ...]:
    """Return a value that changes with every write to the database."""
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    status = path.stat()
    return (status.st_ino, status.st_mtime_ns, status.st_size, _bytes_in(log), int(index.exists()))


def _bytes_in(file: Path) -> int:
    """Return the size of a file; 0 if another process has removed it."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def compact(raw: sqlite3.Connection) -> None:
    """Rewrite a database without its free pages, and empty its write-ahead log."""
    raw.execute("VACUUM")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def store_error(error: Exception, path: Path) -> StoreError:
    """Return our error for one of SQLite's, with a hint."""
    text = str(error).lower()
    fix: Advice = next(
        (advice for words, advice in _ADVICE.items() if any(word in text for word in words)),
        ("see ", RunCommand("runs"), ", and when the cause is gone ", RunCommand("resume")),
    )
    if isinstance(error, OSError) and "no space" not in text:
        fix = _UNWRITABLE
    return StoreError(str(error), place=str(path), fix=fix)


_UNWRITABLE: Advice = ("redraft must be able to write there: name another place with ", Set("db"))
_ADVICE: Mapping[tuple[str, ...], Advice] = {
    ("closed database", "no active connection"): (
        "the session was closed, and this needs an open one; stored results are safe"
    ),
    ("locked", "busy"): (*("another program has locked the database: close it there, then ", RunCommand("resume")),),
    ("full", "no space"): (*("free some disk space, then ", RunCommand("resume"), "; stored results are safe"),),
    ("not a database", "malformed"): (
        *("this is not a redraft database, or it is damaged: name another with ", Set("db")),
    ),
    ("readonly", "unable to open"): _UNWRITABLE,
}


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
