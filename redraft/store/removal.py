"""Delete runs and documents, and all that only they need."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

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
    """What was deleted, or would be. `bytes` is how much the files shrank, or in a preview an estimate."""

    runs: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    """Documents of which nothing is kept: their questions, key facts and verdicts are deleted too."""
    replies: int = 0
    """The number of replies that no other run uses."""
    texts: int = 0
    bytes: int = 0
    trouble: str = ""
    """Why the files could not be compacted; their contents are deleted regardless."""


@dataclass(slots=True)
class _Deletion:
    """The data deleted so far."""

    raw: Transaction
    documents: list[str] = field(default_factory=list)
    replies: int = 0
    texts: set[str] = field(default_factory=set)
    """First all texts that the runs refer to, in the end those that nothing refers to any more."""

    def forget_run(self, run: str) -> None:
        """Delete a run and the calls that no other run uses."""
        parameters = {"run": run}
        texts = "SELECT text FROM drafts WHERE run = :run UNION SELECT text FROM records WHERE run = :run"
        self.texts |= {row["text"] for row in self.raw.execute(texts, parameters).fetchall() if row["text"]}
        for statement in _OF_RUN:
            self.raw.execute(statement, parameters)
        answers = self.raw.execute(_ANSWERS, parameters).fetchall()
        self.raw.execute("DELETE FROM uses WHERE run = :run", parameters)
        calls = [*answers, *self.raw.execute(_ATTEMPTS, parameters).fetchall()]
        for answer in answers:
            calls += self.raw.execute(_BEFORE, {"key": answer["key"]}).fetchall()
        for call in calls:
            if call["reply"] is not None:
                self.replies += 1
                self.texts.add(call["reply"])
        self.raw.executemany("DELETE FROM calls WHERE id = ?", [(call["id"],) for call in calls])
        # Calls that another run uses stay in the ledger without a run.
        self.raw.execute("UPDATE calls SET run = NULL WHERE run = :run", parameters)
        self.raw.execute("DELETE FROM runs WHERE id = :run", parameters)

    def forget_document(self, document: str, *, is_chosen: bool) -> None:
        """Delete a document if it was chosen, or if nothing of it is kept."""
        parameters = {"document": document}
        if self.raw.execute("SELECT 1 FROM runs WHERE document = :document", parameters).fetchone():
            if is_chosen:
                raise RunError("another run of the document was started in the meantime", hint="repeat the command")
        elif is_chosen or not self.raw.execute(_KEPT, parameters).fetchone():
            for statement in _OF_DOCUMENT:
                self.raw.execute(statement, parameters)
            self.documents.append(document)
            self.texts.add(document)

    def drop_unused_prompts(self) -> None:
        """Delete the prompts that no run says it used: a user's own may reveal what they were made for."""
        used_prompts: set[str] = set()
        for row in self.raw.execute("SELECT body FROM runs").fetchall():
            # Another run may be damaged.
            with suppress(ValueError, KeyError, AttributeError):
                used_prompts |= set(json.loads(row["body"])["prompt_hashes"].values())
        prompts = self.raw.execute("SELECT key FROM knowledge WHERE kind = 'prompt'").fetchall()
        unused = [(row["key"],) for row in prompts if row["key"] not in used_prompts]
        self.raw.executemany("DELETE FROM knowledge WHERE kind = 'prompt' AND key = ?", unused)


@dataclass(frozen=True, slots=True)
class RunRemover:
    """Deletes runs and documents from one database. `claim` keeps other processes from a run, `is_claimed` checks for
    one."""

    connection: Connection
    checkpoints: Checkpoints
    claim: Callable[[str], AbstractContextManager[None]]
    is_claimed: Callable[[str], bool]

    def forget(self, runs: Sequence[str], documents: Sequence[str]) -> ForgetReport:
        """Delete runs one by one, then what only they needed. An interrupted deletion is completed by repeating it."""
        runs, document_of = self._choose(runs, documents)
        before, texts, replies = self.connection.size + self.checkpoints.size, set[str](), 0
        for run in runs:
            with self.claim(run), self.connection.writing() as raw:
                deletion = _Deletion(raw)
                deletion.forget_run(run)
                # Before the run's row is deleted: after a kill here the run is still there and can be deleted again.
                self.checkpoints.forget([run])
            texts, replies = texts | deletion.texts, replies + deletion.replies
        with self.connection.writing() as raw:
            deletion = _Deletion(raw, [], replies, texts)
            self._sweep(deletion, runs, documents, document_of)
        trouble = ""
        try:
            self.connection.compact()
            self.checkpoints.compact()
        except StoreError as error:
            trouble = error.message
        freed = max(0, before - self.connection.size - self.checkpoints.size)
        return _report(deletion, runs, freed, trouble)

    def foresee(self, runs: Sequence[str], documents: Sequence[str]) -> ForgetReport:
        """Return what would be deleted, by deleting it and rolling back."""
        runs, document_of = self._choose(runs, documents)
        with self.connection.rolled_back() as raw:
            size, deletion = self.connection.size, _Deletion(raw)
            for run in runs:
                deletion.forget_run(run)
            self._sweep(deletion, runs, documents, document_of)
            freed = size - self.connection.size
        return _report(deletion, runs, freed + self.checkpoints.bytes_of(runs))

    def _choose(self, runs: Sequence[str], documents: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return the runs to delete, and the document of every run. Raises if a process works on one of them."""
        document_of = {row["id"]: row["document"] for row in self.connection.rows("SELECT id, document FROM runs")}
        unknown = [run for run in runs if run not in document_of]
        if unknown:
            raise RunError(f"no run {unknown[0]}", fix=(RunCommand("runs"), " lists them"))
        chosen = dict.fromkeys([*runs, *(run for run, document in document_of.items() if document in documents)])
        # Its chapter runs are deleted with it.
        query = f"SELECT part FROM records WHERE part IS NOT NULL AND run {IN_LIST}"  # noqa: S608
        chosen |= {row["part"]: None for row in self.connection.rows(query, (in_list(chosen),))}
        if at_work := [run for run in chosen if self.is_claimed(run)]:
            raise RunError(
                f"run {at_work[0]} is in use by another process, and nothing was forgotten",
                hint="wait for it, or stop it first",
            )
        return list(chosen), document_of

    def _sweep(
        self, deletion: _Deletion, runs: Sequence[str], documents: Sequence[str], document_of: Mapping[str, str]
    ) -> None:
        """Delete the documents, and those of which nothing is kept; then the texts without references."""
        raw = deletion.raw
        for document in dict.fromkeys([*documents, *(document_of[run] for run in runs)]):
            deletion.forget_document(document, is_chosen=document in documents)
        raw.execute(_UNUSED_PARTS)
        raw.execute(_EMPTY_BATCHES)
        deletion.drop_unused_prompts()
        unnamed = {row["id"] for row in raw.execute(_UNNAMED_TEXTS).fetchall()}
        running = raw.execute("SELECT id, document FROM runs").fetchall()
        if at_work := {row["document"] for row in running if self.is_claimed(row["id"])}:
            # An active run may have stored a text that no checkpoint refers to yet, but only of its own document.
            unnamed = set() if at_work & {document_of[run] for run in runs} else unnamed & deletion.texts
        deletion.texts = unnamed - self.checkpoints.texts(runs) if unnamed else set()
        for table, column in (("cache", "owner"), ("texts", "id")):
            raw.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(text,) for text in deletion.texts])  # noqa: S608


def _report(deletion: _Deletion, runs: Sequence[str], freed: int, trouble: str = "") -> ForgetReport:
    documents, texts = tuple(deletion.documents), len(deletion.texts)
    return ForgetReport(tuple(runs), documents, deletion.replies, texts, freed, trouble)
