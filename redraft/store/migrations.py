"""Bringing a database up to the schema of today."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from redraft.errors import StoreError
from redraft.store.schema import STEPS, Execute, refuse_others
from redraft.store.sqlite import SqliteConnection

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

_NAME = "redraft"
_RECORD = "_sqlite_migrations"  # as sqlite-utils calls it


def migrate(connection: SqliteConnection) -> None:
    """Bring the database up to date; that of a newer or an old redraft is refused rather than damaged."""
    applied = _applied(connection)
    refuse_others(applied, connection.place)
    if len(applied) < len(STEPS):
        # Brings NumPy with it, which would be most of what a command that only reads has to wait for.
        from sqlite_utils import Database

        if connection.only_read:
            connection.move_to_memory()
        # Two processes may open a new database at once: the second finds nothing left to do.
        with connection.writing():
            _require_ours(connection)
            steps().apply(Database(connection.raw))


def steps() -> Migrations:
    """The steps of the schema, as sqlite-utils applies them."""
    from sqlite_utils.migrations import Migrations

    migrations = Migrations(_NAME)

    def add(name: str, step: Callable[[Execute], None]) -> None:
        @migrations(name=name)
        def apply(database: Database) -> None:
            step(database.execute)

    for name, step in STEPS.items():
        add(name, step)
    return migrations


def _tables(connection: SqliteConnection) -> set[str]:
    return {row["name"] for row in connection.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _applied(connection: SqliteConnection) -> list[str]:
    if _RECORD not in _tables(connection):
        return []
    rows = connection.rows("SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY rowid", (_NAME,))
    return [row["name"] for row in rows]


def _require_ours(connection: SqliteConnection) -> None:
    """Our tables come into being together with the record of it, so tables without it are somebody else's."""
    tables = _tables(connection) - {_RECORD}
    if tables and not _applied(connection):
        raise StoreError(
            f"this is the database of another program (it has a table {min(tables)})",
            place=connection.place,
            hint="name another database with --db",
        )
