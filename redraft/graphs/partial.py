"""What a run that ended early can show for itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.builtin.door import shortened
from redraft.domain import Piece
from redraft.text.words import count_words


@dataclass(frozen=True, slots=True)
class Partial:
    """The best text so far, and how many chunks of the document it covers."""

    text: str
    covered: int
    pieces: tuple[Piece, ...]
    """What it was made of."""


def best_so_far(pieces: Sequence[Piece], words: int) -> Partial | None:
    """The summary that the highest pieces make together, within the limit; None when there is no piece.

    Where they are too long together, sentences are chosen among theirs: every word is still the model's own.
    """
    cover = highest(pieces)
    if not cover:
        return None
    texts = [piece.text for piece in cover]
    text = "\n\n".join(texts)
    if count_words(text) > words:
        text = shortened(texts, words)
    return Partial(text, sum(one.last_chunk - one.first_chunk + 1 for one in cover), cover)


def highest(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The highest pieces that together are about as many chunks as there are summaries of, each about its own."""
    cover: list[Piece] = []
    taken: set[int] = set()
    for piece in sorted(pieces, key=lambda one: (-one.level, -one.last_chunk, -one.step)):
        chunks = set(range(piece.first_chunk, piece.last_chunk + 1))
        if not chunks & taken:
            cover.append(piece)
            taken |= chunks
    return tuple(sorted(cover, key=lambda one: one.first_chunk))
