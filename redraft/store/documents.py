"""Texts, stored once under their content; documents; and how documents were cut into chunks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from redraft.domain import Chunk, Document, DocumentSection, Span, content_id
from redraft.errors import StoreError
from redraft.marks import Mark
from redraft.settings import Chunking
from redraft.store.connection import Connection, Raw, storable


def now() -> str:
    """The moment, as every table stores it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def put_text(raw: Raw, text: str) -> str:
    """Store a text within a write transaction; returns its id."""
    key = content_id(text)
    raw.execute("INSERT INTO texts VALUES (?, ?) ON CONFLICT DO NOTHING", (key, storable(text)))
    return key


class Documents:
    """Documents, their texts and their chunks."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def text(self, key: str) -> str:
        """The text with this id."""
        row = self._connection.row("SELECT text FROM texts WHERE id = ?", (key,))
        if row is None:
            raise StoreError(f"no text {key[:12]}", hint="was the database cut down by another program?")
        return str(row["text"])

    def add_text(self, text: str) -> str:
        """Store a text; returns its id."""
        with self._connection.writing_beside() as raw:
            return put_text(raw, text)

    def named(self, words: str) -> list[str]:
        """The documents whose id begins so, or whose title has all these words, or parts of words."""
        wanted = words.casefold().split()
        return [
            str(row["id"])
            for row in self._connection.rows("SELECT id, title FROM documents")
            if str(row["id"]).startswith(words) or all(word in str(row["title"]).casefold() for word in wanted)
        ]

    def add(self, document: Document) -> None:
        """Store a document; the same text under another name takes that name, and the language that its file says."""
        sections = [[s.title, s.level, s.span.start, s.span.end] for s in document.sections]
        told = (
            storable(json.dumps(one, ensure_ascii=False)) for one in (sections, document.marks, list(document.notes))
        )
        with self._connection.writing_beside() as raw:
            put_text(raw, document.text)
            raw.execute(
                "INSERT INTO documents"
                " (id, title, source, encoding, characters, sections, marks, notes, language, added)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " title = excluded.title, source = excluded.source, sections = excluded.sections,"
                " marks = excluded.marks, notes = excluded.notes, language = excluded.language",
                (
                    document.id,
                    storable(document.title),
                    storable(document.source),
                    document.encoding,
                    len(document.text),
                    *told,
                    storable(document.language if document.own_language is None else document.own_language),
                    now(),
                ),
            )

    def get(self, key: str) -> Document:
        """The document with this id."""
        return replace(self.outline(key), text=self.text(key))

    def outline(self, key: str) -> Document:
        """The document without its text, which may be long."""
        row = self._connection.row("SELECT * FROM documents WHERE id = ?", (key,))
        if row is None:
            raise StoreError(f"no document {key[:12]}")
        sections = tuple(
            DocumentSection(t, level, Span(start, end)) for t, level, start, end in json.loads(row["sections"])
        )
        marks = tuple(Mark(*one) for one in json.loads(row["marks"]))
        notes = tuple(json.loads(row["notes"]))
        return Document(key, row["title"], "", sections, row["source"], row["encoding"], notes, marks, row["language"])

    def whole_id(self, key: str) -> str:
        """The id that is this, or the only one that begins so."""
        rows = self._connection.rows(
            "SELECT id FROM documents WHERE substr(id, 1, ?) = ? LIMIT 2", (len(key), storable(key))
        )
        if len(rows) != 1 or not key:
            what = "no document has an id that begins" if not rows else "more than one document has an id that begins"
            raise StoreError(f"{what} with {key!r}", hint="`redraft show RUN --json` names that of a run")
        return str(rows[0]["id"])

    def has(self, key: str) -> bool:
        """Whether there is a document with this id."""
        return self._connection.row("SELECT 1 FROM documents WHERE id = ?", (key,)) is not None

    def titles(self) -> list[tuple[str, str, int]]:
        """Of every document, the latest first, its id, its title, and how many characters it has."""
        rows = self._connection.rows("SELECT id, title, characters FROM documents ORDER BY added DESC, rowid DESC")
        return [(row["id"], row["title"], row["characters"]) for row in rows]

    def title(self, key: str) -> str:
        """The title alone, without loading the text."""
        row = self._connection.row("SELECT title FROM documents WHERE id = ?", (key,))
        return str(row["title"]) if row else ""

    def add_chunks(
        self,
        document: str,
        tokenizer: str,
        budget: int,
        chunks: Sequence[Chunk],
        until: int | None = None,
        chunking: Chunking = "natural",
    ) -> None:
        """Store how a document is cut, or its first `until` tokens; a cut that is there already stays as it is."""
        rows = [
            (document, _counted(tokenizer, until, chunking), budget, c.index, c.span.start, c.span.end, c.tokens)
            for c in chunks
        ]
        with self._connection.writing_beside() as raw:
            raw.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)

    def chunks(
        self, document: str, tokenizer: str, budget: int, until: int | None = None, chunking: Chunking = "natural"
    ) -> list[Chunk]:
        """The stored chunks of a document, or of its first `until` tokens; none when it was never cut so."""
        rows = self._connection.rows(
            'SELECT idx, start, "end", tokens FROM chunks WHERE document = ? AND tokenizer = ? AND budget = ? '
            "ORDER BY idx",
            (document, _counted(tokenizer, until, chunking), budget),
        )
        return [Chunk(row["idx"], Span(row["start"], row["end"]), row["tokens"]) for row in rows]


def _counted(tokenizer: str, until: int | None, chunking: Chunking) -> str:
    """By what a cut was counted, and how it was cut: a cut of a beginning alone ends elsewhere, as one at chapters and
    paragraphs does, and each stands beside the others."""
    counted = tokenizer if until is None else f"{tokenizer}, first {until}"
    return counted if chunking == "fixed" else f"{counted}, {chunking}"
