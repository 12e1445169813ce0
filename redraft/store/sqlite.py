"""SQLite: transactions, settings, error messages, and the steps of the schema."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from typing_extensions import override

from redraft.errors import Advice, RunCommand, Set, StoreError
from redraft.store.connection import BUSY_SECONDS, Connection, Scope, Transaction, Values

VERSION = "201_records"
"""The name of the schema, as databases record it. Another schema has another name."""
_NAME = "redraft"
_APPLIED = "_sqlite_migrations"  # as sqlite-utils calls it
_OLD = re.compile(r"m\d|[01]")
IN_MEMORY = Path(":memory:")
PRIVATE = 0o600
"""File mode: only the owner may read books and summaries."""


class OpenFile:
    """A file that is in use. SQLite goes on with a deleted or replaced one, and never says that nobody else sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._identity = _identity(self.path)

    @property
    def loss(self) -> str:
        """Return what has become of the file since, such as "was replaced"; empty if it is where it was."""
        try:
            identity = _identity(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return "was deleted or moved"
        except OSError:
            return ""
        return "" if identity == self._identity else "was replaced"


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


class SqliteResult:
    """The result of a statement, fetched when the statement was executed."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        # SQLite would otherwise continue a statement while its rows are fetched, after later statements.
        self._rows = iter(cursor.fetchall())
        self.rowcount = cursor.rowcount
        """The number of changed rows."""

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows


class SqliteTransaction(Transaction):
    """A SQLite connection within a transaction."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    @override
    def execute(self, query: str, values: Values = (), /) -> SqliteResult:
        return SqliteResult(self._raw.execute(query, values))

    @override
    def executemany(self, query: str, rows: Iterable[Values], /) -> sqlite3.Cursor:
        return self._raw.executemany(query, rows)


class SqliteConnection(Connection):
    """A SQLite connection that threads share, one at a time. Every write is a `BEGIN IMMEDIATE` transaction, which
    survives the death of the process."""

    def __init__(self, path: Path, *, to_read: bool = False, only_read: bool = False) -> None:
        """Open the database. With `to_read` a read-only file is opened as it is; with `only_read` any file is."""
        self.path = path
        self.place = str(path)
        self._lock = threading.RLock()
        self.only_read = only_read or (to_read and _is_read_only(path))
        self._seen: tuple[int, ...] = ()
        self._file: OpenFile | None = None
        with self.explained():
            if self.only_read:
                self._open_to_read()
                return
            if path != IN_MEMORY:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(mode=PRIVATE)
            self.raw = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                _prepare(self.raw)
                self._use_write_ahead_log()
                self.raw.execute("PRAGMA synchronous=NORMAL")
                self.raw.execute("PRAGMA foreign_keys=ON")
                if path != IN_MEMORY:
                    self._file = OpenFile(path)
            except BaseException:
                self.raw.close()
                raise

    def _open_to_read(self) -> None:
        self._seen = _stamp(self.path)
        self.raw = _opened_to_read(self.path)
        _prepare(self.raw)

    def _look_again(self) -> None:
        """Reopen an immutable connection after others have written to the file."""
        if self._seen and not self.raw.in_transaction and self._seen != _stamp(self.path):
            self.raw.close()
            self._open_to_read()

    def _use_write_ahead_log(self) -> None:
        """Switch to write-ahead logging, retrying: SQLite does not wait when several processes do so at once."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self.raw.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    @override
    @contextmanager
    def writing(self, scope: Scope = "all", *names: str) -> Iterator[Transaction]:
        with self._lock, self.explained():
            if self.raw.in_transaction:
                yield SqliteTransaction(self.raw)
                return
            try:
                self.raw.execute("BEGIN IMMEDIATE")
                yield SqliteTransaction(self.raw)
                self.raw.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    @override
    @contextmanager
    def rolled_back(self) -> Iterator[Transaction]:
        with self._lock, self.explained():
            try:
                self.raw.execute("BEGIN IMMEDIATE")
                yield SqliteTransaction(self.raw)
            finally:
                self._roll_back()

    @override
    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._lock, self.explained():
            self._look_again()
            self.raw.execute("BEGIN")
            try:
                yield
            finally:
                self._roll_back()

    def _roll_back(self) -> None:
        # SQLite has already rolled back after some errors, such as a full disk.
        if self.raw.in_transaction:
            self.raw.execute("ROLLBACK")

    @override
    def rows(self, query: str, parameters: Values = ()) -> list[sqlite3.Row]:
        with self._lock, self.explained():
            self._look_again()
            return self.raw.execute(query, parameters).fetchall()

    @override
    def row(self, query: str, parameters: Values = ()) -> sqlite3.Row | None:
        with self._lock, self.explained():
            self._look_again()
            row: sqlite3.Row | None = self.raw.execute(query, parameters).fetchone()
            return row

    @override
    def clock(self) -> float:
        """Return the local time: all writers to a file are on this machine."""
        return time.time()

    @property
    @override
    def loss(self) -> str:
        if self._file is None or not (what := self._file.loss):
            return ""
        return f"the database {self.place} {what} during the run: the run and its answers are not stored"

    def explained(self) -> AbstractContextManager[None]:
        """Translate SQLite's errors into ours."""
        return explained(self.path)

    @override
    def compact(self) -> None:
        with self._lock, self.explained():
            compact(self.raw)

    @property
    @override
    def size(self) -> int:
        with self._lock, self.explained():
            return size_of(self.raw)

    @property
    @override
    def used(self) -> int:
        with self._lock, self.explained():
            return size_of(self.raw) - size_of(self.raw, "freelist_count")

    @override
    def prepare(self, *, may_create: bool = True) -> bool:
        if is_current(self._applied(), self.place):
            return True
        # Imports NumPy, which would dominate the start-up of commands that only read.
        from sqlite_utils import Database
        from sqlite_utils.migrations import Migrations

        migrations = Migrations(_NAME)

        @migrations(name=VERSION)
        def apply(database: Database) -> None:
            for statement in schema_statements():
                database.execute(statement)

        # Two processes may open a new database at once: the second finds nothing left to do.
        with self.writing():
            if (tables := self._tables() - {_APPLIED}) and not self._applied():
                raise another_program(f"this is the database of another program (it has a table {min(tables)})", self)
            migrations.apply(Database(self.raw))
        return True

    def _tables(self) -> set[str]:
        return {row["name"] for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def _applied(self) -> list[str]:
        if _APPLIED not in self._tables():
            return []
        rows = self.rows("SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY rowid", (_NAME,))
        return [row["name"] for row in rows]

    @override
    def close(self) -> None:
        with self._lock:
            self.raw.close()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Translate the errors of a database file into ours."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise store_error(error, path) from error


def _is_read_only(path: Path) -> bool:
    """Return whether the database cannot be written: SQLite needs a writable directory even to read a WAL database."""
    return path != IN_MEMORY and path.exists() and not all(os.access(place, os.W_OK) for place in (path, path.parent))


def _opened_to_read(path: Path) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    if _bytes_in(log) and not index.exists():
        # The writer died, or the files were copied. SQLite reads such a log only if it may create the index.
        with TemporaryDirectory() as folder:
            copies = [shutil.copyfile(file, Path(folder) / file.name) for file in (path, log)]
            with closing(sqlite3.connect(copies[0])) as copy:
                return _copied_to_memory(copy)
    mode = "mode=ro&readonly_shm=1" if index.exists() else "immutable=1"
    return sqlite3.connect(
        f"{address}?{mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def _prepare(raw: sqlite3.Connection) -> None:
    """Configure a connection: rows by column name, and damaged text decoded as far as possible."""
    raw.row_factory = sqlite3.Row
    raw.text_factory = readable_text


def readable_text(data: bytes) -> str:
    """Return a text as far as it can be decoded."""
    return data.decode("utf-8", "replace")


def _stamp(path: Path) -> tuple[int, ...]:
    """Return a value that changes with every write to the database."""
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    now = path.stat()
    return (now.st_ino, now.st_mtime_ns, now.st_size, _bytes_in(log), int(index.exists()))


def _bytes_in(file: Path) -> int:
    """Return the size of a file; 0 if another process has removed it."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _copied_to_memory(raw: sqlite3.Connection) -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    raw.backup(memory)
    raw.close()
    return memory


def compact(raw: sqlite3.Connection) -> None:
    """Rewrite a database without its free pages, and empty its write-ahead log."""
    raw.execute("VACUUM")
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def size_of(raw: sqlite3.Connection, of: str = "page_count") -> int:
    """Return the bytes of a database's pages, or of the pages counted by another pragma, such as `freelist_count`."""
    pages, size = (raw.execute(f"PRAGMA {name}").fetchone()[0] for name in (of, "page_size"))
    return int(pages * size)


def files_of(path: Path) -> list[Path]:
    """Return the existing files of a database: itself and its write-ahead log."""
    beside = (path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm"))
    return [file for file in beside if file.exists()]


def store_error(error: Exception, path: Path) -> StoreError:
    """Return our error for one of SQLite's, with a hint."""
    return StoreError(str(error), place=str(path), fix=_advice(error))


def _advice(error: Exception) -> Advice:
    text = str(error).lower()
    if "closed database" in text or "no active connection" in text:
        return "the session was closed, and this needs an open one; stored results are safe"
    if "locked" in text or "busy" in text:
        return "another program has locked the database: close it there, then ", RunCommand("resume")
    if "full" in text or "no space" in text:
        return "free some disk space, then ", RunCommand("resume"), "; stored results are safe"
    if "not a database" in text or "malformed" in text:
        return "this is not a redraft database, or it is damaged: name another with ", Set("db")
    if isinstance(error, OSError) or "readonly" in text or "unable to open" in text:
        return "redraft must be able to write there: name another place with ", Set("db")
    return "see ", RunCommand("runs"), ", and when the cause is gone ", RunCommand("resume")


def schema_statements() -> Iterator[str]:
    """Yield the statements of the schema: each ends at an unindented line that ends with a semicolon."""
    statement = ""
    for line in Path(__file__).with_name("schema.sql").read_text("utf-8").splitlines(keepends=True):
        statement += line
        if not line[0].isspace() and not line.startswith("--") and line.rstrip().endswith(";"):
            yield statement
            statement = ""


def is_current(applied: Sequence[str], place: str) -> bool:
    """Return whether a database that recorded these names has the schema. Raises for one of another version."""
    others = [name for name in applied if name != VERSION]
    if any(_OLD.match(name) for name in others):
        raise StoreError(
            "the database was written by a version of redraft before 0.1.0, and only such a version can read it",
            place=place,
            fix=(
                *("name another database with ", Set("db")),
                "; that version's `redraft export RUN -o run.html` writes a run to a file, and its `redraft pack export"
                " BOOK -o FILE` questions that `redraft pack import FILE` reads here",
            ),
        )
    if others:
        raise StoreError(
            f"the database was written by a newer redraft (it has {others[-1]})",
            place=place,
            fix=("upgrade redraft, or name another database with ", Set("db")),
        )
    return VERSION in applied


def another_program(message: str, connection: Connection) -> StoreError:
    """Return the error for a database with tables that redraft did not create."""
    return StoreError(message, place=connection.place, fix=("name another database with ", Set("db")))
