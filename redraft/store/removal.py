"""Delete runs and documents, and all that only they need."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

from redraft.errors import RunCommand, RunError, StoreError
from redraft.store.calls import release
from redraft.store.checkpoints import Checkpoints
from redraft.store.connection import Connection, Transaction

# The answers of a run, its own and those from the cache, that no other run uses.
_ANSWERS = """
    SELECT id, key FROM calls c
    WHERE id IN (SELECT id FROM calls WHERE run = :run UNION SELECT call FROM uses WHERE run = :run)
    AND outcome = 'ok' AND (run IS NULL OR run = :run)
    AND NOT EXISTS (SELECT 1 FROM uses u WHERE u.call = c.id AND u.run <> :run)
"""
# Its calls without an answer, and earlier calls of deleted runs. An unreadable reply is kept as long as the answer
# after it, because a run that takes the answer from the cache learns that it was repaired.
_ATTEMPTS = """
    SELECT id FROM calls c WHERE run = :run AND outcome <> 'ok' AND NOT (
        outcome = 'unreadable' AND EXISTS (SELECT 1 FROM calls WHERE key = c.key AND outcome = 'ok')
    )
"""
_BEFORE = "SELECT id FROM calls WHERE key = :key AND outcome = 'unreadable' AND run IS NULL"
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
    SELECT 1 FROM artifacts WHERE document = :document AND kind IN ('pack', 'keyfacts', 'typed') UNION ALL
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
class _Deleted:
    """The data deleted so far."""

    documents: list[str] = field(default_factory=list)
    replies: int = 0
    texts: set[str] = field(default_factory=set)
    """First all texts that the runs refer to, in the end those that nothing refers to any more."""


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
        runs, about = self._chosen(runs, documents)
        before, gone = self._size(), _Deleted()
        for run in runs:
            with self.claim(run), self.connection.writing() as raw:
                self._forget_run(raw, run, gone)
                # Before the run's row is deleted: after a kill here the run is still there and can be deleted again.
                self.checkpoints.forget([run])
        with self.connection.writing() as raw:
            self._sweep(raw, runs, documents, about, gone)
        trouble = ""
        try:
            self.connection.compact()
            self.checkpoints.compact()
        except StoreError as error:
            trouble = error.message
        freed = max(0, before - self._size())
        return ForgetReport(tuple(runs), tuple(gone.documents), gone.replies, len(gone.texts), freed, trouble)

    def foresee(self, runs: Sequence[str], documents: Sequence[str]) -> ForgetReport:
        """Return what would be deleted, by deleting it and rolling back."""
        runs, about = self._chosen(runs, documents)
        gone = _Deleted()
        with self.connection.rolled_back() as raw:
            used = self.connection.used
            for run in runs:
                self._forget_run(raw, run, gone)
            self._sweep(raw, runs, documents, about, gone)
            freed = used - self.connection.used
        freed += self.checkpoints.bytes_of(runs)
        return ForgetReport(tuple(runs), tuple(gone.documents), gone.replies, len(gone.texts), freed)

    def _chosen(self, runs: Sequence[str], documents: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return the runs to delete, and the document of every run. Raises if a process works on one of them."""
        about = {row["id"]: row["document"] for row in self.connection.rows("SELECT id, document FROM runs")}
        unknown = [run for run in runs if run not in about]
        if unknown:
            raise RunError(f"no run {unknown[0]}", fix=(RunCommand("runs"), " lists them"))
        chosen = list(dict.fromkeys([*runs, *(run for run, document in about.items() if document in documents)]))
        # Its chapter and candidate runs are deleted with it.
        parts = self.connection.rows(
            "SELECT part FROM records WHERE part IS NOT NULL AND run IN (SELECT value FROM json_each(?))",
            (json.dumps(chosen),),
        )
        chosen = list(dict.fromkeys([*chosen, *(row["part"] for row in parts)]))
        if at_work := [run for run in chosen if self.is_claimed(run)]:
            raise RunError(
                f"run {at_work[0]} is in use by another process, and nothing was forgotten",
                hint="wait for it, or stop it first",
            )
        return chosen, about

    def _forget_run(self, raw: Transaction, run: str, gone: _Deleted) -> None:
        named = {"run": run}
        texts = "SELECT text FROM drafts WHERE run = :run UNION SELECT text FROM records WHERE run = :run"
        gone.texts |= {row["text"] for row in raw.execute(texts, named) if row["text"]}
        for statement in _OF_RUN:
            raw.execute(statement, named)
        answers = raw.execute(_ANSWERS, named).fetchall()
        raw.execute("DELETE FROM uses WHERE run = :run", named)
        for answer in answers:
            _drop_call(raw, answer["id"], gone)
            for row in raw.execute(_BEFORE, {"key": answer["key"]}).fetchall():
                _drop_call(raw, row["id"], gone)
        for row in raw.execute(_ATTEMPTS, named).fetchall():
            _drop_call(raw, row["id"], gone)
        # Calls that another run uses stay in the ledger without a run.
        raw.execute("UPDATE calls SET run = NULL WHERE run = :run", named)
        raw.execute("DELETE FROM runs WHERE id = :run", named)

    def _sweep(
        self, raw: Transaction, runs: Sequence[str], documents: Sequence[str], about: Mapping[str, str], gone: _Deleted
    ) -> None:
        """Delete the documents, and those of which nothing is kept; then the texts without references."""
        for document in dict.fromkeys([*documents, *(about[run] for run in runs)]):
            if raw.execute("SELECT 1 FROM runs WHERE document = ?", (document,)).fetchone():
                if document in documents:
                    raise RunError("another run of the document was started in the meantime", hint="repeat the command")
            elif document in documents or not raw.execute(_KEPT, {"document": document}).fetchone():
                release(raw, document)
                for statement in _OF_DOCUMENT:
                    raw.execute(statement, {"document": document})
                gone.documents.append(document)
                gone.texts.add(document)
        raw.execute(_UNUSED_PARTS)
        raw.execute(_EMPTY_BATCHES)
        _drop_unused_prompts(raw)
        unnamed = {row["id"] for row in raw.execute(_UNNAMED_TEXTS)}
        at_work = self._documents_at_work(raw)
        if at_work:
            # An active run may have stored a text that no checkpoint refers to yet, but only of its own document.
            unnamed = set() if at_work & {about[run] for run in runs} else unnamed & gone.texts
        gone.texts = unnamed - self.checkpoints.texts(runs) if unnamed else set()
        for table, column in (("cache", "owner"), ("texts", "id")):
            raw.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(text,) for text in gone.texts])  # noqa: S608

    def _documents_at_work(self, raw: Transaction) -> set[str]:
        """Return the documents of active runs."""
        running = raw.execute("SELECT id, document FROM runs").fetchall()
        return {row["document"] for row in running if self.is_claimed(row["id"])}

    def _size(self) -> int:
        return self.connection.size + self.checkpoints.size


def _drop_unused_prompts(raw: Transaction) -> None:
    """Delete the prompts of which no run says that it used them: a user's own may reveal what they were made for."""
    used: set[str] = set()
    for row in raw.execute("SELECT body FROM runs"):
        # Another run may be damaged.
        with suppress(ValueError, KeyError, AttributeError):
            used |= set(json.loads(row["body"])["prompt_hashes"].values())
    prompts = raw.execute("SELECT key FROM knowledge WHERE kind = 'prompt'").fetchall()
    unused = [(row["key"],) for row in prompts if row["key"] not in used]
    raw.executemany("DELETE FROM knowledge WHERE kind = 'prompt' AND key = ?", unused)


def _drop_call(raw: Transaction, call: int, gone: _Deleted) -> None:
    reply = raw.execute("SELECT reply FROM calls WHERE id = ?", (call,)).fetchone()["reply"]
    if reply is not None:
        gone.replies += 1
        gone.texts.add(reply)
    raw.execute("DELETE FROM calls WHERE id = ?", (call,))
