"""The interface of databases (statements in one dialect, transactions), and records as rows.

Statements use the SQL that SQLite and PostgreSQL share: `?` or `:name` for values, `ON CONFLICT` for existing rows,
integers for booleans, and `RETURNING` for new ids. `json_each` and `json_array_length` are built into SQLite; on a
server the schema defines them.
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import asdict, fields, is_dataclass
from functools import cache, partial
from typing import Any, ParamSpec, Protocol, TypeVar, cast, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from redraft.domain import Evidence, Span

BUSY_SECONDS = 60.0
_SURROGATES = re.compile("[\ud800-\udfff]")
Values = Sequence[object] | Mapping[str, object]


class Row(Protocol):
    """A row of a result: its values by column name and by index."""

    def __getitem__(self, at: Any, /) -> Any: ...

    def keys(self) -> Iterable[str]:
        """Return the column names in order."""


class Cursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """Return the number of changed rows."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""

    def fetchall(self) -> list[Any]:
        """Return the remaining rows."""

    def __iter__(self) -> Iterator[Any]: ...


class Transaction(Protocol):
    """A database connection within a transaction."""

    for_update: str = ""
    """Appended to a SELECT: locks its rows until the end of the transaction. Empty for SQLite, which has one writer."""
    skip_locked: str = ""
    """The same, but skips rows that are locked by others."""

    def execute(self, query: str, values: Any = ..., /) -> Cursor:
        """Execute a statement."""

    def executemany(self, query: str, rows: Any, /) -> Cursor:
        """Execute a statement once for each row of values."""


class Connection(ABC):
    """A database that several threads may share.

    Every write is its own transaction: it waits for its turn at the start, never fails because another process wrote
    meanwhile, and is durable when it returns. Read the result of a statement as late as possible: statements to a
    server are pipelined.
    """

    place: str
    """The name of the database in messages, without secrets."""
    only_read = False
    """Whether the database is read-only."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """Open an exclusive write transaction; nested calls join the outer one."""

    @abstractmethod
    def writing_named(self, *names: str) -> AbstractContextManager[Transaction]:
        """Open a write transaction that excludes only those of the same names, if the database supports that.

        Use it if these names and row locks (`Transaction.for_update` after a SELECT) suffice. Transactions that change
        the same rows must lock them in the same order.
        """

    @abstractmethod
    def writing_rows(self) -> AbstractContextManager[Transaction]:
        """Open a write transaction that waits only for transactions on the same rows."""

    @abstractmethod
    def rolled_back(self) -> AbstractContextManager[Transaction]:
        """Open a write transaction that is rolled back at the end, to see its effects."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Open a read transaction: all reads see the same state."""

    @abstractmethod
    def rows(self, query: str, parameters: Values = ()) -> list[Any]:
        """Return all rows of a SELECT."""

    @abstractmethod
    def row(self, query: str, parameters: Values = ()) -> Any | None:
        """Return the first row of a SELECT."""

    @abstractmethod
    def clock(self) -> float:
        """Return the seconds since 1970 by the clock that all writers to this database share."""

    @property
    def loss(self) -> str:
        """Return a sentence that says that the open database was deleted or replaced; empty if it was not."""
        return ""

    @abstractmethod
    def compact(self) -> None:
        """Give back the space of deleted rows to the file system."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the size of the database in bytes."""

    @property
    @abstractmethod
    def used(self) -> int:
        """Return the bytes in use, approximately; within a transaction, as of its last change."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; harmless when repeated."""


class Repository:
    """Base of the classes that store one kind of record."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _write(self, statement: str, values: Values) -> None:
        """Execute one statement that does not need exclusive access."""
        with self._connection.writing_named() as raw:
            raw.execute(statement, values)


class Checkpoints(ABC):
    """LangGraph's checkpoints of the runs of one database. LangGraph owns the tables; this class only deletes from
    them."""

    @abstractmethod
    def explained(self) -> AbstractContextManager[None]:
        """Translate database errors of LangGraph's saver into ours."""

    @abstractmethod
    def forget(self, runs: Sequence[str]) -> None:
        """Remove the threads of runs."""

    @abstractmethod
    def bytes_of(self, runs: Sequence[str]) -> int:
        """Return the approximate size of the threads of some runs."""

    @abstractmethod
    def texts(self, without: Sequence[str]) -> set[str]:
        """Return the ids of all texts that checkpoints refer to, except those of some runs."""

    @abstractmethod
    def compact(self) -> None:
        """Give back the space of deleted threads to the file system."""

    @property
    def loss(self) -> str:
        """Return a sentence that says that checkpoints in use were deleted or replaced; empty if they were not."""
        return ""

    @property
    @abstractmethod
    def size(self) -> int:
        """Return their size in bytes."""

    @abstractmethod
    def close(self) -> None:
        """Close the checkpoints; harmless when repeated."""


def upsert(table: str, key: Sequence[str], *others: str) -> str:
    """Return the statement that inserts a row or replaces the one with its key."""
    columns = [*key, *others]
    changed = ", ".join(f"{name} = excluded.{name}" for name in others)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changed}"
    )


def storable(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot encode, replaced by question marks."""
    return text if text.isascii() else _SURROGATES.sub("?", text)


P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread. A cancelled caller waits for its end, so nothing is left half done."""
    doing = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait([doing])
        # Retrieved, so that asyncio does not warn about an exception that was never retrieved.
        doing.exception()
        raise


@asynccontextmanager
async def entered_off_loop(context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave a context manager in a thread, even if the caller is cancelled meanwhile."""
    stack = ExitStack()
    try:
        yield await off_loop(stack.enter_context, context)
    finally:
        await off_loop(stack.close)


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
    wanted, make = _reading(cast("Any", kind), tuple(row.keys()))
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
    hints = {
        name: hint for name, hint in get_type_hints(kind).items() if name in {field.name for field in fields(kind)}
    }
    wanted = [(name, _holds(hint, tuple, list, dict, Mapping)) for name, hint in hints.items() if name in columns]
    checked = any(several or _holds(hints[name], bool) for name, several in wanted)
    if not checked:
        return wanted, lambda values: kind(**values)
    return wanted, partial(TypeAdapter(kind).validate_python, by_name=True)


def _holds(hint: object, *kinds: object) -> bool:
    return any(one in kinds or get_origin(one) in kinds for one in (hint, *get_args(hint)))
