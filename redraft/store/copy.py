"""Copying what one database holds into another, be they files or on servers.

What is there already stays as it is, so that several databases become one, and a copy that broke off is simply made
again: texts and what was made of documents page by page, and in one transaction all runs that are not there yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redraft.store.connection import Connection, Raw

_PAGE = 500
# What is of no run, after what it refers to, and the columns by which its rows are gone through.
_CONTENT: Mapping[str, Sequence[str]] = {
    "texts": ("rowid",),
    "documents": ("rowid",),
    "chunks": ("document", "tokenizer", "budget", "idx"),
    "prompts": ("hash",),
    "verdicts": ("key",),
    "rulings": ("document", "finding"),
    "links": ("key",),
    "embeddings": ("document", "cut", "weights"),
    "manners": ("model",),
    "agreements": ("judge", "metric", "version", "prompts", "terms", "dataset", "human", "level", "measure"),
    "packs": ("rowid",),
    "questions": ("pack", "rank"),
    "keyfacts": ("rowid",),
    "trees": ("keyfacts", "idx"),
    "facts": ("keyfacts", "tree", "id"),
    "typed_packs": ("rowid",),
    "typed_questions": ("pack", "rank"),
    "jobs": ("id",),
    "job_lines": ("attempt", "job"),
}
# What is of runs, and the column that says of which.
_OF_RUNS: Mapping[str, tuple[str, Sequence[str]]] = {
    "drafts": ("run", ("rowid",)),
    "pieces": ("run", ("run", "level", "idx", "step")),
    "parents": ("run", ("run", "child", "ordinal")),
    "gaps": ("run", ("run", "chunk")),
    "rounds": ("run", ("run", "number")),
    "lookups": ("run", ("run", "round", "idx")),
    "final_comparisons": ("run", ("run",)),
    "opinions": ("run", ("run", "finding")),
    "pots": ("run", ("pot", "run")),
    "chapters": ("whole", ("whole", "idx")),
    "candidates": ("whole", ("whole", "idx")),
}
_AT = "row_number_of_copying"
Row = dict[str, Any]


@dataclass(slots=True)
class Copied:
    """What has been copied: the ids of the runs, and how many documents and texts are new."""

    runs: list[str] = field(default_factory=list)
    there: int = 0
    """How many runs were there already, and stay as they are."""
    documents: int = 0
    texts: int = 0


def copy(source: Connection, target: Connection) -> Copied:
    """Copy all that is not there yet."""
    copied = Copied()
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


def _pages(source: Connection, table: str, key: Sequence[str]) -> Iterator[list[Row]]:
    """The rows of a table, so many at a time."""
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


def _put(raw: Raw, table: str, rows: Sequence[Row]) -> int:
    """Put rows into a table, but for those that are there; returns how many are new."""
    if not rows:
        return 0
    names = ", ".join(f'"{name}"' for name in rows[0])
    marks = ", ".join("?" * len(rows[0]))
    statement = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608
    return raw.executemany(statement, [tuple(row.values()) for row in rows]).rowcount


class _Runs:
    """Copies the runs, within one transaction of the target."""

    def __init__(self, source: Connection, raw: Raw, copied: Copied) -> None:
        self._source = source
        self._raw = raw
        self._copied = copied
        self._new: set[str] = set()
        self._calls: dict[int, int] = {}

    def copy(self) -> None:
        """Copy those that are not there yet, with all that is theirs."""
        drafts = self._copy_runs()
        for table, (column, key) in _OF_RUNS.items():
            self._each(table, key, column, self._new)
        for run, draft in drafts.items():
            self._raw.execute("UPDATE runs SET draft = ? WHERE id = ?", (draft, run))
        self._copy_evaluations()
        self._copy_calls()
        self._copy_batches()

    def _copy_runs(self) -> dict[str, str]:
        """Returns the drafts of the runs, which come later."""
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
        """Of what both have been answered the target's answer counts, as where two have asked at once."""
        for page in _pages(self._source, "calls", ("id",)):
            for row in page:
                answered = "SELECT id, outcome FROM calls WHERE key = ? ORDER BY outcome <> 'ok' LIMIT 1"
                known = self._raw.execute(answered, (row["key"],)).fetchone()
                if row["run"] is None or row["run"] not in self._new:
                    # Of a run that is gone, or was there: it is wanted for its answer.
                    if row["outcome"] == "ok" and known is not None and known["outcome"] == "ok":
                        self._calls[row["id"]] = known["id"]
                    elif row["run"] is None and known is None:
                        self._calls[row["id"]] = self._numbered("calls", row)
                    continue
                if row["outcome"] == "ok" and known is not None and known["outcome"] == "ok":
                    row["outcome"] = "duplicate"
                self._calls[row["id"]] = self._numbered("calls", row)
        for page in _pages(self._source, "uses", ("run", "call")):
            rows = [row for row in page if row["run"] in self._new and row["call"] in self._calls]
            _put(self._raw, "uses", [row | {"call": self._calls[row["call"]]} for row in rows])

    def _copy_batches(self) -> None:
        known = {row["name"] for row in self._raw.execute("SELECT name FROM batches")}
        new = {row["name"] for row in self._source.rows("SELECT name FROM batches")} - known
        self._each("batches", ("name",), "name", new)
        self._each("items", ("batch", "idx"), "batch", new)

    def _numbered(self, table: str, row: Row) -> int:
        """Put a row in under a number of its own, and return that."""
        values = {name: value for name, value in row.items() if name != "id"}
        statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))}) RETURNING id"  # noqa: S608
        return int(self._raw.execute(statement, tuple(values.values())).fetchone()["id"])
