"""The steps of the schema, and the migration of a SQLite file (`postgres/connection.py` migrates a server)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from redraft.errors import StoreError
from redraft.store.sqlite import SqliteConnection

_NAME = "redraft"
_RECORD = "_sqlite_migrations"  # table and index are those of sqlite-utils, by which databases were made
_CREATE_RECORD = (
    f"CREATE TABLE IF NOT EXISTS {_RECORD} (id INTEGER PRIMARY KEY, migration_set TEXT, name TEXT, applied_at TEXT)",
    f"CREATE UNIQUE INDEX IF NOT EXISTS idx_{_RECORD}_migration_set_name ON {_RECORD} (migration_set, name)",
)
_ADD_TO_RECORD = f"INSERT INTO {_RECORD} (migration_set, name, applied_at) VALUES (?, ?, ?)"  # noqa: S608
_OLD = re.compile(r"m\d{3}_|001_baseline$")


class SchemaStep(NamedTuple):
    """A schema change: the SQL files for each database, relative to this module."""

    sqlite: str
    postgres: str


STEPS = {
    "001_tables": SchemaStep("schema.sql", "postgres/schema.sql"),
    "002_messages": SchemaStep("messages.sql", "postgres/messages.sql"),
}
"""The steps in order, by the names recorded in the database. The first creates all tables; each change is a new step. A
released step never changes."""


def statements(file: str) -> Iterator[str]:
    """Yield the statements of a file: each ends at an unindented line that ends with a semicolon."""
    statement = ""
    for line in (Path(__file__).parent / file).read_text("utf-8").splitlines(keepends=True):
        statement += line
        if not line[0].isspace() and not line.startswith("--") and line.rstrip().endswith(";"):
            yield statement
            statement = ""


def refuse_others(applied: Sequence[str], place: str) -> None:
    """Raise for a database with unknown steps: one of a newer redraft, or of an old one."""
    unknown = [name for name in applied if name not in STEPS]
    if any(_OLD.match(name) for name in unknown):
        raise StoreError(
            "the database was written by a redraft from before 27 November 2026, which only such a one reads",
            place=place,
            hint="with that redraft `redraft export RUN -o run.html` writes a run to a file, and `redraft pack export"
            " BOOK -o book.pack.json` the questions about a document, which `redraft pack import` reads here;"
            " name another database with --db",
        )
    if unknown:
        raise StoreError(
            f"the database was written by a newer redraft (it has {unknown[-1]})",
            place=place,
            hint="upgrade redraft, or name another database with --db",
        )


def migrate(connection: SqliteConnection) -> None:
    """Bring the database up to date; raises for one of a newer or an older redraft and leaves it unchanged."""
    applied = _applied(connection)
    refuse_others(applied, connection.place)
    if len(applied) < len(STEPS):
        if connection.only_read:
            connection.move_to_memory()
        # Two processes may open a new database at once: the second finds nothing left to do.
        with connection.writing() as transaction:
            _require_ours(connection)
            for statement in _CREATE_RECORD:
                transaction.execute(statement)
            for name in [name for name in STEPS if name not in _applied(connection)]:
                for statement in statements(STEPS[name].sqlite):
                    transaction.execute(statement)
                transaction.execute(_ADD_TO_RECORD, (_NAME, name, str(datetime.now(UTC))))


def _tables(connection: SqliteConnection) -> set[str]:
    return {row["name"] for row in connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _applied(connection: SqliteConnection) -> list[str]:
    if _RECORD not in _tables(connection):
        return []
    rows = connection.rows("SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY rowid", (_NAME,))
    return [row["name"] for row in rows]


def _require_ours(connection: SqliteConnection) -> None:
    """Raise if the database has tables that redraft did not create."""
    tables = _tables(connection) - {_RECORD}
    if tables and not _applied(connection):
        raise StoreError(
            f"this is the database of another program (it has a table {min(tables)})",
            place=connection.place,
            hint="name another database with --db",
        )
