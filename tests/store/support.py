"""What the tests of the store share: records of every kind, and other processes."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redraft.domain import Chunk, Document, Gap, Piece, Section, Span, Usage, content_id
from redraft.settings import Limits, Settings
from redraft.store.calls import Call
from redraft.store.runs import Run
from redraft.store.store import Store

# An SQL dump cuts a text at a NUL.
PRINTABLE = "Ünïcode \U0001f600.\nThe end of the book."
TEXT = "Ünïcode \U0001f600 and a NUL \x00 in the middle.\r\nThe end."


def document(text: str = TEXT, title: str = "A title") -> Document:
    sections = (Section("I. Ü", 1, Span(0, 10)), Section("II", 2, Span(10, len(text))))
    return Document(content_id(text), title, text, sections, "book.txt", "utf-16")


def run(name: str = "abc123", text: str = TEXT) -> Run:
    settings = Settings(query="What? \U0001f600", words=50)
    return Run(name, "identity", content_id(text), settings, Limits(max_calls=3), {"merge": "1"}, "estimate", "0.1")


def call(key: str = "key", outcome: str = "ok", **changes: Any) -> Call:
    values: dict[str, Any] = {
        "run": None, "key": key, "model": "m", "prompt": "merge", "prompt_hash": "h", "label": "chunk 1", "sample": 0,
        "temperature": 0.5, "max_tokens": 10, "attempt": 1, "outcome": outcome, "started": "2025", "seconds": 0.5,
        "reply": f"reply to {key}", "usage": Usage(5, 4, 3, 2), "cost_usd": 0.25, "finish_reason": "stop",
    }  # fmt: skip
    return Call(**{**values, **changes})


def piece(index: int = 0, text: str = "piece", **changes: Any) -> Piece:
    values: dict[str, Any] = {
        "level": 0,
        "first_chunk": index,
        "last_chunk": index,
        "words": 1,
        "tokens": 2,
        "limit": 9,
    }
    return Piece(index=index, text=text, **{**values, **changes})


def fill(store: Store, name: str = "abc123") -> None:
    """One record of every kind."""
    book = document(PRINTABLE)
    store.documents.add(book)
    store.documents.add_chunks(book.id, "estimate", 2048, [Chunk(0, Span(0, 10), 4), Chunk(1, Span(10, 20), 5)])
    store.runs.add(run(name, PRINTABLE))
    store.calls.add(call(run=name))
    store.runs.add_piece(name, piece())
    store.runs.add_gap(name, Gap(1, "refused", "would not"))
    store.runs.keep_draft(name, "The draft.", 2, "merge", ("a note",))


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, as another program sees them."""
    with plain(path) as database:
        names = [
            row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        return {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}


@contextmanager
def plain(path: Path, timeout: float = 30) -> Iterator[sqlite3.Connection]:
    """The database in another program."""
    database = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    try:
        yield database
    finally:
        database.close()


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Another Python process."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
    )


@contextmanager
def started(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Another process, once it has said so; it is killed in the end."""
    process = start(code, *arguments)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
