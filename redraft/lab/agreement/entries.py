"""The entries of a file of annotations or documents, each with its place, and the documents that they are about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from redraft.errors import UsageError
from redraft.lab.agreement.people import FileProblem
from redraft.sources import read_file
from redraft.text.cleaning import clean, one_line

_IDS = ("id", "doc_id", "document_id", "hash", "uid", "title")
_TEXTS = ("text", "source_text", "document", "article", "transcript", "source", "doc", "input")
_SHOWN = 120


class UnreadableError(ValueError):
    """An entry that lacks something or has something else in its place."""


class FileEntry(NamedTuple):
    """One entry and where it stands, in words."""

    place: str
    content: Any


class Library(dict[str, str]):
    """Texts by id: those of documents, and for some formats of summaries."""


def entries(path: str) -> Iterator[FileEntry | FileProblem]:
    """The entries of a file."""
    return entries_in(content(path))


def entries_in(text: str) -> Iterator[FileEntry | FileProblem]:
    """The lines of a text, or the entries of a list; one object is one entry. What is no JSON is a trouble."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        yield from _lines(text)
        return
    if isinstance(whole, list):
        yield from (FileEntry(f"entry {number}", one) for number, one in enumerate(whole, 1))
    else:
        yield FileEntry("line 1", whole)


def content(path: str) -> str:
    """The text of a file."""
    try:
        return read_file(Path(path).expanduser()).decode("utf-8-sig", "replace")
    except OSError as error:
        raise UsageError(f"the file cannot be read: {error.strerror}", place=path) from error


def _lines(text: str) -> Iterator[FileEntry | FileProblem]:
    # Only a line feed ends a line of JSON: other separators may stand within its strings.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield FileEntry(f"line {number}", json.loads(line))
        except (ValueError, RecursionError) as error:
            yield FileProblem(f"line {number}", f"this is no JSON: {one_line(str(error), _SHOWN)}")


def library(path: str | None) -> Library:
    """The documents of a folder, each under its file's name, or of a file, each under its id; none without a path."""
    if path is None:
        return Library()
    place = Path(path).expanduser()
    if place.is_dir():
        files = sorted(one for one in place.iterdir() if one.is_file() and not one.name.startswith("."))
        return Library({one.stem: clean(content(str(one))) for one in files})
    found = Library()
    for entry in entries(path):
        if isinstance(entry, FileEntry) and isinstance(entry.content, Mapping):
            found |= _texts(entry.content)
    return found


def _texts(entry: Mapping[str, Any]) -> dict[str, str]:
    """The text of an entry under all its ids; or of an object of texts all of them."""
    names = [str(entry[name]) for name in _IDS if isinstance(entry.get(name), str | int)]
    text = next((entry[name] for name in _TEXTS if isinstance(entry.get(name), str)), None)
    if names and text is not None:
        # In one file of a release there may be the summaries too, of which others only have the figures.
        summary, model = entry.get("summary"), entry.get("model_name")
        own = {summary_id(name, str(model)): clean(summary) for name in names} if isinstance(summary, str) else {}
        return {name: clean(text) for name in names} | own
    return {name: clean(value) for name, value in entry.items() if isinstance(value, str)}


def summary_id(document: str, model: str) -> str:
    """Under which id a library has a model's summary of a document."""
    return f"{document} by {model}"


def mapping(content: Any) -> Mapping[str, Any]:
    """The content, if it is an object."""
    if not isinstance(content, Mapping):
        raise UnreadableError(f"there is {_kind(content)} where an object was expected")
    return content


def text_at(entry: Mapping[str, Any], *names: str) -> str:
    """The text under the first of these names that has one, harmless."""
    for name in names:
        if isinstance(value := entry.get(name), str) and value.strip():
            return clean(value).strip()
    raise UnreadableError(f"there is no {' or '.join(f'`{name}`' for name in names)} with a text")


def number_at(entry: Mapping[str, Any], name: str) -> float:
    """The number under a name; true is 1 and false 0."""
    found = number(entry.get(name))
    if found is None:
        raise UnreadableError(f"`{name}` is {_kind(entry.get(name))} where a number was expected")
    return found


def number(value: Any) -> float | None:
    """A number, or nothing; what is infinite or no number is none."""
    if not isinstance(value, int | float):
        return None
    found = float(value)
    return found if abs(found) < float("inf") else None


def list_at(entry: Mapping[str, Any], name: str) -> Sequence[Any]:
    """The list under a name."""
    if not isinstance(value := entry.get(name), list):
        raise UnreadableError(f"`{name}` is {_kind(value)} where a list was expected")
    return value


def optional(entry: Mapping[str, Any], *names: str) -> str:
    """What stands under the first of these names that has something, as a text; empty where nothing does."""
    values = (entry.get(name) for name in names)
    return next((str(value) for value in values if isinstance(value, str | int) and str(value).strip()), "")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")
