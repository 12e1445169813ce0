"""SummEval (Fabbri et al., 2021): experts' ratings from 1 to 5 of sixteen systems' summaries; as it was released, with
the documents in a file of their own, or with one rating a summary."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from redraft.agreement.entries import Entry, Library, UnreadableError, mapping, number, optional, text_at
from redraft.agreement.formats.format import Format
from redraft.agreement.people import Field, Item

_FIELDS = {
    "consistency": Field(5.0, ("consistency", "faithfulness")),
    "relevance": Field(5.0, ("coverage", "keyfact_recall")),
    "coherence": Field(5.0, ("booookscore",)),
    "fluency": Field(5.0),
}


def _items(entry: Entry, _: Library) -> list[Item]:
    content = mapping(entry.content)
    ratings = _ratings(content)
    people = {
        field: fmean(known)
        for field in _FIELDS
        if (known := [value for one in ratings if (value := number(one.get(field))) is not None])
    }
    if not people:
        raise UnreadableError("there are no ratings: `human` or `expert_annotations`")
    votes = [[number(one.get("consistency")) for one in ratings]] if len(ratings) > 1 else []
    document = text_at(content, "id")
    summary = text_at(content, "summary", "decoded")
    source = content.get("text") or content.get("source") or ""
    return [
        Item(
            optional(content, "system", "model_id"),
            document,
            summary,
            people,
            source=source if isinstance(source, str) else "",
            system=optional(content, "system", "model_id"),
            votes=votes,
        )
    ]


def _ratings(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    experts = content.get("expert_annotations")
    return [mapping(one) for one in (experts if isinstance(experts, list) else [content.get("human") or {}])]


SUMMEVAL = Format("summeval", "SummEval", _FIELDS, _items, beside=("documents.jsonl",))
