"""What a document's summaries are judged by: its questions and key facts."""

from __future__ import annotations

from typing import Generic, TypeVar

from redraft.domain import KeyFacts, Pack
from redraft.errors import RunCommand, StoreError
from redraft.store.connection import Connection, storable
from redraft.store.table import RecordTable, now

Built = TypeVar("Built", bound=Pack | KeyFacts)


class QuestionSets(Generic[Built]):
    """The stored question sets of one kind. They never change once stored."""

    def __init__(self, connection: Connection, record: type[Built], kind: str, what: str) -> None:
        """`what` begins messages."""
        self._connection, self._kind, self._what = connection, kind, what
        self._table = RecordTable(
            connection,
            *("artifacts", record, ("kind", "id", "document"), kind),
            columns=("id", "document"),
            fields=lambda row: {"imported": row["imported"] > 0},
        )

    def add(self, question_set: Built, key: str) -> None:
        """Store a set under the key of its inputs; an existing one is kept, unless the new one is more complete."""
        with self._connection.writing():
            stored = self._table.first(id=question_set.id, document=question_set.document)
            # The same questions may come from a build that could read more of the document.
            if stored is None or len(question_set.missing) < len(stored.missing):
                self._table.put(question_set, new={"key": key, "created": now()})

    def prefer(self, key: str) -> None:
        """Make the set with this id the default for judging its document."""
        # Counted, because two imports may have the same time, and clocks are set back.
        latest = "SELECT max(imported) + 1 FROM artifacts WHERE kind = :kind"
        self._connection.write(
            f"UPDATE artifacts SET imported = ({latest}), created = :now WHERE kind = :kind AND id = :id",  # noqa: S608
            {"kind": self._kind, "now": now(), "id": key},
        )

    def find(self, document: str, key: str) -> Built | None:
        """Return the set built for a document from `key`: the most complete, then the earliest."""
        earliest = self._table.find("created, id", document=document, key=key)
        return min(earliest, key=lambda question_set: len(question_set.missing), default=None)

    def get(self, key: str) -> Built:
        """Return the set with this id or unique prefix."""
        statement = "SELECT * FROM artifacts WHERE kind = ? AND substr(id, 1, ?) = ? LIMIT 2"
        rows = self._connection.rows(statement, (self._kind, len(key), storable(key)))
        if len(rows) != 1 or not key:
            problem = f"no {self._what}" if not rows else "more than one id begins"
            raise StoreError(f"{problem} with {key!r}", fix=(RunCommand("pack list"), " lists them"))
        return self._table.read(rows[0])

    def imported(self, document: str) -> Built | None:
        """Return the set last imported for a document."""
        latest = self.latest(document)
        return latest if latest is not None and latest.imported else None

    def latest(self, document: str) -> Built | None:
        """Return the default set for a document: the last imported, else the last built."""
        return self._table.first("imported DESC, created DESC, rowid DESC", document=document)

    def all(self) -> list[tuple[Built, str]]:
        """Return all sets with the time they were stored, newest first."""
        return [(self._table.read(row), row["created"]) for row in self._table.rows("created DESC, rowid DESC")]
