"""The store: all data of redraft, in two SQLite files or one PostgreSQL database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from platformdirs import user_data_path

from redraft.domain import Chunk
from redraft.errors import StoreError, UsageError
from redraft.plugins import require
from redraft.store.addresses import is_server
from redraft.store.batches import Batches, RateLimiterWindow
from redraft.store.calls import Calls, CapabilityStore, PromptRecords
from redraft.store.checkpoints import SqliteCheckpoints
from redraft.store.claims import Claims, FileClaims, MemoryClaims
from redraft.store.connection import Checkpoints, Connection, insert
from redraft.store.documents import Ancestry, ChapterRuns, Documents, DraftCandidates
from redraft.store.judgments import Agreements, HumanOpinions, Judgments, Rulings
from redraft.store.removal import ForgetReport, RunRemover
from redraft.store.reservations import Reservations
from redraft.store.runs import Run, Runs
from redraft.store.shelf import KeyFactSets, Packs, TypedQuestionSets
from redraft.store.sqlite import IN_MEMORY, SqliteConnection, migrate

FILE_NAME = "redraft.db"
_KNOWLEDGE = {
    "packs": "document = ?",
    "questions": "pack IN (SELECT id FROM packs WHERE document = ?)",
    "keyfacts": "document = ?",
    "trees": "keyfacts IN (SELECT id FROM keyfacts WHERE document = ?)",
    "facts": "keyfacts IN (SELECT id FROM keyfacts WHERE document = ?)",
    "verdicts": "document = ?",
    "rulings": "document = ?",
}
"""The tables with what is known about a document, and which of their rows that is."""


def default_path() -> Path:
    """Return the default path of the database: `REDRAFT_DB` or the data directory."""
    return user_data_path("redraft") / FILE_NAME


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """An open database with the current schema, its checkpoints and its claims."""

    address: str
    """The address for another process. It may contain a password and must never be shown."""
    connection: Connection
    checkpoints: Checkpoints
    claims: Claims

    def close(self) -> None:
        """Close the database and its checkpoints; harmless when repeated."""
        self.checkpoints.close()
        self.connection.close()


def opened(address: str | Path, *, must_exist: bool, to_read: bool, only_read: bool = False) -> OpenDatabase:
    """Open a database, or create one. Raises `StoreError` if it must exist and does not."""
    if is_server(address):
        return _on_a_server(str(address), must_exist=must_exist)
    if "://" in str(address):
        raise UsageError(
            f"{str(address).partition('://')[0]}:// is not an address of a database",
            hint="name the path of a file, or postgresql://...",
        )
    path = Path(address).expanduser()
    if (must_exist or only_read) and not path.exists():
        raise _not_there(str(path))
    in_memory = path == IN_MEMORY
    connection = SqliteConnection(path, to_read=to_read, only_read=only_read)
    checkpoints = SqliteCheckpoints(path)
    database = OpenDatabase(
        str(path if in_memory else path.absolute()),
        connection,
        checkpoints,
        MemoryClaims() if in_memory else FileClaims(path),
    )
    try:
        migrate(connection)
    except BaseException:
        database.close()
        raise
    return database


def _on_a_server(address: str, *, must_exist: bool) -> OpenDatabase:
    require("a database on a server", "postgres", "psycopg", "psycopg_pool")
    from redraft.store.postgres.connection import PostgresCheckpoints, PostgresConnection, migrate_server
    from redraft.store.postgres.server import PostgresClaims

    claims = PostgresClaims(address)
    connection = PostgresConnection(address, claims)
    database = OpenDatabase(address, connection, PostgresCheckpoints(connection), claims)
    try:
        if not migrate_server(connection, may_make=not must_exist):
            raise _not_there(connection.place)
    except BaseException:
        database.close()
        raise
    return database


def _not_there(place: str) -> StoreError:
    return StoreError(
        "there is no database there",
        place=place,
        hint="name the database of your runs with --db, or leave --db out for the default one",
    )


def check_store(given: object) -> None:
    """Raise `UsageError` for anything but a `Store`, such as its path."""
    if not isinstance(given, Store):
        hint = "open it with `with redraft.Store(path) as store`, or pass session.store"
        raise UsageError(f"store is of the type {type(given).__name__}", hint=hint)


class Store:
    """One database. It holds texts, runs and the ledger; LangGraph's checkpoints are stored next to it."""

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        must_exist: bool = False,
        to_read: bool = False,
        only_read: bool = False,
    ) -> None:
        """Open or create a database. With `must_exist`, raise `StoreError` if it is missing.

        With `to_read` a database that cannot be written is accepted as long as nothing is written; with `only_read` a
        file is opened without changing it or creating files beside it. `:memory:` is a private database that lasts
        until it is closed; `postgresql://...` is a server, which needs the extra `postgres`.
        """
        if not isinstance(path, str | Path | None):
            raise UsageError(f"store is of the type {type(path).__name__}", hint="pass a path, or a redraft.Store")
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
        self.keyfacts = KeyFactSets(self._connection)
        self.typed = TypedQuestionSets(self._connection)
        self.judgments = Judgments(self._connection)
        self.rulings = Rulings(self._connection)
        self.capabilities = CapabilityStore(self._connection)
        self.agreements = Agreements(self._connection)
        self.opinions = HumanOpinions(self._connection)
        self.prompts = PromptRecords(self._connection)
        self.batches = Batches(self._connection)
        self.rate_limits = RateLimiterWindow(self._connection)

    @property
    def connection(self) -> Connection:
        """Return the connection, for operations on all tables."""
        return self._connection

    @property
    def path(self) -> Path:
        """Return the path of a database that is a file."""
        return Path(self.address)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Group writes in one transaction."""
        with self._connection.writing():
            yield

    @contextmanager
    def claim(self, run: str) -> Iterator[None]:
        """Claim a run for this process until the context ends or the process dies."""
        with self._claims.held(run):
            self.reservations.mark_lost(run)
            yield

    @property
    def loss(self) -> str:
        """Return a sentence that says that a file of the open database was deleted or replaced; empty if none was.

        What is written after that is gone when the store is closed.
        """
        return self._connection.loss or self.checkpoints.loss

    def is_claimed(self, run: str) -> bool:
        """Return whether a living process works on the run."""
        return self._claims.is_held(run)

    def parents_of(self, runs: Sequence[str]) -> dict[str, str]:
        """Return the run that each of these runs summarizes a chapter or drafts a candidate for, if any."""
        among = "WHERE run IN (SELECT value FROM json_each(:runs))"
        query = f"SELECT run, whole FROM candidates {among} UNION ALL SELECT run, whole FROM chapters {among}"  # noqa: S608
        rows = self._connection.rows(query, {"runs": json.dumps(list(runs))})
        return {row["run"]: row["whole"] for row in rows}

    def chunks(self, run: Run) -> list[Chunk]:
        """Return the chunks of a run's draft, or its chapters; None if unknown."""
        if run.settings.by_chapter:
            return [chapter.chunk for chapter in self.chapters.of(run.id)]
        cut = (run.document, run.tokenizer, run.settings.chunk_budget, run.settings.until)
        return self.documents.chunks(*cut, run.settings.chunking)

    def status(self, run: Run) -> str:
        """Return the status of a run. A run marked as running that no process works on was killed; a waiting run stays
        waiting, since any process may bring the answer."""
        if run.status != "running":
            return run.status
        return "running" if self.is_claimed(run.id) else "killed"

    def learn(self, other: Store, document: str) -> None:
        """Copy another store's questions and verdicts on a document that both have."""
        with self._connection.writing() as raw:
            for table, where in _KNOWLEDGE.items():
                rows = other._connection.rows(f"SELECT t.* FROM {table} t WHERE {where}", (document,))  # noqa: S608
                if rows:
                    names = list(rows[0].keys())
                    statement = insert(table, *(f'"{name}"' for name in names))
                    values = [tuple(row[name] for name in names) for row in rows]
                    raw.executemany(f"{statement} ON CONFLICT DO NOTHING", values)

    def forget(self, runs: Sequence[str] = (), *, documents: Sequence[str] = (), dry_run: bool = False) -> ForgetReport:
        """Delete runs with everything that only they use, and documents with all their runs; or preview it.

        Takes full ids. Raises `RunError`, deleting nothing, if a process works on one of the runs. The files shrink.
        Forks of a deleted run keep all of their data.
        """
        forgetting = RunRemover(self._connection, self.checkpoints, self.claim, self.is_claimed)
        return (forgetting.foresee if dry_run else forgetting.forget)(runs, documents)

    def close(self) -> None:
        """Close the database; harmless when repeated."""
        self._opened.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
