"""The messages of calls, stored without repeating the document and what calls share."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from redraft.domain import Span
from redraft.store.connection import Transaction

Role = Literal["user", "assistant", "schema"]
"""Who wrote a message; `schema` is the JSON Schema of the reply, which providers take in different ways."""
_DOCUMENT = "document"
# Shorter values are no part of their own, since a row would take as much space.
_MIN, _QUOTED, _MAX_PLACES = 600, 200, 20
_MESSAGES = """
    SELECT m.*, t.body FROM messages m LEFT JOIN message_texts t ON t.id = m.text WHERE m.call = ? ORDER BY m.idx
"""
# Lines between which prompts have values: fences, and the gaps between passages.
_BORDER = re.compile(r"^(?:</?[a-z_]+(?: [^>\n]{0,80})?>|\[…\])$", re.MULTILINE)


class Message(NamedTuple):
    """One message of a call."""

    role: Role
    text: str


class PreparedMessages:
    """Messages ready to be stored: rows of their parts, and the texts of those that are not in the document."""

    def __init__(self, messages: Sequence[Message], document: str | None = None, text: str = "") -> None:
        """`document` is the id of the document that they may quote, and `text` is its text."""
        self.texts: dict[str, bytes] = {}
        self.rows: list[tuple[Any, ...]] = [(_DOCUMENT, document, None, None)] if document and messages else []
        for role, words in messages:
            for part in _parts(words, text):
                if isinstance(part, Span):
                    self.rows.append((role, None, part.start, part.end))
                elif part:
                    body = part.encode("utf-8", "replace")
                    key = hashlib.blake2b(body, digest_size=12).hexdigest()
                    self.texts[key] = zlib.compress(body)
                    self.rows.append((role, key, None, None))

    def put(self, raw: Transaction, call: int) -> None:
        """Store the messages of a call; texts are sorted, so that no two transactions deadlock."""
        if self.rows:
            texts = sorted(self.texts.items())
            raw.executemany("INSERT INTO message_texts VALUES (?, ?) ON CONFLICT DO NOTHING", texts)
            rows = [(call, place, *row) for place, row in enumerate(self.rows)]
            raw.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", rows)


def read_messages(raw: Transaction, call: int) -> tuple[Message, ...]:
    """Return the messages of a call."""
    rows = raw.execute(_MESSAGES, (call,)).fetchall()
    quoted = rows.pop(0)["text"] if rows and rows[0]["role"] == _DOCUMENT else None
    row = raw.execute("SELECT text FROM texts WHERE id = ?", (quoted,)).fetchone() if quoted else None
    return messages_in(rows, row["text"] if row else "")


def messages_in(rows: Sequence[Any], document: str) -> tuple[Message, ...]:
    """Return the messages in the rows of their parts, given the text of the document that they quote."""

    def part(row: Any) -> str:
        if row["start"] is not None:
            return document[row["start"] : row["stop"]]
        return zlib.decompress(bytes(row["body"])).decode()

    return tuple(Message(role, "".join(map(part, group))) for role, group in groupby(rows, lambda row: row["role"]))


def release(raw: Transaction, document: str) -> None:
    """Store the stretches of a document that remaining calls quote, so that its text can be deleted."""
    calls = raw.execute("SELECT call FROM messages WHERE text = ? AND role = ?", (document, _DOCUMENT)).fetchall()
    for row in calls:
        prepared = PreparedMessages(read_messages(raw, row["call"]))
        raw.execute("DELETE FROM messages WHERE call = ?", (row["call"],))
        prepared.put(raw, row["call"])


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
        elif len(value) >= _MIN:
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
    for _ in range(_MAX_PLACES):
        at = document.find(words[:_QUOTED], at + 1)
        if at < 0 or document.startswith(words, at):
            return at
    return -1
