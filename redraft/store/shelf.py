"""What is built once about a document, and kept under what it was made from: packs, key facts, typed questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from redraft.errors import StoreError
from redraft.store.connection import Connection, Row, storable
from redraft.store.documents import now

T = TypeVar("T")


class Shelf(ABC, Generic[T]):
    """The things of one kind in one database. What is in a thing never changes once it is stored."""

    table: ClassVar[str]
    called: ClassVar[tuple[str, str]]
    """Where an id is said to begin with something: what there is none of, and more than one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @abstractmethod
    def _read(self, row: Any) -> T:
        """The thing in a row, with all that it consists of."""

    def prefer(self, key: str) -> None:
        """Judge the document of this thing by it from now on, whichever there are besides."""
        with self._connection.writing() as raw:
            # Counted, because two imports may share a moment, and clocks are set back.
            raw.execute(
                f"UPDATE {self.table} SET imported = (SELECT max(imported) + 1 FROM {self.table}), created = ?"  # noqa: S608
                " WHERE id = ?",
                (now(), key),
            )

    def find(self, document: str, key: str) -> T | None:
        """That of a document that was made from `key`: of several the one that lacks least, of these the first."""
        return self._first("document = ? AND key = ? ORDER BY json_array_length(missing), created, id", document, key)

    def get(self, key: str) -> T:
        """The one with this id, or with the only id that begins so."""
        query = f"SELECT * FROM {self.table} WHERE substr(id, 1, ?) = ? LIMIT 2"  # noqa: S608
        rows = self._connection.rows(query, (len(key), storable(key)))
        if len(rows) != 1 or not key:
            none, several = self.called
            raise StoreError(f"{several if rows else none} with {key!r}", hint="`redraft pack list` lists them")
        return self._read(rows[0])

    def imported(self, document: str) -> T | None:
        """The one that was last imported for a document."""
        return self._first("document = ? AND imported > 0 ORDER BY imported DESC, created DESC", document)

    def latest(self, document: str) -> T | None:
        """The one that a document is judged by where none is named: imported last, or else built last."""
        return self._first("document = ? ORDER BY imported DESC, created DESC, rowid DESC", document)

    def all(self) -> list[tuple[T, str]]:
        """All of them with the moment they were stored, newest first."""
        query = f"SELECT * FROM {self.table} ORDER BY created DESC, rowid DESC"  # noqa: S608
        return [(self._read(row), row["created"]) for row in self._connection.rows(query)]

    def _first(self, where: str, *values: str) -> T | None:
        row: Row | None = self._connection.row(f"SELECT * FROM {self.table} WHERE {where} LIMIT 1", values)  # noqa: S608
        return self._read(row) if row else None
