"""Packs and key facts as they are exported and shown: what stands in their JSON."""

from __future__ import annotations

from redraft.domain import Document, Evidence, KeyFact, KeyFacts, Pack, Tree
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
        "document": _about_json(document),
        "model": questions.model if questions else None,
        "prompt_hashes": dict(questions.prompt_hashes) if questions else {},
        "questions": [
            {
                "rank": one.id,
                "question": one.text,
                "kind": one.kind,
                "answer": one.answer,
                "evidence": _evidence_json(one.evidence),
                "position": one.position,
            }
            for one in (questions.questions if questions else ())
        ],
        "missing": list(questions.missing) if questions else [],
    }
    if keyfacts:
        shown["keyfacts"] = {
            "id": keyfacts.id,
            "builder": keyfacts.builder,
            "validator": keyfacts.validator,
            "prompt_hashes": dict(keyfacts.prompt_hashes),
            "trees": [_tree_json(tree) for tree in keyfacts.trees],
            "missing": list(keyfacts.missing),
        }
    if typed:
        shown["typed"] = _typed_json(typed)
    return shown


def _typed_json(typed: TypedQuestions) -> dict[str, object]:
    return {
        "id": typed.id,
        "model": typed.model,
        "prompt_hashes": dict(typed.prompt_hashes),
        "end": typed.end,
        "questions": [
            {
                "rank": one.id,
                "type": one.type,
                "third": typed.third(one),
                "question": one.text,
                "answer": one.answer,
                "reason": one.reason,
                "paragraph": list(one.paragraph),
            }
            for one in typed.questions
        ],
        "missing": list(typed.missing),
    }


def keyfacts_json(document: Document, keyfacts: KeyFacts) -> dict[str, object]:
    """The contract of `keyfacts --json`."""
    return {
        "id": keyfacts.id,
        "document": _about_json(document),
        "builder": keyfacts.builder,
        "validator": keyfacts.validator,
        "imported": keyfacts.imported,
        "trees": [_tree_json(tree) for tree in keyfacts.trees],
        "pruning": pruning(keyfacts.trees),
        "missing": list(keyfacts.missing),
    }


def _about_json(document: Document) -> dict[str, object]:
    return {"id": document.id, "title": document.title, "words": count_words(document.text)}


def _tree_json(tree: Tree) -> dict[str, object]:
    return {
        "chunk": tree.chunk,
        "perspective": tree.perspective,
        "span": list(tree.span),
        "position": tree.position,
        "query": tree.query,
        "facts": [_fact_json(fact) for fact in tree.facts],
    }


def _fact_json(fact: KeyFact) -> dict[str, object]:
    return {
        "id": fact.id,
        "level": fact.level,
        "parent": fact.parent,
        "fact": fact.text,
        "evidence": _evidence_json(fact.evidence),
        "pruned": [{"dimension": one.dimension, "reason": one.reason} for one in fact.objections],
    }


def _evidence_json(evidence: Evidence) -> dict[str, object]:
    return {"text": evidence.text, "span": list(evidence.span) if evidence.span else None}
