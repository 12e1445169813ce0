"""Maps records to rows: one column per field, with JSON for fields with several values."""

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
    """Return a value as readable JSON."""
    return storable(json.dumps(value, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> dict[str, Any]:
    """Return a record or mapping as a dict. (pydantic's own dump rejects lone surrogates.)"""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else dict(value)


def stored(value: object) -> object:
    """Return the column value of a field value."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bool):
        return int(value)
    return value if value is None or isinstance(value, int | float) else json_text(value)


def values_of(record: object, names: Iterable[str]) -> tuple[object, ...]:
    """Return the column values of these fields of a record."""
    return tuple(stored(getattr(record, name)) for name in names)


def insert(table: str, *columns: str) -> str:
    """Return the statement that inserts a row."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608


def record_in(kind: type[T], row: Row, **others: object) -> T:
    """Return the record in a row; `others` are the fields without a column."""
    values = dict(others)
    wanted, make = _reading(cast(Any, kind), tuple(row.keys()))
    for name, several in wanted:
        if name not in others:
            value = row[name]
            values[name] = json.loads(value) if several and value is not None else value
    found: T = make(values)
    return found


def evidence_in(row: Row) -> Evidence | None:
    """Return the evidence in a row, or None."""
    if row["evidence"] is None:
        return None
    return Evidence(row["evidence"], None if row["start"] is None else Span(row["start"], row["end"]))


def evidence_values(evidence: Evidence | None) -> tuple[object, ...]:
    """Return the values of the columns `evidence`, `start` and `end`."""
    return (stored(evidence.text), *(evidence.span or (None, None))) if evidence else (None, None, None)


@cache
def _reading(kind: Any, columns: tuple[str, ...]) -> tuple[list[tuple[str, bool]], Callable[[dict[str, Any]], Any]]:
    """Return the fields with a column and whether each holds several values, and a constructor. Stored values are not
    validated again, which would dominate reading."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in {one.name for one in fields(kind)}}
    wanted = [(name, _holds(hint, tuple, list, dict, Mapping)) for name, hint in hints.items() if name in columns]
    checked = any(several or _holds(hints[name], bool) for name, several in wanted)
    return wanted, TypeAdapter(kind).validate_python if checked else lambda values: kind(**values)


def _holds(hint: object, *kinds: object) -> bool:
    return any(one in kinds or get_origin(one) in kinds for one in (hint, *get_args(hint)))
