"""The store: everything redraft remembers, in two SQLite files side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout
from platformdirs import user_data_path

from redraft.errors import RunError
from redraft.store.calls import Calls
from redraft.store.connection import Connection
from redraft.store.documents import Documents
from redraft.store.judgments import Judgments
from redraft.store.migrations import migrate
from redraft.store.packs import Packs
from redraft.store.runs import Run, Runs
from redraft.store.trees import KeyFactShelf

FILE_NAME = "redraft.db"
# `is_claimed` holds a claim for the blink of an eye, which must not keep others from the run.
_CLAIM_SECONDS = 0.5


def default_path() -> Path:
    """Where the database is unless --db or REDRAFT_DB says otherwise."""
    return user_data_path("redraft") / FILE_NAME


class Store:
    """One database. Texts, runs and the ledger are here; LangGraph's checkpoints are in the file beside it."""

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = Path(path).expanduser() if path else default_path()
        self._connection = Connection(self.path)
        try:
            migrate(self._connection)
        except BaseException:
            self._connection.close()
            raise
        self.documents = Documents(self._connection)
        self.runs = Runs(self._connection)
        self.calls = Calls(self._connection)
        self.packs = Packs(self._connection)
        self.keyfacts = KeyFactShelf(self._connection)
        self.judgments = Judgments(self._connection)

    @property
    def checkpoints_path(self) -> Path:
        """The file of LangGraph's saver: apart, because a busy writer in one file starves the other."""
        return self.path.with_suffix(f".checkpoints{self.path.suffix or '.db'}")

    @contextmanager
    def claim(self, run: str) -> Iterator[None]:
        """Work on a run, and keep other processes from doing so. The claim ends with the process that holds it."""
        lock = self._lock(run)
        with self._connection.explained():
            try:
                lock.acquire(timeout=_CLAIM_SECONDS)
            except Timeout:
                raise RunError(
                    f"run {run} is being worked on by another process", hint="wait for it, or stop it first"
                ) from None
        try:
            yield
        finally:
            Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def is_claimed(self, run: str) -> bool:
        """Whether a living process is working on the run."""
        if not self._lock_path(run).exists():
            return False
        lock = self._lock(run)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return True
        lock.release()
        return False

    def status(self, run: Run) -> str:
        """How a run stands; one that is marked as running, while no process works on it, was killed."""
        if run.status != "running":
            return run.status
        return "running" if self.is_claimed(run.id) else "killed"

    def _lock_path(self, run: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{run}.lock")

    def _lock(self, run: str) -> FileLock:
        return FileLock(self._lock_path(run))

    def close(self) -> None:
        """Close the database; harmless when repeated."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
