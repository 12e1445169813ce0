"""Claims: one process at a time works on a run, and its claim ends with the process."""

from __future__ import annotations

import fcntl
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from typing_extensions import override

from redraft.errors import RunError
from redraft.store.sqlite import PRIVATE, explained

# `is_held` takes a lock for a moment, which must not fail others that want the run.
CLAIM_SECONDS = 0.5


class Claims(ABC):
    """The claims on the runs of one database."""

    @abstractmethod
    def held(self, run: str) -> AbstractContextManager[None]:
        """Hold a run; raises `RunError` if another process does."""

    @abstractmethod
    def is_held(self, run: str) -> bool:
        """Return whether a living process holds the run."""


class MemoryClaims(Claims):
    """Claims for a database that only this process uses."""

    def __init__(self) -> None:
        self._held: set[str] = set()

    @override
    @contextmanager
    def held(self, run: str) -> Iterator[None]:
        if run in self._held:
            raise taken(run)
        self._held.add(run)
        try:
            yield
        finally:
            self._held.remove(run)

    @override
    def is_held(self, run: str) -> bool:
        return run in self._held


class FileClaims(Claims):
    """Claims by locks on files next to the database."""

    def __init__(self, database: Path) -> None:
        self._database = database

    @override
    @contextmanager
    def held(self, run: str) -> Iterator[None]:
        # A claim may be taken in one thread and released in another.
        lock = FileLock(self._path(run), mode=PRIVATE, thread_local=False)
        with explained(self._database):
            try:
                lock.acquire(timeout=CLAIM_SECONDS)
            except Timeout:
                raise taken(run) from None
        try:
            yield
        finally:
            Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    @override
    def is_held(self, run: str) -> bool:
        try:
            with self._path(run).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def _path(self, run: str) -> Path:
        return self._database.with_name(f"{self._database.name}.{run}.lock")


def taken(run: str) -> RunError:
    """Return the error for a run that another process holds."""
    return RunError(f"run {run} is in use by another process", hint="wait for it, or stop it first")
