"""The messages of calls, stored in parts: what several calls share, such as the document, is stored once."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from redraft.store.connection import Transaction

Role = Literal["user", "assistant", "schema"]
"""Who wrote a message; `schema` is the JSON Schema of the reply, which providers take in different ways."""
# Shorter values are no part of their own, since a row would take as much space.
_MIN = 600
_PARTS = "SELECT m.role, t.body FROM messages m JOIN message_texts t ON t.id = m.text WHERE m.call = ? ORDER BY m.idx"
# Lines between which prompts have values: fences, and the gaps between passages.
_BORDER = re.compile(r"^(?:</?[a-z_]+(?: [^>\n]{0,80})?>|\[…\])$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a call."""

    role: Role
    text: str


def put_messages(raw: Transaction, call: int, messages: Sequence[Message]) -> None:
    """Store the messages of a call."""
    texts: dict[str, bytes] = {}
    rows: list[tuple[int, int, Role, str]] = []
    for message in messages:
        for part in parts_of(message.text):
            body = part.encode("utf-8", "replace")
            key = hashlib.blake2b(body, digest_size=12).hexdigest()
            texts[key] = zlib.compress(body)
            rows.append((call, len(rows), message.role, key))
    if rows:
        raw.executemany("INSERT INTO message_texts VALUES (?, ?) ON CONFLICT DO NOTHING", list(texts.items()))
        raw.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows)


def read_messages(raw: Transaction, call: int) -> tuple[Message, ...]:
    """Return the messages of a call."""
    parts = ((row["role"], zlib.decompress(bytes(row["body"])).decode()) for row in raw.execute(_PARTS, (call,)))
    return tuple(
        Message(role, "".join(text for _, text in group)) for role, group in groupby(parts, lambda part: part[0])
    )


def parts_of(words: str) -> Iterator[str]:
    """Yield the parts of a text in order: each long value, and what is in between."""
    rest, start = "", 0
    for border in (*_BORDER.finditer(words), None):
        value = words[start : border.start() if border else len(words)]
        if len(value) >= _MIN:
            yield from filter(None, (rest, value))
            rest = ""
        else:
            rest += value
        if border:
            rest += border.group()
            start = border.end()
    if rest:
        yield rest
