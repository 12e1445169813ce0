"""What Postgres says otherwise: the store's statements as it reads them, and values as it takes and gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from psycopg import Connection, Cursor, Pipeline
from psycopg.abc import AdaptContext
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.rows import RowMaker
from psycopg.types.string import StrDumper, TextLoader
from typing_extensions import override

from redraft.store.connection import Raw, Values

# SQLite, which has one writer at a time, takes no lock of a row, and finds a comment there.
_ROW_LOCK = re.compile(r"/\* (FOR UPDATE[A-Z ]*) \*/")
_PARTS = re.compile(r"'[^']*'|\?(?P<number>\d*)|(?<!:):(?P<name>[a-z]\w*)|\bIS NOT (?!NULL)|\bLIKE\b|\bfile = \?")
# Its texts hold every character but NUL. This one stands for nothing, and here before a digit for NUL and for itself.
_ESCAPE = "\U0010ffff"


@cache
def translated(query: str) -> tuple[str, tuple[int | str, ...]]:
    """A statement with its values as `$1`, and where each of them is: at which place, or under which name."""
    places: list[int | str] = []

    def numbered(place: int | str) -> str:
        if place not in places:
            places.append(place)
        return f"${places.index(place) + 1}"

    def said(found: re.Match[str]) -> str:
        word = found[0]
        if word == "file = ?":
            # Capitals make no difference there: SQLite has that of the column.
            return f"lower(file) = lower({numbered(len(places))})"
        if word.startswith("?"):
            return numbered(int(found["number"]) - 1 if found["number"] else len(places))
        if found["name"]:
            return numbered(found["name"])
        return {"IS NOT ": "IS DISTINCT FROM ", "LIKE": "ILIKE"}.get(word, word)

    return _ROW_LOCK.sub(r"\1", _PARTS.sub(said, query)), tuple(places)


def given(values: Values, places: Sequence[int | str]) -> list[object]:
    """The values of a statement in their order."""
    if isinstance(values, Mapping):
        return [values[str(place)] for place in places]
    return [values[int(place)] for place in places]


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

    def __init__(self, connection: Connection[Row], under_way: Pipeline | None = None) -> None:
        self._connection = connection
        self.under_way = under_way

    @override
    def execute(self, query: str, values: Values = (), /) -> Told:
        text, places = translated(query)
        return Told(self, self._connection.execute(text.encode(), given(values, places)))

    @override
    def executemany(self, query: str, rows: Iterable[Values], /) -> Told:
        text, places = translated(query)
        cursor = self._connection.cursor()
        cursor.executemany(text.encode(), [given(row, places) for row in rows])
        return Told(self, cursor)
