"""The published forms of public sets. A file is told by the fields of its first entry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.agreement.entries import UnreadableError, list_at, mapping, optional, text_at
from redraft.experiments.data.examples import Example, Form, Reference
from redraft.text.cleaning import clean, one_line

_TITLE = 80
_EXTRACT = re.compile(r"\[(XSUM|SN)\]([A-Z-]+)\[\1\]")
_FIRST, _REST, _HEAD = ("INTRODUCTION", "FIRST-SENTENCE"), "RESTBODY", "TITLE"
_DEEPEST = 20


def _documents(place: str, entry: Mapping[str, Any]) -> Example:
    """Our own: a text, with an id, a title and summaries where there are some."""
    identity = optional(entry, "id")
    title = one_line(optional(entry, "title", "book_title", "id")) or place
    return Example(place, identity, title, text_at(entry, "text"), tuple(_summaries(entry)))


def _summaries(entry: Mapping[str, Any]) -> Iterator[Reference]:
    """A summary, a list of them, or a list of objects with a text each, as cleaned BookSum has them."""
    for found in (entry.get("summary"), entry.get("summaries")):
        for one in found if isinstance(found, list) else [found]:
            text = one.get("text") if isinstance(one, Mapping) else one
            query = one.get("query") if isinstance(one, Mapping) else ""
            if isinstance(text, str) and text.strip():
                yield Reference(clean(text).strip(), query if isinstance(query, str) else "")


def _squality(place: str, entry: Mapping[str, Any]) -> Example:
    text = text_at(entry, "document")
    about = mapping(entry.get("metadata") or {})
    summaries = [
        Reference(text_at(mapping(one), "response_text"), text_at(mapping(question), "question_text"))
        for question in list_at(entry, "questions")
        for one in list_at(mapping(question), "responses")
    ]
    return Example(place, optional(about, "passage_id", "uid"), _first_line(text), text, tuple(summaries))


def _infinitebench(place: str, entry: Mapping[str, Any]) -> Example:
    answers = [clean(one).strip() for one in list_at(entry, "answer") if isinstance(one, str) and one.strip()]
    if not answers:
        raise UnreadableError("`answer` has no text")
    text, identity = text_at(entry, "context"), optional(entry, "id")
    return Example(place, identity, f"book {identity or place}", text, tuple(map(Reference, answers)))


def _booksum(place: str, entry: Mapping[str, Any]) -> Example:
    name = optional(entry, "summary_id", "chapter_path", "book_id")
    book = one_line(optional(entry, "book_id", "bid"))
    identity = f"{book} {name}".strip()
    summary = Reference(text_at(entry, "summary_text"))
    return Example(place, identity, one_line(identity) or place, text_at(entry, "chapter"), (summary,))


def _booksum_paths(place: str, entry: Mapping[str, Any]) -> Example:  # noqa: ARG001 - there is nothing to read in it
    raise UnreadableError("it only has the paths of texts: make a file that has the texts, as fetch-help booksum says")


def _pair(place: str, entry: Mapping[str, Any]) -> Example:
    identity = optional(entry, "id")
    text, summary = text_at(entry, "document"), Reference(text_at(entry, "summary"))
    return Example(place, identity, one_line(optional(entry, "title")) or identity or place, text, (summary,))


def _report(place: str, entry: Mapping[str, Any]) -> Example:
    """A report of GovReport: in one text, or in sections within sections."""
    identity = optional(entry, "id", "url")
    title = one_line(optional(entry, "title")) or identity or place
    text = _sectioned(entry.get("report") or entry.get("reports"))
    summary = _sectioned(entry.get("summary") or entry.get("highlight"))
    if not text or not summary:
        raise UnreadableError(f"there is no {'summary or highlight' if text else 'report'} with a text")
    return Example(place, identity, title, text, (Reference(summary),))


def _sectioned(found: object, depth: int = 0) -> str:
    """The paragraphs of sections, each under its title, and those of the sections within them."""
    if depth > _DEEPEST:
        raise UnreadableError(f"its sections are more than {_DEEPEST} deep")
    if isinstance(found, str):
        return clean(found).strip()
    if isinstance(found, list):
        return "\n\n".join(part for one in found if (part := _sectioned(one, depth + 1)))
    if isinstance(found, Mapping):
        parts = [_sectioned(found.get(name), depth + 1) for name in ("section_title", "paragraphs", "subsections")]
        return "\n\n".join(filter(None, parts))
    return ""


def _qmsum(place: str, entry: Mapping[str, Any]) -> Example:
    turns = [mapping(one) for one in list_at(entry, "meeting_transcripts")]
    text = "\n\n".join(f"{optional(one, 'speaker')}: {text_at(one, 'content')}" for one in turns if one.get("content"))
    asked: Sequence[Any] = [*list_at(entry, "general_query_list"), *list_at(entry, "specific_query_list")]
    summaries = [Reference(text_at(mapping(one), "answer"), text_at(mapping(one), "query")) for one in asked]
    return Example(place, "", f"meeting, {place}", clean(text), tuple(summaries))


def extract(place: str, text: str) -> Example | None:
    """An article as XSum's scripts extract it: what stands between marks. None where there are no marks."""
    parts = _EXTRACT.split(text)
    found = {parts[at + 1]: clean(parts[at + 2]).strip() for at in range(1, len(parts) - 2, 3)}
    first = next((found[name] for name in _FIRST if found.get(name)), "")
    if not first or not found.get(_REST):
        return None
    name = place.rsplit("/", 1)[-1].split(".")[0]
    return Example(place, name, one_line(found.get(_HEAD, "")) or name, found[_REST], (Reference(first),))


def _first_line(text: str) -> str:
    return one_line(next((line for line in text.split("\n") if line.strip()), ""), _TITLE)


FORMS: tuple[Form, ...] = (
    Form("squality", frozenset({"document", "questions"}), _squality),
    Form("qmsum", frozenset({"meeting_transcripts", "general_query_list"}), _qmsum),
    Form("infinitebench", frozenset({"context", "answer"}), _infinitebench),
    Form("booksum, paths", frozenset({"bid", "summary_path", "book_path"}), _booksum_paths),
    Form("booksum", frozenset({"chapter", "summary_text"}), _booksum),
    Form("booksum, paths", frozenset({"summary_path", "chapter_path"}), _booksum_paths),
    Form("report and summary", frozenset({"report", "summary"}), _report),
    Form("govreport, crs", frozenset({"reports", "summary"}), _report),
    Form("govreport, gao", frozenset({"report", "highlight"}), _report),
    Form("document and summary", frozenset({"document", "summary"}), _pair),
    Form("documents", frozenset({"text"}), _documents),
)
"""In the order in which they are tried."""


def form_of(entry: Mapping[str, Any]) -> Form | None:
    """The form that an entry has."""
    return next((one for one in FORMS if one.fields <= entry.keys()), None)
