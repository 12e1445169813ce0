"""Packs and key facts as they are exported and shown: what stands in their JSON."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from redraft.domain import Document, KeyFacts, Pack
from redraft.packs.keyfacts import pruning
from redraft.questions import TypedQuestions
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
