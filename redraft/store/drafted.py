"""Drafts and partial summaries as they stand in a database."""

from __future__ import annotations

import json
from collections.abc import Sequence

from redraft.domain import Parent, Piece, content_id
from redraft.store.connection import Raw, Row, storable
from redraft.store.documents import now, put_text
from redraft.store.parents import drop_parents, put_parents


def piece_in(row: Row) -> Piece:
    """The partial summary in a row."""
    return Piece(
        level=row["level"],
        index=row["idx"],
        first_chunk=row["first_chunk"],
        last_chunk=row["last_chunk"],
        text=row["body"],
        words=row["words"],
        tokens=row["tokens"],
        limit=row["word_limit"],
        attempts=row["attempts"],
        flaw=row["flaw"],
        step=row["step"],
    )


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


def json_text(value: object) -> str:
    """Readable in other programs too."""
    return storable(json.dumps(value, ensure_ascii=False))
