"""How checkpoints are written and read: as JSON with a checksum.

LangGraph's own serializer imports and calls what a row names, so a database from somebody else could run code. Here a
row can only become plain values, paths, and LangGraph's `Interrupt` and `Send`, which hold plain values themselves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from zlib import crc32

from langgraph.types import Interrupt, Send

from redraft.errors import CheckpointError, UsageError

_FORM = "json-"
"""The form of a row is this with the checksum of its bytes, so that no flipped bit changes an id or a number unseen."""
_TAG, _OF = "$", "of"
"""The keys of an object that stands for something other than itself: its kind, and what it is made of."""


@dataclass(frozen=True)
class PlainSerializer:
    """Writes and reads the values of checkpoints."""

    place: str
    """The database that errors name."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return the form and the bytes of a value. Raises `UsageError` for an object that is no plain value."""
        text = json.dumps(_plain(obj), ensure_ascii=False, separators=(",", ":"))
        content = text.encode("utf-8", "replace")
        return f"{_FORM}{crc32(content):08x}", content

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value of a row. Raises `CheckpointError` for one that was written otherwise, or is damaged."""
        form, content = data
        if not isinstance(form, str) or not form.startswith(_FORM):
            raise CheckpointError(
                f"it was not written by this version of redraft: its form is {form!r}", place=self.place
            )
        if not isinstance(content, bytes) or form != f"{_FORM}{crc32(content):08x}":
            raise CheckpointError("it is damaged: its checksum is another", place=self.place)
        try:
            return json.loads(content, object_hook=_restored)
        except (ValueError, TypeError, RecursionError) as error:
            raise CheckpointError(f"it is not what redraft writes: {error}", place=self.place) from error


def _plain(value: Any) -> Any:
    """Return the value as JSON has it. An exception becomes text, which is all that LangGraph needs of it."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            if _TAG not in value and all(isinstance(key, str) for key in value):
                return {key: _plain(item) for key, item in value.items()}
            return _tagged("dict", *value.items())
        case Interrupt():
            return _tagged("interrupt", value.value, value.id, value.response_schema)
        case Send(timeout=None):
            return _tagged("send", value.node, value.arg)
        case Path():
            return _tagged("path", str(value))
        case BaseException():
            return repr(value)
    raise UsageError(
        f"an object of the type {type(value).__name__} cannot be kept in redraft's checkpoints: they hold plain values",
        hint="compile the graph with your own checkpointer, or keep text, numbers, lists and dictionaries in its state",
    )


def _tagged(kind: str, *parts: Any) -> dict[str, Any]:
    return {_TAG: kind, _OF: _plain(parts)}


def _restored(value: dict[str, Any]) -> Any:
    """Return what an object of JSON stands for; raise `ValueError` or `TypeError` if there is no such thing."""
    if _TAG not in value:
        return value
    match value:
        case {"$": "dict", "of": [*pairs]}:
            return dict(cast("list[tuple[Any, Any]]", pairs))
        case {"$": "interrupt", "of": [asked, str(key), dict() | None as schema]}:
            return Interrupt(asked, key, response_schema=schema)
        case {"$": "send", "of": [str(node), argument]}:
            return Send(node, argument)
        case {"$": "path", "of": [str(path)]}:
            return Path(path)
    raise ValueError(f"unknown kind {str(value[_TAG])[:40]!r}")
