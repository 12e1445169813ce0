"""Copy a database to another place, and delete runs and documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from redraft.errors import RunError, StoreError
from redraft.store.calls import release
from redraft.store.connection import Checkpoints, Connection, Transaction

_PAGE = 500
# Tables without a run, after those they refer to, and the columns by which their rows are paged.
_CONTENT: Mapping[str, Sequence[str]] = {
    "texts": ("rowid",),
    "message_texts": ("id",),
    "documents": ("rowid",),
    "chunks": ("document", "tokenizer", "budget", "idx"),
    "prompts": ("hash",),
    "verdicts": ("key",),
    "rulings": ("document", "finding"),
    "links": ("key",),
    "embeddings": ("document", "cut", "weights"),
    "capabilities": ("model",),
    "agreements": ("judge", "metric", "version", "prompts", "terms", "dataset", "human", "level", "measure"),
    "packs": ("rowid",),
    "questions": ("pack", "rank"),
    "keyfacts": ("rowid",),
    "trees": ("keyfacts", "idx"),
    "facts": ("keyfacts", "tree", "id"),
    "typed_packs": ("rowid",),
    "typed_questions": ("pack", "rank"),
}
# Tables of runs, and the column with the run.
_OF_RUNS: Mapping[str, tuple[str, Sequence[str]]] = {
    "drafts": ("run", ("rowid",)),
    "pieces": ("run", ("run", "level", "idx", "step")),
    "parents": ("run", ("run", "child", "ordinal")),
    "gaps": ("run", ("run", "chunk")),
    "rounds": ("run", ("run", "number")),
    "lookups": ("run", ("run", "round", "idx")),
    "opinions": ("run", ("run", "finding")),
    "budget_runs": ("run", ("budget", "run")),
    "chapters": ("whole", ("whole", "idx")),
    "candidates": ("whole", ("whole", "idx")),
}
_AT = "row_number_of_copying"
Row = dict[str, Any]


@dataclass(slots=True)
class CopyReport:
    """What was copied: the ids of the runs, and the number of new documents and texts."""

    runs: list[str] = field(default_factory=list)
    there: int = 0
    """The number of runs that the target already had; they are unchanged."""
    documents: int = 0
    texts: int = 0


def copy(source: Connection, target: Connection) -> CopyReport:
    """Copy everything that the target does not have."""
    copied = CopyReport()
    with source.reading():
        for table, key in _CONTENT.items():
            for page in _pages(source, table, key):
                with target.writing() as raw:
                    new = _put(raw, table, page)
                copied.texts += new if table == "texts" else 0
                copied.documents += new if table == "documents" else 0
        with target.writing() as raw:
            _Runs(source, raw, copied).copy()
    return copied


_OF_DOCUMENTS: Mapping[str, str] = {
    "packs": "t.document = ?",
    "questions": "pack IN (SELECT id FROM packs WHERE document = ?)",
    "keyfacts": "t.document = ?",
    "trees": "keyfacts IN (SELECT id FROM keyfacts WHERE document = ?)",
    "facts": "keyfacts IN (SELECT id FROM keyfacts WHERE document = ?)",
    "verdicts": "t.document = ?",
    "rulings": "t.document = ?",
}
"""The tables with what is known about a document, and which of their rows that is."""


def copy_knowledge(source: Connection, target: Connection, document: str) -> None:
    """Copy what is known about a document to a database that has the document: its questions and verdicts."""
    with target.writing() as raw:
        for table, where in _OF_DOCUMENTS.items():
            rows = source.rows(f"SELECT t.* FROM {table} t WHERE {where}", (document,))  # noqa: S608
            _put(raw, table, [dict(row) for row in rows])


def _pages(source: Connection, table: str, key: Sequence[str]) -> Iterator[list[Row]]:
    """Yield the rows of a table in pages."""
    place = f", rowid AS {_AT}" if key == ("rowid",) else ""
    columns, marks = ", ".join(key), ", ".join("?" * len(key))
    after: tuple[object, ...] = ()
    while True:
        where = f"WHERE ({columns}) > ({marks})" if after else ""
        query = f"SELECT t.*{place} FROM {table} t {where} ORDER BY {columns} LIMIT {_PAGE}"  # noqa: S608
        page = [dict(row) for row in source.rows(query, after)]
        if not page:
            return
        after = tuple(page[-1][_AT if place else name] for name in key)
        for row in page:
            row.pop(_AT, None)
        yield page


def _put(raw: Transaction, table: str, rows: Sequence[Row]) -> int:
    """Insert the rows that do not exist yet; return how many are new."""
    if not rows:
        return 0
    names = ", ".join(f'"{name}"' for name in rows[0])
    marks = ", ".join("?" * len(rows[0]))
    statement = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608
    return raw.executemany(statement, [tuple(row.values()) for row in rows]).rowcount


class _Runs:
    """Copies runs within one transaction of the target."""

    def __init__(self, source: Connection, raw: Transaction, copied: CopyReport) -> None:
        self._source = source
        self._raw = raw
        self._copied = copied
        self._new: set[str] = set()
        self._calls: dict[int, int] = {}

    def copy(self) -> None:
        """Copy the runs that the target does not have, with all their data."""
        drafts = self._copy_runs()
        for table, (column, key) in _OF_RUNS.items():
            self._each(table, key, column, self._new)
        for run, draft in drafts.items():
            self._raw.execute("UPDATE runs SET draft = ? WHERE id = ?", (draft, run))
        self._copy_evaluations()
        self._copy_calls()
        self._copy_batches()

    def _copy_runs(self) -> dict[str, str]:
        """Copy the runs; returns their drafts, which are copied later."""
        known = {row["id"] for row in self._raw.execute("SELECT id FROM runs")}
        drafts: dict[str, str] = {}
        for page in _pages(self._source, "runs", ("rowid",)):
            rows = [row for row in page if row["id"] not in known]
            self._copied.there += len(page) - len(rows)
            drafts |= {row["id"]: row["draft"] for row in rows if row["draft"]}
            _put(self._raw, "runs", [row | {"draft": None} for row in rows])
            self._copied.runs += [row["id"] for row in rows]
        self._new = set(self._copied.runs)
        return drafts

    def _each(self, table: str, key: Sequence[str], column: str, wanted: Collection[str]) -> None:
        for page in _pages(self._source, table, key):
            _put(self._raw, table, [row for row in page if row[column] in wanted])

    def _copy_evaluations(self) -> None:
        drafts = {row["id"]: row["run"] for row in self._source.rows("SELECT id, run FROM drafts")}
        named: dict[int, int] = {}
        for page in _pages(self._source, "evaluations", ("id",)):
            for row in page:
                if drafts[row["draft"]] in self._new:
                    named[row["id"]] = self._numbered("evaluations", row)
        for page in _pages(self._source, "findings", ("evaluation", "idx")):
            rows = [row for row in page if row["evaluation"] in named]
            _put(self._raw, "findings", [row | {"evaluation": named[row["evaluation"]]} for row in rows])

    def _copy_calls(self) -> None:
        """Copy the calls. If both databases have an answer to a request, the target keeps its own."""
        theirs: set[int] = set()
        for page in _pages(self._source, "calls", ("id",)):
            for row in page:
                answered = "SELECT id, outcome FROM calls WHERE key = ? ORDER BY outcome <> 'ok' LIMIT 1"
                known = self._raw.execute(answered, (row["key"],)).fetchone()
                if row["run"] is None or row["run"] not in self._new:
                    # Of a deleted or existing run: only its answer is of use.
                    if row["outcome"] == "ok" and known is not None and known["outcome"] == "ok":
                        self._calls[row["id"]] = known["id"]
                        theirs.add(row["id"])
                    elif row["run"] is None and known is None:
                        self._calls[row["id"]] = self._numbered("calls", row)
                    continue
                if row["outcome"] == "ok" and known is not None and known["outcome"] == "ok":
                    row["outcome"] = "duplicate"
                self._calls[row["id"]] = self._numbered("calls", row)
        for page in _pages(self._source, "messages", ("call", "idx")):
            rows = [row for row in page if row["call"] in self._calls and row["call"] not in theirs]
            _put(self._raw, "messages", [row | {"call": self._calls[row["call"]]} for row in rows])
        for page in _pages(self._source, "uses", ("run", "call")):
            rows = [row for row in page if row["run"] in self._new and row["call"] in self._calls]
            _put(self._raw, "uses", [row | {"call": self._calls[row["call"]]} for row in rows])

    def _copy_batches(self) -> None:
        known = {row["name"] for row in self._raw.execute("SELECT name FROM batches")}
        new = {row["name"] for row in self._source.rows("SELECT name FROM batches")} - known
        self._each("batches", ("name",), "name", new)
        self._each("items", ("batch", "idx"), "batch", new)

    def _numbered(self, table: str, row: Row) -> int:
        """Insert a row under a new id, and return that."""
        values = {name: value for name, value in row.items() if name != "id"}
        statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))}) RETURNING id"  # noqa: S608
        return int(self._raw.execute(statement, tuple(values.values())).fetchone()["id"])


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
    AND NOT EXISTS (SELECT 1 FROM drafts WHERE text = t.id) AND NOT EXISTS (SELECT 1 FROM pieces WHERE text = t.id)
    AND NOT EXISTS (SELECT 1 FROM calls WHERE reply = t.id) AND NOT EXISTS (SELECT 1 FROM parents WHERE text = t.id)
"""
_OF_RUN = (
    "UPDATE runs SET draft = NULL WHERE id = :run",
    "UPDATE candidates SET run = NULL WHERE run = :run",
    "DELETE FROM candidates WHERE whole = :run",
    *(f"DELETE FROM {table} WHERE run = :run" for table in ("rounds", "lookups", "opinions")),  # noqa: S608
    "DELETE FROM evaluations WHERE draft IN (SELECT id FROM drafts WHERE run = :run)",
    *(f"DELETE FROM {table} WHERE run = :run" for table in ("parents", "drafts", "pieces", "gaps")),  # noqa: S608
    "DELETE FROM budget_runs WHERE run = :run",
    "UPDATE chapters SET run = NULL WHERE run = :run",
    "DELETE FROM chapters WHERE whole = :run",
    "DELETE FROM items WHERE run = :run",
)
_KEPT = " UNION ALL ".join(
    f"SELECT 1 FROM {table} WHERE document = :document"  # noqa: S608
    for table in ("packs", "keyfacts", "typed_packs")
)
# The unfinished items of a batch.
_KEPT += " UNION ALL SELECT 1 FROM items WHERE document = :document AND state IN ('waiting', 'leased')"
_OF_DOCUMENT = (
    "DELETE FROM questions WHERE pack IN (SELECT id FROM packs WHERE document = :document)",
    "DELETE FROM packs WHERE document = :document",
    "DELETE FROM typed_questions WHERE pack IN (SELECT id FROM typed_packs WHERE document = :document)",
    "DELETE FROM typed_packs WHERE document = :document",
    "DELETE FROM facts WHERE keyfacts IN (SELECT id FROM keyfacts WHERE document = :document)",
    "DELETE FROM trees WHERE keyfacts IN (SELECT id FROM keyfacts WHERE document = :document)",
    "DELETE FROM keyfacts WHERE document = :document",
    *(
        f"DELETE FROM {table} WHERE document = :document"  # noqa: S608
        for table in ("chunks", "verdicts", "rulings", "embeddings", "items")
    ),
    "DELETE FROM documents WHERE id = :document",
)
# A user's own prompts may reveal what they were made for.
_UNUSED_PROMPTS = "DELETE FROM prompts WHERE hash NOT IN (SELECT j.value FROM runs r, json_each(r.prompt_hashes) j)"
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
            raise RunError(f"no run {unknown[0]}", hint="`redraft runs` lists them")
        chosen = list(dict.fromkeys([*runs, *(run for run, document in about.items() if document in documents)]))
        # Its chapter and candidate runs are deleted with it.
        of_another = "SELECT whole, run FROM chapters UNION ALL SELECT whole, run FROM candidates"
        parts = self.connection.rows(f"SELECT * FROM ({of_another}) parts WHERE run IS NOT NULL")  # noqa: S608
        chosen = list(dict.fromkeys([*chosen, *(row["run"] for row in parts if row["whole"] in chosen)]))
        if at_work := [run for run in chosen if self.is_claimed(run)]:
            raise RunError(
                f"run {at_work[0]} is in use by another process, and nothing was forgotten",
                hint="wait for it, or stop it first",
            )
        return chosen, about

    def _forget_run(self, raw: Transaction, run: str, gone: _Deleted) -> None:
        named = {"run": run}
        for table in ("drafts", "pieces", "parents"):
            gone.texts |= {row[0] for row in raw.execute(f"SELECT text FROM {table} WHERE run = :run", named)}  # noqa: S608
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
        for statement in (_UNUSED_PROMPTS, _UNUSED_PARTS, _EMPTY_BATCHES):
            raw.execute(statement)
        unnamed = {row["id"] for row in raw.execute(_UNNAMED_TEXTS)}
        at_work = self._documents_at_work(raw)
        if at_work:
            # An active run may have stored a text that no checkpoint refers to yet, but only of its own document.
            unnamed = set() if at_work & {about[run] for run in runs} else unnamed & gone.texts
        gone.texts = unnamed - self.checkpoints.texts(runs) if unnamed else set()
        for table, column in (("links", "child"), ("texts", "id")):
            raw.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(text,) for text in gone.texts])  # noqa: S608

    def _documents_at_work(self, raw: Transaction) -> set[str]:
        """Return the documents of active runs."""
        running = raw.execute("SELECT id, document FROM runs").fetchall()
        return {row["document"] for row in running if self.is_claimed(row["id"])}

    def _size(self) -> int:
        return self.connection.size + self.checkpoints.size


def _drop_call(raw: Transaction, call: int, gone: _Deleted) -> None:
    reply = raw.execute("SELECT reply FROM calls WHERE id = ?", (call,)).fetchone()["reply"]
    if reply is not None:
        gone.replies += 1
        gone.texts.add(reply)
    raw.execute("DELETE FROM calls WHERE id = ?", (call,))
