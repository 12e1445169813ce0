"""The packs of documents: their frozen questions."""

from __future__ import annotations

import json

from typing_extensions import override

from redraft.domain import Evidence, Pack, PackQuestion, Span
from redraft.store.connection import Row, storable
from redraft.store.documents import now
from redraft.store.shelf import Shelf


class Packs(Shelf[Pack]):
    """The packs of one database. The questions of a pack never change once it is stored."""

    table = "packs"
    called = ("no pack begins", "more than one pack begins")

    def add(self, pack: Pack, key: str) -> None:
        """Store a pack under what it was made from; of one that is there already it may turn out that it lacks less."""
        missing = storable(json.dumps(pack.missing, ensure_ascii=False))
        with self._connection.writing() as raw:
            cursor = raw.execute(
                "INSERT INTO packs (id, document, key, model, prompt_hashes, imported, created, missing)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    pack.id,
                    pack.document,
                    key,
                    pack.model,
                    json.dumps(dict(pack.prompt_hashes)),
                    int(pack.imported),
                    now(),
                    missing,
                ),
            )
            if cursor.rowcount:
                raw.executemany(
                    "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [_question_row(pack.id, question) for question in pack.questions],
                )
            else:
                # The best questions may be the same, whether or not there were some about every stretch to choose from.
                raw.execute(
                    "UPDATE packs SET missing = ? WHERE id = ? AND json_array_length(missing) > ?",
                    (missing, pack.id, len(pack.missing)),
                )

    @override
    def _read(self, row: Row) -> Pack:
        questions = self._connection.rows("SELECT * FROM questions WHERE pack = ? ORDER BY rank", (row["id"],))
        return Pack(
            id=row["id"],
            document=row["document"],
            model=row["model"],
            prompt_hashes=json.loads(row["prompt_hashes"]),
            questions=tuple(_question(found) for found in questions),
            missing=tuple(json.loads(row["missing"])),
            imported=bool(row["imported"]),
        )


def _question_row(pack: str, question: PackQuestion) -> tuple[object, ...]:
    span = question.evidence.span
    return (
        pack,
        question.id,
        storable(question.text),
        question.kind,
        storable(question.answer),
        storable(question.evidence.text),
        span.start if span else None,
        span.end if span else None,
        question.position,
    )


def _question(row: Row) -> PackQuestion:
    span = None if row["start"] is None else Span(row["start"], row["end"])
    evidence = Evidence(row["evidence"], span)
    return PackQuestion(row["rank"], row["question"], row["kind"], row["answer"], evidence, row["position"])
