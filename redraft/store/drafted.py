"""Drafts and partial summaries as they stand in a database."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.domain import Parent, Piece, content_id
from redraft.store.connection import Raw, Row
from redraft.store.documents import now, put_text
from redraft.store.parents import drop_parents, put_parents
from redraft.store.records import json_text, record_in


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
