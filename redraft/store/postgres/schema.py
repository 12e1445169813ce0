"""Bringing a database on a server up to the schema of today."""

from __future__ import annotations

from redraft.errors import StoreError
from redraft.store.connection import Raw
from redraft.store.postgres.connection import PostgresConnection
from redraft.store.postgres.server import SCHEMA
from redraft.store.schema import STEPS, refuse_others, statements

_RECORD = "redraft_steps"


def migrate_server(connection: PostgresConnection, *, may_make: bool) -> bool:
    """Bring a database up to date; returns whether there is one."""
    there = connection.row("SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = ?", (SCHEMA, _RECORD))
    if there is None and not may_make:
        return False
    applied = _applied(connection) if there else []
    refuse_others(applied, connection.place)
    if len(applied) < len(STEPS):
        # Two processes may open a new database at once: the second finds nothing left to do.
        with connection.writing() as raw:
            _require_ours(connection)
            known = set(_applied(connection))
            for name in STEPS:
                if name not in known:
                    _apply(raw, name)
    return True


def _apply(raw: Raw, name: str) -> None:
    for statement in statements(STEPS[name].postgres):
        raw.execute(statement)
    raw.execute(f"INSERT INTO {_RECORD} (name) VALUES (?)", (name,))  # noqa: S608


def _applied(connection: PostgresConnection) -> list[str]:
    return [row["name"] for row in connection.rows(f"SELECT name FROM {_RECORD} ORDER BY name")]  # noqa: S608


def _require_ours(connection: PostgresConnection) -> None:
    """Our tables come into being together with the record of it, so a schema without it is somebody else's."""
    with connection.writing() as raw:
        tables = connection.rows("SELECT tablename FROM pg_tables WHERE schemaname = ?", (SCHEMA,))
        names = {row["tablename"] for row in tables}
        if names and _RECORD not in names:
            raise StoreError(
                f"the schema {SCHEMA} is another program's (it has a table {min(names)})",
                place=connection.place,
                hint="name another database with --db",
            )
        if not connection.row("SELECT 1 FROM pg_namespace WHERE nspname = ?", (SCHEMA,)):
            raw.execute(f"CREATE SCHEMA {SCHEMA}")
        raw.execute(f"CREATE TABLE IF NOT EXISTS {_RECORD} (name text PRIMARY KEY)")
