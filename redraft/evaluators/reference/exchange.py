"""Packs as files: the records with the hash of their document, exported, and imported after checks against it."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from redraft.domain import Document, KeyFact, KeyFacts, Pack, PackQuestion, Tree, adapter_of, content_id, record_json
from redraft.errors import PackError, RunCommand
from redraft.evaluators.reference.keyfacts import keyfacts_id, middle_of, pruning
from redraft.fields import first_error
from redraft.settings import MAX_QUESTIONS
from redraft.sources import STDIN, read_file, strict_json
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words, has_words

FORMAT, VERSION = "redraft-pack", 3

_AGAIN = ("export it again with ", RunCommand("pack export"))
# The key facts of a million tokens take about a third of this.
_MAX_BYTES = 64_000_000
# Memory use depends on the number of values rather than on bytes.
_MAX_PARTS = 2_000_000
# The most characters or entries of what has this name in a file, and of all else.
_MAX = {"text": 100_000, "facts": 5_000, "prompt_hashes": 100, "questions": MAX_QUESTIONS}
_MAX_CHARACTERS, _MAX_ENTRIES = 10_000, 20_000
_ABOVE = {"branch": "root", "leaf": "branch"}
_ROUNDING = 1e-9
# In characters: a second or two.
_MAX_SEARCHED = 1_000_000_000


class PackContents(NamedTuple):
    """The available parts of a document's pack: questions and key facts."""

    document: Document
    questions: Pack | None
    keyfacts: KeyFacts | None


def pack_json(document: Document, questions: Pack | None, keyfacts: KeyFacts | None) -> dict[str, object]:
    """Return a pack as JSON with everything needed to judge summaries of the document elsewhere."""
    nothing: dict[str, object] = {"model": None, "prompt_hashes": {}, "questions": [], "missing": []}
    content: dict[str, object] = {"format": FORMAT, "version": VERSION, "id": None, "document": _about(document)}
    content |= _alone(questions) if questions else nothing
    return content | ({"keyfacts": _alone(keyfacts)} if keyfacts else {})


def keyfacts_json(document: Document, keyfacts: KeyFacts) -> dict[str, object]:
    """Return the JSON of `keyfacts --json`."""
    more = {"document": _about(document), "imported": keyfacts.imported, "pruning": pruning(keyfacts.trees)}
    return {name: value for name, value in _alone(keyfacts).items() if name != "prompt_hashes"} | more


def _alone(built: Pack | KeyFacts) -> dict[str, object]:
    """Return a record as JSON without the fields that say where it is from."""
    return {name: value for name, value in record_json(built).items() if name not in ("document", "imported")}


def _about(document: Document) -> dict[str, object]:
    return {"id": document.id, "title": document.title, "words": count_words(document.text)}


def read_pack_file(source: str) -> bytes:
    """Return the bytes of the file at `source` or of standard input."""
    try:
        return read_file(None if source == STDIN else Path(source).expanduser(), _MAX_BYTES)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise PackError("the file is too large for a pack", place=source, fix=_AGAIN) from error
        raise PackError(f"cannot be read: {error.strerror}", place=source, hint="check the path") from error


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


def import_pack(store: Store, data: bytes, document: Document | None, place: str) -> PackContents:
    """Store an exported pack once all of it has been checked; its document is judged by it from then on."""
    try:
        contents = _contents(store, data, document, place)
        problem = next(_problems(contents), "")
    except ValidationError as error:
        where = "keyfacts." * (error.title == KeyFacts.__name__)
        problem = f"this is not a pack: {where}{first_error(error)}"
    except ValueError as error:
        problem = str(error)
    if problem:
        raise PackError(one_line(problem, 220), place=place, fix=_AGAIN)
    store.documents.add(contents.document)
    shelves: list[tuple[Any, Pack | KeyFacts | None]] = []
    shelves += [(store.packs, contents.questions), (store.keyfacts, contents.keyfacts)]
    for shelf, part in shelves:
        if part is not None:
            shelf.add(part, "imported")
            shelf.prefer(part.id)
    return contents


def _contents(store: Store, data: bytes, document: Document | None, place: str) -> PackContents:
    """Return the records in a file; unknown fields, from later versions, are ignored. Raises `ValueError` for what is
    no pack of this version."""
    if sum(map(data.count, (b"{", b"[", b","))) > _MAX_PARTS:
        raise ValueError("the file has too many parts for a pack")
    try:
        content = strict_json(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not JSON: {error}") from error
    match content:
        case {"format": form, "version": int(version)} if form == FORMAT and version > VERSION:
            newer = f"the pack has version {version}, and this redraft reads version {VERSION}"
            raise PackError(newer, place=place, hint="update redraft")
        case {"format": form, "version": int(version), "document": {"id": str(key), "title": str(title)}} if (
            form == FORMAT and version == VERSION
        ):
            title = one_line(title, 60)
        case _:
            needs = f"the format {FORMAT!r}, the version {VERSION}, and a document with an id and a title"
            raise ValueError(f"this is not a pack: it must have {needs}")
    # Before the other checks, which take time.
    if document is not None and document.id != key:
        hint = "give the file that it was built from: one changed character makes a different document"
        raise PackError(f"the pack is about another document, {title!r}", place=place, hint=hint)
    if document is None and not store.documents.has(key):
        fix = ("give the document too: ", RunCommand("pack import", more=("SOURCE", "PACK")))
        raise PackError(f"its document, {title!r}, is not in this database", place=place, fix=fix)
    _refuse_long(content)
    more, facts = {"document": key, "imported": True}, content.get("keyfacts")
    has_questions = bool(content.get("id")) or content.get("questions") != []
    questions = adapter_of(Pack).validate_json(json.dumps(content | more), strict=True) if has_questions else None
    facts = facts | more if isinstance(facts, dict) else facts
    keyfacts = None if facts is None else adapter_of(KeyFacts).validate_json(json.dumps(facts), strict=True)
    return PackContents(document or store.documents.get(key), questions, keyfacts)


def _refuse_long(content: object) -> None:
    """Raise `ValueError` for a text or list that is longer than any in a pack."""
    todo: list[tuple[str, object]] = [("", content)]
    while todo:
        where, value = todo.pop()
        if isinstance(value, str | list | dict):
            usual, unit = (_MAX_CHARACTERS, "characters") if isinstance(value, str) else (_MAX_ENTRIES, "entries")
            if len(value) > (limit := _MAX.get(where.rpartition(".")[2], usual)):
                raise ValueError(f"this is not a pack: {where}: must have at most {limit:,} {unit}")
        if isinstance(value, dict | list):
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            todo += [(f"{where}.{key}" if where else str(key), part) for key, part in parts]


def _problems(contents: PackContents) -> Iterator[str]:
    """Yield what does not fit the document."""
    document, pack, keyfacts = contents
    questions, trees = pack.questions if pack else (), keyfacts.trees if keyfacts else ()
    if not questions and not keyfacts:
        yield "there are no questions and no key facts in it"
    yield from _entry_problems(questions, trees, document.text)
    if keyfacts:
        yield from _keyfact_problems(keyfacts, document)
    if pack and not questions:
        yield f"there are no questions in pack {one_line(pack.id, 20)}"
    if len({one_line(question.text).casefold() for question in questions}) < len(questions):
        yield "a question is in it twice"
    if pack and pack_id(document.id, questions) != pack.id:
        yield f"its questions are not those of pack {one_line(pack.id, 20)}: the file was changed"


def _entry_problems(questions: Sequence[PackQuestion], trees: Sequence[Tree], text: str) -> Iterator[str]:
    """Yield what is wrong with questions and facts. More evidence without a place than can be looked for in the
    document in a moment is refused."""
    entries: list[tuple[str, int, PackQuestion | KeyFact]] = []
    entries += [(f"question {rank}", rank, question) for rank, question in enumerate(questions, 1)]
    for at, tree in enumerate(trees, 1):
        entries += [(f"fact {number} of tree {at}", number, fact) for number, fact in enumerate(tree.facts, 1)]
    searched = sum(bool(entry.evidence.text) for _, _, entry in entries if entry.evidence.span is None)
    if searched * len(text) > _MAX_SEARCHED:
        yield f"it has {searched:,} pieces of evidence without their places in the document"
    for where, number, entry in entries:
        if entry.id != number:
            yield f"{where} has the number {entry.id}"
        if not has_words(entry.text) or (isinstance(entry, PackQuestion) and not has_words(entry.answer)):
            yield f"{where} has no words, or its answer has none"
        quote, span = entry.evidence.text, entry.evidence.span
        valid = span is None or 0 <= span.start < span.end <= len(text)
        if not valid or (quote not in text if span is None else text[slice(*span)] != quote):
            yield f"the evidence of {where} is not at that place in the document"


def _keyfact_problems(keyfacts: KeyFacts, document: Document) -> Iterator[str]:
    trees = keyfacts.trees
    for number, tree in enumerate(trees, 1):
        yield from _tree_problems(tree, f"tree {number}", len(document.text))
    # In document order, one per stretch and perspective.
    if len({(tree.chunk, tree.perspective) for tree in trees}) < len(trees):
        yield "there are two trees of the same chunk from the same perspective"
    for number, (before, tree) in enumerate(pairwise(trees), 2):
        is_same = (tree.chunk, tree.span) == (before.chunk, before.span)
        # A chunk may begin with the last sentences of the one before.
        if not is_same and not (tree.chunk > before.chunk and tree.span.end > before.span.end):
            yield f"tree {number} is not in its place"
    if not any(tree.kept for tree in trees):
        yield "all of its key facts were pruned"
    if keyfacts_id(document.id, trees) != keyfacts.id:
        yield f"its key facts are not those with the id {one_line(keyfacts.id, 20)}: the file was changed"


def _tree_problems(tree: Tree, where: str, length: int) -> Iterator[str]:
    """Yield what is wrong with a tree. Every fact follows its parent, which is of the level above, and no fact survives
    it."""
    if not 0 <= tree.span.start < tree.span.end <= length:
        yield f"{where} is about a place that is not in the document"
    if abs(tree.position - middle_of(tree.span, length)) > _ROUNDING:
        yield f"{where} is not at the position {tree.position}"
    before: dict[int | None, KeyFact] = {}
    for fact in tree.facts:
        above = before.get(fact.parent)
        if (above.level if above else None) != _ABOVE.get(fact.level) or (above is None and fact.parent is not None):
            yield f"fact {fact.id} of {where} is not under a {_ABOVE.get(fact.level, 'tree')}"
        if above and fact.kept and not above.kept:
            yield f"fact {fact.id} of {where} was kept, and the {above.level} above it was not"
        before[fact.id] = fact
    if tree.query and not (tree.kept and has_words(tree.query)):
        yield f"the query of {where} has no words, or nothing that answers it"
