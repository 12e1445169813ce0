"""The store: everything redraft remembers, in two SQLite files side by side or in one Postgres database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from platformdirs import user_data_path

from redraft.domain import Chunk
from redraft.store.batches import Batches, Jobs, RateLimiterWindow
from redraft.store.calls import Calls
from redraft.store.connection import Connection
from redraft.store.copy import Forgetting, Freed
from redraft.store.database import opened
from redraft.store.documents import Ancestry, ChapterRuns, Documents, DraftCandidates
from redraft.store.judgments import Agreements, HumanOpinions, Judgments, Rulings
from redraft.store.models import CapabilityStore, PromptShelf
from redraft.store.reservations import Reservations
from redraft.store.runs import Run, Runs
from redraft.store.shelf import KeyFactShelf, Packs, TypedShelf

FILE_NAME = "redraft.db"


def default_path() -> Path:
    """Where the database is unless --db or REDRAFT_DB says otherwise."""
    return user_data_path("redraft") / FILE_NAME


class Store:
    """One database. Texts, runs and the ledger are here; LangGraph's checkpoints are beside them."""

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        must_exist: bool = False,
        to_read: bool = False,
        only_read: bool = False,
    ) -> None:
        """Open a database, or make one. With `must_exist` one that is named and not there is a `StoreError`.

        With `to_read` one that must not be written to will do, as long as nothing is written; with `only_read` a file
        is opened as it is, without a trace in it or beside it.
        `:memory:` is a database that nobody else sees, and that is gone when it is closed; `postgresql://...` is one on
        a server, which needs the extra `postgres`.
        """
        place = path or default_path()
        self._opened = opened(place, must_exist=must_exist and bool(path), to_read=to_read, only_read=only_read)
        self.address = self._opened.address
        self._connection, self._claims = self._opened.connection, self._opened.claims
        self.checkpoints = self._opened.checkpoints
        self.chapters = ChapterRuns(self._connection)
        self.candidates = DraftCandidates(self._connection)
        self.documents = Documents(self._connection)
        self.runs = Runs(self._connection)
        self.ancestry = Ancestry(self._connection)
        self.calls = Calls(self._connection)
        self.reservations = Reservations(self._connection, self.is_claimed)
        self.packs = Packs(self._connection)
        self.keyfacts = KeyFactShelf(self._connection)
        self.typed = TypedShelf(self._connection)
        self.judgments = Judgments(self._connection)
        self.rulings = Rulings(self._connection)
        self.capabilities = CapabilityStore(self._connection)
        self.agreements = Agreements(self._connection)
        self.opinions = HumanOpinions(self._connection)
        self.prompts = PromptShelf(self._connection)
        self.batches = Batches(self._connection)
        self.turns = RateLimiterWindow(self._connection)
        self.jobs = Jobs(self._connection)

    @property
    def connection(self) -> Connection:
        """The database itself, for what concerns all of its tables."""
        return self._connection

    @property
    def path(self) -> Path:
        """The file, of a database that is one."""
        return Path(self.address)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """All that is written within is there afterwards, or nothing of it, whatever happens meanwhile."""
        with self._connection.writing():
            yield

    @contextmanager
    def claim(self, run: str) -> Iterator[None]:
        """Work on a run, and keep other processes from doing so. The claim ends with the process that holds it."""
        with self._claims.held(run):
            self.reservations.give_up(run)
            yield

    def is_claimed(self, run: str) -> bool:
        """Whether a living process is working on the run."""
        return self._claims.is_held(run)

    def wholes_of(self, runs: Sequence[str]) -> dict[str, str]:
        """The run that each of these summarizes a chapter or drafts a candidate for, by its id; others are left out."""
        return self.candidates.wholes(runs) | self.chapters.wholes(runs)

    def chunks(self, run: Run) -> list[Chunk]:
        """The chunks by which a run drafts: those of a cut, or chapters. None where the cut is not known any more."""
        if run.settings.by_chapter:
            return [one.chunk for one in self.chapters.of(run.id)]
        cut = (run.document, run.tokenizer, run.settings.chunk_budget, run.settings.until)
        return self.documents.chunks(*cut, run.settings.chunking)

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

    def close(self) -> None:
        """Close the database; harmless when repeated."""
        self._opened.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
