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


def forget(
    connection: Connection,
    checkpoints: Checkpoints,
    claim: Callable[[str], AbstractContextManager[None]],
    chosen_runs: Sequence[str],
    documents: Sequence[str],
    *,
    dry_run: bool,
) -> ForgetReport:
    """Delete runs one by one, then what only they needed; or delete it and roll back, to tell what that would be.
    An interrupted deletion is completed by repeating it. `claim` keeps other processes from a run."""
    document_of = {row["id"]: row["document"] for row in connection.rows("SELECT id, document FROM runs")}
    runs = _with_chapters(connection, chosen_runs, documents, document_of)
    read = [document_of[run] for run in runs]
    replies, trouble = 0, ""
    if dry_run:
        with connection.writing(is_preview=True) as raw:
            before = connection.size
            for run in runs:
                replies += _forget_run(raw, run)
            gone, texts = _sweep(raw, read, documents)
            freed = before - connection.size
    else:
        before = connection.size + checkpoints.size
        for run in runs:
            with claim(run), connection.writing() as raw:
                replies += _forget_run(raw, run)
                # Before the run's row is gone for good: after a kill here the run can be deleted again.
                checkpoints.forget([run])
        with connection.writing() as raw:
            gone, texts = _sweep(raw, read, documents)
        try:
            connection.compact()
            checkpoints.compact()
        except StoreError as error:
            trouble = error.message
        freed = max(0, before - connection.size - checkpoints.size)
    return ForgetReport(tuple(runs), tuple(gone), replies, texts, freed, trouble)


def _with_chapters(
    connection: Connection, runs: Sequence[str], documents: Sequence[str], document_of: Mapping[str, str]
) -> list[str]:
    """Return the runs to delete: with those of the documents, and of their chapters. Raises if a process works on
    one of them."""
    unknown = [run for run in runs if run not in document_of]
    if unknown:
        raise RunError(f"no run {unknown[0]}", fix=(RunCommand("runs"), " lists them"))
    chosen = dict.fromkeys([*runs, *(run for run, document in document_of.items() if document in documents)])
    query = f"SELECT part FROM records WHERE part IS NOT NULL AND run {IN_LIST}"  # noqa: S608
    chosen |= {row["part"]: None for row in connection.rows(query, (in_list(chosen),))}
    if at_work := [run for run in chosen if connection.is_claimed(run)]:
        raise RunError(
            f"run {at_work[0]} is in use by another process, and nothing was forgotten",
            hint="wait for it, or stop it first",
        )
    return list(chosen)


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
