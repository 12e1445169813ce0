"""The steps of the schema, and the migration of a SQLite file (`postgres/connection.py` migrates a server)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from redraft.errors import StoreError
from redraft.store.sqlite import SqliteConnection

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

_NAME = "redraft"
_RECORD = "_sqlite_migrations"  # as sqlite-utils calls it
_OLD = re.compile(r"m\d{3}_|001_baseline$")


class SchemaStep(NamedTuple):
    """A schema change: the SQL files for each database, relative to this module."""

    sqlite: str
    postgres: str


STEPS = {
    "001_tables": SchemaStep("schema.sql", "postgres/schema.sql"),
    "002_messages": SchemaStep("messages.sql", "postgres/messages.sql"),
    "003_probability": SchemaStep("probability.sql", "postgres/probability.sql"),
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
            "the database was written by redraft from before 27 November 2026, and only such a version reads it",
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
        # Imports NumPy, which would dominate the start-up of commands that only read.
        from sqlite_utils import Database

        if connection.only_read:
            connection.move_to_memory()
        # Two processes may open a new database at once: the second finds nothing left to do.
        with connection.writing():
            _require_ours(connection)
            steps().apply(Database(connection.raw))


def steps() -> Migrations:
    """Return the steps as sqlite-utils migrations."""
    from sqlite_utils.migrations import Migrations

    migrations = Migrations(_NAME)

    def add(name: str, file: str) -> None:
        @migrations(name=name)
        def apply(database: Database) -> None:
            for statement in statements(file):
                database.execute(statement)

    for name, step in STEPS.items():
        add(name, step.sqlite)
    return migrations


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
