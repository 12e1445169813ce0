"""The messages of calls. A stretch of the document is stored as its offsets, any other part once and compressed."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from redraft.domain import Span
from redraft.store.connection import Cursor, Raw

Role = Literal["user", "assistant", "schema"]
"""Who wrote a message; `schema` is the JSON Schema of the reply, which providers take in different ways."""
_DOCUMENT = "document"
# Shorter values are no part of their own, since a row would take as much space.
_LEAST, _QUOTED, _MOST_PLACES = 600, 200, 20
# Lines between which prompts have values: fences, and the gaps between passages.
_BORDER = re.compile(r"^(?:</?[a-z_]+(?: [^>\n]{0,80})?>|\[…\])$", re.MULTILINE)


class Message(NamedTuple):
    """One message of a call."""

    role: Role
    text: str


class PreparedMessages:
    """Messages ready to be stored."""

    def __init__(self, messages: Sequence[Message], document: str | None = None, text: str = "") -> None:
        """`document` is the id of the document that they may quote, and `text` is its text."""
        self._texts: dict[str, bytes] = {}
        self._rows: list[tuple[Any, ...]] = [(_DOCUMENT, document, None, None)] if document and messages else []
        for role, words in messages:
            for part in _parts(words, text):
                if isinstance(part, Span):
                    self._rows.append((role, None, part.start, part.end))
                elif part:
                    self._rows.append((role, self._kept(part), None, None))

    def _kept(self, part: str) -> str:
        body = part.encode("utf-8", "replace")
        key = hashlib.blake2b(body, digest_size=12).hexdigest()
        self._texts[key] = body
        return key

    def find(self, raw: Raw) -> Cursor:
        """Look for the texts that are stored already."""
        ids = json.dumps(list(self._texts))
        return raw.execute("SELECT id FROM message_texts WHERE id IN (SELECT value FROM json_each(?))", (ids,))

    def put(self, raw: Raw, call: int, known: Cursor) -> None:
        """Store the messages of a call; new texts are sorted, so that no two transactions deadlock."""
        if new := sorted(self._texts.keys() - {row["id"] for row in known}):
            bodies = [(key, zlib.compress(self._texts[key])) for key in new]
            raw.executemany("INSERT INTO message_texts VALUES (?, ?) ON CONFLICT DO NOTHING", bodies)
        if self._rows:
            rows = [(call, idx, *row) for idx, row in enumerate(self._rows)]
            raw.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", rows)


MESSAGES = """
    SELECT m.*, t.body FROM messages m LEFT JOIN message_texts t ON t.id = m.text WHERE m.call = ? ORDER BY m.idx
"""
"""The rows of a call's messages."""


def quoted_by(rows: Sequence[Any]) -> str | None:
    """Return the id of the document that messages quote."""
    return rows[0]["text"] if rows and rows[0]["role"] == _DOCUMENT else None


def messages_in(rows: Sequence[Any], document: str) -> tuple[Message, ...]:
    """Return the messages in their rows, given the text of the document that they quote."""

    def part(row: Any) -> str:
        if row["start"] is not None:
            return document[row["start"] : row["end"]]
        return zlib.decompress(bytes(row["body"])).decode()

    rows = [row for row in rows if row["role"] != _DOCUMENT]
    return tuple(Message(role, "".join(map(part, group))) for role, group in groupby(rows, lambda row: row["role"]))


def release(raw: Raw, document: str) -> None:
    """Store the stretches of a document that remaining calls quote, so that its text can be deleted."""
    calls = raw.execute("SELECT call FROM messages WHERE text = ? AND role = ?", (document, _DOCUMENT)).fetchall()
    text = raw.execute("SELECT text FROM texts WHERE id = ?", (document,)).fetchone()["text"] if calls else ""
    for row in calls:
        prepared = PreparedMessages(messages_in(raw.execute(MESSAGES, (row["call"],)).fetchall(), text))
        raw.execute("DELETE FROM messages WHERE call = ?", (row["call"],))
        prepared.put(raw, row["call"], prepared.find(raw))


def _parts(words: str, document: str) -> Iterator[str | Span]:
    """Yield the parts of a text in order: stretches of the document, other long values, and what is in between."""
    rest, at = "", 0
    for border in (*_BORDER.finditer(words), None):
        value = words[at : border.start() if border else len(words)]
        inner = value.strip("\n")
        place = _place(inner, document) if len(inner) >= _QUOTED else -1
        if place >= 0:
            before = value.index(inner[0])
            yield rest + value[:before]
            yield Span(place, place + len(inner))
            rest = value[before + len(inner) :]
        elif len(value) >= _LEAST:
            yield rest
            yield value
            rest = ""
        else:
            rest += value
        if border:
            rest += border.group()
            at = border.end()
    yield rest


def _place(words: str, document: str) -> int:
    """Return where the words are in the document, or -1; `find` takes long to prepare for long words."""
    at = -1
    for _ in range(_MOST_PLACES):
        at = document.find(words[:_QUOTED], at + 1)
        if at < 0 or document.startswith(words, at):
            return at
    return -1
