"""New databases that are copies of one: to bring each up from nothing takes longer than many a test."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from redraft.store import store
from redraft.store.sqlite import IN_MEMORY, SqliteConnection


def copy_new_databases(patch: pytest.MonkeyPatch) -> None:
    """From here on, a database that is not there yet begins as a copy of one that redraft has made."""
    patch.setattr(store, "SqliteConnection", _connected)


@cache
def template() -> bytes:
    """A database as it is when nothing is in it."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "SqliteConnection", SqliteConnection)
        path = Path(folder, store.FILE_NAME)
        store.Store(path).close()
        return path.read_bytes()


def _connected(path: Path, *, to_read: bool = False, only_read: bool = False) -> SqliteConnection:
    if not only_read and path != IN_MEMORY and not path.exists():
        _copy_to(path)
    return SqliteConnection(path, to_read=to_read, only_read=only_read)


def _copy_to(path: Path) -> None:
    """Whole from its first moment on, as others may open it at once; where that cannot be, nothing is done."""
    number, name = tempfile.mkstemp()
    with os.fdopen(number, "wb") as file:
        file.write(template())
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(name, path)
    os.unlink(name)
