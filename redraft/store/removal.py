"""Delete runs and documents, and all that only they need."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

from redraft.errors import RunCommand, RunError, StoreError
from redraft.store.checkpoints import Checkpoints
from redraft.store.connection import Connection, Transaction
from redraft.store.table import IN_LIST, in_list

# The answers of a run, its own and those from the cache, that no other run uses.
_ANSWERS = """
    SELECT id, key, reply FROM calls c
    WHERE id IN (SELECT id FROM calls WHERE run = :run UNION SELECT call FROM uses WHERE run = :run)
    AND outcome = 'ok' AND (run IS NULL OR run = :run)
    AND NOT EXISTS (SELECT 1 FROM uses u WHERE u.call = c.id AND u.run <> :run)
"""
# Its calls without an answer, and earlier calls of deleted runs. An unreadable reply is kept as long as the answer
# after it, because a run that takes the answer from the cache learns that it was repaired.
_ATTEMPTS = """
    SELECT id, reply FROM calls c WHERE run = :run AND outcome <> 'ok' AND NOT (
        outcome = 'unreadable' AND EXISTS (SELECT 1 FROM calls WHERE key = c.key AND outcome = 'ok')
    )
"""
_BEFORE = "SELECT id, reply FROM calls WHERE key = :key AND outcome = 'unreadable' AND run IS NULL"
_UNNAMED_TEXTS = """
    SELECT id FROM texts t WHERE NOT EXISTS (SELECT 1 FROM documents WHERE id = t.id)
    AND NOT EXISTS (SELECT 1 FROM drafts WHERE text = t.id) AND NOT EXISTS (SELECT 1 FROM records WHERE text = t.id)
    AND NOT EXISTS (SELECT 1 FROM calls WHERE reply = t.id)
"""
_OF_RUN = (
    "DELETE FROM evaluations WHERE draft IN (SELECT id FROM drafts WHERE run = :run)",
    "DELETE FROM drafts WHERE run = :run",
    "UPDATE records SET part = NULL WHERE part = :run",
    "DELETE FROM records WHERE run = :run",
    "DELETE FROM budget_runs WHERE run = :run",
    "DELETE FROM items WHERE run = :run",
)
# Questions and key facts, and the unfinished items of a batch, keep their document.
_KEPT = """
    SELECT 1 FROM artifacts WHERE document = :document AND kind IN ('pack', 'keyfacts') UNION ALL
    SELECT 1 FROM items WHERE document = :document AND state IN ('waiting', 'leased')
"""
_OF_DOCUMENT = (
    "DELETE FROM artifacts WHERE document = :document",
    "DELETE FROM cache WHERE owner = :document",
    "DELETE FROM items WHERE document = :document",
    "DELETE FROM documents WHERE id = :document",
)
_UNUSED_PARTS = "DELETE FROM message_texts WHERE NOT EXISTS (SELECT 1 FROM messages WHERE text = message_texts.id)"
_EMPTY_BATCHES = "DELETE FROM batches WHERE NOT EXISTS (SELECT 1 FROM items WHERE batch = name)"


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


class RunRemover:
    """Deletes runs and documents from one database. `claim` keeps other processes from a run."""

    def __init__(
        self, connection: Connection, checkpoints: Checkpoints, claim: Callable[[str], AbstractContextManager[None]]
    ) -> None:
        self._connection, self._checkpoints, self._claim = connection, checkpoints, claim
        self._documents: list[str] = []
        self._replies = 0
        self._texts: set[str] = set()
        """First all texts that the runs refer to, in the end those that nothing refers to any more."""

    def forget(self, chosen_runs: Sequence[str], documents: Sequence[str], *, dry_run: bool) -> ForgetReport:
        """Delete runs one by one, then what only they needed; or delete it and roll back, to tell what that would be.
        An interrupted deletion is completed by repeating it."""
        connection, checkpoints = self._connection, self._checkpoints
        document_of = {row["id"]: row["document"] for row in connection.rows("SELECT id, document FROM runs")}
        runs = self._with_chapters(chosen_runs, documents, document_of)
        trouble = ""
        if dry_run:
            with connection.writing(is_preview=True) as raw:
                before = connection.size
                for run in runs:
                    self._forget_run(raw, run)
                self._sweep(raw, runs, documents, document_of)
                freed = before - connection.size
        else:
            before = connection.size + checkpoints.size
            for run in runs:
                with self._claim(run), connection.writing() as raw:
                    self._forget_run(raw, run)
                    # Before the run's row is deleted: after a kill here the run can be deleted again.
                    checkpoints.forget([run])
            with connection.writing() as raw:
                self._sweep(raw, runs, documents, document_of)
            try:
                connection.compact()
                checkpoints.compact()
            except StoreError as error:
                trouble = error.message
            freed = max(0, before - connection.size - checkpoints.size)
        return ForgetReport(tuple(runs), tuple(self._documents), self._replies, len(self._texts), freed, trouble)

    def _with_chapters(
        self, runs: Sequence[str], documents: Sequence[str], document_of: Mapping[str, str]
    ) -> list[str]:
        """Return the runs to delete: with those of the documents, and of their chapters. Raises if a process works on
        one of them."""
        unknown = [run for run in runs if run not in document_of]
        if unknown:
            raise RunError(f"no run {unknown[0]}", fix=(RunCommand("runs"), " lists them"))
        chosen = dict.fromkeys([*runs, *(run for run, document in document_of.items() if document in documents)])
        query = f"SELECT part FROM records WHERE part IS NOT NULL AND run {IN_LIST}"  # noqa: S608
        chosen |= {row["part"]: None for row in self._connection.rows(query, (in_list(chosen),))}
        if at_work := [run for run in chosen if self._connection.is_claimed(run)]:
            raise RunError(
                f"run {at_work[0]} is in use by another process, and nothing was forgotten",
                hint="wait for it, or stop it first",
            )
        return list(chosen)

    def _forget_run(self, raw: Transaction, run: str) -> None:
        """Delete a run and the calls that no other run uses."""
        parameters = {"run": run}
        texts = "SELECT text FROM drafts WHERE run = :run UNION SELECT text FROM records WHERE run = :run"
        self._texts |= {row["text"] for row in raw.execute(texts, parameters).fetchall() if row["text"]}
        for statement in _OF_RUN:
            raw.execute(statement, parameters)
        answers = raw.execute(_ANSWERS, parameters).fetchall()
        raw.execute("DELETE FROM uses WHERE run = :run", parameters)
        calls = [*answers, *raw.execute(_ATTEMPTS, parameters).fetchall()]
        for answer in answers:
            calls += raw.execute(_BEFORE, {"key": answer["key"]}).fetchall()
        replies = [call["reply"] for call in calls if call["reply"] is not None]
        self._replies += len(replies)
        self._texts.update(replies)
        raw.executemany("DELETE FROM calls WHERE id = ?", [(call["id"],) for call in calls])
        # Calls that another run uses stay in the ledger without a run.
        raw.execute("UPDATE calls SET run = NULL WHERE run = :run", parameters)
        raw.execute("DELETE FROM runs WHERE id = :run", parameters)

    def _sweep(
        self, raw: Transaction, runs: Sequence[str], documents: Sequence[str], document_of: Mapping[str, str]
    ) -> None:
        """Delete the documents, and those of which nothing is kept; then the texts without references."""
        for document in dict.fromkeys([*documents, *(document_of[run] for run in runs)]):
            parameters = {"document": document}
            if raw.execute("SELECT 1 FROM runs WHERE document = :document", parameters).fetchone():
                if document in documents:
                    problem = "another run of the document was started in the meantime"
                    raise RunError(problem, hint="repeat the command")
            elif document in documents or not raw.execute(_KEPT, parameters).fetchone():
                for statement in _OF_DOCUMENT:
                    raw.execute(statement, parameters)
                self._documents.append(document)
                self._texts.add(document)
        raw.execute(_UNUSED_PARTS)
        raw.execute(_EMPTY_BATCHES)
        # Prompts that no run says it used: a user's own may reveal what they were made for. A run may be damaged.
        used_prompts: set[str] = set()
        for row in raw.execute("SELECT body FROM runs").fetchall():
            with suppress(ValueError, KeyError, AttributeError):
                used_prompts |= set(json.loads(row["body"])["prompt_hashes"].values())
        prompts = {row["key"] for row in raw.execute("SELECT key FROM knowledge WHERE kind = 'prompt'").fetchall()}
        unused = [(key,) for key in prompts - used_prompts]
        raw.executemany("DELETE FROM knowledge WHERE kind = 'prompt' AND key = ?", unused)
        unnamed = {row["id"] for row in raw.execute(_UNNAMED_TEXTS).fetchall()}
        running = raw.execute("SELECT id, document FROM runs").fetchall()
        if at_work := {row["document"] for row in running if self._connection.is_claimed(row["id"])}:
            # An active run may have stored a text that no checkpoint refers to yet, but only of its own document.
            unnamed = set() if at_work & {document_of[run] for run in runs} else unnamed & self._texts
        self._texts = unnamed - self._checkpoints.texts(runs) if unnamed else set()
        for table, column in (("cache", "owner"), ("texts", "id")):
            raw.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(text,) for text in self._texts])  # noqa: S608
