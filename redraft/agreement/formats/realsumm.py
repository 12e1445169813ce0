"""REALSumm (Bhandari et al., 2020): the share of the reference's content that people found in systems' summaries, a
line for each document."""

from __future__ import annotations

from redraft.agreement.entries import Entry, Library, list_at, mapping, number_at, optional, text_at
from redraft.agreement.formats.format import Format
from redraft.agreement.people import Field, Item


def _items(entry: Entry, _: Library) -> list[Item]:
    content = mapping(entry.content)
    document, source = optional(content, "id", "doc_id"), text_at(content, "document", "source")
    return [
        Item(
            optional(one, "system"),
            document,
            text_at(one, "summary"),
            {"recall": number_at(one, "litepyramid_recall")},
            source=source,
            system=optional(one, "system"),
        )
        for one in map(mapping, list_at(content, "summaries"))
    ]


REALSUMM = Format("realsumm", "REALSumm", {"recall": Field(None, ("coverage", "keyfact_recall"))}, _items)
