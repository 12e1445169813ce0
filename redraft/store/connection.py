"""The interface of databases (statements in one dialect, transactions), and records as rows.

Statements use the SQL that SQLite and PostgreSQL share: `?` or `:name` for values, `ON CONFLICT` for existing rows,
integers for booleans, and `RETURNING` for new ids. `json_each` is built into SQLite; on a server the schema defines it.
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import asdict, is_dataclass
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

from redraft.domain import adapter_of

BUSY_SECONDS = 60.0
_SURROGATES = re.compile("[\ud800-\udfff]")
Values = Sequence[object] | Mapping[str, object]
Scope = Literal["all", "names", "rows"]
"""What a write transaction excludes: all others, those with the same names, or only those that lock the same rows."""


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
    def writing(self, scope: Scope = "all", *names: str) -> AbstractContextManager[Transaction]:
        """Open a write transaction that excludes those of its scope, if the database supports that. Within one of
        scope `all`, join that one.

        Within `names` and `rows` take row locks (`Transaction.for_update` after a SELECT); transactions that change the
        same rows must lock them in the same order.
        """

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
    def prepare(self, *, may_create: bool) -> bool:
        """Create the tables in a new database. Return whether there are any; raise for those of another version."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; harmless when repeated."""


class Repository:
    """Base of the classes that store one kind of record."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _write(self, statement: str, values: Values) -> None:
        """Execute one statement that does not need exclusive access."""
        with self._connection.writing("names") as raw:
            raw.execute(statement, values)


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
    """Return a record or mapping as a dict."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else dict(value)


def insert(table: str, *columns: str) -> str:
    """Return the statement that inserts a row."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608


def body_of(record: object, *columns: str) -> str:
    """Return a record as the JSON that is stored, without the fields in `columns`."""
    # As Python values first: pydantic's own JSON rejects lone surrogates, and rounds numbers as they are shown.
    values = adapter_of(type(record)).dump_python(record, by_alias=True, exclude=set(columns), warnings=False)
    return json_text(values)


def record_in(kind: type[T], row: Row, *columns: str, **values: object) -> T:
    """Return the record in a row: what its body says, with the fields in `columns` and `values`."""
    if not columns and not values:
        record: T = adapter_of(kind).validate_json(row["body"])
        return record
    fields = json.loads(row["body"]) | {name: row[name] for name in columns} | values
    whole: T = adapter_of(kind).validate_python(fields, by_name=True, by_alias=True)
    return whole
