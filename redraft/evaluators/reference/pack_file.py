"""The file format of packs: export and validation."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from redraft.domain import Document, KeyFacts, Pack, PackQuestion, content_id
from redraft.errors import PackError, RunCommand
from redraft.evaluators.reference.keyfacts import pruning
from redraft.fields import MAX_QUESTIONS, error_text
from redraft.sources import STDIN, read_file, read_stdin, strict_json
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

FORMAT, VERSION = "redraft-pack", 3


def pack_json(document: Document, questions: Pack | None, keyfacts: KeyFacts | None) -> dict[str, object]:
    """Return a pack as JSON with everything needed to judge summaries of the document elsewhere."""
    content: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "id": questions.id if questions else None,
        "document": _about(document),
        "model": questions.model if questions else None,
        "prompt_hashes": dict(questions.prompt_hashes) if questions else {},
        "questions": _alone(questions)["questions"] if questions else [],
        "missing": list(questions.missing) if questions else [],
    }
    if keyfacts:
        content["keyfacts"] = _alone(keyfacts)
    return content


def keyfacts_json(document: Document, keyfacts: KeyFacts) -> dict[str, object]:
    """Return the JSON of `keyfacts --json`."""
    more = {"document": _about(document), "imported": keyfacts.imported, "pruning": pruning(keyfacts.trees)}
    return {name: value for name, value in (_alone(keyfacts) | more).items() if name != "prompt_hashes"}


def _alone(built: Pack | KeyFacts) -> dict[str, Any]:
    """Return a record as JSON under its field aliases, without the fields that say where it is from."""
    exclude: Any = {"document", "imported"}
    fields: dict[str, Any] = TypeAdapter(type(built)).dump_python(built, mode="json", by_alias=True, exclude=exclude)
    return fields


def _about(document: Document) -> dict[str, object]:
    return {"id": document.id, "title": document.title, "words": count_words(document.text)}


AGAIN = ("export it again with ", RunCommand("pack export"))
# The key facts of a million tokens take about a third of this.
_MAX_BYTES = 64_000_000
_MAX_PARTS = 2_000_000


def read_pack_file(source: str) -> bytes:
    """Return the bytes of the file at `source` or of standard input."""
    try:
        return read_stdin(_MAX_BYTES) if source == STDIN else read_file(Path(source).expanduser(), _MAX_BYTES)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise PackError("the file is too large for a pack", place=source, fix=AGAIN) from error
        raise PackError(f"cannot be read: {error.strerror}", place=source, hint="check the path") from error


# The most characters or entries of what has this name in a file, and of all else.
_MAX = {"text": 100_000, "facts": 5_000, "prompt_hashes": 100}
_MAX_CHARACTERS, _MAX_ENTRIES = 10_000, 20_000


class _PackDocument(BaseModel):
    id: str
    title: str


class PackFile(BaseModel):
    """The whole file; without questions it has no id and no model. Unknown fields, from later versions, are ignored."""

    model_config = ConfigDict(allow_inf_nan=False, defer_build=True)

    format: Literal["redraft-pack"]
    version: Literal[3]
    id: str | None
    document: _PackDocument
    model: str | None
    prompt_hashes: dict[str, str]
    questions: Annotated[tuple[PackQuestion, ...], Field(max_length=MAX_QUESTIONS, fail_fast=True)]
    missing: tuple[str, ...] = ()
    keyfacts: KeyFacts | None = None


def opened(data: bytes, place: str) -> object:
    """Parse the JSON of a file without checking its schema."""
    # Memory use depends on the number of values rather than on bytes.
    if sum(map(data.count, (b"{", b"[", b","))) > _MAX_PARTS:
        raise PackError("the file has too many parts for a pack", place=place, fix=AGAIN)
    try:
        return strict_json(data)
    except (ValueError, RecursionError) as error:
        raise PackError(f"this is not JSON: {one_line(str(error), 200)}", place=place, fix=AGAIN) from error


def names(content: object) -> tuple[str, str] | None:
    """Return the document id and title in a file, if any."""
    document = content.get("document") if isinstance(content, dict) else None
    if not isinstance(document, dict):
        return None
    key, title = document.get("id"), document.get("title")
    return (key, title) if isinstance(key, str) and isinstance(title, str) else None


def shaped(content: object, place: str) -> PackFile:
    """Validate a file's content against the schema, without checking it against the document."""

    if isinstance(content, dict) and content.get("format") == FORMAT:
        version = content.get("version")
        if isinstance(version, int) and version > VERSION:
            newer = f"the pack has version {version}, and this redraft reads version {VERSION}"
            raise PackError(newer, place=place, hint="update redraft")
    about = names(content)
    if isinstance(content, dict) and about and isinstance(facts := content.get("keyfacts"), dict):
        content |= {"keyfacts": facts | {"document": about[0], "imported": True}}
    try:
        file = PackFile.model_validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise _no_pack(".".join(map(str, first["loc"])), error_text(first), place) from error
    _refuse_long(content, place)
    return file


def _no_pack(where: str, problem: str, place: str) -> PackError:
    message = one_line(f"{where}: {problem}" if where else problem, 200)
    return PackError(f"this is not a pack: {message}", place=place, fix=AGAIN)


def _refuse_long(content: object, place: str) -> None:
    """Raise for a text or list that is longer than any in a pack."""
    todo: list[tuple[str, str, object]] = [("", "", content)]
    while todo:
        where, name, value = todo.pop()
        if isinstance(value, str | list | dict):
            usual, unit = (_MAX_CHARACTERS, "characters") if isinstance(value, str) else (_MAX_ENTRIES, "entries")
            if len(value) > (limit := _MAX.get(name, usual)):
                raise _no_pack(where, f"must have at most {limit:,} {unit}", place)
        if isinstance(value, dict):
            todo += [(f"{where}.{key}" if where else key, key, part) for key, part in value.items()]
        elif isinstance(value, list):
            todo += [(f"{where}.{at}", "", part) for at, part in enumerate(value)]


def pack_id(document: str, questions: Sequence[PackQuestion]) -> str:
    """Return the id of a document's questions, derived from their content."""
    # Without the weight 1, so that packs exported before there were weights keep their ids.
    material = [
        document,
        *([q.text, q.kind, q.answer, q.evidence.text, *([q.weight] if q.weight > 1 else [])] for q in questions),
    ]
    return content_id(json.dumps(material, ensure_ascii=False))[:16]


def choose(store: Store, document: Document, questions: str | None = None, keyfacts: str | None = None) -> PackContents:
    """Return the questions and key facts of a document with these ids, or the default ones."""
    pack = store.packs.get(questions) if questions else store.packs.latest(document.id)
    facts = store.keyfacts.get(keyfacts) if keyfacts else store.keyfacts.latest(document.id)
    for part in (pack, facts):
        if part is not None and part.document != document.id:
            raise PackError(f"{part.id} is about another document", fix=(RunCommand("pack list"), " lists them all"))
    if pack is None and facts is None:
        files = document.source.replace(", ", " ")
        fix = (RunCommand("pack build", more=(files,)), ", or ", RunCommand("keyfacts", more=(files,)))
        raise PackError("it has no pack yet", place=document.source, fix=fix)
    return PackContents(document, pack, facts)


class PackContents(NamedTuple):
    """The available parts of a document's pack: questions and key facts."""

    document: Document
    questions: Pack | None
    keyfacts: KeyFacts | None
