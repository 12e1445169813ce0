"""Errors as they are stored with an item or a batch."""

from __future__ import annotations

from redraft.errors import RedraftError
from redraft.runs.failures import failure


def described(error: Exception) -> dict[str, str]:
    """What an error is, what it says, and what can be done about it."""
    found = failure("", error)
    hint = error.hint if isinstance(error, RedraftError) else "please report it"
    return {"code": found.code, "message": found.message, "hint": hint}
