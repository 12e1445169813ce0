"""The key facts of documents: trees of facts, with those that were pruned."""

from __future__ import annotations

import json
from collections import defaultdict

from redraft.domain import Evidence, KeyFact, KeyFacts, Objection, Span, Tree
from redraft.errors import StoreError
from redraft.store.connection import Connection, Row, storable
from redraft.store.documents import now


class KeyFactShelf:
    """The key facts of one database. They never change once they are stored."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, found: KeyFacts, key: str) -> None:
        """Store key facts under what they were made from; those that are there already stay as they are."""
        with self._connection.writing() as raw:
            cursor = raw.execute(
                "INSERT INTO keyfacts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (
                    found.id,
                    found.document,
                    key,
                    found.builder,
                    found.validator,
                    json.dumps(dict(found.prompt_hashes)),
                    storable(json.dumps(found.missing, ensure_ascii=False)),
                    int(found.imported),
                    now(),
                ),
            )
            if cursor.rowcount:
                for number, tree in enumerate(found.trees):
                    raw.execute("INSERT INTO trees VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _tree_row(found.id, number, tree))
                    raw.executemany(
                        "INSERT INTO facts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        [_fact_row(found.id, number, fact) for fact in tree.facts],
                    )

    def prefer(self, key: str) -> None:
        """Judge the document of these key facts by them from now on, whichever there are besides."""
        with self._connection.writing() as raw:
            # Counted, because two imports may share a moment, and clocks are set back.
            raw.execute(
                "UPDATE keyfacts SET imported = (SELECT max(imported) + 1 FROM keyfacts), created = ? WHERE id = ?",
                (now(), key),
            )

    def find(self, document: str, key: str) -> KeyFacts | None:
        """Those of a document that were made from `key`: of several those that lack least, and of these the first."""
        row = self._connection.row(
            "SELECT * FROM keyfacts WHERE document = ? AND key = ? ORDER BY length(missing), created, id LIMIT 1",
            (document, key),
        )
        return self._keyfacts(row) if row else None

    def get(self, key: str) -> KeyFacts:
        """Those with this id, or with the only id that begins so."""
        rows = self._connection.rows(
            "SELECT * FROM keyfacts WHERE substr(id, 1, ?) = ? LIMIT 2", (len(key), storable(key))
        )
        if len(rows) != 1 or not key:
            what = "no key facts have an id that begins" if not rows else "more than one id begins"
            raise StoreError(f"{what} with {key!r}", hint="`redraft pack list` lists them")
        return self._keyfacts(rows[0])

    def imported(self, document: str) -> KeyFacts | None:
        """Those that were last imported for a document."""
        row = self._connection.row(
            "SELECT * FROM keyfacts WHERE document = ? AND imported > 0 ORDER BY imported DESC, created DESC LIMIT 1",
            (document,),
        )
        return self._keyfacts(row) if row else None

    def latest(self, document: str) -> KeyFacts | None:
        """Those that a document is judged by where none are named: imported last, or else built last."""
        row = self._connection.row(
            "SELECT * FROM keyfacts WHERE document = ? ORDER BY imported DESC, created DESC, rowid DESC LIMIT 1",
            (document,),
        )
        return self._keyfacts(row) if row else None

    def all(self) -> list[tuple[KeyFacts, str]]:
        """All of them with the moment they were stored, newest first."""
        rows = self._connection.rows("SELECT * FROM keyfacts ORDER BY created DESC, rowid DESC")
        return [(self._keyfacts(row), row["created"]) for row in rows]

    def _keyfacts(self, row: Row) -> KeyFacts:
        facts: dict[int, list[KeyFact]] = defaultdict(list)
        for found in self._connection.rows("SELECT * FROM facts WHERE keyfacts = ? ORDER BY tree, id", (row["id"],)):
            facts[found["tree"]].append(_fact(found))
        trees = self._connection.rows("SELECT * FROM trees WHERE keyfacts = ? ORDER BY idx", (row["id"],))
        return KeyFacts(
            id=row["id"],
            document=row["document"],
            builder=row["builder"],
            validator=row["validator"],
            prompt_hashes=json.loads(row["prompt_hashes"]),
            trees=tuple(_tree(found, tuple(facts[found["idx"]])) for found in trees),
            missing=tuple(json.loads(row["missing"])),
            imported=bool(row["imported"]),
        )


def _tree_row(keyfacts: str, number: int, tree: Tree) -> tuple[object, ...]:
    return (
        keyfacts,
        number,
        tree.chunk,
        tree.perspective,
        tree.span.start,
        tree.span.end,
        tree.position,
        storable(tree.query),
    )


def _fact_row(keyfacts: str, number: int, fact: KeyFact) -> tuple[object, ...]:
    span = fact.evidence.span
    return (
        keyfacts,
        number,
        fact.id,
        fact.level,
        fact.parent,
        storable(fact.text),
        storable(fact.evidence.text),
        span.start if span else None,
        span.end if span else None,
        storable(json.dumps([[one.dimension, one.reason] for one in fact.objections], ensure_ascii=False)),
    )


def _tree(row: Row, facts: tuple[KeyFact, ...]) -> Tree:
    span = Span(row["start"], row["end"])
    return Tree(row["chunk"], row["perspective"], span, row["position"], facts, row["query"])


def _fact(row: Row) -> KeyFact:
    span = None if row["start"] is None else Span(row["start"], row["end"])
    objections = tuple(Objection(dimension, reason) for dimension, reason in json.loads(row["objections"]))
    return KeyFact(row["id"], row["level"], row["parent"], row["fact"], Evidence(row["evidence"], span), objections)
