"""The chapters of runs that summarize each chapter by itself: which run does, and where in the document it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.domain import Chunk, Span
from redraft.store.connection import Connection, storable


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter of a document that is summarized by chapter, as a chunk of the whole; `run` is empty before one has
    begun on it."""

    title: str
    chunk: Chunk
    run: str = ""


class Chapters:
    """The chapters of the runs of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, whole: str, chapters: Sequence[Chapter]) -> None:
        """Store the chapters of a run."""
        rows = [(whole, c.chunk.index, storable(c.title), *c.chunk.span, c.chunk.tokens) for c in chapters]
        with self._connection.writing() as raw:
            raw.executemany(
                'INSERT INTO chapters (whole, idx, title, start, "end", tokens) VALUES (?, ?, ?, ?, ?, ?)', rows
            )

    def of(self, whole: str) -> list[Chapter]:
        """The chapters of a run in their order; none of a run that is no such one."""
        rows = self._connection.rows("SELECT * FROM chapters WHERE whole = ? ORDER BY idx", (whole,))
        return [
            Chapter(row["title"], Chunk(row["idx"], Span(row["start"], row["end"]), row["tokens"]), row["run"] or "")
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
