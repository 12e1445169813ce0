"""Human judgments of summaries as records, and how files of JSON are read entry by entry."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from redraft.errors import UsageError
from redraft.lab.declared import declared
from redraft.sources import read_file
from redraft.text.sanitizer import clean, one_line

Rating = float | str | bool
Ratings = Sequence[Sequence[Rating | None]]
"""One row per item and one column per rater; None if a rater did not rate an item."""
_IDS = ("id", "doc_id", "document_id", "article_id", "hash", "uid", "title")
_TEXTS = ("text", "source_text", "document", "article", "transcript", "source", "doc", "input", "article_text")
_SHOWN = 120
_SEED = 0


@dataclass(frozen=True, slots=True)
class HumanItem:
    """A summary, or a claim, with its human judgments by field."""

    id: str
    document: str
    """The id of its document; all items of a document are resampled together."""
    summary: str
    people: Mapping[str, float]
    source: str = ""
    """The document's text."""
    system: str = ""
    """The system that wrote it, where known."""
    sentences: tuple[str, ...] = ()
    """The sentences of the summary as people judged them, where they judged single sentences."""
    labels: tuple[bool | None, ...] = ()
    """Whether people find each sentence right; None where they did not say."""
    votes: Ratings = ()
    """The answers of several people, one row per question."""

    @property
    def text(self) -> str:
        """The summary as a judge reads it, divided into the sentences that people judged."""
        return "\n\n".join(self.sentences) or self.summary


FileEntry = tuple[str, Any]
"""The place of an entry, in words, and its content: an `UnreadableError` where it is not JSON, or not whole."""
FileProblem = tuple[str, str]
"""The place of a part of a file that could not be read, and the reason."""


class UnreadableError(ValueError):
    """Raised for an entry with a missing or malformed field."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """The contents of a file, as far as they could be read."""

    name: str
    fields: Mapping[str, float]
    """What people rated, with the rating of a summary without errors; 0 if they were asked something else."""
    items: tuple[HumanItem, ...]
    troubles: tuple[FileProblem, ...] = ()

    def measured(self, metric: str) -> list[str]:
        """Return the fields of human judgments that a metric measures."""
        metrics = declared("formats")["metrics"]
        return [name for name in self.fields if metric in metrics.get(name, ())]

    def field(self, metric: str, name: str | None) -> str:
        """Return the named field of human judgments, or the one that the metric measures; raise if neither is there."""
        fields = list(self.fields)
        candidates = fields if name else self.measured(metric) or (fields if len(fields) == 1 else [])
        if name and name not in fields:
            raise UsageError(f"--human: people were not asked about {name!r}", hint=f"choose from {', '.join(fields)}")
        if not candidates:
            problem = f"people were asked about {', '.join(fields)}, and it is unclear which of these {metric} measures"
            raise UsageError(problem, hint=f"say which: --human {fields[0]}")
        return name or candidates[0]

    def sample(self, size: int | None) -> Dataset:
        """Return all items, or at most this many: those of randomly drawn documents, the last one possibly in part."""
        if size is None or size >= len(self.items):
            return self
        documents = sorted({item.document for item in self.items})
        order = {name: at for at, name in enumerate(Random(_SEED).sample(documents, len(documents)))}
        chosen = sorted(range(len(self.items)), key=lambda n: (order[self.items[n].document], n))[:size]
        return replace(self, items=tuple(self.items[n] for n in sorted(chosen)))


_CONVERT = """convert it to JSON lines with pandas and pyarrow:
python -c "import pandas; pandas.read_parquet('set.parquet').to_json('set.jsonl', orient='records', lines=True)\""""
_PACKED = {b"PAR1": ("Parquet files", _CONVERT), b"\x1f\x8b": ("compressed files", "unpack it with gunzip")}


def data_text(path: str) -> str:
    """Return the text of a data file."""
    try:
        data = read_file(Path(path).expanduser())
    except OSError as error:
        hint = "check the path; a large file is read with --max-source 2GB"
        raise UsageError(f"it cannot be read: {error.strerror}", place=path, hint=hint) from error
    for beginning, (files, hint) in _PACKED.items():
        if data.startswith(beginning):
            raise UsageError(f"{files} cannot be read", place=path, hint=hint)
    return data.decode("utf-8-sig", "replace")


def json_of(path: str) -> Any:
    """Return the content of a file of JSON."""
    try:
        return json.loads(data_text(path))
    except ValueError as error:
        raise UsageError(f"it is not JSON: {error}", place=path) from error


def read_entries(path: str) -> Iterator[FileEntry]:
    """Return the entries of a file."""
    return parse_entries(data_text(path))


def parse_entries(text: str) -> Iterator[FileEntry]:
    """Yield the entries of a JSON list or of JSON lines, a single object as one entry."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        # Only a line feed ends a JSON line: other separators may occur within strings.
        for number, line in enumerate(text.split("\n"), 1):
            try:
                if line.strip():
                    yield f"line {number}", json.loads(line)
            except (ValueError, RecursionError) as error:
                yield f"line {number}", UnreadableError(f"this is not JSON: {one_line(str(error), _SHOWN)}")
        return
    if isinstance(content, list):
        yield from ((f"entry {number}", entry) for number, entry in enumerate(content, 1))
    else:
        yield "line 1", content


def read_texts_by_id(path: str | None) -> dict[str, str]:
    """Return the documents of a folder by file stem, or of a file by id; none without a path.

    A file has a text per entry, or an object of texts by their ids.
    """
    library: dict[str, str] = {}
    if path is None:
        return library
    place = Path(path).expanduser()
    if place.is_dir():
        files = sorted(file for file in place.iterdir() if file.is_file() and not file.name.startswith("."))
        return {file.stem: clean(data_text(str(file))) for file in files}
    for _, content in read_entries(path):
        if not isinstance(content, Mapping):
            continue
        ids = [str(content[name]) for name in _IDS if isinstance(content.get(name), str | int)]
        values = [content[name] for name in _TEXTS if isinstance(content.get(name), str | list)]
        if ids and values:
            text = values[0] if isinstance(values[0], str) else " ".join(map(str, values[0]))
            library |= dict.fromkeys(ids, clean(text))
        else:
            library |= {name: clean(value) for name, value in content.items() if isinstance(value, str)}
    return library


def as_object(content: Any) -> Mapping[str, Any]:
    """Return the content of an entry; raise if it is not an object, or could not be read."""
    if isinstance(content, UnreadableError):
        raise content
    if not isinstance(content, Mapping):
        raise UnreadableError("an object was expected")
    return content


def text_at(entry: Mapping[str, Any], *names: str) -> str:
    """Return the text under the first of these names that has one, sanitized; raise if none has."""
    for name in names:
        if isinstance(value := entry.get(name), str) and value.strip():
            return clean(value).strip()
    raise UnreadableError(f"there is no {' or '.join(f'`{name}`' for name in names)} with a text")


def number(value: Any) -> float | None:
    """Return a value as a number, true being 1 and false 0; None if it is not a number, or infinite."""
    return float(value) if isinstance(value, int | float) and abs(value) < float("inf") else None


def list_at(entry: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return the list under a name; raise if there is none."""
    if not isinstance(value := entry.get(name), list):
        raise UnreadableError(f"`{name}` is no list")
    return value


def optional_text(entry: Mapping[str, Any], *names: str) -> str:
    """Return the first non-empty value under these names as a text; empty if there is none."""
    values = (entry.get(name) for name in names)
    return next((str(value) for value in values if isinstance(value, str | int) and str(value).strip()), "")
