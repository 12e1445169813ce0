"""Packs apart from judging: handing the questions about a document from one database to another."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from redraft.domain import Document, Evidence, Pack, PackQuestion, Span
from redraft.errors import PackError, RunError
from redraft.evaluators.packs import pack_id
from redraft.prompts.judging import Kind
from redraft.results import Result
from redraft.store.store import Store
from redraft.text.cleaning import one_line
from redraft.text.documents import STDIN
from redraft.text.words import count_words

FORMAT, VERSION = "redraft-pack", 1
_IMPORTED = "imported"
# A pack of a thousand long questions has a tenth of this.
_MOST_BYTES = 16_000_000
_AGAIN = "export it again with `redraft pack export`"


def built(store: Store, result: Result) -> Pack:
    """The pack that a run of `build_pack` has built."""
    key = result.run.judging.pack if result.run.judging else None
    if key is None:
        raise RunError(f"run {result.run.id} has built no pack", hint=f"redraft resume {result.run.id}")
    return store.packs.get(key)


def choose(store: Store, document: Document, key: str | None = None) -> Pack:
    """The pack of a document with this id; without one that which was imported last, else that which was built last."""
    if key is not None:
        pack = store.packs.get(key)
        if pack.document != document.id:
            raise PackError(f"pack {pack.id} is about another document", hint="`redraft pack list` lists them")
        return pack
    imported = store.packs.imported(document.id)
    latest = (pack for pack, _ in store.packs.all() if pack.document == document.id)
    found = imported or next(latest, None)
    if found is None:
        raise PackError("it has no pack yet", place=document.source, hint=f"redraft pack build {document.source}")
    return found


def pack_json(pack: Pack, document: Document) -> dict[str, object]:
    """The pack as it is exported: all that it takes to judge summaries of the document elsewhere."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": pack.id,
        "document": {"id": document.id, "title": document.title, "words": count_words(document.text)},
        "model": pack.model,
        "prompt_hashes": dict(pack.prompt_hashes),
        "questions": [
            {
                "rank": one.id,
                "question": one.text,
                "kind": one.kind,
                "answer": one.answer,
                "evidence": {"text": one.evidence.text, "span": list(one.evidence.span) if one.evidence.span else None},
                "position": one.position,
            }
            for one in pack.questions
        ],
    }


def import_pack(store: Store, data: bytes, document: Document | None, place: str) -> Pack:
    """Store an exported pack once all of it has been checked; its document is judged by it from then on."""
    given = _parsed(data, place)
    if document is None:
        document = _stored(store, given, place)
    pack = _checked(given, document, place)
    store.documents.add(document)
    store.packs.add(pack, _IMPORTED)
    store.packs.prefer(pack.id)
    return pack


def read_pack_file(source: str) -> bytes:
    """The bytes of the file at `source`, or of standard input."""
    try:
        if source == STDIN:
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with Path(source).expanduser().open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise PackError(f"cannot be read: {error.strerror}", place=source, hint="check the path") from error
    if len(data) > _MOST_BYTES:
        raise PackError("the file is too large for a pack", place=source, hint=_AGAIN)
    return data


class _Part(BaseModel):
    """A part of the file. What it may hold besides is for later versions to know."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Evidence(_Part):
    text: Annotated[str, Field(max_length=100_000)]
    span: Annotated[list[int], Field(min_length=2, max_length=2)] | None


class _Question(_Part):
    rank: int
    question: Annotated[str, Field(max_length=10_000)]
    kind: Kind
    answer: Annotated[str, Field(max_length=10_000)]
    evidence: _Evidence
    position: Annotated[float, Field(ge=0, le=1)]


class _About(_Part):
    id: Annotated[str, Field(max_length=100)]
    title: Annotated[str, Field(max_length=10_000)]


class _Exported(_Part):
    format: Literal["redraft-pack"]
    version: int
    id: Annotated[str, Field(max_length=100)]
    document: _About
    model: Annotated[str, Field(max_length=1000)]
    prompt_hashes: Annotated[dict[str, Annotated[str, Field(max_length=1000)]], Field(max_length=100)]
    questions: Annotated[list[_Question], Field(min_length=1, max_length=1000)]


def _parsed(data: bytes, place: str) -> _Exported:
    try:
        content = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise PackError(f"this is no JSON: {one_line(str(error), 200)}", place=place, hint=_AGAIN) from error
    if isinstance(content, dict) and content.get("format") == FORMAT:
        version = content.get("version")
        if isinstance(version, int) and version > VERSION:
            raise PackError(
                f"the pack has version {version}, and this redraft reads version {VERSION}",
                place=place,
                hint="update redraft",
            )
    try:
        return _Exported.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        what = one_line(f"{where}: {first['msg']}" if where else str(first["msg"]), 200)
        raise PackError(f"this is no pack: {what}", place=place, hint=_AGAIN) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a name that stands in it twice would mean one thing to us and another to somebody else."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _stored(store: Store, given: _Exported, place: str) -> Document:
    if not store.documents.has(given.document.id):
        raise PackError(
            f"its document, {one_line(given.document.title, 60)!r}, is not in this database",
            place=place,
            hint="give the document too: redraft pack import SOURCE PACK",
        )
    return store.documents.get(given.document.id)


def _checked(given: _Exported, document: Document, place: str) -> Pack:
    """The pack, if it is what it says it is, and is about this document."""
    if given.document.id != document.id:
        raise PackError(
            f"the pack is about another document, {one_line(given.document.title, 60)!r}",
            place=place,
            hint="give the very file that it was built from: one changed character makes another document",
        )
    questions = tuple(_question(at, one, document, place) for at, one in enumerate(given.questions, 1))
    if len({one_line(question.text).casefold() for question in questions}) < len(questions):
        raise PackError("a question is in it twice", place=place, hint=_AGAIN)
    if pack_id(document.id, questions) != given.id:
        raise PackError(
            f"its questions are not those of pack {one_line(given.id, 20)}: the file was changed",
            place=place,
            hint=_AGAIN,
        )
    return Pack(given.id, document.id, given.model, given.prompt_hashes, questions, imported=True)


def _question(rank: int, given: _Question, document: Document, place: str) -> PackQuestion:
    where = f"question {rank}"
    if given.rank != rank:
        raise PackError(f"{where} has the rank {given.rank}", place=place, hint=_AGAIN)
    if not (count_words(given.question) and count_words(given.answer)):
        raise PackError(f"{where} has no words, or its answer has none", place=place, hint=_AGAIN)
    text, span = given.evidence.text, None
    if given.evidence.span is not None:
        span = Span(*given.evidence.span)
        there = 0 <= span.start < span.end <= len(document.text) and document.text[span.start : span.end] == text
    else:
        there = text in document.text
    if not there:
        raise PackError(f"the evidence of {where} does not stand there in the document", place=place, hint=_AGAIN)
    return PackQuestion(rank, given.question, given.kind, given.answer, Evidence(text, span), given.position)
