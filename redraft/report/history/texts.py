"""The texts that drafts were made from: partial summaries and earlier drafts, also those of runs it was forked from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redraft.domain import GIVEN, Parent, Piece, Span, content_id
from redraft.errors import RunError
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

_TITLE = 60
GIVEN_SAID = "your summary"
"""The display name of a draft given by the user, whose sources are unknown."""


@dataclass(frozen=True, slots=True)
class TextNode:
    """A draft or a partial summary, and what it was made from."""

    run: str
    name: str
    """The id of the draft, or the name of the piece in its run."""
    said: str
    """The display name."""
    level: int | None
    """The level of a piece; None for a draft."""
    text: str
    parents: tuple[Parent, ...]

    @property
    def key(self) -> str:
        """A key that is unique among the texts of all runs."""
        return f"{self.run}:{self.name}"


@dataclass(frozen=True, slots=True)
class _RunTexts:
    """What is recorded about the texts of one run."""

    run: Run
    pieces: dict[str, Piece]
    parents: dict[str, tuple[Parent, ...]]
    read: Span | None
    """The part of the document that was read; None if the chunks are no longer known."""
    chapters: list[str]

    def parents_of(self, name: str) -> tuple[Parent, ...]:
        """Return what a text was made from: what is on record, or else all that was read."""
        return self.parents.get(name) or (Parent("excerpt", self.run.document, self.read or Span(0, 0)),)


class AncestryReader:
    """Finds the texts that drafts were made from, reading each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs: dict[str, _RunTexts] = {}
        self._nodes: dict[str, TextNode] = {}

    def draft(self, key: str) -> TextNode:
        """Return a draft with its sources."""
        if key not in self._nodes:
            draft = self._store.runs.draft(key)
            texts = self._texts(draft.run)
            parents = texts.parents_of(key)
            if key not in texts.parents and (origin := self._forked_from(draft.text, texts.run)):
                parents = (origin,)
            name = GIVEN_SAID if draft.node == GIVEN else f"draft {draft.round}" if draft.round else "the first draft"
            self._nodes[key] = TextNode(draft.run, key, name, None, draft.text, parents)
        return self._nodes[key]

    def parents(self, node: TextNode) -> list[TextNode | None]:
        """Return the texts that a text was made from, in order; None for the document, and for a text that was
        rewritten since."""
        return [self._above(parent, node.run) for parent in node.parents]

    def in_order(self, last: TextNode) -> Iterator[TextNode]:
        """Yield all ancestors of a draft, each after all of its own parents; the draft itself is the last."""
        done: set[str] = set()
        waiting = [last]
        while waiting:
            node = waiting[-1]
            missing = [parent for parent in self.parents(node) if parent is not None and parent.key not in done]
            if missing:
                waiting.extend(reversed(missing))
                continue
            waiting.pop()
            if node.key not in done:
                done.add(node.key)
                yield node

    def read(self, run: str) -> Span | None:
        """Return the part of the document that was read in a run; None if its chunks are no longer known."""
        return self._texts(run).read

    def _above(self, parent: Parent, run: str) -> TextNode | None:
        if "/" not in parent.node:
            return self.draft(parent.node) if parent.node else None
        texts = self._texts(run)
        piece = texts.pieces.get(parent.node)
        if piece is None or content_id(piece.text) != parent.text:
            piece = self._store.runs.piece_of(run, parent.text)
        if piece is None:
            return None
        parents, name = texts.parents_of(piece.name), piece_name(piece, texts.chapters)
        return self._nodes.setdefault(
            f"{run}:{piece.name}", TextNode(run, piece.name, name, piece.level, piece.text, parents)
        )

    def _texts(self, key: str) -> _RunTexts:
        if key not in self._runs:
            run = self._store.runs.get(key)
            chunks = self._store.chunks(run)
            self._runs[key] = _RunTexts(
                run,
                {piece.name: piece for piece in self._store.runs.pieces(key)},
                self._store.ancestry.of(key),
                Span(0, chunks[-1].span.end) if chunks else None,
                [chapter.title for chapter in self._store.chapters.of(key)],
            )
        return self._runs[key]

    def _forked_from(self, text: str, run: Run) -> Parent | None:
        """Return the draft that a fork started from; None if the run is not a fork, or its parent was deleted."""
        try:
            drafts = self._store.runs.drafts(self._store.runs.get(run.parent).id) if run.parent else []
        except RunError:
            return None
        return next((Parent.of_draft(draft) for draft in drafts if draft.text == text), None)


def piece_name(piece: Piece, chapters: Sequence[str] = ()) -> str:
    """Return the display name of a partial summary: the chunks it covers, or their titles if they are chapters."""
    first, last = piece.first_chunk + 1, piece.last_chunk + 1
    chunks = f"chunk {first}" if first == last else f"chunks {first} to {last}"
    if chapters:
        ends = [one_line(chapters[n], _TITLE) for n in (piece.first_chunk, piece.last_chunk)]
        chunks = " to ".join(f"“{title}”" for title in dict.fromkeys(ends))
    level = f"level {piece.level} " if piece.level else ""
    return f"{level}summary of {chunks}{', shortened' if piece.step else ''}"
