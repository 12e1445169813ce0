"""Runs that are parts of another: those that summarize a chapter of it, and those that draft a candidate for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.domain import Chunk, Span
from redraft.store.connection import Connection, storable
from redraft.store.records import record_in


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


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the drafts that a run may go on with, counted from 1, which is its own."""

    number: int
    run: str = ""
    """The run that drafts it; empty for the own one."""
    draft: str = ""
    """Its text as a draft of the whole; empty before it is there, and where nothing came of it."""
    chosen: bool | None = None
    """None before one was chosen."""
    reason: str = ""


class Candidates:
    """The candidates of the runs of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, whole: str, runs: Sequence[str]) -> None:
        """Store the candidates of a run: its own one, and those that these runs draft."""
        rows = [(whole, number, run or None) for number, run in enumerate(["", *runs], 1)]
        with self._connection.writing() as raw:
            raw.executemany("INSERT INTO candidates (whole, idx, run) VALUES (?, ?, ?)", rows)

    def of(self, whole: str) -> list[Candidate]:
        """The candidates of a run in their order; none of a run that makes one draft."""
        rows = self._connection.rows("SELECT * FROM candidates WHERE whole = ? ORDER BY idx", (whole,))
        return [
            record_in(Candidate, row, number=row["idx"], run=row["run"] or "", draft=row["draft"] or "") for row in rows
        ]

    def settle(self, whole: str, candidates: Sequence[Candidate]) -> None:
        """Store what became of the candidates of a run."""
        rows = [(one.draft or None, int(bool(one.chosen)), one.reason, whole, one.number) for one in candidates]
        with self._connection.writing() as raw:
            raw.executemany("UPDATE candidates SET draft = ?, chosen = ?, reason = ? WHERE whole = ? AND idx = ?", rows)

    def whole_of(self, run: str) -> str:
        """The run that this one drafts a candidate for; empty where it is no such one."""
        row = self._connection.row("SELECT whole FROM candidates WHERE run = ?", (run,))
        return str(row["whole"]) if row else ""
