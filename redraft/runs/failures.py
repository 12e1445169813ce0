"""What is put on record of a failure, where others go on: the items of an experiment, of a comparison with people."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.errors import RedraftError
from redraft.store.connection import storable
from redraft.text.cleaning import one_line

_LONGEST_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something is missing: at which stage, an error's code, and what it says."""

    stage: str
    code: str
    message: str


def failure(stage: str, error: Exception) -> Failure:
    """What an error comes to in a record."""
    code = error.code if isinstance(error, RedraftError) else "bug"
    message = str(error) if isinstance(error, RedraftError) else f"{type(error).__name__}: {error}"
    return Failure(stage, code, storable(one_line(message, _LONGEST_MESSAGE)))


def described(error: Exception) -> dict[str, str]:
    """An error as it is stored with an item or a batch: what it is, what it says, and what can be done about it."""
    found = failure("", error)
    hint = error.hint if isinstance(error, RedraftError) else "please report it"
    return {"code": found.code, "message": found.message, "hint": hint}
