"""Documents and their chunks, the parents of texts, and the chapters and candidates of a run."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from redraft.domain import Chunk, Document, Parent, Span, content_id
from redraft.errors import RunCommand, StoreError
from redraft.settings import Chunking
from redraft.store.connection import (
    Connection,
    Repository,
    Row,
    Transaction,
    body_of,
    insert,
    json_text,
    record_in,
    storable,
    upsert,
)

_CACHE = upsert("cache", ("kind", "key"), "owner", "body")


def now() -> str:
    """Return the current time as the tables store it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def ordered(number: int) -> str:
    """Return a number as a key that sorts as the number does."""
    return f"{number:06d}"


def put_text(raw: Transaction, text: str) -> str:
    """Store a text within a write transaction; return its id."""
    key = content_id(text)
    raw.execute("INSERT INTO texts VALUES (?, ?) ON CONFLICT DO NOTHING", (key, storable(text)))
    return key


class Documents(Repository):
    """Documents, their texts and their chunks."""

    def text(self, key: str) -> str:
        """Return the text with this id."""
        row = self._connection.row("SELECT text FROM texts WHERE id = ?", (key,))
        if row is None:
            raise StoreError(f"no text {key[:12]}", hint="did another program remove it from the database?")
        return str(row["text"])

    def add_text(self, text: str) -> str:
        """Store a text; return its id."""
        with self._connection.writing("names") as raw:
            return put_text(raw, text)

    def named(self, words: str) -> list[str]:
        """Return the documents whose id starts with this, or whose title contains all of its words."""
        wanted = words.casefold().split()
        return [
            str(row["id"])
            for row in self._connection.rows("SELECT id, title FROM documents")
            if str(row["id"]).startswith(words) or all(word in str(row["title"]).casefold() for word in wanted)
        ]

    def add(self, document: Document) -> None:
        """Store a document. The same text under another name takes that name, and the language stated in its file."""
        language = document.language if document.own_language is None else document.own_language
        body = body_of(replace(document, language=language), "id", "title", "text", "notes", "own_language")
        columns = ("id", "title", "characters", "notes", "added", "body")
        changed = ", ".join(f"{name} = excluded.{name}" for name in ("title", "notes", "body"))
        with self._connection.writing("names") as raw:
            put_text(raw, document.text)
            values = (document.id, storable(document.title), len(document.text), json_text(document.notes), now(), body)
            raw.execute(f"{insert('documents', *columns)} ON CONFLICT (id) DO UPDATE SET {changed}", values)

    def get(self, key: str) -> Document:
        """Return the document with this id."""
        return replace(self.outline(key), text=self.text(key))

    def outline(self, key: str) -> Document:
        """Return the document without its text, which may be long."""
        row = self._connection.row("SELECT * FROM documents WHERE id = ?", (key,))
        if row is None:
            raise StoreError(f"no document {key[:12]}")
        return record_in(Document, row, "id", "title", text="", notes=json.loads(row["notes"]))

    def whole_id(self, key: str) -> str:
        """Return the full id for an id or a unique prefix of one."""
        rows = self._connection.rows(
            "SELECT id FROM documents WHERE substr(id, 1, ?) = ? LIMIT 2", (len(key), storable(key))
        )
        if len(rows) != 1 or not key:
            what = "no document has an id that begins" if not rows else "more than one document has an id that begins"
            raise StoreError(
                f"{what} with {key!r}", fix=(RunCommand("show", more=("RUN", "--json")), " names that of a run")
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
        rows = self._connection.rows(
            "SELECT id, title FROM documents WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),)
        )
        return {row["id"]: row["title"] for row in rows}

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
        self._write(
            "INSERT INTO artifacts (kind, id, document, key, model, items, missing, imported, created, body)"
            " VALUES ('chunks', ?, ?, '', '', ?, 0, 0, ?, ?) ON CONFLICT DO NOTHING",
            (cut, document, len(chunks), now(), json_text([(c.index, *c.span, c.tokens) for c in chunks])),
        )

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


class Ancestry(Repository):
    """The recorded parents of texts, and the computed links between texts and their parents."""

    def of(self, run: str) -> dict[str, tuple[Parent, ...]]:
        """Return the parents of each piece or draft of a run, in prompt order."""
        parents: dict[str, list[tuple[int, Parent]]] = defaultdict(list)
        for row in records_of(self._connection, run, "parent"):
            child, _, place = row["key"].rpartition("#")
            parents[child].append((int(place), record_in(Parent, row, "text")))
        return {child: tuple(parent for _, parent in sorted(placed)) for child, placed in sorted(parents.items())}

    def links(self, key: str) -> str | None:
        """Return the links stored under this key; None without any."""
        return self._cached("links", key)

    def keep_links(self, key: str, child: str, links: str) -> None:
        """Store the sources of a text's sentences until the text is deleted.

        Does nothing in a read-only database.
        """
        if self._connection.only_read:
            return
        with self._connection.writing("names") as raw:
            raw.execute(_CACHE, ("links", key, put_text(raw, child), links))

    def vectors(self, document: str, cut: str, weights: str) -> bytes | None:
        """Return a model's embeddings of a document's parts; None without any."""
        body = self._cached("vectors", json_text((document, cut, weights)))
        return None if body is None else b64decode(body)

    def keep_vectors(self, document: str, cut: str, weights: str, vectors: bytes) -> None:
        """Store embeddings until the document is deleted. Does nothing in a read-only database."""
        if not self._connection.only_read:
            body = b64encode(vectors).decode()
            self._write(_CACHE, ("vectors", json_text((document, cut, weights)), document, body))

    def _cached(self, kind: str, key: str) -> str | None:
        row = self._connection.row("SELECT body FROM cache WHERE kind = ? AND key = ?", (kind, key))
        return None if row is None else str(row["body"])


def records_of(connection: Connection, run: str, kind: str) -> list[Row]:
    """Return the rows of one kind that a run has recorded, by key."""
    return connection.rows("SELECT * FROM records WHERE run = ? AND kind = ? ORDER BY key", (run, kind))


@dataclass(frozen=True, slots=True)
class ChapterRun:
    """A chapter of a document that is summarized by chapter, as a chunk of the whole; `run` is empty until one has
    started."""

    title: str
    chunk: Chunk
    run: str = ""


class ChapterRuns(Repository):
    """The chapter runs in one database."""

    def add(self, whole: str, chapters: Sequence[ChapterRun]) -> None:
        """Store the chapters of a run."""
        rows = [(whole, "chapter", ordered(c.chunk.index), c.run or None, body_of(c, "run")) for c in chapters]
        with self._connection.writing() as raw:
            raw.executemany(insert("records", "run", "kind", "key", "part", "body"), rows)

    def of(self, whole: str) -> list[ChapterRun]:
        """Return the chapters of a run in order; empty for a run that is not by chapter."""
        rows = records_of(self._connection, whole, "chapter")
        return [record_in(ChapterRun, row, run=row["part"] or "") for row in rows]

    def begin(self, whole: str, index: int, run: str) -> None:
        """Record which run summarizes a chapter."""
        statement = "UPDATE records SET part = ? WHERE run = ? AND kind = 'chapter' AND key = ?"
        with self._connection.writing() as raw:
            raw.execute(statement, (run, whole, ordered(index)))


@dataclass(frozen=True, slots=True)
class DraftCandidate:
    """One of the candidate drafts of a run; number 1 is its own."""

    number: int
    run: str = ""
    """The run that drafts it; empty for the run's own."""
    draft: str = ""
    """Its text as a draft of the whole; empty until it exists, or if drafting failed."""
    chosen: bool | None = None
    """Whether it was chosen; None before the choice."""
    reason: str = ""


class DraftCandidates(Repository):
    """The candidates of runs in one database."""

    def add(self, whole: str, runs: Sequence[str]) -> None:
        """Store the candidates of a run: its own one, and those that these runs draft."""
        self._put(whole, [DraftCandidate(number, run) for number, run in enumerate(["", *runs], 1)])

    def of(self, whole: str) -> list[DraftCandidate]:
        """Return the candidates of a run in order; empty for a run with one draft."""
        rows = records_of(self._connection, whole, "candidate")
        return [record_in(DraftCandidate, row, run=row["part"] or "") for row in rows]

    def settle(self, whole: str, candidates: Sequence[DraftCandidate]) -> None:
        """Store the outcome of the candidates of a run."""
        self._put(whole, [replace(candidate, chosen=bool(candidate.chosen)) for candidate in candidates])

    def _put(self, whole: str, candidates: Sequence[DraftCandidate]) -> None:
        rows = [(whole, "candidate", ordered(c.number), c.run or None, body_of(c, "run")) for c in candidates]
        with self._connection.writing() as raw:
            raw.executemany(upsert("records", ("run", "kind", "key"), "part", "body"), rows)
