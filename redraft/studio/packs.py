"""Packs of questions and key facts, and new packs without some questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from redraft.domain import Pack, widened
from redraft.errors import PackError, RunCommand, RunError, StoreError
from redraft.evaluators.reference.exchange import keyfacts_json, pack_id, pack_json
from redraft.store.shelf import QuestionSetEntry
from redraft.store.store import Store
from redraft.studio.contracts import NewId, PackKind, PackLine, PackList, StrikeBody
from redraft.studio.endpoints import NotFound
from redraft.text.sanitizer import one_line

_STRUCK = "struck out of"


def listed(store: Store) -> BaseModel:
    """Return all questions and key facts, newest first."""
    shelves: tuple[tuple[PackKind, Sequence[QuestionSetEntry]], ...] = (
        ("questions", store.packs.listed()),
        ("keyfacts", store.keyfacts.listed()),
    )
    lines = [
        widened(PackLine, entry, kind=kind, title=one_line(entry.title))
        for kind, entries in shelves
        for entry in entries
    ]
    return PackList(packs=tuple(sorted(lines, key=lambda line: line.created, reverse=True)))


def pack_named(store: Store, key: str) -> Pack:
    """Return a pack of questions by its id or the start of its id."""
    try:
        return store.packs.get(key)
    except StoreError as error:
        raise NotFound(error.message, fix=(RunCommand("pack list"), " lists them")) from error


def contents(store: Store, key: str) -> dict[str, Any]:
    """Return a pack of questions as it is exported."""
    pack = pack_named(store, key)
    return pack_json(store.documents.get(pack.document), pack, None)


def keyfacts_contents(store: Store, key: str) -> dict[str, Any]:
    """Return key facts as they are exported, by their id or the start of it."""
    try:
        facts = store.keyfacts.get(key)
    except (StoreError, RunError) as error:
        raise NotFound(error.message, fix=(RunCommand("pack list"), " lists them")) from error
    return keyfacts_json(store.documents.get(facts.document), facts)


def strike(store: Store, key: str, body: StrikeBody) -> Any:
    """Create a new pack without some questions, use it for the document from now on, and return its id.

    The old pack and its scores are unchanged.
    """
    pack, ranks = pack_named(store, key), body.questions
    question_ids = {question.id for question in pack.questions}
    if unknown := sorted(set(ranks) - question_ids):
        raise PackError(
            f"pack {pack.id} has no question {unknown[0]}", hint=f"its questions are numbered 1 to {max(question_ids)}"
        )
    questions = [question for question in pack.questions if question.id not in set(ranks)]
    if not questions:
        raise PackError("a pack needs at least one question", hint="keep one of them")
    pack_questions = tuple(replace(question, id=rank) for rank, question in enumerate(questions, 1))
    changed = replace(pack, id=pack_id(pack.document, pack_questions), questions=pack_questions)
    store.packs.add(changed, f"{_STRUCK} {pack.id}")
    store.packs.prefer(changed.id)
    return NewId(id=changed.id)
