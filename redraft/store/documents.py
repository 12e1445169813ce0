"""Documents and their chunks, the parents of texts, and the chapters and candidates of a run."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from redraft.document import Mark
from redraft.domain import Chunk, Document, DocumentSection, Parent, Span, content_id
from redraft.errors import StoreError
from redraft.settings import Chunking
from redraft.store.connection import Repository, Transaction, insert, record_in, storable, upsert, values_of


def now() -> str:
    """Return the current time as the tables store it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


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
        with self._connection.writing_named() as raw:
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
        sections = [[s.title, s.level, s.span.start, s.span.end] for s in document.sections]
        told = (
            storable(json.dumps(one, ensure_ascii=False)) for one in (sections, document.marks, list(document.notes))
        )
        language = document.language if document.own_language is None else document.own_language
        fixed, later = ("id", "encoding", "title", "source"), ("sections", "marks", "notes", "language")
        changed = ", ".join(f"{name} = excluded.{name}" for name in ("title", "source", *later))
        with self._connection.writing_named() as raw:
            put_text(raw, document.text)
            statement = insert("documents", *fixed, *later, "characters", "added")
            raw.execute(
                f"{statement} ON CONFLICT (id) DO UPDATE SET {changed}",
                (*values_of(document, fixed), *told, storable(language), len(document.text), now()),
            )

    def get(self, key: str) -> Document:
        """Return the document with this id."""
        return replace(self.outline(key), text=self.text(key))

    def outline(self, key: str) -> Document:
        """Return the document without its text, which may be long."""
        row = self._connection.row("SELECT * FROM documents WHERE id = ?", (key,))
        if row is None:
            raise StoreError(f"no document {key[:12]}")
        sections = tuple(
            DocumentSection(t, level, Span(start, end)) for t, level, start, end in json.loads(row["sections"])
        )
        marks = tuple(Mark(*load) for load in json.loads(row["marks"]))
        notes = tuple(json.loads(row["notes"]))
        return Document(key, row["title"], "", sections, row["source"], row["encoding"], notes, marks, row["language"])

    def whole_id(self, key: str) -> str:
        """Return the full id for an id or a unique prefix of one."""
        rows = self._connection.rows(
            "SELECT id FROM documents WHERE substr(id, 1, ?) = ? LIMIT 2", (len(key), storable(key))
        )
        if len(rows) != 1 or not key:
            what = "no document has an id that begins" if not rows else "more than one document has an id that begins"
            raise StoreError(f"{what} with {key!r}", hint="`redraft show RUN --json` names that of a run")
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
        """Store the chunks of a document, or of its first `until` tokens; existing ones are kept."""
        rows = [
            (document, _counted(tokenizer, until, chunking), budget, c.index, c.span.start, c.span.end, c.tokens)
            for c in chunks
        ]
        with self._connection.writing_named() as raw:
            raw.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)

    def chunks(
        self, document: str, tokenizer: str, budget: int, until: int | None = None, chunking: Chunking = "natural"
    ) -> list[Chunk]:
        """Return the stored chunks of a document, or of its first `until` tokens; empty without any."""
        rows = self._connection.rows(
            'SELECT idx, start, "end", tokens FROM chunks WHERE document = ? AND tokenizer = ? AND budget = ? '
            "ORDER BY idx",
            (document, _counted(tokenizer, until, chunking), budget),
        )
        return [Chunk(row["idx"], Span(row["start"], row["end"]), row["tokens"]) for row in rows]


def _counted(tokenizer: str, until: int | None, chunking: Chunking) -> str:
    """Return the key of a list of chunks: the tokenizer, the cut, and how much of the document it covers."""
    counted = tokenizer if until is None else f"{tokenizer}, first {until}"
    return counted if chunking == "fixed" else f"{counted}, {chunking}"


class Ancestry(Repository):
    """The recorded parents of texts, and the computed links between texts and their parents."""

    def of(self, run: str) -> dict[str, tuple[Parent, ...]]:
        """Return the parents of each piece or draft of a run, in prompt order."""
        rows = self._connection.rows("SELECT * FROM parents WHERE run = ? ORDER BY child, ordinal", (run,))
        found: dict[str, list[Parent]] = defaultdict(list)
        for row in rows:
            span = Span(row["start"], row["end"])
            found[row["child"]].append(Parent(row["kind"], row["text"], span, row["node"]))
        return {child: tuple(parents) for child, parents in found.items()}

    def links(self, key: str) -> str | None:
        """Return the links stored under this key; None without any."""
        row = self._connection.row("SELECT found FROM links WHERE key = ?", (key,))
        return None if row is None else str(row["found"])

    def keep_links(self, key: str, child: str, found: str) -> None:
        """Store the sources of a text's sentences until the text is deleted.

        Does nothing in a read-only database.
        """
        if self._connection.only_read:
            return
        with self._connection.writing_named() as raw:
            raw.execute(upsert("links", ("key",), "child", "found"), (key, put_text(raw, child), found))

    def vectors(self, document: str, cut: str, weights: str) -> bytes | None:
        """Return a model's embeddings of a document's parts; None without any."""
        row = self._connection.row(
            "SELECT vectors FROM embeddings WHERE document = ? AND cut = ? AND weights = ?", (document, cut, weights)
        )
        return None if row is None else bytes(row["vectors"])

    def keep_vectors(self, document: str, cut: str, weights: str, vectors: bytes) -> None:
        """Store embeddings until the document is deleted. Does nothing in a read-only database."""
        if self._connection.only_read:
            return
        statement = upsert("embeddings", ("document", "cut", "weights"), "vectors")
        self._write(statement, (document, cut, weights, vectors))


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
        rows = [(whole, c.chunk.index, storable(c.title), *c.chunk.span, c.chunk.tokens) for c in chapters]
        with self._connection.writing() as raw:
            raw.executemany(
                'INSERT INTO chapters (whole, idx, title, start, "end", tokens) VALUES (?, ?, ?, ?, ?, ?)', rows
            )

    def of(self, whole: str) -> list[ChapterRun]:
        """Return the chapters of a run in order; empty for a run that is not by chapter."""
        rows = self._connection.rows("SELECT * FROM chapters WHERE whole = ? ORDER BY idx", (whole,))
        return [
            ChapterRun(row["title"], Chunk(row["idx"], Span(row["start"], row["end"]), row["tokens"]), row["run"] or "")
            for row in rows
        ]

    def begin(self, whole: str, index: int, run: str) -> None:
        """Record which run summarizes a chapter."""
        with self._connection.writing() as raw:
            raw.execute("UPDATE chapters SET run = ? WHERE whole = ? AND idx = ?", (run, whole, index))


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
        rows = [(whole, number, run or None) for number, run in enumerate(["", *runs], 1)]
        with self._connection.writing() as raw:
            raw.executemany("INSERT INTO candidates (whole, idx, run) VALUES (?, ?, ?)", rows)

    def of(self, whole: str) -> list[DraftCandidate]:
        """Return the candidates of a run in order; empty for a run with one draft."""
        rows = self._connection.rows("SELECT * FROM candidates WHERE whole = ? ORDER BY idx", (whole,))
        return [
            record_in(DraftCandidate, row, number=row["idx"], run=row["run"] or "", draft=row["draft"] or "")
            for row in rows
        ]

    def settle(self, whole: str, candidates: Sequence[DraftCandidate]) -> None:
        """Store the outcome of the candidates of a run."""
        rows = [
            (candidate.draft or None, int(bool(candidate.chosen)), candidate.reason, whole, candidate.number)
            for candidate in candidates
        ]
        with self._connection.writing() as raw:
            raw.executemany("UPDATE candidates SET draft = ?, chosen = ?, reason = ? WHERE whole = ? AND idx = ?", rows)
