"""Opening a database: a SQLite file, or one on a Postgres server, by its path or address."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from redraft.errors import StoreError
from redraft.plugins import require
from redraft.store.checkpoints import SqliteCheckpoints
from redraft.store.claims import Claims, FileClaims, MemoryClaims
from redraft.store.connection import Checkpoints, Connection
from redraft.store.schema import migrate
from redraft.store.sqlite import IN_MEMORY, SqliteConnection

_SCHEMES = ("postgresql://", "postgres://")
_HIDDEN = ("password", "sslpassword")
_HOSTS = ("hostaddr", "host")
_ELSEWHERE = ("PGHOSTADDR", "PGHOST", "PGSERVICE")


def is_server(address: str | Path) -> bool:
    """Whether this is the address of a Postgres server."""
    return isinstance(address, str) and address.startswith(_SCHEMES)


def is_only_here(address: str | Path) -> bool:
    """Whether this means something else on every machine: a file, or a server behind a socket or at `localhost`."""
    if not is_server(address):
        return True
    parts = urlsplit(str(address))
    query = dict(parse_qsl(parts.query))
    if "service" in query:
        return False
    written = parts.netloc.rpartition("@")[2]
    hosts = next((query[name] for name in _HOSTS if query.get(name)), written)
    if not hosts:
        hosts = next((os.environ[name] for name in _ELSEWHERE if os.environ.get(name)), "")
    return all(_is_this_machine(_without_port(unquote(host))) for host in hosts.split(","))


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def _is_this_machine(host: str) -> bool:
    if not host or host == "localhost" or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def shown(address: str | Path) -> str:
    """The address as anybody may see it; for whoever has the password from elsewhere it is as good."""
    if not is_server(address):
        return str(address)
    parts = urlsplit(str(address))
    user, at, host = parts.netloc.rpartition("@")
    # Not parsed again: what cannot be read as an address might show a part of a password.
    name = user.partition(":")[0]
    query = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in _HIDDEN]
    asked = f"?{urlencode(query, quote_via=quote, safe='/')}" if query else ""
    return f"{parts.scheme}://{name}{at}{host}{parts.path}{asked}"


@dataclass(frozen=True, slots=True)
class Opened:
    """A database of the schema of today, with its checkpoints, and the claims on its runs."""

    address: str
    """Where another process finds it. It may hold a password, and is never to be shown."""
    connection: Connection
    checkpoints: Checkpoints
    claims: Claims

    def close(self) -> None:
        """Close all of it; harmless when repeated."""
        self.checkpoints.close()
        self.connection.close()


def opened(address: str | Path, *, must_exist: bool, to_read: bool, only_read: bool = False) -> Opened:
    """Open a database, or make one; one that must be there and is not is a `StoreError`."""
    if is_server(address):
        return _on_a_server(str(address), must_exist=must_exist)
    path = Path(address).expanduser()
    if (must_exist or only_read) and not path.exists():
        raise _not_there(str(path))
    in_memory = path == IN_MEMORY
    connection = SqliteConnection(path, to_read=to_read, only_read=only_read)
    checkpoints = SqliteCheckpoints(path)
    made = Opened(
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


def _on_a_server(address: str, *, must_exist: bool) -> Opened:
    require("a database on a server", "postgres", "psycopg", "psycopg_pool")
    from redraft.store.postgres.claims import PostgresClaims
    from redraft.store.postgres.connection import PostgresCheckpoints, PostgresConnection, migrate_server

    claims = PostgresClaims(address)
    connection = PostgresConnection(address, claims)
    made = Opened(address, connection, PostgresCheckpoints(connection), claims)
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
