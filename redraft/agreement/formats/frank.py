"""FRANK (Pagnoni et al., 2021): what three people find wrong with each sentence of systems' summaries, or only the
share of sentences that most find right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redraft.agreement.entries import (
    Entry,
    Library,
    UnreadableError,
    list_at,
    mapping,
    number_at,
    optional,
    summary_id,
    text_at,
)
from redraft.agreement.formats.format import Format
from redraft.agreement.people import Field, Item

_NOTHING_WRONG = "NoE"


def _items(entry: Entry, known: Library) -> list[Item]:
    content = mapping(entry.content)
    sentences, votes, kinds = _sentences(content)
    labels = tuple(2 * sum(row) > len(row) for row in votes)
    people = {"factuality": sum(labels) / len(labels)} if labels else {"factuality": number_at(content, "Factuality")}
    document, model = text_at(content, "hash"), optional(content, "model_name")
    summary = " ".join(sentences) or known.get(summary_id(document, model), "") or text_at(content, "summary")
    article = content.get("article")
    return [
        Item(
            model,
            document,
            summary,
            people,
            source=article if isinstance(article, str) else "",
            system=model,
            sentences=sentences,
            labels=labels,
            votes=votes,
            kinds=kinds,
        )
    ]


def _sentences(content: Mapping[str, Any]) -> tuple[tuple[str, ...], list[list[bool]], tuple[str, ...]]:
    """The sentences, whether each person finds each of them right, and what anybody finds wrong."""
    if "summary_sentences_annotations" not in content:
        return (), [], ()
    sentences = tuple(str(one) for one in list_at(content, "summary_sentences"))
    said = [_said(mapping(one)) for one in list_at(content, "summary_sentences_annotations")]
    if len(said) != len(sentences) or not all(said):
        raise UnreadableError(f"there are annotations of {len(said)} sentences, and {len(sentences)} sentences")
    kinds = {kind for people in said for errors in people for kind in errors} - {_NOTHING_WRONG}
    return sentences, [[_NOTHING_WRONG in errors for errors in people] for people in said], tuple(sorted(kinds))


def _said(people: Mapping[str, Any]) -> list[Sequence[str]]:
    return [[str(kind) for kind in errors] for errors in people.values() if isinstance(errors, list)]


FRANK = Format(
    "frank",
    "FRANK",
    {"factuality": Field(1.0, ("consistency", "faithfulness"))},
    _items,
    beside=("benchmark_data.json",),
)
