"""What the nodes of every graph are handed: the run, its texts, and who writes. Never part of a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.agents.pen import Written
from redraft.agents.writer import Writer
from redraft.domain import Chunk, Document, Gap, Piece
from redraft.errors import ModelError
from redraft.events import Noted, Observer
from redraft.graphs.plan import Plan
from redraft.store.store import Store
from redraft.text.tokens import Tokenizer
from redraft.text.words import count_words


@dataclass(frozen=True, slots=True)
class DraftingContext:
    """Passed to a graph as its runtime context, again on every resumption."""

    run: str
    store: Store
    document: Document
    chunks: Sequence[Chunk]
    plan: Plan
    writer: Writer
    tokenizer: Tokenizer
    observer: Observer
    concurrency: int

    def excerpt(self, chunk: Chunk) -> str:
        """The text of a chunk."""
        return self.document.text[chunk.span.start : chunk.span.end]

    def piece(self, written: Written, level: int, index: int, chunks: tuple[int, int], limit: int) -> Piece:
        """Store what was written as a partial summary of the chunks from first to last; says so if it is flawed."""
        piece = Piece(
            level=level,
            index=index,
            first_chunk=chunks[0],
            last_chunk=chunks[1],
            text=written.text,
            words=written.words,
            tokens=self.tokenizer.count(written.text),
            limit=limit,
            attempts=written.attempts,
            flaw=written.flaw,
        )
        self.store.runs.add_piece(self.run, piece)
        if written.flaw:
            self.observer(
                Noted(
                    f"level {level}, summary {index + 1}: after {written.attempts} tries the closest was kept"
                    f" ({written.flaw})"
                )
            )
        return piece

    def gap(self, chunk: int, error: ModelError) -> None:
        """Record a chunk that cannot be summarized."""
        self.store.runs.add_gap(self.run, Gap(chunk, error.code, error.message))
        self.observer(Noted(f"chunk {chunk + 1} of {len(self.chunks)} is left out: {error.message}"))

    def close_gap(self, chunk: int) -> None:
        """A chunk that an earlier stretch of the run had to leave out has been summarized now."""
        if any(gap.chunk == chunk for gap in self.store.runs.gaps(self.run)):
            self.store.runs.close_gap(self.run, chunk)

    def keep(self, text: str, node: str, notes: tuple[str, ...] = ()) -> str:
        """Store a draft and make it the run's result; returns its id."""
        return self.store.runs.keep_draft(self.run, text, count_words(text), node, notes)
