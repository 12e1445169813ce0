"""Packs apart from judging: what a run has built, and handing it from one database to another."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.domain import Document, KeyFacts, Pack
from redraft.errors import PackError
from redraft.packs.checks import Checker
from redraft.packs.exported import pack_json
from redraft.packs.file import names, opened, shaped
from redraft.questions import TypedQuestions
from redraft.store.store import Store
from redraft.text.cleaning import one_line

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
