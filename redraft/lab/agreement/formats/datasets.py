"""The annotation formats of public datasets: FABLES, FRANK, QAGS, Rank19, REALSumm, SummEdits, SummEval, UniSumEval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from redraft.domain import content_id
from redraft.lab.agreement.entries import (
    FileEntry,
    Library,
    UnreadableError,
    list_at,
    mapping,
    number,
    number_at,
    optional,
    summary_id,
    text_at,
)
from redraft.lab.agreement.formats.format import Format
from redraft.lab.agreement.people import Field, HumanItem

_LABELS = {"yes": 1.0, "no": 0.0, "partialsupport": 0.5, "partial support": 0.5}


def _parts(entry: FileEntry) -> Iterator[FileEntry]:
    """The claims of all summaries of all books."""
    for book, models in mapping(entry.content).items():
        for model, one in mapping(models).items():
            for named, claim in mapping(mapping(one).get("claims")).items():
                yield FileEntry(f"{book}, {model}, claim {named}", {"book": book, "model": model, "said": claim})


def _items(entry: FileEntry, _: Library) -> list[HumanItem]:
    said = mapping(entry.content["said"])
    label = optional(said, "label").strip().lower()
    if label not in _LABELS:
        raise UnreadableError(f"the label is {label!r:.40}, which says neither that it is so nor that it is not")
    book, model = str(entry.content["book"]), str(entry.content["model"])
    return [HumanItem("", book, text_at(said, "claim"), {"faithful": _LABELS[label]}, system=model)]


FABLES = Format("fables", "FABLES", {"faithful": Field(1.0, ("consistency", "faithfulness"))}, _items, parts=_parts)


_NOTHING_WRONG = "NoE"


def _items_of_frank(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = mapping(entry.content)
    sentences, votes, kinds = _sentences(content)
    labels = tuple(2 * sum(row) > len(row) for row in votes)
    people = {"factuality": sum(labels) / len(labels)} if labels else {"factuality": number_at(content, "Factuality")}
    document, model = text_at(content, "hash"), optional(content, "model_name")
    summary = " ".join(sentences) or known.get(summary_id(document, model), "") or text_at(content, "summary")
    article = content.get("article")
    return [
        HumanItem(
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
    _items_of_frank,
    beside=("benchmark_data.json",),
)


def _items_of_qags(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = mapping(entry.content)
    article = text_at(content, "article")
    parts = [mapping(one) for one in list_at(content, "summary_sentences")]
    if not parts:
        raise UnreadableError("the summary has no sentence")
    votes = [[_is_yes(vote) for vote in list_at(one, "responses")] for one in parts]
    if not all(votes):
        raise UnreadableError("nobody has voted on one of the sentences")
    labels = tuple(2 * sum(vote) > len(vote) for vote in votes)
    sentences = tuple(text_at(one, "sentence") for one in parts)
    people = {"consistency": fmean(labels)}
    return [
        HumanItem("", "", " ".join(sentences), people, source=article, sentences=sentences, labels=labels, votes=votes)
    ]


def _is_yes(vote: object) -> bool:
    said = mapping(vote).get("response")
    if said not in ("yes", "no"):
        raise UnreadableError(f"a response is {said!r:.40} where yes or no was expected")
    return bool(said == "yes")


QAGS = Format(
    "qags",
    "QAGS",
    {"consistency": Field(1.0, ("consistency", "faithfulness"))},
    _items_of_qags,
)


def _items_of_rank19(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = mapping(entry.content)
    article = optional(content, "article_id")
    # The release has no articles: without them the sentence that both were made from is the document.
    source = known.get(article) or text_at(content, "article", "article_sent")
    two = (("correct_sent", 1.0), ("incorrect_sent", 0.0))
    return [
        HumanItem(
            name.removesuffix("_sent"),
            article,
            text_at(content, name),
            {"consistency": value},
            source=source,
            pair=entry.place,
        )
        for name, value in two
    ]


RANK19 = Format("rank19", "Rank19", {"consistency": Field(1.0, ("consistency", "faithfulness"))}, _items_of_rank19)


def _items_of_realsumm(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = mapping(entry.content)
    document, source = optional(content, "id", "doc_id"), text_at(content, "document", "source")
    return [
        HumanItem(
            optional(one, "system"),
            document,
            text_at(one, "summary"),
            {"recall": number_at(one, "litepyramid_recall")},
            source=source,
            system=optional(one, "system"),
        )
        for one in map(mapping, list_at(content, "summaries"))
    ]


REALSUMM = Format("realsumm", "REALSumm", {"recall": Field(None, ("coverage", "keyfact_recall"))}, _items_of_realsumm)


def _items_of_summedits(entry: FileEntry, known: Library) -> list[HumanItem]:
    content = mapping(entry.content)
    name = "consistent" if "consistent" in content else "label"
    if (label := number_at(content, name)) not in (0, 1):
        raise UnreadableError(f"`{name}` is {label:g} where 0 or 1 was expected")
    # The release has the text itself; where documents stand apart there is an id in its place.
    document = text_at(content, "doc", "document")
    source = "" if document in known else document
    kinds = content.get("edit_types")
    return [
        HumanItem(
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
    _items_of_summedits,
    beside=("{stem}.documents.jsonl",),
)


_FIELDS = {
    "consistency": Field(5.0, ("consistency", "faithfulness")),
    "relevance": Field(5.0, ("coverage", "keyfact_recall")),
    "coherence": Field(5.0, ("booookscore",)),
    "fluency": Field(5.0),
}


def _items_of_summeval(entry: FileEntry, _: Library) -> list[HumanItem]:
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
        HumanItem(
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


SUMMEVAL = Format("summeval", "SummEval", _FIELDS, _items_of_summeval, beside=("documents.jsonl",))


_FIELDS_OF_UNISUMEVAL = {
    "faithfulness_score": Field(1.0, ("consistency", "faithfulness")),
    "completeness": Field(None, ("coverage", "keyfact_recall")),
    "conciseness": Field(None),
}


def _items_of_unisumeval(entry: FileEntry, _: Library) -> list[HumanItem]:
    content = mapping(entry.content)
    people = {field: value for field in _FIELDS_OF_UNISUMEVAL if (value := number(content.get(field))) is not None}
    sentences, labels = _sentences_of_unisumeval(content)
    if not people:
        raise UnreadableError(f"there is none of {', '.join(_FIELDS_OF_UNISUMEVAL)}")
    source = next((content[name] for name in ("transcript", "document", "input") if content.get(name)), "")
    kinds = content.get("fact_verification_error_type")
    return [
        HumanItem(
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


def _sentences_of_unisumeval(content: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[bool | None, ...]]:
    """The sentences with whether people find them right: their label is of what is made up."""
    sentences, labels = content.get("sentences"), content.get("fact_verification_label")
    if not isinstance(sentences, list) or not isinstance(labels, list):
        return (), ()
    if len(sentences) != len(labels):
        raise UnreadableError(f"there are {len(labels)} labels of {len(sentences)} sentences")
    made_up = [number(label) for label in labels]
    return tuple(map(str, sentences)), tuple(None if one is None else not one for one in made_up)


UNISUMEVAL = Format(
    "unisumeval", "UniSumEval", _FIELDS_OF_UNISUMEVAL, _items_of_unisumeval, beside=("documents.jsonl",)
)
