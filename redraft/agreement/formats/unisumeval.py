"""UniSumEval (Lee et al., 2024): people's verdicts on each sentence, and on which key facts a summary has. The
documents are those of nine other sets; they are looked for under `doc_id`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft.agreement.entries import Entry, Library, UnreadableError, mapping, number, optional, text_at
from redraft.agreement.formats.format import Format
from redraft.agreement.people import Field, Item

_FIELDS = {
    "faithfulness_score": Field(1.0, ("consistency", "faithfulness")),
    "completeness": Field(None, ("coverage", "keyfact_recall")),
    "conciseness": Field(None),
}


def _items(entry: Entry, _: Library) -> list[Item]:
    content = mapping(entry.content)
    people = {field: value for field in _FIELDS if (value := number(content.get(field))) is not None}
    sentences, labels = _sentences(content)
    if not people:
        raise UnreadableError(f"there is none of {', '.join(_FIELDS)}")
    source = next((content[name] for name in ("transcript", "document", "input") if content.get(name)), "")
    kinds = content.get("fact_verification_error_type")
    return [
        Item(
            optional(content, "model"),
            text_at(content, "doc_id", "uid"),
            text_at(content, "summary"),
            people,
            source=source if isinstance(source, str) else "",
            system=optional(content, "model"),
            sentences=sentences,
            labels=labels,
            kinds=tuple(sorted({str(kind) for kind in kinds} - {"no error"})) if isinstance(kinds, list) else (),
        )
    ]


def _sentences(content: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[bool | None, ...]]:
    """The sentences with whether people find them right: their label is of what is made up."""
    sentences, labels = content.get("sentences"), content.get("fact_verification_label")
    if not isinstance(sentences, list) or not isinstance(labels, list):
        return (), ()
    if len(sentences) != len(labels):
        raise UnreadableError(f"there are {len(labels)} labels of {len(sentences)} sentences")
    made_up = [number(label) for label in labels]
    return tuple(map(str, sentences)), tuple(None if one is None else not one for one in made_up)


UNISUMEVAL = Format("unisumeval", "UniSumEval", _FIELDS, _items, beside=("documents.jsonl",))
