"""How much goes to and fro: the bytes of a request, and the tokens that a text can have at most."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from redraft.models import schemas
from redraft.models.base import Request

# About as much is said around a complaint.
_COMPLAINT_BYTES = 200


def most_tokens_of(text: str) -> int:
    """The most tokens that a text can have by any vocabulary: one for each byte, also where it is normalized first."""
    return len(text) if text.isascii() else max(bytes_of(text), bytes_of(unicodedata.normalize("NFKC", text)))


def bytes_of(text: str) -> int:
    """The bytes that a text has when it is sent."""
    return len(text.encode("utf-8", "replace"))


def bytes_beside(request: Request[Any, Any]) -> int:
    """What goes out beside the prompt's text: the schema, which a repair repeats, and the reply to be repaired."""
    schema = schemas.whole(request)
    size = bytes_of(json.dumps(schema)) if schema else 0
    if request.complaint is None:
        return size
    return 2 * size + bytes_of(request.complaint.reply) + bytes_of(request.complaint.reason) + _COMPLAINT_BYTES
