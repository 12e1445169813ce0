"""The packs of documents: their frozen questions."""

from __future__ import annotations

import json

from redraft.domain import Evidence, Pack, PackQuestion, Span
from redraft.errors import StoreError
from redraft.store.connection import Connection, Row, storable
from redraft.store.documents import now


class Packs:
    """The packs of one database. The questions of a pack never change once it is stored."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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

    def prefer(self, key: str) -> None:
        """Judge the document of this pack by it from now on, whichever packs there are besides."""
        with self._connection.writing() as raw:
            # Counted, because two imports may share a moment, and clocks are set back.
            raw.execute(
                "UPDATE packs SET imported = (SELECT max(imported) + 1 FROM packs), created = ? WHERE id = ?",
                (now(), key),
            )

    def find(self, document: str, key: str) -> Pack | None:
        """The pack of a document that was made from `key`: of several the one that lacks least, of these the first."""
        row = self._connection.row(
            "SELECT * FROM packs WHERE document = ? AND key = ?"
            " ORDER BY json_array_length(missing), created, id LIMIT 1",
            (document, key),
        )
        return self._pack(row) if row else None

    def get(self, key: str) -> Pack:
        """The pack with this id, or with the only id that begins so."""
        rows = self._connection.rows(
            "SELECT * FROM packs WHERE substr(id, 1, ?) = ? LIMIT 2", (len(key), storable(key))
        )
        if len(rows) != 1 or not key:
            what = "no pack" if not rows else "more than one pack"
            raise StoreError(f"{what} begins with {key!r}", hint="`redraft pack list` lists them")
        return self._pack(rows[0])

    def imported(self, document: str) -> Pack | None:
        """The pack that was last imported for a document."""
        row = self._connection.row(
            "SELECT * FROM packs WHERE document = ? AND imported > 0 ORDER BY imported DESC, created DESC LIMIT 1",
            (document,),
        )
        return self._pack(row) if row else None

    def latest(self, document: str) -> Pack | None:
        """The pack that a document is judged by where none is named: imported last, or else built last."""
        row = self._connection.row(
            "SELECT * FROM packs WHERE document = ? ORDER BY imported DESC, created DESC, rowid DESC LIMIT 1",
            (document,),
        )
        return self._pack(row) if row else None

    def all(self) -> list[tuple[Pack, str]]:
        """All packs with the moment they were stored, newest first."""
        rows = self._connection.rows("SELECT * FROM packs ORDER BY created DESC, rowid DESC")
        return [(self._pack(row), row["created"]) for row in rows]

    def _pack(self, row: Row) -> Pack:
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
