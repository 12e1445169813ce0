"""Packs as files: export, import and checks."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from redraft.domain import (
    Document,
    Evidence,
    KeyFact,
    KeyFacts,
    Level,
    Objection,
    Pack,
    PackQuestion,
    Perspective,
    Span,
    Tree,
)
from redraft.errors import PackError
from redraft.evaluators.reference.keyfacts import keyfacts_id, middle_of, pruning
from redraft.evaluators.reference.questions import pack_id
from redraft.evaluators.reference.typed import flaw_of, typed_id
from redraft.prompts.judging import Kind
from redraft.questions import QuestionType, Third, TypedQuestion, TypedQuestions, third_of
from redraft.sources import STDIN, read_file, read_stdin
from redraft.store.store import Store
from redraft.text.cleaning import one_line
from redraft.text.words import count_words

FORMAT = "redraft-pack"
OF_QUESTIONS, WITH_KEY_FACTS, WITH_TYPES = 1, 2, 3
"""The versions of the format. A pack is of the first that has room for all of it: an older redraft reads that."""


def pack_json(
    document: Document, questions: Pack | None, keyfacts: KeyFacts | None, typed: TypedQuestions | None = None
) -> dict[str, object]:
    """A pack as it is exported: all that it takes to judge summaries of the document elsewhere."""
    shown: dict[str, object] = {
        "format": FORMAT,
        "version": WITH_TYPES if typed else WITH_KEY_FACTS if keyfacts else OF_QUESTIONS,
        "id": questions.id if questions else None,
        "document": _about(document),
        "model": questions.model if questions else None,
        "prompt_hashes": dict(questions.prompt_hashes) if questions else {},
        "questions": _dumped(questions)["questions"] if questions else [],
        "missing": list(questions.missing) if questions else [],
    }
    if keyfacts:
        shown["keyfacts"] = _alone(keyfacts)
    if typed:
        alone = _alone(typed)
        asked = zip(alone["questions"], map(typed.third, typed.questions), strict=True)
        shown["typed"] = alone | {"questions": [one | {"third": third} for one, third in asked]}
    return shown


def keyfacts_json(document: Document, keyfacts: KeyFacts) -> dict[str, object]:
    """The contract of `keyfacts --json`."""
    more = {"document": _about(document), "imported": keyfacts.imported, "pruning": pruning(keyfacts.trees)}
    shown = _alone(keyfacts) | more
    del shown["prompt_hashes"]
    return shown


def _alone(built: KeyFacts | TypedQuestions) -> dict[str, Any]:
    """All of it but where it is from."""
    return {name: value for name, value in _dumped(built).items() if name not in ("document", "imported")}


def _dumped(built: Pack | KeyFacts | TypedQuestions) -> dict[str, Any]:
    """It as JSON, under the names that its fields have there."""
    shown: dict[str, Any] = TypeAdapter(type(built)).dump_python(built, mode="json", by_alias=True)
    return shown


def _about(document: Document) -> dict[str, object]:
    return {"id": document.id, "title": document.title, "words": count_words(document.text)}


AGAIN = "export it again with `redraft pack export`"
# The key facts of a million tokens have about a third of this.
_MOST_BYTES = 64_000_000
_MOST_PARTS = 2_000_000


def read_pack_file(source: str) -> bytes:
    """The bytes of the file at `source`, or of standard input."""
    try:
        return read_stdin(_MOST_BYTES) if source == STDIN else read_file(Path(source).expanduser(), _MOST_BYTES)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise PackError("the file is too large for a pack", place=source, hint=AGAIN) from error
        raise PackError(f"cannot be read: {error.strerror}", place=source, hint="check the path") from error


Name = Annotated[str, Field(max_length=1000)]
Words = Annotated[str, Field(max_length=10_000)]
Key = Annotated[str, Field(max_length=100)]
Place = Annotated[list[int], Field(min_length=2, max_length=2)]
Share = Annotated[float, Field(ge=0, le=1)]
Hashes = Annotated[dict[str, Name], Field(max_length=100)]


class _Part(BaseModel):
    """A part of the file. What it may hold besides is for later versions to know."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, defer_build=True)


class GivenEvidence(_Part):
    """Words of the document, and where they stand."""

    text: Annotated[str, Field(max_length=100_000)]
    span: Place | None


class GivenQuestion(_Part):
    """A question with the document's answer."""

    rank: int
    question: Words
    kind: Kind
    answer: Words
    evidence: GivenEvidence
    position: Share


class GivenObjection(_Part):
    """Why a fact was pruned."""

    dimension: Literal["faithfulness", "objectivity", "significance", "orphaned", "unjudged"]
    reason: Words


class GivenFact(_Part):
    """A key fact, also one that was pruned."""

    id: int
    level: Level
    parent: int | None
    fact: Words
    evidence: GivenEvidence
    pruned: Annotated[list[GivenObjection], Field(max_length=10)]


class GivenTree(_Part):
    """The key facts of one stretch from one perspective."""

    chunk: Annotated[int, Field(ge=0)]
    perspective: Perspective
    span: Place
    position: Share
    query: Words
    facts: Annotated[list[GivenFact], Field(min_length=1, max_length=5000, fail_fast=True)]


class GivenKeyFacts(_Part):
    """All trees of the document."""

    id: Key
    builder: Name
    validator: Name
    prompt_hashes: Hashes
    trees: Annotated[list[GivenTree], Field(min_length=1, max_length=20_000, fail_fast=True)]
    missing: Annotated[list[Words], Field(max_length=20_000, fail_fast=True)]


class GivenTypedQuestion(_Part):
    """A typed question with its reference answer, which has no words where there is none."""

    rank: int
    type: QuestionType
    third: Third
    question: Words
    answer: Words
    reason: Words
    paragraph: Place


class GivenTyped(_Part):
    """All typed questions of the document."""

    id: Key
    model: Name
    prompt_hashes: Hashes
    end: int
    questions: Annotated[list[GivenTypedQuestion], Field(min_length=1, max_length=10_000, fail_fast=True)]
    missing: Annotated[list[Words], Field(max_length=20_000, fail_fast=True)]


class _About(_Part):
    id: Key
    title: Words


class GivenPack(_Part):
    """The file as a whole; without questions it has no id and no model."""

    format: Literal["redraft-pack"]
    version: Annotated[int, Field(ge=OF_QUESTIONS)]
    id: Key | None
    document: _About
    model: Name | None
    prompt_hashes: Hashes
    questions: Annotated[list[GivenQuestion], Field(max_length=1000, fail_fast=True)]
    missing: Annotated[list[Words], Field(max_length=20_000, fail_fast=True)] = []
    keyfacts: GivenKeyFacts | None = None
    typed: GivenTyped | None = None


def opened(data: bytes, place: str) -> object:
    """The JSON of a file. Whether it has the shape of a pack is not looked into."""
    # What it takes in memory goes with its parts rather than with its bytes.
    if sum(map(data.count, (b"{", b"[", b","))) > _MOST_PARTS:
        raise PackError("the file has too many parts for a pack", place=place, hint=AGAIN)
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise PackError(f"this is no JSON: {one_line(str(error), 200)}", place=place, hint=AGAIN) from error


def names(content: object) -> tuple[str, str] | None:
    """The id and the title of the document that a file says it is about, if it says so."""
    document = content.get("document") if isinstance(content, dict) else None
    if not isinstance(document, dict):
        return None
    key, title = document.get("id"), document.get("title")
    return (key, title) if isinstance(key, str) and isinstance(title, str) else None


def shaped(content: object, place: str) -> GivenPack:
    """A file's content in the shape of a pack. Whether it is true of its document is not looked into."""
    if isinstance(content, dict) and content.get("format") == FORMAT:
        version = content.get("version")
        if isinstance(version, int) and version > WITH_TYPES:
            raise PackError(
                f"the pack has version {version}, and this redraft reads versions up to {WITH_TYPES}",
                place=place,
                hint="update redraft",
            )
    try:
        return GivenPack.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        what = one_line(f"{where}: {first['msg']}" if where else str(first["msg"]), 200)
        raise PackError(f"this is no pack: {what}", place=place, hint=AGAIN) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a name that stands in it twice would mean one thing to us and another to somebody else."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


_ABOVE: dict[Level, Level] = {"branch": "root", "leaf": "branch"}
_ROUNDING = 1e-9
# In characters: a second or two.
_MOST_SEARCHED = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Checker:
    """Checks one file, found at `place`, against the document that it shall be about."""

    document: Document
    place: str

    def check(self, given: GivenPack) -> tuple[Pack | None, KeyFacts | None, TypedQuestions | None]:
        """The questions, the key facts and the typed questions of the file, if all of them are true."""
        if given.version == OF_QUESTIONS and given.keyfacts:
            self._refuse("a pack of version 1 has no key facts")
        if given.version < WITH_TYPES and given.typed:
            self._refuse(f"a pack of version {given.version} has no typed questions")
        if not given.questions and not given.keyfacts and not given.typed:
            self._refuse("there are no questions and no key facts in it")
        self._affordable(given)
        return self._pack(given), self._keyfacts(given), self._typed(given.typed)

    def _affordable(self, given: GivenPack) -> None:
        """Refuse more evidence without a place than can be looked for in the whole document in a moment."""
        trees = given.keyfacts.trees if given.keyfacts else ()
        told = [one.evidence for one in given.questions]
        told += [fact.evidence for tree in trees for fact in tree.facts]
        searched = sum(bool(one.text) for one in told if one.span is None)
        if searched * len(self.document.text) > _MOST_SEARCHED:
            self._refuse(f"it has {searched:,} pieces of evidence without their places in the document")

    def _refuse(self, why: str) -> NoReturn:
        raise PackError(why, place=self.place, hint=AGAIN)

    def _pack(self, given: GivenPack) -> Pack | None:
        if not given.questions:
            if given.id is not None:
                self._refuse(f"there are no questions in pack {one_line(given.id, 20)}")
            return None
        if given.id is None or given.model is None:
            self._refuse("it does not say which questions these are, and by whom")
        questions = tuple(self._question(at, one) for at, one in enumerate(given.questions, 1))
        if len({one_line(question.text).casefold() for question in questions}) < len(questions):
            self._refuse("a question is in it twice")
        if pack_id(self.document.id, questions) != given.id:
            self._refuse(f"its questions are not those of pack {one_line(given.id, 20)}: the file was changed")
        missing = tuple(given.missing)
        return Pack(given.id, self.document.id, given.model, given.prompt_hashes, questions, missing, imported=True)

    def _question(self, rank: int, given: GivenQuestion) -> PackQuestion:
        where = f"question {rank}"
        if given.rank != rank:
            self._refuse(f"{where} has the rank {given.rank}")
        if not (count_words(given.question) and count_words(given.answer)):
            self._refuse(f"{where} has no words, or its answer has none")
        evidence = self._evidence(given.evidence, where)
        return PackQuestion(rank, given.question, given.kind, given.answer, evidence, given.position)

    def _typed(self, given: GivenTyped | None) -> TypedQuestions | None:
        if given is None:
            return None
        if not 0 < given.end <= len(self.document.text):
            self._refuse("its typed questions are about more than there is of the document")
        questions = tuple(self._typed_question(at, one, given.end) for at, one in enumerate(given.questions, 1))
        if len({one_line(question.text).casefold() for question in questions}) < len(questions):
            self._refuse("a typed question is in it twice")
        if typed_id(self.document.id, given.end, questions) != given.id:
            self._refuse(
                f"its typed questions are not those with the id {one_line(given.id, 20)}: the file was changed"
            )
        about, missing = self.document.id, tuple(given.missing)
        hashes = given.prompt_hashes
        return TypedQuestions(given.id, about, given.model, hashes, given.end, questions, missing, imported=True)

    def _typed_question(self, rank: int, given: GivenTypedQuestion, end: int) -> TypedQuestion:
        where = f"typed question {rank}"
        if given.rank != rank:
            self._refuse(f"{where} has the rank {given.rank}")
        paragraph = Span(*given.paragraph)
        if not 0 <= paragraph.start < paragraph.end <= end:
            self._refuse(f"{where} is about a place that was not asked about")
        if third_of(paragraph, end) != given.third:
            self._refuse(f"{where} is not about the {given.third}")
        made = TypedQuestion(rank, given.type, given.question, given.answer, given.reason, paragraph)
        if flaw := flaw_of(made, self.document.text[paragraph.start : paragraph.end]):
            self._refuse(f"{where} {flaw}")
        return made

    def _keyfacts(self, given: GivenPack) -> KeyFacts | None:
        found = given.keyfacts
        if found is None:
            return None
        trees = tuple(self._tree(number, one) for number, one in enumerate(found.trees, 1))
        self._in_order(trees)
        if not any(tree.kept for tree in trees):
            self._refuse("all of its key facts were pruned")
        if keyfacts_id(self.document.id, trees) != found.id:
            self._refuse(f"its key facts are not those with the id {one_line(found.id, 20)}: the file was changed")
        return KeyFacts(
            found.id,
            self.document.id,
            found.builder,
            found.validator,
            found.prompt_hashes,
            trees,
            tuple(found.missing),
            imported=True,
        )

    def _tree(self, number: int, given: GivenTree) -> Tree:
        where = f"tree {number}"
        span, length = Span(*given.span), len(self.document.text)
        if not 0 <= span.start < span.end <= length:
            self._refuse(f"{where} is about a place that is not in the document")
        if abs(given.position - middle_of(span, length)) > _ROUNDING:
            self._refuse(f"{where} is not at the position {given.position}")
        facts = tuple(self._fact(at, one, where) for at, one in enumerate(given.facts, 1))
        self._hang_together(facts, where)
        tree = Tree(given.chunk, given.perspective, span, given.position, facts, given.query)
        if tree.query and not (tree.kept and count_words(tree.query)):
            self._refuse(f"the query of {where} has no words, or nothing that answers it")
        return tree

    def _fact(self, number: int, given: GivenFact, where: str) -> KeyFact:
        where = f"fact {number} of {where}"
        if given.id != number:
            self._refuse(f"{where} has the number {given.id}")
        if not count_words(given.fact):
            self._refuse(f"{where} has no words")
        evidence = self._evidence(given.evidence, where)
        objections = tuple(Objection(one.dimension, one.reason) for one in given.pruned)
        return KeyFact(number, given.level, given.parent, given.fact, evidence, objections)

    def _hang_together(self, facts: Sequence[KeyFact], where: str) -> None:
        """Depth first every fact stands under the last one of the level above, and none outlives what it stands under.

        So no fact can be under one that comes later, or under itself.
        """
        latest: dict[Level, KeyFact] = {}
        for fact in facts:
            above = latest.get(_ABOVE[fact.level]) if fact.level in _ABOVE else None
            if fact.parent != (above.id if above else None) or (above is None and fact.level != "root"):
                self._refuse(f"fact {fact.id} of {where} does not stand under a {_ABOVE.get(fact.level, 'tree')}")
            if above and fact.kept and not above.kept:
                self._refuse(f"fact {fact.id} of {where} was kept, and the {above.level} above it was not")
            latest[fact.level] = fact
            if fact.level == "root":
                latest.pop("branch", None)

    def _in_order(self, trees: Sequence[Tree]) -> None:
        """Trees follow each other as the document does, and there is one for each of its stretches and perspectives."""
        if len({(tree.chunk, tree.perspective) for tree in trees}) < len(trees):
            self._refuse("there are two trees of the same chunk from the same perspective")
        for number, (before, tree) in enumerate(pairwise(trees), 2):
            same = tree.chunk == before.chunk and tree.span == before.span
            if not same and not (tree.chunk > before.chunk and tree.span.start >= before.span.end):
                self._refuse(f"tree {number} is not in its place")

    def _evidence(self, given: GivenEvidence, where: str) -> Evidence:
        text, span, document = given.text, None, self.document.text
        if given.span is not None:
            span = Span(*given.span)
            there = 0 <= span.start < span.end <= len(document) and document[span.start : span.end] == text
        else:
            there = text in document
        if not there:
            self._refuse(f"the evidence of {where} does not stand there in the document")
        return Evidence(text, span)


_IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Packed:
    """What of a document's pack there is: its questions, its key facts, its typed questions, or several of them."""

    document: Document
    questions: Pack | None
    keyfacts: KeyFacts | None
    typed: TypedQuestions | None = None

    def to_json(self) -> dict[str, object]:
        """The pack as it is exported."""
        return pack_json(self.document, self.questions, self.keyfacts, self.typed)


def choose(store: Store, document: Document, questions: str | None = None, keyfacts: str | None = None) -> Packed:
    """The questions and the key facts of a document with these ids, or else those that it is judged by; and its typed
    questions."""
    pack = store.packs.get(questions) if questions else store.packs.latest(document.id)
    facts = store.keyfacts.get(keyfacts) if keyfacts else store.keyfacts.latest(document.id)
    asked = store.typed.latest(document.id)
    for one in (pack, facts):
        if one is not None and one.document != document.id:
            raise PackError(f"{one.id} is about another document", hint="`redraft pack list` lists them all")
    if pack is None and facts is None and asked is None:
        files = document.source.replace(", ", " ")
        raise PackError(
            "it has no pack yet", place=document.source, hint=f"redraft pack build {files}, or redraft keyfacts {files}"
        )
    return Packed(document, pack, facts, asked)


def import_pack(store: Store, data: bytes, document: Document | None, place: str) -> Packed:
    """Store an exported pack once all of it has been checked; its document is judged by it from then on."""
    content = opened(data, place)
    if about := names(content):
        # Before anything else is looked into, which takes time.
        document = _its_document(store, document, *about, place)
    given = shaped(content, place)
    assert document is not None, "a pack without a document has no shape"
    pack, keyfacts, typed = Checker(document, place).check(given)
    store.documents.add(document)
    if pack is not None:
        store.packs.add(pack, _IMPORTED)
        store.packs.prefer(pack.id)
    if keyfacts is not None:
        store.keyfacts.add(keyfacts, _IMPORTED)
        store.keyfacts.prefer(keyfacts.id)
    if typed is not None:
        store.typed.add(typed, _IMPORTED)
        store.typed.prefer(typed.id)
    return Packed(document, pack, keyfacts, typed)


def _its_document(store: Store, document: Document | None, key: str, title: str, place: str) -> Document:
    """The document that a pack is about: that which was given, or one in the store."""
    if document is None:
        if not store.documents.has(key):
            raise PackError(
                f"its document, {one_line(title, 60)!r}, is not in this database",
                place=place,
                hint="give the document too: redraft pack import SOURCE PACK",
            )
        return store.documents.get(key)
    if document.id != key:
        raise PackError(
            f"the pack is about another document, {one_line(title, 60)!r}",
            place=place,
            hint="give the very file that it was built from: one changed character makes another document",
        )
    return document
