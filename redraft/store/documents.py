"""Documents and drafts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from redraft.domain import Chunk, Document, DocumentSection, Parent, Piece, Span, content_id
from redraft.errors import StoreError
from redraft.marks import Mark
from redraft.settings import Chunking
from redraft.store.connection import Raw, Repository, Row, storable, upsert
from redraft.store.records import insert, json_text, record_in, values_of


def now() -> str:
    """The moment, as every table stores it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def put_text(raw: Raw, text: str) -> str:
    """Store a text within a write transaction; returns its id."""
    key = content_id(text)
    raw.execute("INSERT INTO texts VALUES (?, ?) ON CONFLICT DO NOTHING", (key, storable(text)))
    return key


class Documents(Repository):
    """Documents, their texts and their chunks."""

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
        language = document.language if document.own_language is None else document.own_language
        fixed, later = ("id", "encoding", "title", "source"), ("sections", "marks", "notes", "language")
        changed = ", ".join(f"{name} = excluded.{name}" for name in ("title", "source", *later))
        with self._connection.writing_beside() as raw:
            put_text(raw, document.text)
            statement = insert("documents", *fixed, *later, "characters", "added")
            raw.execute(
                f"{statement} ON CONFLICT (id) DO UPDATE SET {changed}",
                (*values_of(document, fixed), *told, storable(language), len(document.text), now()),
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

    def titles(self, without: str = "") -> list[tuple[str, str, int]]:
        """Of every document, the latest first, its id, its title, and how many characters it has; those that only an
        experiment has read can be left out, by its name."""
        rows = self._connection.rows(
            "SELECT id, title, characters FROM documents d WHERE ? = ''"
            " OR NOT EXISTS (SELECT 1 FROM runs WHERE document = d.id AND experiment = ?)"
            " OR EXISTS (SELECT 1 FROM runs WHERE document = d.id AND coalesce(experiment, '') <> ?)"
            " ORDER BY added DESC, rowid DESC",
            (without, without, without),
        )
        return [(row["id"], row["title"], row["characters"]) for row in rows]

    def titles_of(self, keys: Collection[str]) -> dict[str, str]:
        """The titles of some documents, read at once."""
        rows = self._connection.rows(
            "SELECT id, title FROM documents WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),)
        )
        return {row["id"]: row["title"] for row in rows}

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


def put_parents(raw: Raw, run: str, child: str, parents: Sequence[Parent]) -> None:
    """Store what a piece or a draft was made from, within the transaction that stores itself, in place of what was."""
    drop_parents(raw, run, [child])
    raw.executemany(
        "INSERT INTO parents VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(run, child, at, one.kind, one.node, one.text, *one.span) for at, one in enumerate(parents)],
    )


def drop_parents(raw: Raw, run: str, children: Sequence[str]) -> None:
    """Forget what texts were made from that are about to be written anew."""
    raw.executemany("DELETE FROM parents WHERE run = ? AND child = ?", [(run, child) for child in children])


class Ancestry(Repository):
    """The parents on record, and the links that were worked out between texts and what they were made from."""

    def of(self, run: str) -> dict[str, tuple[Parent, ...]]:
        """By piece or draft of a run what it was made from, in the order of its prompt."""
        rows = self._connection.rows("SELECT * FROM parents WHERE run = ? ORDER BY child, ordinal", (run,))
        found: dict[str, list[Parent]] = defaultdict(list)
        for row in rows:
            span = Span(row["start"], row["end"])
            found[row["child"]].append(Parent(row["kind"], row["text"], span, row["node"]))
        return {child: tuple(parents) for child, parents in found.items()}

    def links(self, key: str) -> str | None:
        """What was found under this key; None where nobody has looked yet."""
        row = self._connection.row("SELECT found FROM links WHERE key = ?", (key,))
        return None if row is None else str(row["found"])

    def keep_links(self, key: str, child: str, found: str) -> None:
        """Keep where the sentences of a text come from, as long as the text is kept.

        A database that nobody may write to keeps nothing: who looks again works it out again.
        """
        if self._connection.only_read:
            return
        with self._connection.writing_beside() as raw:
            raw.execute(upsert("links", ("key",), "child", "found"), (key, put_text(raw, child), found))

    def vectors(self, document: str, cut: str, weights: str) -> bytes | None:
        """The embeddings of the parts of a document by a model; None where nobody has made them."""
        row = self._connection.row(
            "SELECT vectors FROM embeddings WHERE document = ? AND cut = ? AND weights = ?", (document, cut, weights)
        )
        return None if row is None else bytes(row["vectors"])

    def keep_vectors(self, document: str, cut: str, weights: str, vectors: bytes) -> None:
        """Keep embeddings as long as their document, where the database may be written to."""
        if self._connection.only_read:
            return
        with self._connection.writing_beside() as raw:
            statement = upsert("embeddings", ("document", "cut", "weights"), "vectors")
            raw.execute(statement, (document, cut, weights, vectors))


def piece_in(row: Row) -> Piece:
    """The partial summary in a row."""
    return record_in(Piece, row, index=row["idx"], text=row["body"], limit=row["word_limit"])


def put_draft(
    raw: Raw,
    run: str,
    round_: int,
    node: str,
    text: str,
    words: int,
    notes: Sequence[str],
    parents: Sequence[Parent],
) -> str:
    """Store a draft with what it was made from; returns its id."""
    key = f"{run}-{round_}-{content_id(node + text)[:8]}"
    raw.execute(
        "INSERT INTO drafts VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET notes = excluded.notes",
        (key, run, round_, node, put_text(raw, text), words, json_text(list(notes)), now()),
    )
    drop_parents(raw, run, [key])
    put_parents(raw, run, key, parents)
    return key


@dataclass(frozen=True, slots=True)
class ChapterRun:
    """A chapter of a document that is summarized by chapter, as a chunk of the whole; `run` is empty before one has
    begun on it."""

    title: str
    chunk: Chunk
    run: str = ""


class ChapterRuns(Repository):
    """The chapters of the runs of one database."""

    def add(self, whole: str, chapters: Sequence[ChapterRun]) -> None:
        """Store the chapters of a run."""
        rows = [(whole, c.chunk.index, storable(c.title), *c.chunk.span, c.chunk.tokens) for c in chapters]
        with self._connection.writing() as raw:
            raw.executemany(
                'INSERT INTO chapters (whole, idx, title, start, "end", tokens) VALUES (?, ?, ?, ?, ?, ?)', rows
            )

    def of(self, whole: str) -> list[ChapterRun]:
        """The chapters of a run in their order; none of a run that is no such one."""
        rows = self._connection.rows("SELECT * FROM chapters WHERE whole = ? ORDER BY idx", (whole,))
        return [
            ChapterRun(row["title"], Chunk(row["idx"], Span(row["start"], row["end"]), row["tokens"]), row["run"] or "")
            for row in rows
        ]

    def begin(self, whole: str, index: int, run: str) -> None:
        """Remember which run summarizes a chapter."""
        with self._connection.writing() as raw:
            raw.execute("UPDATE chapters SET run = ? WHERE whole = ? AND idx = ?", (run, whole, index))

    def wholes(self, runs: Sequence[str]) -> dict[str, str]:
        """The run that each of these summarizes a chapter for, by its id; others are left out."""
        rows = self._connection.rows(
            "SELECT run, whole FROM chapters WHERE run IN (SELECT value FROM json_each(?))", (json.dumps(list(runs)),)
        )
        return {row["run"]: row["whole"] for row in rows}


@dataclass(frozen=True, slots=True)
class DraftCandidate:
    """One of the drafts that a run may go on with, counted from 1, which is its own."""

    number: int
    run: str = ""
    """The run that drafts it; empty for the own one."""
    draft: str = ""
    """Its text as a draft of the whole; empty before it is there, and where nothing came of it."""
    chosen: bool | None = None
    """None before one was chosen."""
    reason: str = ""


class DraftCandidates(Repository):
    """The candidates of the runs of one database."""

    def add(self, whole: str, runs: Sequence[str]) -> None:
        """Store the candidates of a run: its own one, and those that these runs draft."""
        rows = [(whole, number, run or None) for number, run in enumerate(["", *runs], 1)]
        with self._connection.writing() as raw:
            raw.executemany("INSERT INTO candidates (whole, idx, run) VALUES (?, ?, ?)", rows)

    def of(self, whole: str) -> list[DraftCandidate]:
        """The candidates of a run in their order; none of a run that makes one draft."""
        rows = self._connection.rows("SELECT * FROM candidates WHERE whole = ? ORDER BY idx", (whole,))
        return [
            record_in(DraftCandidate, row, number=row["idx"], run=row["run"] or "", draft=row["draft"] or "")
            for row in rows
        ]

    def settle(self, whole: str, candidates: Sequence[DraftCandidate]) -> None:
        """Store what became of the candidates of a run."""
        rows = [(one.draft or None, int(bool(one.chosen)), one.reason, whole, one.number) for one in candidates]
        with self._connection.writing() as raw:
            raw.executemany("UPDATE candidates SET draft = ?, chosen = ?, reason = ? WHERE whole = ? AND idx = ?", rows)

    def wholes(self, runs: Sequence[str]) -> dict[str, str]:
        """The run that each of these drafts a candidate for, by its id; others are left out."""
        rows = self._connection.rows(
            "SELECT run, whole FROM candidates WHERE run IN (SELECT value FROM json_each(?))", (json.dumps(list(runs)),)
        )
        return {row["run"]: row["whole"] for row in rows}
