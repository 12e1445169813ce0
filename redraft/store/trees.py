"""The key facts of documents: trees of facts, with those that were pruned."""

from __future__ import annotations

import json
from collections import defaultdict

from typing_extensions import override

from redraft.domain import Evidence, KeyFact, KeyFacts, Objection, Span, Tree
from redraft.store.connection import Row, storable
from redraft.store.documents import now
from redraft.store.shelf import Shelf


class KeyFactShelf(Shelf[KeyFacts]):
    """The key facts of one database. They never change once they are stored."""

    table = "keyfacts"
    called = ("no key facts have an id that begins", "more than one id begins")

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

    @override
    def _read(self, row: Row) -> KeyFacts:
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
