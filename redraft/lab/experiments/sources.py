"""The sources of experiments: files, folders, patterns, and files that hold many documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path

from redraft.domain import Document
from redraft.errors import DocumentError, UsageError
from redraft.lab.agreement.people import UnreadableError, as_object, read_entries, text_at
from redraft.lab.experiments.datasets import LINES, SUFFIXES, read_examples
from redraft.readers.documents import installed_for, is_readable, load, prepared, read_text, unknown_type_hint
from redraft.sources import STDIN, is_inline_text
from redraft.text.words import has_words

_PATTERN = frozenset("*?[")
_SUFFIXES = (".txt", ".md")
DATASET = "dataset"
"""In place of a file with references: the first summary that the dataset has of each document."""
_SourceDocument = tuple[Document, str]
"""A document of a source, with the first summary that the source has of it, or an empty text."""


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
    if path.is_dir():
        files = [file for file in sorted(path.iterdir()) if file.suffix in _SUFFIXES]
        named_texts = [(file.stem, read_text(str(file)).text) for file in files]
    elif path.exists() and path.suffix.lower() == LINES:
        named_texts = [(name, text) for name, text in _of_fields(path, ("document", "summary"), _SHAPE_OF_REFERENCE)]
    elif len(documents) == 1:
        return {documents[0].id: read_text(place).text}
    else:
        hint = f"give a folder with a file for each document, JSON lines, or {DATASET} for a dataset's own summaries"
        raise UsageError("--reference: one document has a reference, not several", place=place, hint=hint)
    references = {names[name]: text for name, text in named_texts if name in names and has_words(text)}
    if not references:
        raise UsageError("--reference: none is of a document that takes part", place=place, hint=_SHAPE_OF_REFERENCE)
    return references


def _documents(source: str) -> Iterator[_SourceDocument]:
    """Yield the documents of a source; those of a folder are its readable files, without hidden ones and subfolders."""
    if source == STDIN or is_inline_text(source):
        yield load(source), ""
        return
    path = Path(source).expanduser()
    places = [path]
    if not path.exists() and _PATTERN & {*source}:
        places = sorted(Path(match) for match in glob(str(path), recursive=True))
        if not places:
            raise DocumentError("no file fits the pattern", place=source, hint="check the path")
    for place in places:
        for file in _readable_in(place) if place.is_dir() else [place]:
            if file.suffix.lower() not in SUFFIXES or installed_for(file):
                yield load(file), ""
                continue
            for example in read_examples(file):
                document = prepared(Document.from_text(example.text, example.title), example.title)
                summary = next((reference.text for reference in example.summaries), "")
                yield replace(document, source=file.name), summary


def _readable_in(folder: Path) -> list[Path]:
    """Return the files of a folder that can be read.

    A dataset with one file per document is such a folder. Files in the other dataset formats are read only if nothing
    else is there, because beside documents they are metadata.
    """
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.name.startswith(".")]
    readable = [file for file in files if file.suffix.lower() == LINES or is_readable(file)]
    readable = readable or [file for file in files if file.suffix.lower() in SUFFIXES]
    if not readable:
        raise DocumentError("no file in it can be read", place=str(folder), hint=unknown_type_hint())
    return readable


_SHAPE_OF_REFERENCE = 'name files by their documents, or write lines such as {"document": "book", "summary": "..."}'
_SHAPE = 'write lines such as {"document": "book", "system": "people", "summary": "..."}'


@dataclass(frozen=True, slots=True)
class ExistingSummaries:
    """The existing summaries by system and document id. A document may have several by one system."""

    systems: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    strangers: int = 0
    """The number of summaries of documents outside the experiment."""


def read_existing_summaries(places: Sequence[str], documents: Sequence[Document]) -> ExistingSummaries:
    """Return the existing summaries of some documents, read from DIR/SYSTEM/DOCUMENT.txt or from JSON lines."""
    names = _names(documents)
    systems: dict[str, dict[str, list[str]]] = {}
    strangers = 0
    for name, system, text in (summary for place in places for summary in _read(Path(place).expanduser())):
        document = names.get(name)
        if document is None:
            strangers += 1
        elif has_words(text):
            systems.setdefault(system, {}).setdefault(document, []).append(text)
    if places and not systems:
        raise UsageError(
            f"--summaries: none of the {strangers} summaries is of a document that takes part",
            place=places[0],
            hint=f"name them by the documents' files, such as {next(iter(names), 'book')}",
        )
    complete = {name: {key: tuple(texts) for key, texts in of_one.items()} for name, of_one in systems.items()}
    return ExistingSummaries(complete, strangers)


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


def _read(place: Path) -> Iterator[tuple[str, ...]]:
    """Yield the documents, systems and texts of summaries."""
    if not place.exists():
        raise UsageError("--summaries: there is no such file or folder", place=str(place))
    if not place.is_dir():
        yield from _of_fields(place, ("document", "system", "summary"), _SHAPE)
        return
    for system in sorted(path for path in place.iterdir() if path.is_dir()):
        for file in sorted(path for path in system.iterdir() if path.suffix in _SUFFIXES):
            yield file.stem, system.name, read_text(str(file)).text


def _of_fields(place: Path, names: Sequence[str], shape: str) -> Iterator[tuple[str, ...]]:
    """Yield the texts of some fields of each line."""
    for entry in read_entries(str(place)):
        try:
            content = as_object(entry.content)
            yield tuple(text_at(content, name) for name in names)
        except UnreadableError as error:
            raise UsageError(str(error), place=f"{place}, {entry.place}", hint=shape) from error
