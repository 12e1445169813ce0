"""Records as rows: a column for each field, by its name, and JSON where a field holds several values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from redraft.domain import Evidence, Span
from redraft.store.connection import Row, storable

T = TypeVar("T")


def json_text(value: object) -> str:
    """A value as JSON, readable in other programs too."""
    return storable(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> dict[str, Any]:
    """A record or a mapping as a dict. What pydantic makes of them cannot hold half a surrogate pair."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else dict(value)


def stored(value: object) -> object:
    """What a column holds of a value."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bool):
        return int(value)
    return value if value is None or isinstance(value, int | float) else json_text(value)


def values_of(record: object, names: Iterable[str]) -> tuple[object, ...]:
    """What the columns of these fields of a record hold."""
    return tuple(stored(getattr(record, name)) for name in names)


def insert(table: str, *columns: str) -> str:
    """The statement that stores a row."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608


def record_in(kind: type[T], row: Row, **others: object) -> T:
    """The record in a row; `others` are the fields that no column of their name holds."""
    values = dict(others)
    wanted, make = _reading(cast(Any, kind), tuple(row.keys()))
    for name, several in wanted:
        if name not in others:
            value = row[name]
            values[name] = json.loads(value) if several and value is not None else value
    found: T = make(values)
    return found


def evidence_in(row: Row) -> Evidence | None:
    """The evidence in a row; None where there is none."""
    if row["evidence"] is None:
        return None
    return Evidence(row["evidence"], None if row["start"] is None else Span(row["start"], row["end"]))


def evidence_values(evidence: Evidence | None) -> tuple[object, ...]:
    """What the columns `evidence`, `start` and `end` hold of it."""
    return (stored(evidence.text), *(evidence.span or (None, None))) if evidence else (None, None, None)


@cache
def _reading(kind: Any, columns: tuple[str, ...]) -> tuple[list[tuple[str, bool]], Callable[[dict[str, Any]], Any]]:
    """The fields that have a column, each with whether it holds several values; and what makes a record of values.

    What a database gives as it is needs no check, which would take longer than all the rest.
    """
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in {one.name for one in fields(kind)}}
    wanted = [(name, _holds(hint, tuple, list, dict, Mapping)) for name, hint in hints.items() if name in columns]
    checked = any(several or _holds(hints[name], bool) for name, several in wanted)
    return wanted, TypeAdapter(kind).validate_python if checked else lambda values: kind(**values)


def _holds(hint: object, *kinds: object) -> bool:
    return any(one in kinds or get_origin(one) in kinds for one in (hint, *get_args(hint)))
