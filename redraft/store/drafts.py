"""Drafts and partial summaries with what each was made from, and runs that are parts of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from redraft.domain import Chunk, Parent, Piece, Span, content_id
from redraft.store.connection import Connection, Raw, Row, storable, upsert
from redraft.store.documents import now, put_text
from redraft.store.records import json_text, record_in


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


class Ancestry:
    """The parents on record, and the links that were worked out between texts and what they were made from."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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


class ChapterRuns:
    """The chapters of the runs of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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

    def whole_of(self, run: str) -> str:
        """The run that this one summarizes a chapter for; empty where it is no such one."""
        row = self._connection.row("SELECT whole FROM chapters WHERE run = ?", (run,))
        return str(row["whole"]) if row else ""


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


class DraftCandidates:
    """The candidates of the runs of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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

    def whole_of(self, run: str) -> str:
        """The run that this one drafts a candidate for; empty where it is no such one."""
        row = self._connection.row("SELECT whole FROM candidates WHERE run = ?", (run,))
        return str(row["whole"]) if row else ""
