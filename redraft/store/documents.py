"""Documents and their texts, and the chapters of a run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from redraft.domain import Chunk, Document, KeyFacts, Pack, content_id
from redraft.errors import RunCommand, StoreError
from redraft.store.connection import Connection, storable
from redraft.store.table import IN_LIST, RecordTable, in_list, insert_row, json_text, now, put_text


class Documents:
    """Documents and their texts."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._table = RecordTable(connection, "documents", Document, ("id",), columns=("id", "title"))

    def text(self, key: str) -> str:
        """Return the text with this id."""
        row = self._connection.row("SELECT text FROM texts WHERE id = ?", (key,))
        if row is None:
            raise StoreError(f"no text {key[:12]}", hint="did another program remove it from the database?")
        return str(row["text"])

    def add_text(self, text: str, run: str = "") -> str:
        """Store a text until this run, or else the first that uses it, is forgotten; return its id."""
        key = content_id(text)
        row = {"kind": "text", "key": key, "body": "", **({"run": run, "text": key} if run else {})}
        with self._connection.writing() as raw:
            put_text(raw, text)
            insert_row(raw, "records" if run else "knowledge", row, "ON CONFLICT DO NOTHING")
        return key

    def named(self, words: str) -> list[str]:
        """Return the documents whose id starts with this, or whose title contains all of its words."""
        rows = self._connection.rows("SELECT id, title FROM documents")
        return [
            str(row["id"])
            for row in rows
            if str(row["id"]).startswith(words)
            or all(word in str(row["title"]).casefold() for word in words.casefold().split())
        ]

    def add(self, document: Document) -> None:
        """Store a document. The same text under another name takes that name, and the language stated in its file."""
        language = document.language if document.own_language is None else document.own_language
        with self._connection.writing() as raw:
            put_text(raw, document.text)
            self._table.put(
                replace(document, text="", language=language, own_language=None),
                new={"added": now()},
                characters=len(document.text),
                notes=json_text(document.notes),
            )

    def get(self, key: str) -> Document:
        """Return the document with this id."""
        return replace(self.outline(key), text=self.text(key))

    def outline(self, key: str) -> Document:
        """Return the document without its text, which may be long."""
        document = self._table.first(id=key)
        if document is None:
            raise StoreError(f"no document {key[:12]}")
        return document

    def whole_id(self, key: str) -> str:
        """Return the full id for an id or a unique prefix of one."""
        query = "SELECT id FROM documents WHERE substr(id, 1, ?) = ? LIMIT 2"
        rows = self._connection.rows(query, (len(key), storable(key)))
        if len(rows) != 1 or not key:
            problem = "no document has an id" if not rows else "more than one document has an id"
            raise StoreError(
                f"{problem} that begins with {key!r}",
                fix=(RunCommand("show", more=("RUN", "--json")), " names that of a run"),
            )
        return str(rows[0]["id"])

    def has(self, key: str) -> bool:
        """Return whether there is a document with this id."""
        return self._connection.row("SELECT 1 FROM documents WHERE id = ?", (key,)) is not None

    def titles_of(self, keys: Collection[str]) -> dict[str, str]:
        """Return the titles of some documents by id."""
        query = f"SELECT id, title FROM documents WHERE id {IN_LIST}"  # noqa: S608
        return {row["id"]: row["title"] for row in self._connection.rows(query, (in_list(keys),))}

    def title(self, key: str) -> str:
        """Return the title without loading the text."""
        return self.titles_of([key]).get(key, "")


@dataclass(frozen=True, slots=True)
class ChapterRun:
    """A chapter of a document that is summarized by chapter, as a chunk of the whole; `run` is empty until one has
    started."""

    title: str
    chunk: Chunk
    run: str = ""


Built = TypeVar("Built", bound=Pack | KeyFacts)


class QuestionSets(Generic[Built]):
    """The stored question sets of one kind. They never change once stored."""

    def __init__(self, connection: Connection, record: type[Built], kind: str, what: str) -> None:
        """`what` begins messages."""
        self._connection, self._kind, self._what = connection, kind, what
        self._table = RecordTable(
            connection,
            *("artifacts", record, ("kind", "id", "document"), kind),
            columns=("id", "document"),
            fields=lambda row: {"imported": row["imported"] > 0},
        )

    def add(self, question_set: Built, key: str) -> None:
        """Store a set under the key of its inputs; an existing one is kept, unless the new one is more complete."""
        with self._connection.writing():
            stored = self._table.first(id=question_set.id, document=question_set.document)
            # The same questions may come from a build that could read more of the document.
            if stored is None or len(question_set.missing) < len(stored.missing):
                self._table.put(question_set, new={"key": key, "created": now()})

    def prefer(self, key: str) -> None:
        """Make the set with this id the default for judging its document."""
        # Counted, because two imports may have the same time, and clocks are set back.
        latest = "SELECT max(imported) + 1 FROM artifacts WHERE kind = :kind"
        self._connection.write(
            f"UPDATE artifacts SET imported = ({latest}), created = :now WHERE kind = :kind AND id = :id",  # noqa: S608
            {"kind": self._kind, "now": now(), "id": key},
        )

    def find(self, document: str, key: str) -> Built | None:
        """Return the set built for a document from `key`: the most complete, then the earliest."""
        earliest = self._table.find("created, id", document=document, key=key)
        return min(earliest, key=lambda question_set: len(question_set.missing), default=None)

    def get(self, key: str) -> Built:
        """Return the set with this id or unique prefix."""
        statement = "SELECT * FROM artifacts WHERE kind = ? AND substr(id, 1, ?) = ? LIMIT 2"
        rows = self._connection.rows(statement, (self._kind, len(key), storable(key)))
        if len(rows) != 1 or not key:
            problem = f"no {self._what}" if not rows else "more than one id begins"
            raise StoreError(f"{problem} with {key!r}", fix=(RunCommand("pack list"), " lists them"))
        return self._table.read(rows[0])

    def imported(self, document: str) -> Built | None:
        """Return the set last imported for a document."""
        latest = self.latest(document)
        return latest if latest is not None and latest.imported else None

    def latest(self, document: str) -> Built | None:
        """Return the default set for a document: the last imported, else the last built."""
        return self._table.first("imported DESC, created DESC, rowid DESC", document=document)

    def all(self) -> list[tuple[Built, str]]:
        """Return all sets with the time they were stored, newest first."""
        return [(self._table.read(row), row["created"]) for row in self._table.rows("created DESC, rowid DESC")]
