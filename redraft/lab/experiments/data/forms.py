"""The published forms of public sets. A file is told by the fields of its first entry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.lab.agreement.entries import UnreadableError, list_at, mapping, optional, text_at
from redraft.lab.experiments.data.sets import Example, FileForm, ReferenceSummary
from redraft.text.cleaning import clean, one_line

_TITLE = 80
_EXTRACT = re.compile(r"\[(XSUM|SN)\]([A-Z-]+)\[\1\]")
_FIRST, _REST, _HEAD = ("INTRODUCTION", "FIRST-SENTENCE"), "RESTBODY", "TITLE"
_DEEPEST = 20
_SECTION = ("section_title", "paragraphs", "subsections")
_HTML = ("<!doctype html", "<html")
# The bodies of GAO's reports stand under this heading, which the set as its paper has it leaves out; and so it does
# with the last part of what GAO's page says of a report.
_LETTER, _RECOMMENDS = "Letter", "What GAO Recommends"


def _documents(place: str, entry: Mapping[str, Any]) -> Example:
    """Our own: a text, with an id, a title and summaries where there are some."""
    identity = optional(entry, "id")
    title = one_line(optional(entry, "title", "book_title", "id")) or place
    return Example(place, identity, title, text_at(entry, "text"), tuple(_summaries(entry)))


def _summaries(entry: Mapping[str, Any]) -> Iterator[ReferenceSummary]:
    """A summary, a list of them, or a list of objects with a text each, as cleaned BookSum has them."""
    for found in (entry.get("summary"), entry.get("summaries")):
        for one in found if isinstance(found, list) else [found]:
            text = one.get("text") if isinstance(one, Mapping) else one
            query = one.get("query") if isinstance(one, Mapping) else ""
            if isinstance(text, str) and text.strip():
                yield ReferenceSummary(clean(text).strip(), query if isinstance(query, str) else "")


def _squality(place: str, entry: Mapping[str, Any]) -> Example:
    text = text_at(entry, "document")
    if text[:200].lower().startswith(_HTML):
        raise UnreadableError("its document is a page of HTML: take the file of the same name under txt")
    about = mapping(entry.get("metadata") or {})
    summaries = [
        ReferenceSummary(text_at(mapping(one), "response_text"), text_at(mapping(question), "question_text"))
        for question in list_at(entry, "questions")
        for one in mapping(question).get("responses") or ()
    ]
    return Example(place, optional(about, "passage_id", "uid"), _first_line(text), text, tuple(summaries))


def _infinitebench(place: str, entry: Mapping[str, Any]) -> Example:
    answers = [clean(one).strip() for one in list_at(entry, "answer") if isinstance(one, str) and one.strip()]
    if not answers:
        raise UnreadableError("`answer` has no text")
    if entry.get("options"):
        raise UnreadableError("it has options to choose from, and no summary: take longbook_sum_eng.jsonl")
    text, identity, asked = text_at(entry, "context"), optional(entry, "id"), optional(entry, "input")
    summaries = tuple(ReferenceSummary(one, clean(asked).strip()) for one in answers)
    return Example(place, identity, f"book {identity or place}", text, summaries)


def _booksum(place: str, entry: Mapping[str, Any]) -> Example:
    name = optional(entry, "summary_id", "chapter_path", "book_id")
    book = one_line(optional(entry, "book_id", "bid"))
    title, source = one_line(f"{book} {name}"), one_line(optional(entry, "source"))
    # Several people have summarized the same chapter, each for a site of their own.
    identity = f"{title} ({source})" if title and source else title
    summary = ReferenceSummary(text_at(entry, "summary_text"))
    return Example(place, identity, title or place, text_at(entry, "chapter"), (summary,))


def _booksum_paths(place: str, entry: Mapping[str, Any]) -> Example:  # noqa: ARG001 - there is nothing to read in it
    raise UnreadableError("it only has the paths of texts: make a file that has the texts, as fetch-help booksum says")


def _pair(place: str, entry: Mapping[str, Any]) -> Example:
    identity = optional(entry, "id")
    text, summary = text_at(entry, "document"), ReferenceSummary(text_at(entry, "summary"))
    return Example(place, identity, one_line(optional(entry, "title")) or identity or place, text, (summary,))


def _report(place: str, entry: Mapping[str, Any]) -> Example:
    """A report of GovReport: in one text, or in sections within sections."""
    identity = optional(entry, "id", "url")
    title = one_line(optional(entry, "title")) or identity or place
    text = _sectioned(entry.get("report") or entry.get("reports"))
    summary = _sectioned(entry.get("summary")) or _highlights(entry.get("highlight"))
    if not text or not summary:
        raise UnreadableError(f"there is no {'summary or highlight' if text else 'report'} with a text")
    return Example(place, identity, title, text, (ReferenceSummary(summary),))


def _highlights(found: object) -> str:
    """What GAO's page says of a report, without the headings of its parts and without what is recommended."""
    parts = found if isinstance(found, list) else [found]
    told = [one for one in parts if not (isinstance(one, Mapping) and one.get("section_title") == _RECOMMENDS)]
    return _sectioned([one.get("paragraphs") if isinstance(one, Mapping) else one for one in told])


def _structure(place: str, entry: Mapping[str, Any]) -> Example:
    """A report of GovReport whose sections stand one after the other, with the titles in a list of their own."""
    identity = optional(entry, "id")
    text = _sectioned(_rows(mapping(entry["document_sections"])))
    summary = _sectioned([one["paragraphs"] for one in _rows(mapping(entry["summary_sections"]))])
    if not text or not summary:
        raise UnreadableError(f"there is no {'summary' if text else 'report'} with a text")
    return Example(place, identity, identity or place, text, (ReferenceSummary(summary),))


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    titles, paragraphs = list_at(columns, "title"), list_at(columns, "paragraphs")
    if len(titles) != len(paragraphs):
        raise UnreadableError("it has another number of titles than of paragraphs")
    lines = [text.split("\n") if isinstance(text, str) else text for text in paragraphs]
    return [{"section_title": title, "paragraphs": own} for title, own in zip(titles, lines, strict=True)]


def _sectioned(found: object, depth: int = 0) -> str:
    """The paragraphs of sections, each under its title, and those of the sections within them."""
    if depth > _DEEPEST:
        raise UnreadableError(f"its sections are more than {_DEEPEST} deep")
    if isinstance(found, str):
        # In a list each paragraph is one text, and its lines are those of the page that it was taken from.
        return one_line(found) if depth else clean(found).strip()
    if isinstance(found, list):
        return "\n\n".join(part for one in found if (part := _sectioned(one, depth + 1)))
    if isinstance(found, Mapping):
        names = ("paragraphs", "subsections") if found.get("section_title") == _LETTER else _SECTION
        return "\n\n".join(part for name in names if (part := _sectioned(found.get(name), depth + 1)))
    return ""


def _qmsum(place: str, entry: Mapping[str, Any]) -> Example:
    turns = [mapping(one) for one in list_at(entry, "meeting_transcripts")]
    text = "\n\n".join(f"{optional(one, 'speaker')}: {text_at(one, 'content')}" for one in turns if one.get("content"))
    asked: Sequence[Any] = [*list_at(entry, "general_query_list"), *list_at(entry, "specific_query_list")]
    summaries = [ReferenceSummary(text_at(mapping(one), "answer"), text_at(mapping(one), "query")) for one in asked]
    return Example(place, "", f"meeting, {place}", clean(text), tuple(summaries))


def extract(place: str, text: str) -> Example | None:
    """An article as XSum's scripts extract it: what stands between marks. None where there are no marks."""
    parts = _EXTRACT.split(text)
    found = {parts[at + 1]: clean(parts[at + 2]).strip() for at in range(1, len(parts) - 2, 3)}
    first = next((found[name] for name in _FIRST if found.get(name)), "")
    if not first or not found.get(_REST):
        return None
    name = place.rsplit("/", 1)[-1].split(".")[0]
    return Example(place, name, one_line(found.get(_HEAD, "")) or name, found[_REST], (ReferenceSummary(first),))


def _first_line(text: str) -> str:
    return one_line(next((line for line in text.split("\n") if line.strip()), ""), _TITLE)


FORMS: tuple[FileForm, ...] = (
    FileForm("squality", frozenset({"document", "questions"}), _squality),
    FileForm("qmsum", frozenset({"meeting_transcripts", "general_query_list"}), _qmsum),
    FileForm("infinitebench", frozenset({"context", "answer"}), _infinitebench),
    FileForm("booksum, paths", frozenset({"bid", "summary_path", "book_path"}), _booksum_paths),
    FileForm("booksum", frozenset({"chapter", "summary_text"}), _booksum),
    FileForm("booksum, paths", frozenset({"summary_path", "chapter_path"}), _booksum_paths),
    FileForm("report and summary", frozenset({"report", "summary"}), _report),
    FileForm("govreport, crs", frozenset({"reports", "summary"}), _report),
    FileForm("govreport, gao", frozenset({"report", "highlight"}), _report),
    FileForm("govreport, structure", frozenset({"document_sections", "summary_sections"}), _structure),
    FileForm("document and summary", frozenset({"document", "summary"}), _pair),
    FileForm("documents", frozenset({"text"}), _documents),
)
"""In the order in which they are tried."""


def form_of(entry: Mapping[str, Any]) -> FileForm | None:
    """The form that an entry has."""
    return next((one for one in FORMS if one.fields <= entry.keys()), None)
