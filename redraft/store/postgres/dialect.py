"""The store's statements and values as Postgres takes and gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from psycopg import Connection, Cursor, Pipeline
from psycopg.abc import AdaptContext
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.rows import RowMaker
from psycopg.types.string import StrDumper, TextLoader
from typing_extensions import override

from redraft.store.connection import Raw, Values

_NAMED = re.compile(r"(?<!:):([a-z]\w*)")
# Its texts hold every character but NUL. This one stands for nothing, and here before a digit for NUL and for itself.
_ESCAPE = "\U0010ffff"


@cache
def placed(query: str) -> bytes:
    """A statement with psycopg's marks where values stand, in the place of the store's."""
    return _NAMED.sub(r"%(\1)s", query.replace("%", "%%").replace("?", "%s")).encode()


class Row(dict[str, Any]):
    """A row whose values are also known by their places."""

    def __missing__(self, at: object) -> Any:
        if isinstance(at, int):
            return list(self.values())[at]
        raise KeyError(at)


def row_of(cursor: Cursor[Any]) -> RowMaker[Row]:
    """Makes the rows of an answer. The number of a row is none of its columns, as in SQLite."""
    names = [column.name for column in cursor.description or ()]

    def made(values: Sequence[Any]) -> Row:
        row = Row(zip(names, values, strict=True))
        row.pop("rowid", None)
        return row

    return made


class _Text(StrDumper):
    @override
    def dump(self, obj: str) -> Buffer | None:
        if "\x00" in obj or _ESCAPE in obj:
            obj = obj.replace(_ESCAPE, f"{_ESCAPE}1").replace("\x00", f"{_ESCAPE}0")
        return super().dump(obj)


class _TextBack(TextLoader):
    @override
    def load(self, data: Buffer) -> Any:
        text = super().load(data)
        if isinstance(text, str) and _ESCAPE in text:
            text = text.replace(f"{_ESCAPE}0", "\x00").replace(f"{_ESCAPE}1", _ESCAPE)
        return text


class _Truth(Dumper):
    """Truth as the number that the columns have for it."""

    @override
    def dump(self, obj: bool) -> Buffer | None:
        return b"1" if obj else b"0"


class _Sum(Loader):
    """A sum of whole numbers, which is no whole number to Postgres."""

    @override
    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


def adapt(context: AdaptContext) -> None:
    """Have a connection take and give values as SQLite does."""
    assert context.adapters is not None
    known = context.adapters
    _Truth.oid = known.types["int8"].oid
    known.register_dumper(str, _Text)
    known.register_dumper(bool, _Truth)
    known.register_loader("text", _TextBack)
    known.register_loader("numeric", _Sum)


class Told:
    """What a statement has brought. The server may not have answered when that is asked for; then it is waited for."""

    def __init__(self, session: Session, cursor: Cursor[Row]) -> None:
        self._session = session
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        """How many rows it has changed."""
        if self._session.under_way is not None:
            # To ask for the answers alone would not do: psycopg then waits for those to what it has not sent, where
            # that is more than the socket takes at once. To read one sends all.
            self._session.execute("SELECT 1").fetchone()
        return self._cursor.rowcount

    def fetchone(self) -> Row | None:
        """The next row; None where there is none."""
        return self._cursor.fetchone()

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Row]:
        return iter(self._cursor)


class Session(Raw):
    """A connection to Postgres that takes the store's statements: one by one, or `under_way` together."""

    for_update = " FOR UPDATE"
    skip_locked = " FOR UPDATE SKIP LOCKED"

    def __init__(self, connection: Connection[Row], under_way: Pipeline | None = None) -> None:
        self._connection = connection
        self.under_way = under_way

    @override
    def execute(self, query: str, values: Values = (), /) -> Told:
        # A statement without values is sent as it is: a comment in it may have a question mark.
        cursor = self._connection.execute(placed(query), values) if values else self._connection.execute(query.encode())
        return Told(self, cursor)

    @override
    def executemany(self, query: str, rows: Iterable[Values], /) -> Told:
        cursor = self._connection.cursor()
        cursor.executemany(placed(query), rows)
        return Told(self, cursor)
