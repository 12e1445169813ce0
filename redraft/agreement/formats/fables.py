"""FABLES (Kim et al., 2024): claims of summaries of books, each with a label by somebody who has read the book. The
books are not in the release; they are looked for under their titles."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.agreement.entries import Entry, Library, UnreadableError, mapping, optional, text_at
from redraft.agreement.formats.format import Format
from redraft.agreement.people import Field, Item

_LABELS = {"yes": 1.0, "no": 0.0, "partialsupport": 0.5, "partial support": 0.5}


def _parts(entry: Entry) -> Iterator[Entry]:
    """The claims of all summaries of all books."""
    for book, models in mapping(entry.content).items():
        for model, one in mapping(models).items():
            for number, claim in mapping(mapping(one).get("claims")).items():
                yield Entry(f"{book}, {model}, claim {number}", {"book": book, "model": model, "said": claim})


def _items(entry: Entry, _: Library) -> list[Item]:
    said = mapping(entry.content["said"])
    label = optional(said, "label").strip().lower()
    if label not in _LABELS:
        raise UnreadableError(f"the label is {label!r:.40}, which says neither that it is so nor that it is not")
    book, model = str(entry.content["book"]), str(entry.content["model"])
    return [Item("", book, text_at(said, "claim"), {"faithful": _LABELS[label]}, system=model)]


FABLES = Format("fables", "FABLES", {"faithful": Field(1.0, ("consistency", "faithfulness"))}, _items, parts=_parts)
