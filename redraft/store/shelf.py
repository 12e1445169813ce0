"""What a document's summaries are judged by: its questions, key facts and typed questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from redraft.errors import RunCommand, StoreError
from redraft.store.connection import Connection, Repository, Row, body_of, insert, record_in, storable
from redraft.store.documents import now


class _QuestionSet(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def document(self) -> str: ...
    @property
    def imported(self) -> bool: ...
    @property
    def missing(self) -> tuple[str, ...]: ...


Built = TypeVar("Built", bound=_QuestionSet)


@dataclass(frozen=True, slots=True)
class QuestionSetEntry:
    """A set in a list, without its parts."""

    id: str
    document: str
    title: str
    created: str
    imported: bool
    model: str
    items: int
    """The number of questions, or of facts that are kept."""
    missing: int


class QuestionSets(Repository, Generic[Built]):
    """The stored question sets of one kind. They never change once stored."""

    def __init__(
        self,
        connection: Connection,
        record: type[Built],
        kind: str,
        what: str,
        summary: Callable[[Built], tuple[str, int]],
    ) -> None:
        """`what` begins messages, and `summary` returns the model that made a set and how many items it has."""
        super().__init__(connection)
        self._record, self._kind, self._what, self._summary = record, kind, what, summary

    def add(self, question_set: Built, key: str) -> None:
        """Store a set under the key of its inputs; an existing one is kept, unless the new one is more complete."""
        columns = ("kind", "id", "document", "key", "model", "items", "missing", "imported", "created", "body")
        # The same questions may come from a build that could read more of the document.
        more_complete = "missing = excluded.missing, body = excluded.body WHERE excluded.missing < artifacts.missing"
        statement = f"{insert('artifacts', *columns)} ON CONFLICT (kind, id, document) DO UPDATE SET {more_complete}"
        names = (self._kind, question_set.id, question_set.document, key)
        numbers = (*self._summary(question_set), len(question_set.missing), int(question_set.imported))
        with self._connection.writing() as raw:
            raw.execute(statement, (*names, *numbers, now(), body_of(question_set, "imported")))

    def prefer(self, key: str) -> None:
        """Make the set with this id the default for judging its document."""
        # Counted, because two imports may have the same time, and clocks are set back.
        latest = "SELECT max(imported) + 1 FROM artifacts WHERE kind = :kind"
        with self._connection.writing() as raw:
            raw.execute(
                f"UPDATE artifacts SET imported = ({latest}), created = :now WHERE kind = :kind AND id = :id",  # noqa: S608
                {"kind": self._kind, "now": now(), "id": key},
            )

    def find(self, document: str, key: str) -> Built | None:
        """Return the set built for a document from `key`: the most complete, then the earliest."""
        return self._first("document = ? AND key = ? ORDER BY missing, created, id", document, key)

    def get(self, key: str) -> Built:
        """Return the set with this id or unique prefix."""
        statement = "SELECT * FROM artifacts WHERE kind = ? AND substr(id, 1, ?) = ? LIMIT 2"
        rows = self._connection.rows(statement, (self._kind, len(key), storable(key)))
        if len(rows) != 1 or not key:
            what = f"no {self._what}" if not rows else "more than one id begins"
            raise StoreError(f"{what} with {key!r}", fix=(RunCommand("pack list"), " lists them"))
        return self._set_in(rows[0])

    def imported(self, document: str) -> Built | None:
        """Return the set last imported for a document."""
        return self._first("document = ? AND imported > 0 ORDER BY imported DESC, created DESC", document)

    def latest(self, document: str) -> Built | None:
        """Return the default set for a document: the last imported, else the last built."""
        return self._first("document = ? ORDER BY imported DESC, created DESC, rowid DESC", document)

    def all(self) -> list[tuple[Built, str]]:
        """Return all sets with the time they were stored, newest first."""
        query = "SELECT * FROM artifacts WHERE kind = ? ORDER BY created DESC, rowid DESC"
        return [(self._set_in(row), row["created"]) for row in self._connection.rows(query, (self._kind,))]

    def listed(self) -> list[QuestionSetEntry]:
        """Return what a list shows of all sets, newest first, without reading their parts."""
        rows = self._connection.rows(
            "SELECT s.id, document, title, created, imported, model, items, missing FROM artifacts s"
            " JOIN documents d ON d.id = document WHERE kind = ? ORDER BY created DESC, s.rowid DESC",
            (self._kind,),
        )
        return [QuestionSetEntry(**{**dict(row), "imported": bool(row["imported"])}) for row in rows]

    def _first(self, where: str, *values: str) -> Built | None:
        row = self._connection.row(f"SELECT * FROM artifacts WHERE kind = ? AND {where} LIMIT 1", (self._kind, *values))  # noqa: S608
        return self._set_in(row) if row else None

    def _set_in(self, row: Row) -> Built:
        return record_in(self._record, row, imported=bool(row["imported"]))
