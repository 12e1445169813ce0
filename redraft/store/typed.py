"""The typed questions of documents, by which models are asked about them."""

from __future__ import annotations

import json

from redraft.domain import Span
from redraft.questions import TypedQuestion, TypedQuestions
from redraft.store.connection import Connection, Row, storable
from redraft.store.documents import now


class TypedShelf:
    """The typed questions of one database. They never change once they are stored."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, found: TypedQuestions, key: str) -> None:
        """Store questions under what they were made from; those that are there already stay as they are."""
        with self._connection.writing() as raw:
            cursor = raw.execute(
                "INSERT INTO typed_packs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    found.id,
                    found.document,
                    key,
                    found.model,
                    json.dumps(dict(found.prompt_hashes)),
                    found.end,
                    storable(json.dumps(found.missing, ensure_ascii=False)),
                    int(found.imported),
                    now(),
                ),
            )
            if cursor.rowcount:
                raw.executemany(
                    "INSERT INTO typed_questions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [_row(found.id, one) for one in found.questions],
                )

    def prefer(self, key: str) -> None:
        """Ask about the document of these questions by them from now on, whichever there are besides."""
        with self._connection.writing() as raw:
            # Counted, because two imports may share a moment, and clocks are set back.
            raw.execute(
                "UPDATE typed_packs SET imported = (SELECT max(imported) + 1 FROM typed_packs), created = ?"
                " WHERE id = ?",
                (now(), key),
            )

    def find(self, document: str, key: str) -> TypedQuestions | None:
        """Those of a document that were made from `key`: of several those that lack least, and of these the first."""
        row = self._connection.row(
            "SELECT * FROM typed_packs WHERE document = ? AND key = ?"
            " ORDER BY json_array_length(missing), created, id LIMIT 1",
            (document, key),
        )
        return self._found(row) if row else None

    def imported(self, document: str) -> TypedQuestions | None:
        """Those that were last imported for a document."""
        row = self._connection.row(
            "SELECT * FROM typed_packs WHERE document = ? AND imported > 0"
            " ORDER BY imported DESC, created DESC LIMIT 1",
            (document,),
        )
        return self._found(row) if row else None

    def latest(self, document: str) -> TypedQuestions | None:
        """Those that were imported last, or else built last."""
        row = self._connection.row(
            "SELECT * FROM typed_packs WHERE document = ? ORDER BY imported DESC, created DESC, rowid DESC LIMIT 1",
            (document,),
        )
        return self._found(row) if row else None

    def all(self) -> list[tuple[TypedQuestions, str]]:
        """All of them with the moment they were stored, newest first."""
        rows = self._connection.rows("SELECT * FROM typed_packs ORDER BY created DESC, rowid DESC")
        return [(self._found(row), row["created"]) for row in rows]

    def _found(self, row: Row) -> TypedQuestions:
        questions = self._connection.rows("SELECT * FROM typed_questions WHERE pack = ? ORDER BY rank", (row["id"],))
        return TypedQuestions(
            id=row["id"],
            document=row["document"],
            model=row["model"],
            prompt_hashes=json.loads(row["prompt_hashes"]),
            end=row["span_end"],
            questions=tuple(map(_question, questions)),
            missing=tuple(json.loads(row["missing"])),
            imported=bool(row["imported"]),
        )


def _row(pack: str, one: TypedQuestion) -> tuple[object, ...]:
    texts = (storable(one.text), storable(one.answer), storable(one.reason))
    return (pack, one.id, one.type, *texts, one.paragraph.start, one.paragraph.end)


def _question(row: Row) -> TypedQuestion:
    paragraph = Span(row["start"], row["end"])
    return TypedQuestion(row["rank"], row["type"], row["question"], row["answer"], row["reason"], paragraph)
