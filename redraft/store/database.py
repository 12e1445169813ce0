"""Opens a database, a SQLite file or a PostgreSQL server, by its path or address."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from redraft.errors import StoreError
from redraft.plugins import require
from redraft.store.addresses import is_server
from redraft.store.checkpoints import SqliteCheckpoints
from redraft.store.claims import Claims, FileClaims, MemoryClaims
from redraft.store.connection import Checkpoints, Connection
from redraft.store.schema import migrate
from redraft.store.sqlite import IN_MEMORY, SqliteConnection


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """An open database with the current schema, its checkpoints and its claims."""

    address: str
    """The address for another process. It may contain a password and must never be shown."""
    connection: Connection
    checkpoints: Checkpoints
    claims: Claims

    def close(self) -> None:
        """Close the database and its checkpoints; harmless when repeated."""
        self.checkpoints.close()
        self.connection.close()


def opened(address: str | Path, *, must_exist: bool, to_read: bool, only_read: bool = False) -> OpenDatabase:
    """Open a database, or create one. Raises `StoreError` if it must exist and does not."""
    if is_server(address):
        return _on_a_server(str(address), must_exist=must_exist)
    path = Path(address).expanduser()
    if (must_exist or only_read) and not path.exists():
        raise _not_there(str(path))
    in_memory = path == IN_MEMORY
    connection = SqliteConnection(path, to_read=to_read, only_read=only_read)
    checkpoints = SqliteCheckpoints(path)
    made = OpenDatabase(
        str(path if in_memory else path.absolute()),
        connection,
        checkpoints,
        MemoryClaims() if in_memory else FileClaims(path, only_look=only_read),
    )
    try:
        migrate(connection)
    except BaseException:
        made.close()
        raise
    return made


def _on_a_server(address: str, *, must_exist: bool) -> OpenDatabase:
    require("a database on a server", "postgres", "psycopg", "psycopg_pool")
    from redraft.store.postgres.claims import PostgresClaims
    from redraft.store.postgres.connection import PostgresCheckpoints, PostgresConnection, migrate_server

    claims = PostgresClaims(address)
    connection = PostgresConnection(address, claims)
    made = OpenDatabase(address, connection, PostgresCheckpoints(connection), claims)
    try:
        if not migrate_server(connection, may_make=not must_exist):
            raise _not_there(connection.place)
    except BaseException:
        made.close()
        raise
    return made


def _not_there(place: str) -> StoreError:
    return StoreError(
        "there is no database there",
        place=place,
        hint="name the one that your runs are in with --db, or leave --db out for the usual one",
    )
