"""What a document's summaries are judged by: its questions, key facts and typed questions."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from typing_extensions import override

from redraft.domain import KeyFact, KeyFacts, Objection, Pack, PackQuestion, Span, Tree, TypedQuestion, TypedQuestions
from redraft.errors import StoreError
from redraft.store.connection import (
    Repository,
    Row,
    Transaction,
    evidence_in,
    evidence_values,
    insert,
    json_text,
    record_in,
    storable,
    values_of,
)
from redraft.store.documents import now


class _QuestionSet(Protocol):
    @property
    def id(self) -> str: ...
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


class QuestionSets(Repository, ABC, Generic[Built]):
    """The stored question sets of one kind. They never change once stored."""

    table: ClassVar[str]
    columns: ClassVar[dict[str, str]]
    """The field in each column, in addition to the common ones."""
    what: ClassVar[str]
    """The name of the kind in messages."""
    items: ClassVar[str]
    """Where the parts of the set `s` are that a list counts."""

    def add(self, found: Built, key: str) -> None:
        """Store a set under the key of its inputs; an existing one is kept, unless the new one is more complete."""
        columns = {name: name for name in ("id", "document", "prompt_hashes", "missing", "imported")} | self.columns
        with self._connection.writing() as raw:
            statement = f"{insert(self.table, *columns, 'key', 'created')} ON CONFLICT DO NOTHING"
            if raw.execute(statement, (*values_of(found, columns.values()), key, now())).rowcount:
                self._fill(raw, found)
            else:
                # Prefer complete packs even if the best questions are the same.
                raw.execute(
                    f"UPDATE {self.table} SET missing = ? WHERE id = ? AND json_array_length(missing) > ?",  # noqa: S608
                    (json_text(found.missing), found.id, len(found.missing)),
                )

    def prefer(self, key: str) -> None:
        """Make the set with this id the default for judging its document."""
        with self._connection.writing() as raw:
            # Counted, because two imports may have the same time, and clocks are set back.
            latest = f"SELECT max(imported) + 1 FROM {self.table}"  # noqa: S608
            raw.execute(f"UPDATE {self.table} SET imported = ({latest}), created = ? WHERE id = ?", (now(), key))  # noqa: S608

    def find(self, document: str, key: str) -> Built | None:
        """Return the set built for a document from `key`: the most complete, then the earliest."""
        order = "json_array_length(missing), created, id"
        return self._first(f"document = ? AND key = ? ORDER BY {order}", document, key)

    def get(self, key: str) -> Built:
        """Return the set with this id or unique prefix."""
        statement = f"SELECT * FROM {self.table} WHERE substr(id, 1, ?) = ? LIMIT 2"  # noqa: S608
        rows = self._connection.rows(statement, (len(key), storable(key)))
        if len(rows) != 1 or not key:
            what = f"no {self.what}" if not rows else "more than one id begins"
            raise StoreError(f"{what} with {key!r}", hint="`redraft pack list` lists them")
        return self._found(rows[0])

    def imported(self, document: str) -> Built | None:
        """Return the set last imported for a document."""
        return self._first("document = ? AND imported > 0 ORDER BY imported DESC, created DESC", document)

    def latest(self, document: str) -> Built | None:
        """Return the default set for a document: the last imported, else the last built."""
        return self._first("document = ? ORDER BY imported DESC, created DESC, rowid DESC", document)

    def all(self) -> list[tuple[Built, str]]:
        """Return all sets with the time they were stored, newest first."""
        rows = self._connection.rows(f"SELECT * FROM {self.table} ORDER BY created DESC, rowid DESC")  # noqa: S608
        return [(self._found(row), row["created"]) for row in rows]

    def listed(self) -> list[QuestionSetEntry]:
        """Return what a list shows of all sets, newest first, without reading their parts."""
        model = next(iter(self.columns))
        rows = self._connection.rows(
            f"SELECT s.id, document, title, created, imported, {model} AS model,"  # noqa: S608
            f" json_array_length(missing) AS missing, (SELECT count(*) FROM {self.items}) AS items"
            f" FROM {self.table} s JOIN documents d ON d.id = document ORDER BY created DESC, s.rowid DESC"
        )
        return [record_in(QuestionSetEntry, row, imported=bool(row["imported"])) for row in rows]

    def _first(self, where: str, *values: str) -> Built | None:
        row = self._connection.row(f"SELECT * FROM {self.table} WHERE {where} LIMIT 1", values)  # noqa: S608
        return self._found(row) if row else None

    @abstractmethod
    def _fill(self, raw: Transaction, found: Built) -> None:
        """Store the parts of a set."""

    @abstractmethod
    def _found(self, row: Row) -> Built:
        """Return the set in a row, with its parts."""


class Packs(QuestionSets[Pack]):
    """The question packs of documents."""

    table, columns, what = "packs", {"model": "model"}, "pack begins"
    items = "questions WHERE pack = s.id"

    @override
    def _fill(self, raw: Transaction, found: Pack) -> None:
        columns = ("pack", "rank", "question", "kind", "answer", "position", "weight", "evidence", "start", '"end"')
        rows = [
            (
                found.id,
                *values_of(question, ("id", "text", "kind", "answer", "position", "weight")),
                *evidence_values(question.evidence),
            )
            for question in found.questions
        ]
        raw.executemany(insert("questions", *columns), rows)

    @override
    def _found(self, row: Row) -> Pack:
        rows = self._connection.rows("SELECT * FROM questions WHERE pack = ? ORDER BY rank", (row["id"],))
        questions = tuple(
            record_in(PackQuestion, one, id=one["rank"], text=one["question"], evidence=evidence_in(one))
            for one in rows
        )
        return record_in(Pack, row, questions=questions, imported=bool(row["imported"]))


class KeyFactSets(QuestionSets[KeyFacts]):
    """The key facts of documents: trees of facts, including pruned ones."""

    table, columns, what = (
        "keyfacts",
        {"builder": "builder", "validator": "validator"},
        "key facts have an id that begins",
    )
    items = "facts WHERE keyfacts = s.id AND objections = '[]'"

    @override
    def _fill(self, raw: Transaction, found: KeyFacts) -> None:
        columns = ("keyfacts", "idx", "chunk", "perspective", "position", "query", "start", '"end"')
        of_fact = ("keyfacts", "tree", "id", "level", "parent", "fact", "objections", "evidence", "start", '"end"')
        for number, tree in enumerate(found.trees):
            values = values_of(tree, ("chunk", "perspective", "position", "query"))
            raw.execute(insert("trees", *columns), (found.id, number, *values, *tree.span))
            rows = [
                (
                    *(found.id, number, *values_of(fact, ("id", "level", "parent", "text"))),
                    json_text([[why.dimension, why.reason] for why in fact.objections]),
                    *evidence_values(fact.evidence),
                )
                for fact in tree.facts
            ]
            raw.executemany(insert("facts", *of_fact), rows)

    @override
    def _found(self, row: Row) -> KeyFacts:
        facts: dict[int, list[KeyFact]] = defaultdict(list)
        for one in self._connection.rows("SELECT * FROM facts WHERE keyfacts = ? ORDER BY tree, id", (row["id"],)):
            objections = tuple(Objection(*why) for why in json.loads(one["objections"]))
            its = {"text": one["fact"], "evidence": evidence_in(one), "objections": objections}
            facts[one["tree"]].append(record_in(KeyFact, one, **its))
        rows = self._connection.rows("SELECT * FROM trees WHERE keyfacts = ? ORDER BY idx", (row["id"],))
        trees = tuple(
            record_in(Tree, one, span=Span(one["start"], one["end"]), facts=tuple(facts[one["idx"]])) for one in rows
        )
        return record_in(KeyFacts, row, trees=trees, imported=bool(row["imported"]))


class TypedQuestionSets(QuestionSets[TypedQuestions]):
    """The typed questions of documents, which models are asked."""

    table, columns, what = (
        "typed_packs",
        {"model": "model", "span_end": "end"},
        "typed questions have an id that begins",
    )
    items = "typed_questions WHERE pack = s.id"

    @override
    def _fill(self, raw: Transaction, found: TypedQuestions) -> None:
        columns = ("pack", "rank", "type", "question", "answer", "reason", "start", '"end"')
        rows = [
            (found.id, *values_of(question, ("id", "type", "text", "answer", "reason")), *question.paragraph)
            for question in found.questions
        ]
        raw.executemany(insert("typed_questions", *columns), rows)

    @override
    def _found(self, row: Row) -> TypedQuestions:
        rows = self._connection.rows("SELECT * FROM typed_questions WHERE pack = ? ORDER BY rank", (row["id"],))
        questions = tuple(
            record_in(
                TypedQuestion, one, id=one["rank"], text=one["question"], paragraph=Span(one["start"], one["end"])
            )
            for one in rows
        )
        return record_in(TypedQuestions, row, questions=questions, end=row["span_end"], imported=bool(row["imported"]))
