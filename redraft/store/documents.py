"""Documents and their chunks, the parents of texts, and the chapters of a run."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from redraft.domain import Chunk, Document, Parent, Span
from redraft.errors import RunCommand, StoreError
from redraft.settings import Chunking
from redraft.store.connection import Connection, storable
from redraft.store.table import (
    IN_LIST,
    Cache,
    RecordTable,
    in_list,
    insert_row,
    json_text,
    now,
    put_text,
    run_records,
)


class Documents:
    """Documents, their texts and their chunks."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._table = RecordTable(
            connection,
            "documents",
            Document,
            ("id",),
            columns=("id", "title"),
            left_out=("text", "notes", "own_language"),
            row=lambda document: {"characters": len(document.text), "notes": json_text(document.notes)},
            fields=lambda row: {"text": "", "notes": json.loads(row["notes"])},
        )

    def text(self, key: str) -> str:
        """Return the text with this id."""
        row = self._connection.row("SELECT text FROM texts WHERE id = ?", (key,))
        if row is None:
            raise StoreError(f"no text {key[:12]}", hint="did another program remove it from the database?")
        return str(row["text"])

    def add_text(self, text: str) -> str:
        """Store a text; return its id."""
        with self._connection.writing() as raw:
            return put_text(raw, text)

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
            self._table.put(replace(document, language=language), raw=raw, new={"added": now()})

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

    def titles(self, without: str = "") -> list[tuple[str, str, int, tuple[str, ...]]]:
        """Return the id, title, length in characters and notes of every document, latest first, without those that only
        the experiment `without` has read."""
        rows = self._connection.rows(
            "SELECT id, title, characters, notes FROM documents d WHERE ? = ''"
            " OR NOT EXISTS (SELECT 1 FROM runs WHERE document = d.id AND experiment = ?)"
            " OR EXISTS (SELECT 1 FROM runs WHERE document = d.id AND coalesce(experiment, '') <> ?)"
            " ORDER BY added DESC, rowid DESC",
            (without, without, without),
        )
        return [(row["id"], row["title"], row["characters"], tuple(json.loads(row["notes"]))) for row in rows]

    def titles_of(self, keys: Collection[str]) -> dict[str, str]:
        """Return the titles of some documents by id."""
        query = f"SELECT id, title FROM documents WHERE id {IN_LIST}"  # noqa: S608
        return {row["id"]: row["title"] for row in self._connection.rows(query, (in_list(keys),))}

    def title(self, key: str) -> str:
        """Return the title without loading the text."""
        return self.titles_of([key]).get(key, "")

    def add_chunks(
        self,
        document: str,
        tokenizer: str,
        budget: int,
        chunks: Sequence[Chunk],
        until: int | None = None,
        chunking: Chunking = "natural",
    ) -> None:
        """Store the chunks of a document, or of its first `until` tokens; existing ones are kept."""
        cut = _cut(tokenizer, budget, until, chunking)
        body = json_text([(chunk.index, *chunk.span, chunk.tokens) for chunk in chunks])
        with self._connection.writing() as raw:
            row = {"kind": "chunks", "id": cut, "document": document, "key": "", "model": "", "items": len(chunks)}
            row |= {"missing": 0, "imported": 0, "created": now(), "body": body}
            insert_row(raw, "artifacts", row, "ON CONFLICT DO NOTHING")

    def chunks(
        self, document: str, tokenizer: str, budget: int, until: int | None = None, chunking: Chunking = "natural"
    ) -> list[Chunk]:
        """Return the stored chunks of a document, or of its first `until` tokens; empty without any."""
        row = self._connection.row(
            "SELECT body FROM artifacts WHERE kind = 'chunks' AND id = ? AND document = ?",
            (_cut(tokenizer, budget, until, chunking), document),
        )
        places = json.loads(row["body"]) if row else []
        return [Chunk(index, Span(start, end), tokens) for index, start, end, tokens in places]


def _cut(tokenizer: str, budget: int, until: int | None, chunking: Chunking) -> str:
    """Return the name of a list of chunks: the tokenizer and budget, how much of the document, and where it is cut."""
    until_name = "" if until is None else f", first {until}"
    return f"{tokenizer}, {budget} tokens{until_name}" + ("" if chunking == "fixed" else f", {chunking}")


class Ancestry:
    """The recorded parents of texts, and the computed links between texts and their parents."""

    def __init__(self, connection: Connection) -> None:
        self._parents = parents_in(connection)
        self.links = Cache(connection, "links")
        """The sources of texts' sentences, until the text is deleted."""
        self.vectors = Cache(connection, "vectors")
        """Embeddings of documents' parts."""

    def of(self, run: str) -> dict[str, tuple[Parent, ...]]:
        """Return the parents of each piece or draft of a run, in prompt order."""
        parents: dict[str, list[tuple[int, Parent]]] = defaultdict(list)
        for row in self._parents.rows(run=run):
            child, _, place = row["key"].rpartition("#")
            parents[child].append((int(place), self._parents.read(row)))
        return {child: tuple(parent for _, parent in sorted(placed)) for child, placed in sorted(parents.items())}


def parents_in(connection: Connection) -> RecordTable[Parent]:
    """Return the parents of texts; the key of each is that of its child, and its place."""
    return run_records(
        *(connection, "parent", Parent),
        left_out=("text",),
        row=lambda parent: {"text": parent.text},
        fields=lambda row: {"text": row["text"]},
    )


@dataclass(frozen=True, slots=True)
class ChapterRun:
    """A chapter of a document that is summarized by chapter, as a chunk of the whole; `run` is empty until one has
    started."""

    title: str
    chunk: Chunk
    run: str = ""
