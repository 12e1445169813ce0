"""A database on a Postgres server, by a pool of connections.

What differs from a file is all in this folder: the statements' dialect; that there is one writer at a time by a lock,
which each write transaction takes at its beginning, so that all that is atomic in a file is so here; that claims are
locks of a session; and that LangGraph's checkpoints are tables beside ours. Everything is in a schema of its own, so
that the database may have other programs' tables too.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
from psycopg import RawCursor
from psycopg_pool import ConnectionPool
from typing_extensions import override

from redraft.store.connection import BUSY_SECONDS, Connection, Values
from redraft.store.places import shown
from redraft.store.postgres.claims import PostgresClaims, lock_number
from redraft.store.postgres.dialect import Row, Session, adapt, row_of
from redraft.store.postgres.server import arguments, explained

# With one more for its claims, and as many for checkpoints: 16 processes are below the 100 that a server allows.
MOST_CONNECTIONS = 2
_WRITE = f"BEGIN; SELECT pg_advisory_xact_lock({lock_number('write')})"
_WRITE_BESIDE = "BEGIN"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::double precision AS now"
# By how much two clocks part in so many seconds is nothing to a lease.
_CLOCK_SECONDS = 60.0
_USED = "SELECT coalesce(sum(pg_column_size(text)), 0) AS bytes FROM texts"


class PostgresConnection(Connection):
    """A database that each thread talks to by a connection of its own. One that was lost is made anew."""

    def __init__(self, address: str, claims: PostgresClaims) -> None:
        self.address = address
        self.place = shown(address)
        self._claims = claims
        self._here = threading.local()
        self._clock = -math.inf, 0.0
        """When the server was last asked for its clock, and how far that is ahead of ours, which is never set."""
        self._pool: ConnectionPool[psycopg.Connection[Row]] = ConnectionPool(
            kwargs={**arguments(address), "row_factory": row_of, "cursor_factory": RawCursor},
            configure=adapt,
            check=ConnectionPool.check_connection,
            min_size=1,
            max_size=MOST_CONNECTIONS,
            timeout=BUSY_SECONDS,
            open=True,
        )

    @override
    def writing(self) -> AbstractContextManager[Session]:
        return self._writing(_WRITE)

    @override
    def writing_beside(self) -> AbstractContextManager[Session]:
        return self._writing(_WRITE_BESIDE)

    @contextmanager
    def _writing(self, begin: str) -> Iterator[Session]:
        if (session := self._session) is not None:
            with self.explained():
                yield session
            return
        self._claims.look_after()
        with self._transaction(begin) as session:
            yield session

    @override
    @contextmanager
    def rehearsing(self) -> Iterator[Session]:
        with self._transaction(_WRITE, keep=False) as session:
            yield session

    @override
    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._transaction(_READ, keep=False):
            yield

    @override
    def rows(self, query: str, parameters: Values = ()) -> list[Row]:
        with self._talking() as session:
            return session.execute(query, parameters).fetchall()

    @override
    def row(self, query: str, parameters: Values = ()) -> Row | None:
        with self._talking() as session:
            return session.execute(query, parameters).fetchone()

    @override
    def clock(self) -> float:
        """That of the server: the clocks of machines differ, and may be set while somebody works."""
        asked, ahead = self._clock
        if time.monotonic() - asked >= _CLOCK_SECONDS:
            with self._talking() as session:
                asked = time.monotonic()
                there: float = session.execute(_CLOCK).fetchall()[0]["now"]
                # It has looked at its clock somewhere in between.
                ahead = there - (asked + time.monotonic()) / 2
            self._clock = asked, ahead
        return time.monotonic() + ahead

    def explained(self) -> AbstractContextManager[None]:
        """Turn the server's errors into ours."""
        return explained(self.place)

    @override
    def compact(self) -> None:
        """Have the space used again. What is deleted is gone for good when the server has done so."""
        tables = self.rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        with self._talking() as session:
            session.execute(f"VACUUM (SKIP_LOCKED) {', '.join(row['tablename'] for row in tables)}")

    @property
    @override
    def size(self) -> int:
        return self.used

    @property
    @override
    def used(self) -> int:
        row = self.row(_USED)
        return int(row["bytes"]) if row else 0

    @override
    def close(self) -> None:
        self._pool.close()
        self._claims.close()

    @property
    def _session(self) -> Session | None:
        """That of the transaction that this thread is in."""
        return getattr(self._here, "session", None)

    @contextmanager
    def _talking(self) -> Iterator[Session]:
        with self.explained():
            if (session := self._session) is not None:
                yield session
                return
            with self._pool.connection() as raw:
                yield Session(raw)

    @contextmanager
    def _transaction(self, begin: str, *, keep: bool = True) -> Iterator[Session]:
        # The pool ends it: well, or by taking it back.
        with self.explained(), self._pool.connection() as raw:
            raw.cursor().execute(begin.encode(), prepare=False)
            self._here.session = Session(raw)
            try:
                yield self._here.session
                if not keep:
                    raw.rollback()
            finally:
                self._here.session = None
