"""What the store asks of a database, whichever it is: statements in one dialect, and transactions.

The statements are such as SQLite and Postgres both take: `?` or `:name` stands for a value, what is there already is
met by `ON CONFLICT`, truth is a number where it is stored, and an id that was given comes by `RETURNING`. `json_each`
and `json_array_length` of a text are SQLite's; on a server they are functions beside the tables.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from typing import Any, ParamSpec, Protocol, TypeVar

BUSY_SECONDS = 60.0
_SURROGATES = re.compile("[\ud800-\udfff]")
Values = Sequence[object] | Mapping[str, object]


class Row(Protocol):
    """A row of a table, or of an answer: its values by name and by place."""

    def __getitem__(self, at: Any, /) -> Any: ...

    def keys(self) -> Iterable[str]:
        """The names, in their order."""


class Cursor(Protocol):
    """What a statement has brought."""

    @property
    def rowcount(self) -> int:
        """How many rows it has changed."""

    def fetchone(self) -> Any:
        """The next row; None where there is none."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class Raw(Protocol):
    """A database within a transaction."""

    for_update: str = ""
    """Behind a SELECT, keeps its rows from others until the end of the transaction. A file has one writer at a time."""
    skip_locked: str = ""
    """The same of the rows that nobody else keeps; those that somebody does are left out."""

    def execute(self, query: str, values: Any = ..., /) -> Cursor:
        """Do what a statement says."""

    def executemany(self, query: str, rows: Any, /) -> Cursor:
        """Do what a statement says once for each row of values."""


class Connection(ABC):
    """A database, which several threads may share.

    Every write is its own transaction, which waits at its start for its turn, never fails half-way because another
    process wrote in between, and is durable when it returns. What a statement brings is best looked at after all that
    need not wait for it: a server is asked several at once.
    """

    place: str
    """What the database is called in a sentence, without any secret."""
    only_read = False
    """Whether nothing can be written to it."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Raw]:
        """A write transaction while nobody else writes: all of it, or nothing. Within another it is a part of that."""

    @abstractmethod
    def writing_beside(self, *names: str) -> AbstractContextManager[Raw]:
        """A write transaction that others may write beside where the database can do so, but those of the same names.

        It is for what is right by these names and by the locks of its own rows, which `Raw.for_update` behind a SELECT
        takes. Rows that several such transactions change are taken by all of them in one order.
        """

    @abstractmethod
    def writing_rows(self) -> AbstractContextManager[Raw]:
        """A write transaction that waits for nobody but those who have the same rows, not even for who is alone."""

    @abstractmethod
    def rehearsing(self) -> AbstractContextManager[Raw]:
        """A write transaction that is taken back at its end, to see what would come of it."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """All that is read within is as it was at one moment, whatever others write meanwhile."""

    @abstractmethod
    def rows(self, query: str, parameters: Values = ()) -> list[Any]:
        """All rows that a SELECT gives."""

    @abstractmethod
    def row(self, query: str, parameters: Values = ()) -> Any | None:
        """The first row that a SELECT gives."""

    @abstractmethod
    def clock(self) -> float:
        """The seconds since 1970 by the one clock that all who write to the database go by."""

    @abstractmethod
    def compact(self) -> None:
        """Give back to the disk what deleted rows took up."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The bytes that the database takes up."""

    @property
    @abstractmethod
    def used(self) -> int:
        """The bytes of it that hold something, about: within a transaction, as it has left them so far."""

    @abstractmethod
    def close(self) -> None:
        """Close for good; harmless when repeated."""


class Repository:
    """The records of one kind in one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _write(self, statement: str, values: Values) -> None:
        """Execute a single statement, beside which others may write."""
        with self._connection.writing_beside() as raw:
            raw.execute(statement, values)


class Checkpoints(ABC):
    """LangGraph's checkpoints of the runs of one database. The tables are its own; here they are only cut down."""

    @abstractmethod
    def explained(self) -> AbstractContextManager[None]:
        """Turn what LangGraph's saver may raise of the database into our error."""

    @abstractmethod
    def forget(self, runs: Sequence[str]) -> None:
        """Remove the threads of runs."""

    @abstractmethod
    def bytes_of(self, runs: Sequence[str]) -> int:
        """What the threads of runs take up, about."""

    @abstractmethod
    def texts(self, without: Sequence[str]) -> set[str]:
        """The ids of all texts that any thread names, but for those of some runs."""

    @abstractmethod
    def compact(self) -> None:
        """Give back to the disk what forgotten threads took up."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The bytes that they take up."""

    @abstractmethod
    def close(self) -> None:
        """Let go of them; harmless when repeated."""


def upsert(table: str, key: Sequence[str], *others: str) -> str:
    """The statement that stores a row under its key, in place of the one that is there."""
    columns = [*key, *others]
    changed = ", ".join(f"{name} = excluded.{name}" for name in others)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changed}"
    )


def storable(text: str) -> str:
    """The text as UTF-8 can hold it: half a surrogate pair, as in some file names, becomes a question mark."""
    return text if text.isascii() else _SURROGATES.sub("?", text)


P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do it in a thread. Whoever is cancelled meanwhile waits for its end: nothing is half done behind their back."""
    doing = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait([doing])
        # Looked at, so that asyncio does not complain of a failure that nobody has taken note of.
        doing.exception()
        raise


@asynccontextmanager
async def entered_off_loop(context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave it in a thread. One that was entered for somebody who is cancelled meanwhile is left again."""
    stack = ExitStack()
    try:
        yield await off_loop(stack.enter_context, context)
    finally:
        await off_loop(stack.close)
