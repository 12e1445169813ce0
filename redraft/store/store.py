"""The store: all data of redraft, in two SQLite files or one PostgreSQL database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from platformdirs import user_data_path

from redraft.domain import Chunk, KeyFacts, Pack, Round, Ruling
from redraft.errors import Set, StoreError, UsageError
from redraft.plugins import require
from redraft.store.addresses import is_server
from redraft.store.batches import Batches, RateLimiterWindow
from redraft.store.calls import Calls, CapabilityStore, PromptRecord
from redraft.store.checkpoints import Checkpoints, SqliteCheckpoints
from redraft.store.connection import Connection
from redraft.store.documents import ChapterRun, Documents
from redraft.store.judgments import HumanOpinion, Judgments
from redraft.store.removal import ForgetReport, forget
from redraft.store.runs import INCOMPLETE, Run, Runs
from redraft.store.shelf import QuestionSets
from redraft.store.sqlite import IN_MEMORY, SqliteConnection
from redraft.store.table import IN_LIST, Cache, RecordTable, in_list, insert_row, ordered, run_records

FILE_NAME = "redraft.db"
_LEARNED = {
    "artifacts": "document = ? AND kind IN ('pack', 'keyfacts', 'ruling')",
    "cache": "owner = ? AND kind = 'verdict'",
}
"""What is known about a document that a store learns from another."""


def default_path() -> Path:
    """Return the default path of the database: `REDRAFT_DB` or the data directory."""
    return user_data_path("redraft") / FILE_NAME


def _missing(place: str) -> StoreError:
    return StoreError(
        "there is no database there",
        place=place,
        fix=("name the database of your runs with ", Set("db"), ", or leave it out for the default one"),
    )


def check_store(store: object) -> None:
    """Raise `UsageError` for anything but a `Store`, such as its path."""
    if not isinstance(store, Store):
        hint = "open it with `with redraft.Store(path) as store`, or pass session.store"
        raise UsageError(f"store is of the type {type(store).__name__}", hint=hint)


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
        self._open(path or default_path(), must_exist and bool(path), to_read, only_read)
        self._prepare(may_create=not (must_exist and path))
        connection = self.connection
        self.is_claimed = connection.is_claimed
        """Returns whether a living process works on a run."""
        self.transaction = connection.writing
        """Opens a transaction that groups writes."""
        self.chapters = run_records(
            *(connection, "chapter", ChapterRun),
            row=lambda chapter: {"key": ordered(chapter.chunk.index), "part": chapter.run or None},
            fields=lambda row: {"run": row["part"] or ""},
        )
        self.excerpts = run_records(connection, "chunk", Chunk, row=lambda chunk: {"key": ordered(chunk.index)})
        """The chunks of runs that are not summarized by chapter."""
        self.documents = Documents(connection)
        self.runs = Runs(connection)
        self.links = Cache(connection, "links")
        """The sources of texts' sentences, until the text is deleted."""
        self.vectors = Cache(connection, "vectors")
        """Embeddings of documents' parts."""
        self.calls = Calls(connection, self.is_claimed)
        self.packs = QuestionSets(connection, Pack, "pack", "pack begins")
        self.keyfacts = QuestionSets(connection, KeyFacts, "keyfacts", "key facts have an id that begins")
        self.judgments = Judgments(connection)
        self.rounds = run_records(connection, "round", Round, row=lambda round_: {"key": ordered(round_.number)})
        self.verdicts = Cache(connection, "verdict")
        """The verdicts of judges on items, until the document is deleted, if one is named."""
        self.rulings = RecordTable(
            *(connection, "artifacts", Ruling, ("kind", "id", "document"), "ruling"),
            columns=("document",),
            row=lambda ruling: {"id": ruling.finding},
            order="id",
        )
        """The latest ruling on each finding about a document."""
        self.capabilities = CapabilityStore(connection)
        self.opinions = run_records(
            *(connection, "opinion", HumanOpinion), row=lambda opinion: {"run": opinion.run, "key": opinion.finding}
        )
        self.prompts = RecordTable(
            *(connection, "knowledge", PromptRecord, ("kind", "key"), "prompt"),
            row=lambda prompt: {"key": prompt.hash},
        )
        self.batches = Batches(connection)
        self.rate_limits = RateLimiterWindow(connection)

    def _open(self, address: str | Path, must_exist: bool, to_read: bool, only_read: bool) -> None:
        """Open a file or connect to a server. The `address`, for another process, may contain a password."""
        self.connection: Connection
        self.checkpoints: Checkpoints
        if is_server(address):
            require("a database on a server", "postgres", "psycopg", "psycopg_pool")
            from redraft.store.postgres import PostgresConnection

            self.address = str(address)
            self.connection = PostgresConnection(self.address)
            self.checkpoints = Checkpoints(self.connection)
            return
        if "://" in str(address):
            raise UsageError(
                f"{str(address).partition('://')[0]}:// is not an address of a database",
                hint="name the path of a file, or postgresql://...",
            )
        path = Path(address).expanduser()
        if (must_exist or only_read) and not path.exists():
            raise _missing(str(path))
        self.connection = connection = SqliteConnection(path, to_read=to_read, only_read=only_read)
        self.checkpoints = SqliteCheckpoints(connection)
        self.address = str(path if path == IN_MEMORY else path.absolute())

    def _prepare(self, *, may_create: bool) -> None:
        try:
            if not self.connection.prepare(may_create=may_create):
                raise _missing(self.connection.place)
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """Return the path of a database that is a file."""
        return Path(self.address)

    @contextmanager
    def claim(self, run: str) -> Iterator[None]:
        """Claim a run for this process until the context ends or the process dies."""
        with self.connection.claim(run):
            self.calls.mark_lost(run)
            yield

    def parents_of(self, runs: Sequence[str]) -> dict[str, str]:
        """Return the run that each of these runs summarizes a chapter for, if any."""
        query = f"SELECT run, part FROM records WHERE part {IN_LIST}"  # noqa: S608
        return {row["part"]: row["run"] for row in self.connection.rows(query, (in_list(runs),))}

    def chunks(self, run: Run) -> list[Chunk]:
        """Return the chunks of a run's draft, or its chapters; none if they are unknown."""
        if run.settings.by_chapter:
            return [chapter.chunk for chapter in self.chapters.of(run.id)]
        return self.excerpts.of(run.id)

    def status(self, run: Run) -> str:
        """Return the status of a run. One that is done is `incomplete` if a metric could give no verdict. A run marked
        as running that no process works on was killed; a waiting run stays waiting, since any process may bring the
        answer."""
        if run.status == "done" and run.draft is not None:
            query = "SELECT body FROM evaluations WHERE draft = ? AND score IS NULL"
            bodies = (json.loads(row["body"]) for row in self.connection.rows(query, (run.draft,)))
            if any(body["outcome"] == "failed" for body in bodies):
                return INCOMPLETE
        if run.status != "running":
            return run.status
        return "running" if self.is_claimed(run.id) else "killed"

    def learn(self, other: Store, document: str) -> None:
        """Copy another store's questions and verdicts on a document that both have."""
        with self.connection.writing() as raw:
            for table, condition in _LEARNED.items():
                for row in other.connection.rows(f"SELECT * FROM {table} WHERE {condition}", (document,)):  # noqa: S608
                    columns = {name: row[name] for name in row.keys() if name != "rowid"}  # noqa: SIM118
                    insert_row(raw, table, columns, "ON CONFLICT DO NOTHING")

    def forget(self, runs: Sequence[str] = (), *, documents: Sequence[str] = (), dry_run: bool = False) -> ForgetReport:
        """Delete runs with everything that only they use, and documents with all their runs; or preview it.

        Takes full ids. Raises `RunError`, deleting nothing, if a process works on one of the runs. The files shrink.
        Forks of a deleted run keep all of their data.
        """
        return forget(self.connection, self.checkpoints, self.claim, runs, documents, dry_run=dry_run)

    def close(self) -> None:
        """Close the database; harmless when repeated."""
        self.checkpoints.close()
        self.connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
