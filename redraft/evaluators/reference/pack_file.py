"""The file format of packs: export and validation."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from redraft.domain import (
    Document,
    KeyFacts,
    Level,
    Pack,
    PackQuestion,
    Perspective,
    QuestionType,
    Third,
    TypedQuestions,
    content_id,
)
from redraft.errors import PackError
from redraft.evaluators.reference.keyfacts import pruning
from redraft.fields import in_words
from redraft.prompts.qa import Kind
from redraft.sources import STDIN, read_file, read_stdin
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

FORMAT, VERSION = "redraft-pack", 3


def pack_json(
    document: Document, questions: Pack | None, keyfacts: KeyFacts | None, typed: TypedQuestions | None = None
) -> dict[str, object]:
    """Return a pack as JSON with everything needed to judge summaries of the document elsewhere."""
    shown: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
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
    """Return the JSON of `keyfacts --json`."""
    more = {"document": _about(document), "imported": keyfacts.imported, "pruning": pruning(keyfacts.trees)}
    shown = _alone(keyfacts) | more
    del shown["prompt_hashes"]
    return shown


def _alone(built: KeyFacts | TypedQuestions) -> dict[str, Any]:
    """Return the record without the fields that say where it is from."""
    return {name: value for name, value in _dumped(built).items() if name not in ("document", "imported")}


def _dumped(built: Pack | KeyFacts | TypedQuestions) -> dict[str, Any]:
    """Return the record as JSON under its field aliases."""
    shown: dict[str, Any] = TypeAdapter(type(built)).dump_python(built, mode="json", by_alias=True)
    return shown


def _about(document: Document) -> dict[str, object]:
    return {"id": document.id, "title": document.title, "words": count_words(document.text)}


AGAIN = "export it again with `redraft pack export`"
# The key facts of a million tokens take about a third of this.
_MOST_BYTES = 64_000_000
_MOST_PARTS = 2_000_000


def read_pack_file(source: str) -> bytes:
    """Return the bytes of the file at `source` or of standard input."""
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


class _PackPart(BaseModel):
    """A part of the file. Unknown fields, from later versions, are ignored."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, defer_build=True)


class GivenEvidence(_PackPart):
    """A quotation of the document and its place."""

    text: Annotated[str, Field(max_length=100_000)]
    span: Place | None


class GivenQuestion(_PackPart):
    """A question with the document's answer."""

    rank: int
    question: Words
    kind: Kind
    answer: Words
    evidence: GivenEvidence
    position: Share


class GivenObjection(_PackPart):
    """Why a fact was pruned."""

    dimension: Literal["faithfulness", "objectivity", "significance", "orphaned", "unjudged"]
    reason: Words


class GivenFact(_PackPart):
    """A key fact, possibly pruned."""

    id: int
    level: Level
    parent: int | None
    fact: Words
    evidence: GivenEvidence
    pruned: Annotated[list[GivenObjection], Field(max_length=10)]


class GivenTree(_PackPart):
    """The key facts of one stretch from one perspective."""

    chunk: Annotated[int, Field(ge=0)]
    perspective: Perspective
    span: Place
    position: Share
    query: Words
    facts: Annotated[list[GivenFact], Field(min_length=1, max_length=5000, fail_fast=True)]


class GivenKeyFacts(_PackPart):
    """All trees of the document."""

    id: Key
    builder: Name
    validator: Name
    prompt_hashes: Hashes
    trees: Annotated[list[GivenTree], Field(min_length=1, max_length=20_000, fail_fast=True)]
    missing: Annotated[list[Words], Field(max_length=20_000, fail_fast=True)]


class GivenTypedQuestion(_PackPart):
    """A typed question with its reference answer, which is empty for unanswerable ones."""

    rank: int
    type: QuestionType
    third: Third
    question: Words
    answer: Words
    reason: Words
    paragraph: Place


class GivenTyped(_PackPart):
    """All typed questions of the document."""

    id: Key
    model: Name
    prompt_hashes: Hashes
    end: int
    questions: Annotated[list[GivenTypedQuestion], Field(min_length=1, max_length=10_000, fail_fast=True)]
    missing: Annotated[list[Words], Field(max_length=20_000, fail_fast=True)]


class _About(_PackPart):
    id: Key
    title: Words


class GivenPack(_PackPart):
    """The whole file; without questions it has no id and no model."""

    format: Literal["redraft-pack"]
    version: Literal[3]
    id: Key | None
    document: _About
    model: Name | None
    prompt_hashes: Hashes
    questions: Annotated[list[GivenQuestion], Field(max_length=1000, fail_fast=True)]
    missing: Annotated[list[Words], Field(max_length=20_000, fail_fast=True)] = []
    keyfacts: GivenKeyFacts | None = None
    typed: GivenTyped | None = None


def opened(data: bytes, place: str) -> object:
    """Parse the JSON of a file without checking its schema."""
    # Memory use depends on the number of values rather than on bytes.
    if sum(map(data.count, (b"{", b"[", b","))) > _MOST_PARTS:
        raise PackError("the file has too many parts for a pack", place=place, hint=AGAIN)
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise PackError(f"this is not JSON: {one_line(str(error), 200)}", place=place, hint=AGAIN) from error


def names(content: object) -> tuple[str, str] | None:
    """Return the document id and title in a file, if any."""
    document = content.get("document") if isinstance(content, dict) else None
    if not isinstance(document, dict):
        return None
    key, title = document.get("id"), document.get("title")
    return (key, title) if isinstance(key, str) and isinstance(title, str) else None


def shaped(content: object, place: str) -> GivenPack:
    """Validate a file's content against the schema, without checking it against the document."""
    if isinstance(content, dict) and content.get("format") == FORMAT:
        version = content.get("version")
        if isinstance(version, int) and version > VERSION:
            raise PackError(
                f"the pack has version {version}, and this redraft reads version {VERSION}",
                place=place,
                hint="update redraft",
            )
    try:
        return GivenPack.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        what = one_line(f"{where}: {in_words(first)}" if where else in_words(first), 200)
        raise PackError(f"this is not a pack: {what}", place=place, hint=AGAIN) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raises for duplicate keys, which other parsers may read differently."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")


def pack_id(document: str, questions: Sequence[PackQuestion]) -> str:
    """Return the id of a document's questions, derived from their content."""
    material = [document, *([q.text, q.kind, q.answer, q.evidence.text] for q in questions)]
    return content_id(json.dumps(material, ensure_ascii=False))[:16]


def choose(store: Store, document: Document, questions: str | None = None, keyfacts: str | None = None) -> PackContents:
    """Return the questions and key facts of a document with these ids, or the default ones, and its typed questions."""
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
    return PackContents(document, pack, facts, asked)


@dataclass(frozen=True, slots=True)
class PackContents:
    """The available parts of a document's pack: questions, key facts and typed questions."""

    document: Document
    questions: Pack | None
    keyfacts: KeyFacts | None
    typed: TypedQuestions | None = None

    def to_json(self) -> dict[str, object]:
        """Return the pack as JSON for export."""
        return pack_json(self.document, self.questions, self.keyfacts, self.typed)
