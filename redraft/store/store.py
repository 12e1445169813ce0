"""The store: everything redraft remembers, in two SQLite files side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout
from platformdirs import user_data_path

from redraft.domain import Chunk
from redraft.errors import RunError, StoreError
from redraft.store.agreements import Agreements
from redraft.store.batches import Batches
from redraft.store.bookings import Bookings
from redraft.store.calls import Calls
from redraft.store.chapters import Chapters
from redraft.store.checkpoints import Checkpoints
from redraft.store.connection import IN_MEMORY, PRIVATE, Connection
from redraft.store.documents import Documents
from redraft.store.forgetting import Forgetting, Freed
from redraft.store.jobs import Jobs
from redraft.store.judgments import Judgments
from redraft.store.manners import MannersBook
from redraft.store.migrations import migrate
from redraft.store.opinions import Opinions
from redraft.store.packs import Packs
from redraft.store.parents import Ancestry
from redraft.store.prompts import PromptShelf
from redraft.store.runs import Run, Runs
from redraft.store.trees import KeyFactShelf
from redraft.store.turns import Turns
from redraft.store.typed import TypedShelf

if sys.platform != "win32":
    import fcntl

FILE_NAME = "redraft.db"
# `is_claimed` holds a claim for the blink of an eye, which must not keep others from the run.
_CLAIM_SECONDS = 0.5


def default_path() -> Path:
    """Where the database is unless --db or REDRAFT_DB says otherwise."""
    return user_data_path("redraft") / FILE_NAME


class Store:
    """One database. Texts, runs and the ledger are here; LangGraph's checkpoints are in the file beside it."""

    def __init__(self, path: Path | str | None = None, *, must_exist: bool = False, to_read: bool = False) -> None:
        """Open a database, or make one. With `must_exist` one that is named and not there is a `StoreError`.

        With `to_read` one that must not be written to will do, as long as nothing is written.
        `:memory:` is a database that nobody else sees, and that is gone when it is closed.
        """
        self.path = Path(path).expanduser() if path else default_path()
        if must_exist and path and not self.path.exists():
            raise StoreError(
                "there is no database there",
                place=str(self.path),
                hint="name the one that your runs are in with --db, or leave --db out for the usual one",
            )
        self._claimed: set[str] | None = set() if self.path == IN_MEMORY else None
        self.checkpoints = Checkpoints(self.path)
        self._connection = Connection(self.path, to_read=to_read)
        try:
            migrate(self._connection)
        except BaseException:
            self.close()
            raise
        self.chapters = Chapters(self._connection)
        self.documents = Documents(self._connection)
        self.runs = Runs(self._connection)
        self.ancestry = Ancestry(self._connection)
        self.calls = Calls(self._connection)
        self.bookings = Bookings(self._connection, self.is_claimed)
        self.packs = Packs(self._connection)
        self.keyfacts = KeyFactShelf(self._connection)
        self.typed = TypedShelf(self._connection)
        self.judgments = Judgments(self._connection)
        self.manners = MannersBook(self._connection)
        self.agreements = Agreements(self._connection)
        self.opinions = Opinions(self._connection)
        self.prompts = PromptShelf(self._connection)
        self.batches = Batches(self._connection)
        self.turns = Turns(self._connection)
        self.jobs = Jobs(self._connection)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """All that is written within is there afterwards, or nothing of it, whatever happens meanwhile."""
        with self._connection.writing():
            yield

    @contextmanager
    def claim(self, run: str) -> Iterator[None]:
        """Work on a run, and keep other processes from doing so. The claim ends with the process that holds it."""
        if self._claimed is not None:
            with self._claim_in_memory(run, self._claimed):
                yield
            return
        lock = self._lock(run)
        with self._connection.explained():
            try:
                lock.acquire(timeout=_CLAIM_SECONDS)
            except Timeout:
                raise _taken(run) from None
        try:
            self.bookings.give_up(run)
            yield
        finally:
            Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    @contextmanager
    def _claim_in_memory(self, run: str, claimed: set[str]) -> Iterator[None]:
        if run in claimed:
            raise _taken(run)
        claimed.add(run)
        try:
            self.bookings.give_up(run)
            yield
        finally:
            claimed.remove(run)

    def is_claimed(self, run: str) -> bool:
        """Whether a living process is working on the run."""
        if self._claimed is not None:
            return run in self._claimed
        if not self._lock_path(run).exists():
            return False
        lock = self._lock(run)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return True
        except PermissionError:
            return _is_held(self._lock_path(run))
        lock.release()
        return False

    def chunks(self, run: Run) -> list[Chunk]:
        """The chunks by which a run drafts: those of a cut, or chapters. None where the cut is not known any more."""
        if run.settings.by_chapter:
            return [one.chunk for one in self.chapters.of(run.id)]
        return self.documents.chunks(run.document, run.tokenizer, run.settings.chunk_budget, run.settings.until)

    def status(self, run: Run) -> str:
        """How a run stands; one that is marked as running, while no process works on it, was killed.

        One that waits for a person waits whoever lives: the answer may come to another process.
        """
        if run.status != "running":
            return run.status
        return "running" if self.is_claimed(run.id) else "killed"

    def forget(self, runs: Sequence[str] = (), *, documents: Sequence[str] = (), dry_run: bool = False) -> Freed:
        """Remove runs with all that only they needed, and documents with all their runs; or say what would go.

        The ids are whole ones. A run that a process works on is a `RunError`, and then nothing is removed. The files
        become smaller by what went. A run that was forked from one that goes keeps all that it has, and its name.
        """
        forgetting = Forgetting(self._connection, self.checkpoints, self.claim, self.is_claimed)
        return (forgetting.foresee if dry_run else forgetting.forget)(runs, documents)

    def _lock_path(self, run: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{run}.lock")

    def _lock(self, run: str) -> FileLock:
        # A claim may be made in one thread and given up in another.
        return FileLock(self._lock_path(run), mode=PRIVATE, thread_local=False)

    def close(self) -> None:
        """Close the database; harmless when repeated."""
        self.checkpoints.close()
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _is_held(lock: Path) -> bool:
    """Whether a process holds a lock that is not ours to take."""
    if sys.platform == "win32":
        return True
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _taken(run: str) -> RunError:
    return RunError(f"run {run} is being worked on by another process", hint="wait for it, or stop it first")
