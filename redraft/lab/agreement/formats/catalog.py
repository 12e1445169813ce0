"""The annotation formats by name, and the generic JSONL format for your own annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.domain import content_id
from redraft.lab.agreement.entries import (
    FileEntry,
    Library,
    UnreadableError,
    list_at,
    mapping,
    number,
    optional,
    text_at,
)
from redraft.lab.agreement.formats.booookscore import BOOOOKSCORE
from redraft.lab.agreement.formats.datasets import (
    FABLES,
    FRANK,
    QAGS,
    RANK19,
    REALSUMM,
    SUMMEDITS,
    SUMMEVAL,
    UNISUMEVAL,
)
from redraft.lab.agreement.formats.format import Format
from redraft.lab.agreement.people import Field, HumanItem

LABEL = "label"


def _items(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = mapping(entry.content)
    text = text_at(content, "text", "source", "document")
    here = "" if text in known else text
    document = optional(content, "document_id") or (content_id(here)[:12] if here else text)
    sentences, labels = _sentences(content)
    people = _figures(content) or _share(labels)
    if not people:
        raise UnreadableError("people say nothing of it: there is no `human` with numbers, no `label`, no `sentences`")
    return [
        HumanItem(
            optional(content, "id"),
            document,
            " ".join(sentences) or text_at(content, "summary", "claim"),
            people,
            source=here,
            system=optional(content, "system", "model"),
            sentences=sentences,
            labels=labels,
            pair=optional(content, "pair"),
        )
    ]


def _figures(content: Mapping[str, Any]) -> dict[str, float]:
    """What stands under `human`, by field, or the one label."""
    named = content.get("human")
    said = named if isinstance(named, Mapping) else {LABEL: content.get(LABEL, named)}
    return {str(name): found for name, value in said.items() if (found := number(value)) is not None}


def _sentences(content: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[bool | None, ...]]:
    if "sentences" not in content:
        return (), ()
    parts = [mapping(one) for one in list_at(content, "sentences")]
    if not parts:
        raise UnreadableError("the summary has no sentence")
    labels = [number(one.get(LABEL)) for one in parts]
    if any(label not in (None, 0.0, 1.0) for label in labels):
        raise UnreadableError("a sentence's `label` is neither true nor false")
    found = tuple(None if label is None else bool(label) for label in labels)
    return tuple(text_at(one, "sentence", "text") for one in parts), found


def _share(labels: tuple[bool | None, ...]) -> dict[str, float]:
    said = [label for label in labels if label is not None]
    return {LABEL: sum(said) / len(said)} if said else {}


GENERIC = Format(
    "jsonl",
    "own annotations",
    {LABEL: Field(1.0)},
    _items,
    beside=("documents.jsonl", "{stem}.documents.jsonl"),
    any_field=True,
)


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        QAGS,
        SUMMEVAL,
        REALSUMM,
        SUMMEDITS,
        RANK19,
        FRANK,
        FABLES,
        BOOOOKSCORE,
        UNISUMEVAL,
        GENERIC,
    )
}
