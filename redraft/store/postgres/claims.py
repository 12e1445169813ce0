"""Claims by PostgreSQL advisory locks, which the server releases when the process's connection closes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TypeVar

import psycopg
from typing_extensions import override

from redraft.errors import StoreError
from redraft.store.addresses import shown
from redraft.store.claims import CLAIM_SECONDS, Claims, taken
from redraft.store.connection import BUSY_SECONDS
from redraft.store.postgres.server import PostgresRow, connect, explained, has_word

T = TypeVar("T")
_IS_LOCKED = """
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = (%(number)s::bigint >> 32 & 4294967295)::oid AND objid = (%(number)s::bigint & 4294967295)::oid
"""


def lock_number(name: str) -> int:
    """Return the lock number for a name."""
    return int.from_bytes(sha256(f"redraft {name}".encode()).digest()[:8], signed=True)


class PostgresClaims(Claims):
    """The claims of one process, held by a dedicated connection.

    If that connection is lost, as when the server restarts, the claims are lost too; they are taken again before the
    next write. If another process has taken one meanwhile, this one writes nothing more.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._place = shown(address)
        self._lock = threading.RLock()
        self._held: set[str] = set()
        with explained(self._place):
            self._keeper = connect(address)

    @override
    @contextmanager
    def held(self, run: str) -> Iterator[None]:
        deadline = time.monotonic() + CLAIM_SECONDS
        while not self._take(run):
            if time.monotonic() > deadline:
                raise taken(run)
            time.sleep(0.05)
        try:
            yield
        finally:
            self._give_back(run)

    @override
    def is_held(self, run: str) -> bool:
        number = lock_number(run)
        return self._asked(lambda keeper: keeper.execute(_IS_LOCKED, {"number": number}).fetchone() is not None)

    def look_after(self) -> None:
        """Take the claims again that were lost with the connection."""
        with self._lock:
            if self._held and (self._keeper.closed or has_word(self._keeper)):
                self._asked(lambda keeper: keeper.execute("SELECT 1"))

    def close(self) -> None:
        """Release all claims; harmless when repeated."""
        self._keeper.close()

    def _take(self, run: str) -> bool:
        with self._lock:
            if run not in self._held and self._asked(lambda keeper: _try_lock(keeper, run)):
                self._held.add(run)
                return True
            return False

    def _give_back(self, run: str) -> None:
        with self._lock, suppress(psycopg.Error):
            self._held.discard(run)
            self._keeper.execute("SELECT pg_advisory_unlock(%s)", [lock_number(run)])

    def _asked(self, question: Callable[[psycopg.Connection[PostgresRow]], T]) -> T:
        """Return the server's answer, reconnecting if necessary."""
        with self._lock, explained(self._place):
            try:
                return question(self._keeper)
            except psycopg.OperationalError:
                if not self._keeper.closed:
                    raise
            self._keeper = self._connected_again()
            if lost := [run for run in self._held if not _try_lock(self._keeper, run)]:
                raise StoreError(
                    f"another process has resumed run {lost[0]} while the server was away", place=self._place
                )
            return question(self._keeper)

    def _connected_again(self) -> psycopg.Connection[PostgresRow]:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return connect(self._address)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)


def _try_lock(keeper: psycopg.Connection[PostgresRow], run: str) -> bool:
    row = keeper.execute("SELECT pg_try_advisory_lock(%s) AS ours", [lock_number(run)]).fetchone()
    return row is not None and bool(row["ours"])
