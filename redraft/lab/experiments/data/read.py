"""Reading the files of public datasets of long documents."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from redraft.errors import UsageError
from redraft.lab.agreement.people import (
    FileEntry,
    FileProblem,
    UnreadableError,
    as_object,
    list_at,
    optional_text,
    parse_entries,
    text_at,
)
from redraft.sources import read_file, readable_size, size_limit
from redraft.text.sanitizer import clean, one_line
from redraft.text.tokens import Tokenizer


class ReferenceSummary(NamedTuple):
    """A summary that is part of a dataset, and the question it answers, if any."""

    text: str
    query: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """One document of a dataset."""

    place: str
    id: str
    title: str
    text: str
    summaries: tuple[ReferenceSummary, ...] = ()


class EntryForm(NamedTuple):
    """A form of file entries: its fields, and the function that makes an example of an entry."""

    name: str
    fields: frozenset[str]
    """The fields that identify an entry of this form: it has all of them."""
    read: Callable[[str, Mapping[str, Any]], Example]
    """Makes an example of an entry at a place; raises `UnreadableError` with what is missing."""


@dataclass(frozen=True, slots=True)
class DataContents:
    """The contents of a file."""

    path: str
    form: str
    examples: tuple[Example, ...]
    troubles: tuple[FileProblem, ...] = ()


def join_examples(examples: Iterable[Example], tokens: int, tokenizer: Tokenizer) -> Iterator[Example]:
    """Yield documents that each join as many consecutive examples as reach a number of tokens, as the traceability
    thesis joins the articles of XSum (section 4.4).

    Their first summaries are joined likewise. A shorter remainder at the end is left out.
    """
    joined: list[Example] = []
    long = 0
    for example in examples:
        if not example.summaries:
            continue
        joined.append(example)
        long += tokenizer.count(example.text)
        if long >= tokens:
            first, last = joined[0], joined[-1]
            name = f"{first.id or first.place} to {last.id or last.place}"
            summary = " ".join(example_.summaries[0].text for example_ in joined)
            text = "\n\n".join(example_.text for example_ in joined)
            yield Example(first.place, name, f"{len(joined)} articles, {name}", text, (ReferenceSummary(summary),))
            joined, long = [], 0


def as_line(example: Example) -> str:
    """Return an example as a line of redraft's own form."""
    summaries = [{"query": reference.query, "text": reference.text} for reference in example.summaries]
    content = {"id": example.id, "title": example.title, "text": example.text, "summaries": summaries}
    return json.dumps(content, ensure_ascii=False) + "\n"


_TITLE = 80
_HTML = ("<!doctype html", "<html")


def _documents(place: str, entry: Mapping[str, Any]) -> Example:
    """Return an example of redraft's own form: a text, with an optional id, title and summaries."""
    identity = optional_text(entry, "id")
    title = one_line(optional_text(entry, "title", "book_title", "id")) or place
    return Example(place, identity, title, text_at(entry, "text"), tuple(_summaries(entry)))


def _summaries(entry: Mapping[str, Any]) -> Iterator[ReferenceSummary]:
    """Yield the summaries: one text, a list of texts, or a list of objects with a text each, as in cleaned BookSum."""
    for value in (entry.get("summary"), entry.get("summaries")):
        for entry_of_value in value if isinstance(value, list) else [value]:
            text = entry_of_value.get("text") if isinstance(entry_of_value, Mapping) else entry_of_value
            query = entry_of_value.get("query") if isinstance(entry_of_value, Mapping) else ""
            if isinstance(text, str) and text.strip():
                yield ReferenceSummary(clean(text).strip(), query if isinstance(query, str) else "")


def _squality(place: str, entry: Mapping[str, Any]) -> Example:
    text = text_at(entry, "document")
    if text[:200].lower().startswith(_HTML):
        raise UnreadableError("its document is a page of HTML: use the file of the same name under txt")
    about = as_object(entry.get("metadata") or {})
    summaries = [
        ReferenceSummary(text_at(as_object(response), "response_text"), text_at(as_object(question), "question_text"))
        for question in list_at(entry, "questions")
        for response in as_object(question).get("responses") or ()
    ]
    first_line = one_line(next((line for line in text.split("\n") if line.strip()), ""), _TITLE)
    return Example(place, optional_text(about, "passage_id", "uid"), first_line, text, tuple(summaries))


def _infinitebench(place: str, entry: Mapping[str, Any]) -> Example:
    answers = [
        clean(answer).strip() for answer in list_at(entry, "answer") if isinstance(answer, str) and answer.strip()
    ]
    if not answers:
        raise UnreadableError("`answer` has no text")
    if entry.get("options"):
        raise UnreadableError("it is a multiple-choice question without a summary: use longbook_sum_eng.jsonl")
    text, identity, query = text_at(entry, "context"), optional_text(entry, "id"), optional_text(entry, "input")
    summaries = tuple(ReferenceSummary(answer, clean(query).strip()) for answer in answers)
    return Example(place, identity, f"book {identity or place}", text, summaries)


def _booksum(place: str, entry: Mapping[str, Any]) -> Example:
    name = optional_text(entry, "summary_id", "chapter_path", "book_id")
    book = one_line(optional_text(entry, "book_id", "bid"))
    title, source = one_line(f"{book} {name}"), one_line(optional_text(entry, "source"))
    # Several sites have a summary of the same chapter, each by its own author.
    identity = f"{title} ({source})" if title and source else title
    summary = ReferenceSummary(text_at(entry, "summary_text"))
    return Example(place, identity, title or place, text_at(entry, "chapter"), (summary,))


def _pair(place: str, entry: Mapping[str, Any]) -> Example:
    identity = optional_text(entry, "id")
    title = one_line(optional_text(entry, "title")) or identity or place
    summary = ReferenceSummary(text_at(entry, "summary"))
    return Example(place, identity, title, text_at(entry, "document", "report"), (summary,))


FORMS: tuple[EntryForm, ...] = (
    EntryForm("squality", frozenset({"document", "questions"}), _squality),
    EntryForm("infinitebench", frozenset({"context", "answer"}), _infinitebench),
    EntryForm("booksum", frozenset({"chapter", "summary_text"}), _booksum),
    EntryForm("report and summary", frozenset({"report", "summary"}), _pair),
    EntryForm("document and summary", frozenset({"document", "summary"}), _pair),
    EntryForm("documents", frozenset({"text"}), _documents),
)
"""The forms, in the order in which they are tried."""


LINES = ".jsonl"
SUFFIXES = frozenset({LINES, ".json", ".csv"})
"""The suffixes of files that hold the documents of a dataset and are not documents themselves."""
_HINT = "docs/experiments-report.md lists the forms that are known"
_PARQUET, _GZIP, _ZIPPED = b"PAR1", b"\x1f\x8b", ".gz"
_CONVERT = """convert it to JSON lines with pandas and pyarrow:
python -c "import pandas; pandas.read_parquet('set.parquet').to_json('set.jsonl', orient='records', lines=True)\""""
_LONGEST_CELL = 200_000_000


def read_contents(source: str | Path) -> DataContents:
    """Return what a file holds: its examples, and the entries that do not fit the form, with their places."""
    path = Path(source).expanduser()
    try:
        data = read_file(path)
    except OSError as error:
        hint = "check the path; a large file is read with --max-source 2GB"
        raise UsageError(f"it cannot be read: {error.strerror}", place=str(source), hint=hint) from error
    if data.startswith(_GZIP):
        limit = size_limit.get()
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(limit + 1)
        except (OSError, EOFError, zlib.error) as error:
            message = f"it cannot be unpacked: {error}"
            raise UsageError(message, place=str(source), hint="download it again") from error
        if len(data) > limit:
            hint, message = "a large file is read with --max-source 2GB", f"it has more than {readable_size(limit)}"
            raise UsageError(f"{message} when it is unpacked", place=str(source), hint=hint)
    if data.startswith(_PARQUET):
        raise UsageError("Parquet files cannot be read", place=str(source), hint=_CONVERT)
    form, examples, troubles = _read(path, data.decode("utf-8-sig", "replace"))
    return DataContents(str(source), form, tuple(examples), tuple(troubles))


def form_suffix(path: Path) -> str:
    """Return the suffix that gives a file's format, ignoring compression."""
    name = Path(path.stem) if path.suffix.lower() == _ZIPPED else path
    return name.suffix.lower()


def _read(path: Path, text: str) -> tuple[str, list[Example], list[FileProblem]]:
    form: EntryForm | None = None
    examples: list[Example] = []
    troubles: list[FileProblem] = []
    entries = list(_rows_of_read(text) if form_suffix(path) == ".csv" else parse_entries(text))
    if form_suffix(path) == ".json" and len(entries) == 1 and isinstance(entries[0], FileEntry):
        # In a dataset with one file per document, the file's name identifies the document.
        entries = [entries[0]._replace(place=path.name.split(".")[0])]
    objects = [
        file_entry
        for file_entry in entries
        if isinstance(file_entry, FileEntry) and isinstance(file_entry.content, Mapping)
    ]
    if len(entries) > 1 and not objects:
        return ("", [], [FileProblem("the file", "it contains no objects; plain text is a SOURCE without conversion")])
    for entry in entries:
        if isinstance(entry, FileProblem) or not isinstance(entry.content, Mapping):
            problem = entry if isinstance(entry, FileProblem) else FileProblem(entry.place, "there is no object")
            troubles.append(problem)
            continue
        form = form or next((known for known in FORMS if known.fields <= entry.content.keys()), None)
        if form is None:
            fields = ", ".join(map(one_line, list(entry.content)[:8])) or "none"
            troubles.append(FileProblem(entry.place, f"its form is not known; its fields are {fields}"))
            continue
        try:
            examples.append(form.read(entry.place, entry.content))
        except UnreadableError as error:
            troubles.append(FileProblem(entry.place, str(error)))
    return form.name if form else "", examples, troubles


def _rows_of_read(text: str) -> Iterator[FileEntry | FileProblem]:
    """Yield the rows of a CSV table with a header; a cell with a Python list stays a text."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline=""), strict=True), 1):
            if None in row or None in row.values():
                yield FileProblem(f"row {number}", "its number of cells differs from the header's")
            else:
                unfolded = {name: _list(cell) if cell.startswith("[") else cell for name, cell in row.items()}
                yield FileEntry(f"row {number}", unfolded)
    except csv.Error as error:
        yield FileProblem("the table", f"it cannot be read further: {error}")
    finally:
        csv.field_size_limit(before)


def _list(cell: str) -> Any:
    """Return a cell parsed if it is a JSON list, or else as it is."""
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def read_examples(source: str | Path) -> tuple[Example, ...]:
    """Return the examples of a file. Raise, with the place, if anything in it cannot be read."""
    contents = read_contents(source)
    if contents.troubles:
        first = contents.troubles[0]
        hint = f"{_HINT}; `redraft data convert` leaves out what cannot be read" if contents.examples else _HINT
        raise UsageError(first.message, place=f"{source}, {first.place}", hint=hint)
    if not contents.examples:
        raise UsageError("the file is empty", place=str(source), hint=_HINT)
    return contents.examples
