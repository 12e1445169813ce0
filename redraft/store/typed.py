"""The typed questions of documents, by which models are asked about them."""

from __future__ import annotations

import json

from typing_extensions import override

from redraft.domain import Span
from redraft.questions import TypedQuestion, TypedQuestions
from redraft.store.connection import Row, storable
from redraft.store.documents import now
from redraft.store.shelf import Shelf


class TypedShelf(Shelf[TypedQuestions]):
    """The typed questions of one database. They never change once they are stored."""

    table = "typed_packs"
    called = ("no typed questions have an id that begins", "more than one id begins")

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

    @override
    def _read(self, row: Row) -> TypedQuestions:
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
