"""Rank19 (Falke et al., 2019): a right and a wrong sentence about the same sentence of an article."""

from __future__ import annotations

from redraft.agreement.entries import Entry, Library, mapping, optional, text_at
from redraft.agreement.formats.format import Format
from redraft.agreement.people import Field, Item


def _items(entry: Entry, known: Library) -> list[Item]:
    content = mapping(entry.content)
    article = optional(content, "article_id")
    # The release has no articles: without them the sentence that both were made from is the document.
    source = known.get(article) or text_at(content, "article", "article_sent")
    two = (("correct_sent", 1.0), ("incorrect_sent", 0.0))
    return [
        Item(
            name.removesuffix("_sent"),
            article,
            text_at(content, name),
            {"consistency": value},
            source=source,
            pair=entry.place,
        )
        for name, value in two
    ]


RANK19 = Format("rank19", "Rank19", {"consistency": Field(1.0, ("consistency", "faithfulness"))}, _items)
