"""What a document's summaries are judged by: its questions and key facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from redraft.domain import KeyFacts, Pack
from redraft.errors import RunCommand, StoreError
from redraft.store.connection import Connection, storable
from redraft.store.table import RecordTable, now

Built = TypeVar("Built", bound=Pack | KeyFacts)


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


class QuestionSets(Generic[Built]):
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
        self._connection, self._kind, self._what, self._summary = connection, kind, what, summary
        self._table = RecordTable(
            connection,
            *("artifacts", record, ("kind", "id", "document"), kind),
            left_out=("imported",),
            row=self._row,
            fields=lambda row: {"imported": bool(row["imported"])},
        )

    def _row(self, question_set: Built) -> dict[str, object]:
        model, items = self._summary(question_set)
        row = {"id": question_set.id, "document": question_set.document, "model": model, "items": items}
        return row | {"missing": len(question_set.missing), "imported": int(question_set.imported)}

    def add(self, question_set: Built, key: str) -> None:
        """Store a set under the key of its inputs; an existing one is kept, unless the new one is more complete."""
        with self._connection.writing() as raw:
            query = "SELECT missing, key, created FROM artifacts WHERE kind = ? AND id = ? AND document = ?"
            names = (self._kind, question_set.id, question_set.document)
            stored = raw.execute(query, names).fetchone()
            if stored is None:
                self._table.put(question_set, raw=raw, key=key, created=now())
            elif len(question_set.missing) < stored["missing"]:
                # The same questions may come from a build that could read more of the document.
                self._table.put(question_set, raw=raw, key=stored["key"], created=stored["created"])

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
        return self._table.first("missing, created, id", document=document, key=key)

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

    def listed(self) -> list[QuestionSetEntry]:
        """Return what a list shows of all sets, newest first, without reading their parts."""
        rows = self._connection.rows(
            "SELECT s.id, document, title, created, imported, model, items, missing FROM artifacts s"
            " JOIN documents d ON d.id = document WHERE kind = ? ORDER BY created DESC, s.rowid DESC",
            (self._kind,),
        )
        return [QuestionSetEntry(**{**dict(row), "imported": bool(row["imported"])}) for row in rows]
