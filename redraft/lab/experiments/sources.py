"""The documents of experiments: files, folders, patterns, and the files of public datasets of long documents, with
their statistics (the traceability thesis, table 4.1)."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from redraft.batches.sources import LINES, files_of
from redraft.domain import Document
from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.consistency import evenly_spread
from redraft.evaluators.statistics import mean, measures
from redraft.lab.agreement.people import (
    FileEntry,
    FileProblem,
    UnreadableError,
    as_object,
    data_text,
    list_at,
    optional_text,
    parse_entries,
    read_entries,
    text_at,
)
from redraft.lab.experiments.frames import Frame, as_table, frame_of
from redraft.readers.documents import installed_for, load, prepared, read_text
from redraft.report.tables import Report, figure, number, plain
from redraft.sources import STDIN, is_inline_text
from redraft.text.sanitizer import clean, one_line
from redraft.text.tokens import Tokenizer, tokenizer_named
from redraft.text.words import has_words

ReferenceSummary = tuple[str, str]
"""A summary that is part of a dataset, and the question it answers, or an empty text."""


@dataclass(frozen=True, slots=True)
class Example:
    """One document of a dataset."""

    place: str
    id: str
    title: str
    text: str
    summaries: tuple[ReferenceSummary, ...] = ()


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
            summary = " ".join(part.summaries[0][0] for part in joined)
            text = "\n\n".join(part.text for part in joined)
            yield Example(first.place, name, f"{len(joined)} articles, {name}", text, ((summary, ""),))
            joined, long = [], 0


def as_line(example: Example) -> str:
    """Return an example as a line of redraft's own form."""
    summaries = [{"query": query, "text": text} for text, query in example.summaries]
    content = {"id": example.id, "title": example.title, "text": example.text, "summaries": summaries}
    return json.dumps(content, ensure_ascii=False) + "\n"


_TITLE = 80
_HTML = ("<!doctype html", "<html")


def document_with_summaries(place: str, entry: Mapping[str, Any], texts: Sequence[str] = ("text",)) -> Example:
    """Return an example of redraft's own form, a text with an optional id, title and summaries; or of a set of pairs
    such as XSum or GovReport, whose `texts` have other names and a summary each."""
    identity = optional_text(entry, "id")
    title = one_line(optional_text(entry, "title", "book_title", "id")) or place
    summaries = _summaries(entry) if "text" in texts else [(text_at(entry, "summary"), "")]
    return Example(place, identity, title, text_at(entry, *texts), tuple(summaries))


def _summaries(entry: Mapping[str, Any]) -> Iterator[ReferenceSummary]:
    """Yield the summaries: one text, a list of texts, or a list of objects with a text each, as in cleaned BookSum."""
    for value in (entry.get("summary"), entry.get("summaries")):
        for entry_of_value in value if isinstance(value, list) else [value]:
            text = entry_of_value.get("text") if isinstance(entry_of_value, Mapping) else entry_of_value
            query = entry_of_value.get("query") if isinstance(entry_of_value, Mapping) else ""
            if isinstance(text, str) and text.strip():
                yield clean(text).strip(), query if isinstance(query, str) else ""


def squality(place: str, entry: Mapping[str, Any]) -> Example:
    """Return an example of SQuALITY: a story with questions, each with the answers of several people."""
    text = text_at(entry, "document")
    if text[:200].lower().startswith(_HTML):
        raise UnreadableError("its document is a page of HTML: use the file of the same name under txt")
    about = as_object(entry.get("metadata") or {})
    summaries = [
        (text_at(as_object(response), "response_text"), text_at(as_object(question), "question_text"))
        for question in list_at(entry, "questions")
        for response in as_object(question).get("responses") or ()
    ]
    first_line = one_line(next((line for line in text.split("\n") if line.strip()), ""), _TITLE)
    return Example(place, optional_text(about, "passage_id", "uid"), first_line, text, tuple(summaries))


def infinitebench(place: str, entry: Mapping[str, Any]) -> Example:
    """Return an example of InfiniteBench: a book with a question, and its answers."""
    answers = [clean(text).strip() for text in list_at(entry, "answer") if isinstance(text, str) and text.strip()]
    if not answers:
        raise UnreadableError("`answer` has no text")
    if entry.get("options"):
        raise UnreadableError("it is a multiple-choice question without a summary: use longbook_sum_eng.jsonl")
    text, identity, query = text_at(entry, "context"), optional_text(entry, "id"), optional_text(entry, "input")
    summaries = tuple((answer, clean(query).strip()) for answer in answers)
    return Example(place, identity, f"book {identity or place}", text, summaries)


def booksum(place: str, entry: Mapping[str, Any]) -> Example:
    """Return an example of BookSum: a chapter with the summary of one site."""
    name = optional_text(entry, "summary_id", "chapter_path", "book_id")
    book = one_line(optional_text(entry, "book_id", "bid"))
    title, source = one_line(f"{book} {name}"), one_line(optional_text(entry, "source"))
    # Several sites have a summary of the same chapter, each by its own author.
    identity = f"{title} ({source})" if title and source else title
    summaries = ((text_at(entry, "summary_text"), ""),)
    return Example(place, identity, title or place, text_at(entry, "chapter"), summaries)


_pair = partial(document_with_summaries, texts=("document", "report"))
FORMS: Mapping[str, tuple[frozenset[str], Callable[[str, Mapping[str, Any]], Example]]] = {
    "squality": (frozenset({"document", "questions"}), squality),
    "infinitebench": (frozenset({"context", "answer"}), infinitebench),
    "booksum": (frozenset({"chapter", "summary_text"}), booksum),
    "report and summary": (frozenset({"report", "summary"}), _pair),
    "document and summary": (frozenset({"document", "summary"}), _pair),
    "documents": (frozenset({"text"}), document_with_summaries),
}
"""The forms of file entries, in the order in which they are tried: an entry of a form has all of its fields. The
function makes an example of an entry at a place, and raises `UnreadableError` with what is missing."""


SUFFIXES = frozenset({LINES, ".json", ".csv"})
"""The suffixes of files that hold the documents of a dataset and are not documents themselves."""
_HINT = "docs/experiments-report.md lists the forms that are known"
_LONGEST_CELL = 200_000_000


def read_contents(source: str | Path) -> DataContents:
    """Return what a file holds: its examples, and the entries that do not fit the form, with their places."""
    path, text, form = Path(source), data_text(str(source)), ""
    examples: list[Example] = []
    troubles: list[FileProblem] = []
    suffix = path.suffix.lower()
    entries = list(csv_rows(text) if suffix == ".csv" else parse_entries(text))
    if suffix == ".json" and len(entries) == 1:
        # In a dataset with one file per document, the file's name identifies the document.
        entries = [(path.name.split(".")[0], entries[0][1])]
    if len(entries) > 1 and not any(isinstance(content, Mapping) for _, content in entries):
        problem = "the file", "it contains no objects; plain text is a SOURCE without conversion"
        return DataContents(str(source), "", (), (problem,))
    for place, entry in entries:
        try:
            content = as_object(entry)
            form = form or next((name for name, (fields, _) in FORMS.items() if fields <= content.keys()), "")
            if not form:
                fields = ", ".join(map(one_line, list(content)[:8])) or "none"
                raise UnreadableError(f"its form is not known; its fields are {fields}")
            examples.append(FORMS[form][1](place, content))
        except UnreadableError as error:
            troubles.append((place, str(error)))
    return DataContents(str(source), form, tuple(examples), tuple(troubles))


def csv_rows(text: str) -> Iterator[FileEntry]:
    """Yield the rows of a CSV table with a header; a cell with a Python list stays a text."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline=""), strict=True), 1):
            if None in row or None in row.values():
                yield f"row {number}", UnreadableError("its number of cells differs from the header's")
            else:
                for name, cell in row.items():
                    # A JSON list is one; a Python list stays a text.
                    with suppress(ValueError, RecursionError):
                        row[name] = json.loads(cell) if cell.startswith("[") else cell
                yield f"row {number}", row
    except csv.Error as error:
        yield "the table", UnreadableError(f"it cannot be read further: {error}")
    finally:
        csv.field_size_limit(before)


def read_examples(source: str | Path) -> tuple[Example, ...]:
    """Return the examples of a file. Raise, with the place, if anything in it cannot be read."""
    contents = read_contents(source)
    if contents.troubles:
        place, message = contents.troubles[0]
        hint = f"{_HINT}; `redraft data convert` leaves out what cannot be read" if contents.examples else _HINT
        raise UsageError(message, place=f"{source}, {place}", hint=hint)
    if not contents.examples:
        raise UsageError("the file is empty", place=str(source), hint=_HINT)
    return contents.examples


VOCABULARY = "cl100k_base"
_FIGURES: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "CRT": lambda measured: measured["compression"]["tokens"],
    "CRS": lambda measured: measured["compression"]["sentences"],
    "EC": lambda measured: measured["extractive"]["coverage"],
    "ED": lambda measured: measured["extractive"]["density"],
    "redundancy": lambda measured: measured["redundancy"],
    "uniformity": lambda measured: measured["uniformity"],
    "words of a document": lambda measured: measured["source"]["words"],
    "words of a summary": lambda measured: measured["summary"]["words"],
    "tokens of a document": lambda measured: measured["source"]["tokens"],
    "tokens of a summary": lambda measured: measured["summary"]["tokens"],
}


def description(files: Sequence[DataContents], sample: int | None) -> Report:
    """Return table 4.1 of some files, over all their documents or an evenly spread sample of each file."""
    tokenizer = tokenizer_named(VOCABULARY)
    items = [item for contents in files for item in _measured(contents, sample, tokenizer)]
    read = sum(len(contents_of_file.examples) for contents_of_file in files)
    measured = len({(item["file"], item["place"]) for item in items})
    basis = f"Based on {len(items)} summaries of {measured} of {read} documents."
    rows = []
    for contents in files:
        of_file = [item for item in items if item["file"] == contents.path]
        counts = {"documents": len({item["place"] for item in of_file}), "summaries": len(of_file)}
        means = {name: mean([item[name] for item in of_file]) for name in _FIGURES}
        rows.append({"file": contents.path, "form": contents.form, **counts, **means})
    frame = frame_of(rows)
    statistics = as_table("data", "statistics", frame, basis, tokenizer=tokenizer.name)
    unread = [(contents.path, *trouble) for contents in files for trouble in contents.troubles]
    problems = Frame(unread, columns=["file", "place", "what"], dtype=object)
    entries = f"Based on {read + len(problems)} entries."
    about = [f"{plain(contents.path)}: {contents.form or 'unknown form'}" for contents in files]
    lines = [
        f"{plain(str(record['file']))}: {record['summaries']} summaries, CRT {figure(number(record['CRT']))},"
        f" uniformity {figure(number(record['uniformity']))}"
        for record in statistics.records[:8]
    ]
    troubles = as_table("data", "unreadable", problems, entries)
    settings = {"files": [contents.path for contents in files], "sample": sample, "tokenizer": tokenizer.name}
    return Report("data", "Statistics of sets", tuple(about), settings, (statistics, troubles), items, tuple(lines))


def _measured(contents: DataContents, sample: int | None, tokenizer: Tokenizer) -> Iterator[dict[str, Any]]:
    for example in evenly_spread(contents.examples, sample or len(contents.examples)):
        if not has_words(example.text):
            continue
        long = tokenizer.count(example.text)
        for place, (summary, _) in enumerate(example.summaries, 1):
            texts = [statement.sentence for statement in statements_of(summary)]
            if not texts:
                continue
            measured = measures(example.text, summary, texts, (long, tokenizer.count(summary)))
            head = {"file": contents.path, "place": example.place, "id": example.id, "summary": place}
            yield {**head, **{name: read(measured) for name, read in _FIGURES.items()}}


_SUFFIXES = (".txt", ".md")
DATASET = "dataset"
"""In place of a file with references: the first summary that the dataset has of each document."""


@dataclass(slots=True)
class Corpus:
    """The documents of an experiment, each with its dataset (for results per dataset) and its reference summary."""

    documents: list[Document] = field(default_factory=list)
    sets: dict[str, str] = field(default_factory=dict)
    """The name of its source, by document id."""
    references: dict[str, str] = field(default_factory=dict)
    """Its reference summary, by document id."""
    notes: list[str] = field(default_factory=list)


def corpus(
    sources: Iterable[str],
    reference: str | None = None,
    *,
    by_source: bool = False,
    least: int = 0,
    count: Callable[[str], int] = len,
) -> Corpus:
    """Return the documents of some sources, each once, that have `least` tokens by `count`, with their references.

    A source is a file, `-` for standard input, a folder of files, a pattern such as `books/*.txt`, or a dataset file in
    a known form, such as one with `id`, `title` and `text` on each line.
    `reference` is a file with the summary of the only document, a folder or JSON lines with one for each, or `DATASET`.
    """
    by_id: dict[str, tuple[str, Document, str]] = {}
    for source in sources:
        for document, summary in _documents(source):
            by_id.setdefault(document.id, (source, document, summary))
    long = {key: entry for key, entry in by_id.items() if not least or count(entry[1].text) >= least}
    if by_id and not long:
        raise UsageError(f"--min-tokens: no document has {least:,} tokens", hint="give longer ones, or a lower minimum")
    result = Corpus([document for _, document, _ in long.values()])
    if len(long) < len(by_id):
        result.notes.append(f"{len(by_id) - len(long)} of {len(by_id)} documents have fewer than {least:,} tokens")
    if by_source:
        # A set has the name that its path ends with, or all of it where several end alike.
        ends = {source: Path(source).name.split(".")[0] or source for source, *_ in long.values()}
        same = Counter(ends.values())
        result.sets = {key: ends[of] if same[ends[of]] == 1 else of for key, (of, *_) in long.items()}
    if reference:
        own_summaries = {key: summary for key, (_, _, summary) in long.items() if summary}
        result.references = own_summaries if reference == DATASET else read_references_of(reference, result.documents)
        if lacking := len(long) - len(result.references):
            result.notes.append(f"{lacking} of {len(long)} documents have no reference")
    return result


def read_references_of(place: str, documents: Sequence[Document]) -> dict[str, str]:
    """Return the reference summaries of some documents by id, read from a file or a folder."""
    path, names = Path(place).expanduser(), _names(documents)
    if not path.is_dir() and not (path.exists() and path.suffix.lower() == LINES):
        if len(documents) == 1:
            return {documents[0].id: read_text(place).text}
        hint = f"give a folder with a file for each document, JSON lines, or {DATASET} for a dataset's own summaries"
        raise UsageError("--reference: one document has a reference, not several", place=place, hint=hint)
    texts = _named_texts(path, ("document", "summary"), _SHAPE_OF_REFERENCE)
    references = {names[name]: text for name, text in texts if name in names and has_words(text)}
    if not references:
        raise UsageError("--reference: none is of a document that takes part", place=place, hint=_SHAPE_OF_REFERENCE)
    return references


def _documents(source: str) -> Iterator[tuple[Document, str]]:
    """Yield the documents of a source, each with the first summary that the source has of it, or an empty text. Those
    of a folder are its readable files, without hidden ones and subfolders."""
    if source == STDIN or is_inline_text(source):
        yield load(source), ""
        return
    # A dataset with one file per document is a folder of lines. Files in the other dataset formats are read only if
    # nothing else is there, because beside documents they are metadata.
    for file in files_of(source, SUFFIXES):
        if file.suffix.lower() not in SUFFIXES or installed_for(file):
            yield load(file), ""
            continue
        for example in read_examples(file):
            document = prepared(Document.from_text(example.text, example.title), example.title)
            summary = next((text for text, _ in example.summaries), "")
            yield replace(document, source=file.name), summary


_SHAPE_OF_REFERENCE = 'name files by their documents, or write lines such as {"document": "book", "summary": "..."}'
_SHAPE = 'write lines such as {"document": "book", "system": "people", "summary": "..."}'


ExistingSummaries = Mapping[str, Mapping[str, tuple[str, ...]]]
"""The existing summaries by system and document id. A document may have several by one system."""


def read_existing_summaries(places: Sequence[str], documents: Sequence[Document]) -> tuple[ExistingSummaries, int]:
    """Return the existing summaries of some documents, read from DIR/SYSTEM/DOCUMENT.txt or from JSON lines, and the
    number of those of other documents."""
    names = _names(documents)
    systems: dict[str, dict[str, list[str]]] = {}
    strangers = 0
    for place in places:
        path = Path(place).expanduser()
        if not path.exists():
            raise UsageError("--summaries: there is no such file or folder", place=place)
        for name, system, text in _named_texts(path, ("document", "system", "summary"), _SHAPE):
            document = names.get(name)
            if document is None:
                strangers += 1
            elif has_words(text):
                systems.setdefault(system, {}).setdefault(document, []).append(text)
    if places and not systems:
        problem = f"--summaries: none of the {strangers} summaries is of a document that takes part"
        hint = f"name them by the documents' files, such as {next(iter(names), 'book')}"
        raise UsageError(problem, place=places[0], hint=hint)
    return {name: {key: tuple(texts) for key, texts in of_one.items()} for name, of_one in systems.items()}, strangers


def _names(documents: Sequence[Document]) -> dict[str, str]:
    """Return document ids by every name that a document may have; the first document with a name keeps it."""
    names: dict[str, str] = {}
    for document in documents:
        path = Path(document.source)
        # If a file holds many documents, none of them goes by the file's name.
        file_names = () if path.suffix.lower() in SUFFIXES else (document.source, path.name, path.stem)
        for name in (document.id, *file_names, document.title):
            names.setdefault(name, document.id)
    return names


def _named_texts(place: Path, names: Sequence[str], shape: str) -> Iterator[tuple[str, ...]]:
    """Yield the texts of these names in each line of a file; or the texts of a folder, whose files are named by their
    documents, and whose folders by their systems where these are asked for."""
    if place.is_dir():
        folders = sorted(path for path in place.iterdir() if path.is_dir()) if "system" in names else [place]
        for file in (file for folder in folders for file in sorted(folder.iterdir()) if file.suffix in _SUFFIXES):
            system = [file.parent.name] if "system" in names else []
            yield file.stem, *system, read_text(str(file)).text
        return
    for of_entry, raw in read_entries(str(place)):
        try:
            content = as_object(raw)
            yield tuple(text_at(content, name) for name in names)
        except UnreadableError as error:
            raise UsageError(str(error), place=f"{place}, {of_entry}", hint=shape) from error
