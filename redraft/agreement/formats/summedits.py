"""SummEdits (Laban et al., 2023): summaries of which most are another's with one small edit, right or wrong."""

from __future__ import annotations

from redraft.agreement.entries import Entry, Library, UnreadableError, mapping, number_at, optional, text_at
from redraft.agreement.formats.format import Format
from redraft.agreement.people import Field, Item
from redraft.domain import content_id


def _items(entry: Entry, known: Library) -> list[Item]:
    content = mapping(entry.content)
    name = "consistent" if "consistent" in content else "label"
    if (label := number_at(content, name)) not in (0, 1):
        raise UnreadableError(f"`{name}` is {label:g} where 0 or 1 was expected")
    # The release has the text itself; where documents stand apart there is an id in its place.
    document = text_at(content, "doc", "document")
    source = "" if document in known else document
    kinds = content.get("edit_types")
    return [
        Item(
            optional(content, "id"),
            content_id(source)[:12] if source and "doc" in content else document,
            text_at(content, "summary"),
            {"consistency": label},
            source=source if "doc" in content else "",
            kinds=tuple(map(str, kinds)) if isinstance(kinds, list) else (),
        )
    ]


SUMMEDITS = Format(
    "summedits",
    "SummEdits",
    {"consistency": Field(1.0, ("consistency", "faithfulness"))},
    _items,
    beside=("{stem}.documents.jsonl",),
)
