"""The sources of experiments: files, folders, patterns, and files that hold many documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path
from typing import NamedTuple

from redraft.domain import Document
from redraft.errors import DocumentError, UsageError
from redraft.lab.agreement.people import FileEntry, UnreadableError, entries, mapping, text_at
from redraft.lab.experiments.data.read import LINES, SUFFIXES, examples_of, form_suffix
from redraft.readers.documents import finished, is_readable, load, read_text
from redraft.readers.formats import how_to_read, installed_for
from redraft.sources import STDIN, is_no_path
from redraft.text.words import count_words

_PATTERN = frozenset("*?[")


def documents_of(sources: Iterable[str]) -> list[Document]:
    """Return the documents of some sources in order, each document once.

    A source is a file, `-` for standard input, a folder of files, a pattern such as `books/*.txt`, or a dataset file in
    a known form, such as one with `id`, `title` and `text` on each line.
    """
    found: dict[str, Document] = {}
    for source in sources:
        for document in _documents(source):
            found.setdefault(document.id, document)
    return list(found.values())


def _documents(source: str) -> Iterator[Document]:
    if source == STDIN or is_no_path(source):
        yield load(source)
        return
    path = Path(source).expanduser()
    if path.is_dir():
        yield from _folder(path)
    elif path.exists() or not _PATTERN & {*source}:
        yield from _file(path)
    else:
        fitting = sorted(Path(one) for one in glob(str(path), recursive=True))
        if not fitting:
            raise DocumentError("no file fits the pattern", place=source, hint="check the path")
        for one in fitting:
            yield from _folder(one) if one.is_dir() else _file(one)


def _folder(folder: Path) -> Iterator[Document]:
    """Yield the documents of the readable files in a folder, without hidden files and subfolders.

    A dataset with one file per document is such a folder. Files in the other dataset formats are read only if nothing
    else is there, because beside documents they are metadata.
    """
    files = [one for one in sorted(folder.iterdir()) if one.is_file() and not one.name.startswith(".")]
    readable = [one for one in files if form_suffix(one) == LINES or is_readable(one)]
    readable = readable or [one for one in files if form_suffix(one) in SUFFIXES]
    if not readable:
        raise DocumentError("no file in it can be read", place=str(folder), hint=how_to_read())
    for one in readable:
        yield from _file(one)


def _file(path: Path) -> Iterator[Document]:
    if form_suffix(path) not in SUFFIXES or installed_for(path):
        yield load(path)
        return
    for one in examples_of(path):
        yield replace(finished(Document.from_text(one.text, one.title), one.title), source=path.name)


_SUFFIXES = (".txt", ".md")
_SHAPE = 'write lines such as {"document": "book", "system": "people", "summary": "..."}'


class FoundSummary(NamedTuple):
    """A summary as it was read, with its document and its system."""

    document: str
    system: str
    summary: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The existing summaries by system and document id. A document may have several by one system."""

    systems: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    strangers: int = 0
    """The number of summaries of documents outside the experiment."""


def read_ready(places: Sequence[str], documents: Sequence[Document]) -> Ready:
    """Return the existing summaries of some documents, read from DIR/SYSTEM/DOCUMENT.txt or from JSON lines."""
    names = _names(documents)
    systems: dict[str, dict[str, list[str]]] = {}
    strangers = 0
    for found in (one for place in places for one in _read(Path(place).expanduser())):
        document = names.get(found.document)
        if document is None:
            strangers += 1
        elif count_words(found.summary):
            systems.setdefault(found.system, {}).setdefault(document, []).append(found.summary)
    if places and not systems:
        raise UsageError(
            f"--summaries: none of the {strangers} summaries is of a document that takes part",
            place=places[0],
            hint=f"name them by the documents' files, such as {next(iter(names), 'book')}",
        )
    kept = {name: {key: tuple(texts) for key, texts in of_one.items()} for name, of_one in systems.items()}
    return Ready(kept, strangers)


def _names(documents: Sequence[Document]) -> dict[str, str]:
    """Return document ids by every name that a document may have; the first document with a name keeps it."""
    names: dict[str, str] = {}
    for document in documents:
        path = Path(document.source)
        # If a file holds many documents, none of them goes by the file's name.
        own = () if path.suffix.lower() in SUFFIXES else (document.source, path.name, path.stem)
        for name in (document.id, *own, document.title):
            names.setdefault(name, document.id)
    return names


def _read(place: Path) -> Iterator[FoundSummary]:
    if place.is_dir():
        return _of_folder(place)
    if not place.exists():
        raise UsageError("--summaries: there is no such file or folder", place=str(place))
    return _of_lines(place)


def _of_folder(place: Path) -> Iterator[FoundSummary]:
    for system in sorted(one for one in place.iterdir() if one.is_dir()):
        for file in sorted(one for one in system.iterdir() if one.suffix in _SUFFIXES):
            yield FoundSummary(file.stem, system.name, read_text(str(file)).text)


def _of_lines(place: Path) -> Iterator[FoundSummary]:
    for entry in entries(str(place)):
        if not isinstance(entry, FileEntry):
            raise UsageError(entry.message, place=f"{place}, {entry.place}", hint=_SHAPE)
        try:
            said = mapping(entry.content)
            yield FoundSummary(*(text_at(said, name) for name in FoundSummary._fields))
        except UnreadableError as error:
            raise UsageError(str(error), place=f"{place}, {entry.place}", hint=_SHAPE) from error
