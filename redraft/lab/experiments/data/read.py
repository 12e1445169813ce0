"""Reading a file of documents, in whichever of the known forms it is, entry by entry."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from redraft.errors import UsageError
from redraft.lab.agreement.entries import FileEntry, UnreadableError, entries_in
from redraft.lab.agreement.people import FileProblem
from redraft.lab.experiments.data.forms import extract, form_of
from redraft.lab.experiments.data.sets import Contents, Example, FileForm
from redraft.sources import allowed, read_file, size
from redraft.text.cleaning import one_line
from redraft.text.words import count_words

LINES = ".jsonl"
SUFFIXES = frozenset({LINES, ".json", ".csv", ".data", ".summary"})
"""Of files that hold documents of a set, and are none themselves."""
_HINT = "`redraft data list` shows which forms are known"
_PARQUET, _GZIP, _ZIPPED = b"PAR1", b"\x1f\x8b", ".gz"
_CONVERT = """make lines of JSON of it, with pandas and pyarrow:
python -c "import pandas; pandas.read_parquet('set.parquet').to_json('set.jsonl', orient='records', lines=True)\""""
_LONGEST_CELL = 200_000_000
_SHORT = 20
_OF_SUMMARIES = ("booksum",)
"""Whose entries are summaries: a chapter comes as often as it was summarized."""


def read_contents(source: str | Path) -> Contents:
    """What a file holds: its examples, and every entry that has another form than the first, with its place."""
    path = Path(source).expanduser()
    try:
        data = read_file(path)
    except OSError as error:
        hint = "check the path; a large file is read with --max-source 2GB"
        raise UsageError(f"it cannot be read: {error.strerror}", place=str(source), hint=hint) from error
    checksum = hashlib.sha256(data).hexdigest()
    data = _unzipped(data, str(source))
    if data.startswith(_PARQUET):
        raise UsageError("it is a Parquet file, and those are not read", place=str(source), hint=_CONVERT)
    text = data.decode("utf-8-sig", "replace")
    form, examples, troubles = _read(path, text)
    found = Contents(str(source), form, tuple(examples), tuple(troubles), len(data), checksum)
    odd = [FileProblem("the file", "some of its letters are no UTF-8")] if "\ufffd" in text else []
    return Contents(
        found.path, form, found.examples, found.troubles, found.bytes, found.sha256, (*odd, *_oddities(found))
    )


def form_suffix(path: Path) -> str:
    """The end of a file's name that says how it is written, whether it is compressed or not."""
    name = Path(path.stem) if path.suffix.lower() == _ZIPPED else path
    return name.suffix.lower()


def _unzipped(data: bytes, place: str) -> bytes:
    """The bytes themselves, where they are compressed with gzip; no more of them than a source may have."""
    if not data.startswith(_GZIP):
        return data
    most = allowed()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"it cannot be unpacked: {error}", place=place, hint="download it again") from error
    if len(found) > most:
        hint = "a large file is read with --max-source 2GB"
        raise UsageError(f"it has more than {size(most)} when it is unpacked", place=place, hint=hint)
    return found


def _read(path: Path, text: str) -> tuple[str, list[Example], list[FileProblem]]:
    if form_suffix(path) in {".data", ".summary"}:
        made = extract(path.name, text)
        return (
            "xsum, extracts",
            [made] if made else [],
            [] if made else [FileProblem(path.name, "it is no extract of XSum")],
        )
    form: FileForm | None = None
    examples: list[Example] = []
    troubles: list[FileProblem] = []
    entries = list(_rows(text) if form_suffix(path) == ".csv" else entries_in(text))
    if form_suffix(path) == ".json" and len(entries) == 1 and isinstance(entries[0], FileEntry):
        # A set that has a file for each document says by its name which one it is.
        entries = [entries[0]._replace(place=path.name.split(".")[0])]
    objects = [one for one in entries if isinstance(one, FileEntry) and isinstance(one.content, Mapping)]
    if len(entries) > 1 and not objects:
        return (
            "",
            [],
            [FileProblem("the file", "there is no object in it; a plain text is a SOURCE as it is, and no set")],
        )
    for entry in entries:
        if isinstance(entry, FileProblem):
            troubles.append(entry)
            continue
        if not isinstance(entry.content, Mapping):
            troubles.append(FileProblem(entry.place, "there is no object"))
            continue
        form = form or form_of(entry.content)
        if form is None:
            fields = ", ".join(map(one_line, list(entry.content)[:8])) or "none"
            troubles.append(FileProblem(entry.place, f"its form is not known; its fields are {fields}"))
            continue
        try:
            examples.append(form.read(entry.place, entry.content))
        except UnreadableError as error:
            troubles.append(FileProblem(entry.place, str(error)))
    return form.name if form else "", examples, troubles


def _rows(text: str) -> Iterator[FileEntry | FileProblem]:
    """The rows of a table with a head; a cell that is a list in JSON or in Python's way stays a text."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline=""), strict=True), 1):
            if None in row or None in row.values():
                yield FileProblem(f"row {number}", "it has another number of cells than the head")
            else:
                yield FileEntry(f"row {number}", _unfolded(row))
    except csv.Error as error:
        yield FileProblem("the table", f"it cannot be read further: {error}")
    finally:
        csv.field_size_limit(before)


def _unfolded(row: Mapping[str, str]) -> dict[str, Any]:
    """A row, with the lists that stand in its cells as JSON."""
    return {name: _list(cell) if cell.startswith("[") else cell for name, cell in row.items()}


def _list(cell: str) -> Any:
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def _oddities(found: Contents) -> Iterator[FileProblem]:
    """What may be meant, and is worth a look."""
    ids: dict[str, str] = {}
    texts: dict[str, str] = {}
    for one in found.examples:
        if one.id and one.id in ids:
            yield FileProblem(one.place, f"it has the id of {ids[one.id]}: {one_line(one.id, 60)}")
        ids.setdefault(one.id, one.place)
        key = hashlib.sha256(one.text.encode()).hexdigest()
        if key in texts and found.form not in _OF_SUMMARIES:
            yield FileProblem(one.place, f"it has the text of {texts[key]}")
        texts.setdefault(key, one.place)
        if not one.summaries:
            yield FileProblem(one.place, "it has no summary")
        longest = max((len(summary.text) for summary in one.summaries), default=0)
        if longest >= len(one.text):
            yield FileProblem(one.place, "a summary is as long as its document")
        if (words := count_words(one.text)) < _SHORT:
            yield FileProblem(one.place, f"its document has {words} words")


def examples_of(source: str | Path) -> tuple[Example, ...]:
    """The examples of a file in which everything can be read; anything else is refused with its place."""
    found = read_contents(source)
    if found.troubles:
        first = found.troubles[0]
        hint = f"{_HINT}; `redraft data convert` leaves out what cannot be read" if found.examples else _HINT
        raise UsageError(first.message, place=f"{source}, {first.place}", hint=hint)
    if not found.examples:
        raise UsageError("the file is empty", place=str(source), hint=_HINT)
    return found.examples
