"""Human judgments of summaries, and how files of them are read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from redraft.errors import UsageError
from redraft.sources import read_file
from redraft.text.sanitizer import clean, one_line

Rating = float | str | bool
Ratings = Sequence[Sequence[Rating | None]]
"""One row per item and one column per rater; None if a rater did not rate an item."""


@dataclass(frozen=True, slots=True)
class HumanField:
    """A question that people answered about summaries."""

    best: float | None = None
    """The rating of a summary without errors; None if people were asked something else."""
    metrics: tuple[str, ...] = ()
    """The metrics that measure the same thing."""


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


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A part of a file that could not be read: its place, and the reason."""

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """The contents of a file, as far as they could be read."""

    name: str
    fields: Mapping[str, HumanField]
    items: tuple[HumanItem, ...]
    troubles: tuple[FileProblem, ...] = ()


_IDS = ("id", "doc_id", "document_id", "article_id", "hash", "uid", "title")
_TEXTS = ("text", "source_text", "document", "article", "transcript", "source", "doc", "input", "article_text")
_SHOWN = 120


class UnreadableError(ValueError):
    """Raised for an entry with a missing or malformed field."""


class FileEntry(NamedTuple):
    """An entry and its place, in words."""

    place: str
    content: Any


Library = dict[str, str]
"""Texts by id: documents, and summaries for some formats."""


def read_entries(path: str) -> Iterator[FileEntry | FileProblem]:
    """Return the entries of a file."""
    return parse_entries(read_text(path))


def parse_entries(text: str) -> Iterator[FileEntry | FileProblem]:
    """Yield the entries of a JSON list or of JSON lines, a single object as one entry; invalid JSON is a problem."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        yield from _lines(text)
        return
    if isinstance(whole, list):
        yield from (FileEntry(f"entry {number}", one) for number, one in enumerate(whole, 1))
    else:
        yield FileEntry("line 1", whole)


def read_text(path: str) -> str:
    """Return the text of a file."""
    try:
        return read_file(Path(path).expanduser()).decode("utf-8-sig", "replace")
    except OSError as error:
        raise UsageError(f"the file cannot be read: {error.strerror}", place=path) from error


def _lines(text: str) -> Iterator[FileEntry | FileProblem]:
    # Only a line feed ends a JSON line: other separators may occur within strings.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield FileEntry(f"line {number}", json.loads(line))
        except (ValueError, RecursionError) as error:
            yield FileProblem(f"line {number}", f"this is not JSON: {one_line(str(error), _SHOWN)}")


def read_texts_by_id(path: str | None) -> Library:
    """Return the documents of a folder by file stem, or of a file by id; none without a path."""
    if path is None:
        return Library()
    place = Path(path).expanduser()
    if place.is_dir():
        files = sorted(one for one in place.iterdir() if one.is_file() and not one.name.startswith("."))
        return Library({file.stem: clean(read_text(str(file))) for file in files})
    found = Library()
    for entry in read_entries(path):
        if isinstance(entry, FileEntry) and isinstance(entry.content, Mapping):
            found |= _texts(entry.content)
    return found


def _texts(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of an entry under all its ids, or all texts of an object that maps ids to texts."""
    names = [str(entry[name]) for name in _IDS if isinstance(entry.get(name), str | int)]
    texts = (" ".join(map(str, one)) if isinstance(one := entry.get(name), list) else one for name in _TEXTS)
    text = next((one for one in texts if isinstance(one, str)), None)
    if names and text is not None:
        # One file of a release may also have the summaries, where other files only have the scores.
        summary, model = entry.get("summary"), entry.get("model_name")
        own = {summary_id(name, str(model)): clean(summary) for name in names} if isinstance(summary, str) else {}
        return {name: clean(text) for name in names} | own
    return {name: clean(value) for name, value in entry.items() if isinstance(value, str)}


def summary_id(document: str, model: str) -> str:
    """Return the id under which a library has a model's summary of a document."""
    return f"{document} by {model}"


def as_object(content: Any) -> Mapping[str, Any]:
    """Return the content; raise if it is not an object."""
    if not isinstance(content, Mapping):
        raise UnreadableError(f"there is {kind_of(content)} where an object was expected")
    return content


def text_at(entry: Mapping[str, Any], *names: str) -> str:
    """Return the text under the first of these names that has one, sanitized; raise if none has."""
    for name in names:
        if isinstance(value := entry.get(name), str) and value.strip():
            return clean(value).strip()
    raise UnreadableError(f"there is no {' or '.join(f'`{name}`' for name in names)} with a text")


def number_at(entry: Mapping[str, Any], name: str) -> float:
    """Return the number under a name, true being 1 and false 0; raise if there is none."""
    found = number(entry.get(name))
    if found is None:
        raise UnreadableError(f"`{name}` is {kind_of(entry.get(name))} where a number was expected")
    return found


def number(value: Any) -> float | None:
    """Return a value as a number; None if it is not a number, or infinite."""
    if not isinstance(value, int | float):
        return None
    found = float(value)
    return found if abs(found) < float("inf") else None


def list_at(entry: Mapping[str, Any], name: str) -> Sequence[Any]:
    """Return the list under a name; raise if there is none."""
    if not isinstance(value := entry.get(name), list):
        raise UnreadableError(f"`{name}` is {kind_of(value)} where a list was expected")
    return value


def optional_text(entry: Mapping[str, Any], *names: str) -> str:
    """Return the first non-empty value under these names as a text; empty if there is none."""
    values = (entry.get(name) for name in names)
    return next((str(value) for value in values if isinstance(value, str | int) and str(value).strip()), "")


def kind_of(value: Any) -> str:
    """Return the name of a JSON value's type for messages."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")
