"""A Postgres server: how it is reached, and sentences for what can go wrong with it."""

from __future__ import annotations

import logging
import selectors
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from redraft.errors import StoreError, StoreLost, UsageError
from redraft.store.connection import BUSY_SECONDS
from redraft.store.postgres.dialect import Row, adapt, row_of

SCHEMA = "redraft"
# A process that stands still in the midst of a write would hold up all others.
_IDLE_SECONDS = 60
# So each side learns in 40 seconds that the other is gone, whether or not it has something to say.
_GONE_SECONDS = 40
_KEEPALIVES = {"keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 4}
_SETTINGS = {
    "search_path": SCHEMA,
    "lock_timeout": f"{BUSY_SECONDS:g}s",
    "idle_in_transaction_session_timeout": f"{_IDLE_SECONDS}s",
    "jit": "off",
    # What a machine holds that is gone without a word, such as claims on runs, is free as soon as the server notices.
    **{f"tcp_{name}": f"{value}" for name, value in _KEEPALIVES.items()},
    "tcp_user_timeout": f"{_GONE_SECONDS}s",
}
# It would tell the terminal of every connection that its pool makes anew, and of what an error leaves unanswered.
logging.getLogger("psycopg").addHandler(logging.NullHandler())
logging.getLogger("psycopg").propagate = False


def arguments(address: str) -> dict[str, Any]:
    """What a connection to the server is made with."""
    try:
        known = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        # What the library says of it may have a part of the password in it.
        raise UsageError(
            "the address of the database cannot be read", hint="write postgresql://USER@HOST/DATABASE"
        ) from None
    settings = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
    ours = {
        "application_name": "redraft",
        "connect_timeout": 10,
        "client_encoding": "utf8",
        # As for the server, which we would wait for.
        **_KEEPALIVES,
        "tcp_user_timeout": 1000 * _GONE_SECONDS,
    }
    return {**ours, **known, "options": f"{known.get('options') or ''} {settings}".strip(), "autocommit": True}


def connect(address: str) -> psycopg.Connection[Row]:
    """A connection that the store's statements can be said to."""
    made = psycopg.connect(**arguments(address), row_factory=row_of)
    adapt(made)
    return made


def has_word(connection: psycopg.Connection[Row]) -> bool:
    """Whether a server has said something that nobody has asked for: what it says last is that it goes."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(connection, selectors.EVENT_READ)
        return bool(waiting.select(0))


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Turn the errors of a server into ours."""
    try:
        yield
    except psycopg.Error as error:
        kind = StoreLost if _is_gone(error) else StoreError
        raise kind(_said(error), place=place, hint=_advice(error)) from error


def _is_gone(error: psycopg.Error) -> bool:
    """Whether it is the server that is away, and no fault of what was asked of it."""
    stopped = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)
    # What comes from no server has none of its codes.
    cut_off = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None
    return cut_off or isinstance(error, stopped)


def _said(error: psycopg.Error) -> str:
    return " ".join((error.diag.message_primary or str(error) or type(error).__name__).split())


def _advice(error: psycopg.Error) -> str:
    match error:
        case errors.LockNotAvailable() | errors.QueryCanceled():
            return "another program holds the database: close it there, then `redraft resume` the run"
        case errors.DiskFull():
            return "free some disk space on the server, then `redraft resume` the run; what was stored is safe"
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            return "redraft must be allowed to write there: ask whoever runs the server, or name another with --db"
        case errors.UndefinedFunction() | errors.UndefinedTable() | errors.UndefinedColumn():
            return "the tables there are not as redraft made them: name another database with --db"
        case psycopg.OperationalError():
            if "password" in str(error):
                return "give the password in PGPASSWORD or in ~/.pgpass"
            return "see that the server runs and can be reached, then `redraft resume` the run"
        case _:
            return "see `redraft runs`, and `redraft resume` the run when the cause is gone"
