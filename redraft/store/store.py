"""The store: all data of redraft, in two SQLite files or one PostgreSQL database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from platformdirs import user_data_path

from redraft.domain import Chunk, KeyFacts, Pack, Round, Ruling
from redraft.errors import RunCommand, RunError, Set, StoreError, UsageError
from redraft.plugins import require
from redraft.store.calls import Calls, CapabilityStore, PromptRecord
from redraft.store.connection import Checkpoints, Connection, Transaction, is_server
from redraft.store.documents import ChapterRun, Documents, QuestionSets
from redraft.store.runs import INCOMPLETE, HumanOpinion, Judgments, Run, Runs
from redraft.store.sqlite import IN_MEMORY, SqliteCheckpoints, SqliteConnection
from redraft.store.table import IN_LIST, Cache, RecordTable, in_list, insert_row, ordered, run_records

# A text that somebody added goes with a run that used it.
_ADDED_TEXTS = """
    DELETE FROM knowledge WHERE kind = 'text' AND key IN (
        SELECT text FROM drafts WHERE run = :run UNION SELECT text FROM records WHERE run = :run
    )
"""
# The answers of a run, its own and those from the cache, that no other run uses.
_ANSWERS = """
    DELETE FROM calls WHERE outcome = 'ok' AND (run IS NULL OR run = :run)
    AND id IN (SELECT id FROM calls WHERE run = :run UNION SELECT call FROM uses WHERE run = :run)
    AND NOT EXISTS (SELECT 1 FROM uses u WHERE u.call = calls.id AND u.run <> :run) RETURNING key, reply
"""
# Its calls without an answer, and those of deleted runs that led to a deleted answer. An unreadable reply is kept as
# long as the answer after it, because a run that takes the answer from the cache learns that it was repaired.
_ATTEMPTS = """
    DELETE FROM calls WHERE outcome <> 'ok'
    AND (run = :run OR (run IS NULL AND outcome = 'unreadable' AND key IN (SELECT value FROM json_each(:keys))))
    AND NOT (outcome = 'unreadable' AND EXISTS (SELECT 1 FROM calls o WHERE o.key = calls.key AND o.outcome = 'ok'))
    RETURNING reply
"""
# Questions and key facts, and the unfinished items of a batch, keep their document.
_KEPT = """
    SELECT 1 FROM artifacts WHERE document = :document AND kind IN ('pack', 'keyfacts') UNION ALL
    SELECT 1 FROM items WHERE document = :document AND state IN ('waiting', 'leased')
"""
_LEFT_OVER = (
    "DELETE FROM message_texts WHERE NOT EXISTS (SELECT 1 FROM messages WHERE text = message_texts.id)",
    "DELETE FROM batches WHERE NOT EXISTS (SELECT 1 FROM items WHERE batch = name)",
    "DELETE FROM cache WHERE owner <> '' AND NOT EXISTS (SELECT 1 FROM texts WHERE id = owner)",
)
_UNNAMED_TEXTS = """
    DELETE FROM texts WHERE NOT EXISTS (SELECT 1 FROM documents WHERE id = texts.id)
    AND NOT EXISTS (SELECT 1 FROM drafts WHERE text = texts.id)
    AND NOT EXISTS (SELECT 1 FROM records WHERE text = texts.id)
    AND NOT EXISTS (SELECT 1 FROM calls WHERE reply = texts.id)
    AND NOT EXISTS (SELECT 1 FROM knowledge WHERE kind = 'text' AND key = texts.id) RETURNING id
"""


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What was deleted, or would be. `bytes` is how much the files shrank, or in a preview an estimate,
    without the checkpoints."""

    runs: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    """Documents of which nothing is kept: their questions, key facts and verdicts are deleted too."""
    replies: int = 0
    """The number of replies that no other run uses."""
    texts: int = 0
    bytes: int = 0
    trouble: str = ""
    """Why the files could not be compacted; their contents are deleted regardless."""


def _forget_run(raw: Transaction, run: str) -> int:
    """Delete a run with its calls that no other run uses; the others stay in the ledger without a run. Return how many
    replies were deleted."""
    raw.execute(_ADDED_TEXTS, {"run": run})
    answers = raw.execute(_ANSWERS, {"run": run}).fetchall()
    attempts = raw.execute(_ATTEMPTS, {"run": run, "keys": in_list(row["key"] for row in answers)}).fetchall()
    raw.execute("DELETE FROM runs WHERE id = :run", {"run": run})
    return sum(row["reply"] is not None for row in (*answers, *attempts))


def _sweep(raw: Transaction, read: Sequence[str], chosen: Sequence[str]) -> tuple[list[str], int]:
    """Delete the chosen documents, and those that were read of which nothing is kept; then what nothing refers to.
    Return the documents, and how many texts were deleted."""
    gone = []
    for document in dict.fromkeys([*chosen, *read]):
        parameters = {"document": document}
        if raw.execute("SELECT 1 FROM runs WHERE document = :document", parameters).fetchone():
            if document in chosen:
                problem = "another run of the document was started in the meantime"
                raise RunError(problem, hint="repeat the command")
        elif document in chosen or not raw.execute(_KEPT, parameters).fetchone():
            raw.execute("DELETE FROM cache WHERE owner = :document", parameters)
            raw.execute("DELETE FROM documents WHERE id = :document", parameters)
            gone.append(document)
    # Prompts that no run says it used: a user's own may reveal what they were made for. A run may be damaged.
    used_prompts: set[str] = set()
    for row in raw.execute("SELECT body FROM runs").fetchall():
        with suppress(ValueError, KeyError, AttributeError):
            used_prompts |= set(json.loads(row["body"])["prompt_hashes"].values())
    prompts = {row["key"] for row in raw.execute("SELECT key FROM knowledge WHERE kind = 'prompt'").fetchall()}
    unused = [(key,) for key in prompts - used_prompts]
    raw.executemany("DELETE FROM knowledge WHERE kind = 'prompt' AND key = ?", unused)
    texts = raw.execute(_UNNAMED_TEXTS).fetchall()
    for statement in _LEFT_OVER:
        raw.execute(statement)
    return gone, len(texts)


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
        elif "://" in str(address):
            raise UsageError(
                f"{str(address).partition('://')[0]}:// is not an address of a database",
                hint="name the path of a file, or postgresql://...",
            )
        else:
            path = Path(address).expanduser()
            if (must_exist or only_read) and not path.exists():
                raise _missing(str(path))
            self.connection = connection = SqliteConnection(path, to_read=to_read, only_read=only_read)
            self.checkpoints = SqliteCheckpoints(connection)
            self.address = str(path if path == IN_MEMORY else path.absolute())
        try:
            if not self.connection.prepare(may_create=not must_exist):
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
        """Delete runs with everything that only they use, and documents with all their runs; or delete it and roll
        back, to tell what that would be.

        Takes full ids. Raises `RunError`, deleting nothing, if a process works on one of the runs. The files shrink.
        Forks of a deleted run keep all of their data. An interrupted deletion is completed by repeating it.
        """
        connection, checkpoints = self.connection, self.checkpoints
        document_of = {row["id"]: row["document"] for row in connection.rows("SELECT id, document FROM runs")}
        if unknown := [run for run in runs if run not in document_of]:
            raise RunError(f"no run {unknown[0]}", fix=(RunCommand("runs"), " lists them"))
        chosen = dict.fromkeys([*runs, *(run for run, document in document_of.items() if document in documents)])
        query = f"SELECT part FROM records WHERE part IS NOT NULL AND run {IN_LIST}"  # noqa: S608
        chosen |= {row["part"]: None for row in connection.rows(query, (in_list(chosen),))}
        if at_work := [run for run in chosen if connection.is_claimed(run)]:
            problem = f"run {at_work[0]} is in use by another process, and nothing was forgotten"
            raise RunError(problem, hint="wait for it, or stop it first")
        read = [document_of[run] for run in chosen]
        replies, trouble = 0, ""
        if dry_run:
            with connection.writing(is_preview=True) as raw:
                before = connection.size
                replies = sum(_forget_run(raw, run) for run in chosen)
                gone, texts = _sweep(raw, read, documents)
                freed = before - connection.size
        else:
            before = connection.size + checkpoints.size
            for run in chosen:
                with self.claim(run), connection.writing() as raw:
                    replies += _forget_run(raw, run)
                    # Before the run's row is gone for good: after a kill here the run can be deleted again.
                    checkpoints.forget([run])
            with connection.writing() as raw:
                gone, texts = _sweep(raw, read, documents)
            try:
                with checkpoints.opened() as database:
                    for part in dict.fromkeys((connection, database)):
                        part.compact()
            except StoreError as error:
                trouble = error.message
            freed = max(0, before - connection.size - checkpoints.size)
        return ForgetReport(tuple(chosen), tuple(gone), replies, texts, freed, trouble)

    def close(self) -> None:
        """Close the database; harmless when repeated."""
        if self.checkpoints.keeper is not None:
            self.checkpoints.keeper.close()
        self.connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
