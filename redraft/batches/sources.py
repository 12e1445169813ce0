"""The sources of a batch (files, folders, patterns and JSON lines) and its items."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from glob import glob
from itertools import islice
from os.path import exists
from pathlib import Path, PurePath
from typing import Any

from redraft.batches.queue import BatchDocument, Batches, BatchItemRow
from redraft.domain import Document, widened
from redraft.errors import DocumentError, RedraftError, Set, UsageError
from redraft.readers.documents import is_readable, load, prepared, unknown_type_hint
from redraft.report.history.results import read_result
from redraft.runs.order import document_of
from redraft.sources import STDIN
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

SUMMARY = ".md"
"""The suffix of summary files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentResult(BatchDocument):
    """A document of a batch with figures of its run. Those that come from a run are None where there is no run."""

    title: str | None = None
    words: int | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    offline_check: bool = False
    """Whether the built-in model judged its own summary."""
    gaps: int | None = None
    calls: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchItem(DocumentResult):
    """A document of a batch and its result. For the rest, see `session.result(run)`,
    `redraft.read_dossier(store, run)`, or `redraft export RUN -o FILE`."""

    summary: str | None = None
    complete: bool | None = None
    """Whether the summary is based on the whole document."""
    stop_reason: str | None = None
    goals: Mapping[str, bool | None] = field(default_factory=dict)
    """Whether each goal is met; None where too few items have a verdict."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    file: str | None = None
    """The name of the summary's file in the folder, if there is one."""


def items_of(store: Store, name: str) -> Iterator[BatchItem]:
    """Yield the documents of a batch in order, each with the result of its run. Raises `RunError` if there is no batch
    of this name."""
    Batches(store).get(name)
    return (with_result(store, item) for item in Batches(store).items(name))


def with_result(store: Store, item: BatchItemRow) -> BatchItem:
    """Return a document of a batch with the result of its run, unless there is none or it was deleted."""
    try:
        result = read_result(store, item.run) if item.run else None
    except RedraftError:
        result = None
    if result is None:
        return widened(BatchItem, item, file=None)
    return widened(
        BatchItem,
        item,
        result.usage,
        document=result.run.document,
        title=result.title,
        summary=result.summary,
        words=count_words(result.summary) if result.summary else None,
        complete=result.complete,
        stop_reason=result.run.stop_reason,
        scores=result.scores,
        offline_check=bool(result.offline_checked),
        goals={name: None if goal["met"] is None else bool(goal["met"]) for name, goal in result.goals.items()},
        gaps=len(result.gaps),
        file=f"{item.file}{SUMMARY}" if result.summary else None,
    )


LINES = ".jsonl"
paths_allowed: ContextVar[bool] = ContextVar("paths_allowed", default=False)
"""Whether files of lines may name any file of this machine."""
_PATTERN = frozenset("*?[")
_UNSAFE = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 80
_LONGEST_BYTES = 180
"""Most file systems allow 255 bytes; the rest is for a number and a temporary suffix."""
_LONGEST_LINE = 200_000_000
_RESERVED = {"report"}
"""Names of other files in the folder."""
_AT_ONCE = 200
_HINT = 'write a line for each document, such as {"id": "a1", "text": "..."} or {"path": "a1.pdf"}'
_FIELDS = {"id": str, "text": str, "path": str, "title": str, "priority": int}


def add_items(store: Store, batch: str, sources: Iterable[str | BatchItemRow]) -> int:
    """Put the documents of some sources into a batch, those that it has not yet; returns how many there are of them."""
    items, added = (_item(row, make, store) for source in sources for row, make in _documents(source)), 0
    while new_items := list(islice(items, _AT_ONCE)):
        added += Batches(store).add(batch, new_items)
    return added


def check(sources: Iterable[str | BatchItemRow], folder: str | Path | None = None) -> int:
    """Count the documents of some sources without storing anything; raises for invalid lines, or where none of the
    files exists. A source in the `folder` for summaries, with their suffix, is refused, since a summary might overwrite
    it."""
    place = None if folder is None else Path(folder).expanduser().resolve()
    sources, count = list(sources), 0
    # One that does not exist will fail by itself; where none does, the command is wrong.
    names = [source for source in sources if isinstance(source, str) and source != STDIN and not _PATTERN & {*source}]
    missing = [name for name in names if not Path(name).expanduser().exists()]
    if missing and len(missing) == len(sources):
        raise DocumentError("no such file", place=missing[0], hint="check the path")
    for item, _ in (document for source in sources for document in _documents(source)):
        count += 1
        path = Path(item.source)
        if place is None or path.suffix.lower() != SUMMARY or not exists(path):
            continue
        if path.parent.resolve() == place:
            raise UsageError(
                f"{path.name} is in the folder for the summaries, where a summary could overwrite it",
                place=str(path),
                hint="name another folder with -o",
            )
    return count


NamedDocument = tuple[BatchItemRow, Callable[[], Document] | None]
"""A document that a source names, and what makes that of a text; None for a file."""


def documents_in(sources: Iterable[str | Document]) -> Iterator[str | Document]:
    """Yield each document, or the path of its file, to estimate the cost."""
    for source in sources:
        if isinstance(source, Document):
            yield source
        else:
            yield from (make() if make else row.source for row, make in _documents(source))


def of_document(store: Store, document: Document, file: str = "") -> BatchItemRow:
    """Return the item of a `Document`, whose text is stored now, or of its error. It is called after the name of its
    file, if it has one, or its title."""
    name = file or one_line(document.title) or "document"
    row = BatchItemRow(f"{name}#{document.id[:8]}", file_name(file.rpartition(".")[0] or name))
    return _item(row, partial(document_of, store, document), store)


def _item(row: BatchItemRow, make: Callable[[], Document] | None, store: Store) -> BatchItemRow:
    """Return the item of a document; a text is stored now, or its error."""
    if make is None:
        return row
    try:
        document = make()
    except DocumentError as error:
        problem = {"code": error.code, "message": error.message, "hint": "fix the text, and repeat the command"}
        return replace(row, error=problem)
    store.documents.add(document)
    return replace(row, document=document.id)


def _documents(source: str | BatchItemRow) -> Iterator[NamedDocument]:
    """Yield the documents that a source names."""
    if isinstance(source, BatchItemRow):
        yield source, None
        return
    if source == STDIN:
        yield BatchItemRow(STDIN, "stdin"), partial(load, STDIN)
        return
    for path in map(Path.absolute, files_of(source)):
        if path.suffix.lower() == LINES:
            for name, entry in _lines(path):
                row = BatchItemRow(f"{path}#{name}", file_name(name), priority=entry.get("priority", 0))
                if "text" in entry:
                    yield row, partial(_document, entry)
                    continue
                # A path is relative to the file with the entry, and not outside its folder.
                file = (path.parent / Path(entry["path"]).expanduser()).absolute()
                if not paths_allowed.get() and not file.resolve().is_relative_to(path.parent.resolve()):
                    problem = f"a line names a file outside its folder: {one_line(entry['path'])}"
                    raise UsageError(problem, place=str(path), fix=("if you trust it, add ", Set("allow_paths")))
                yield replace(row, source=str(file)), None
        else:
            yield BatchItemRow(str(path), file_name(path.stem)), None


def files_of(source: str, others: Container[str] = ()) -> Iterator[Path]:
    """Yield the files of a source: a file, a folder or a pattern. Those of a folder are its readable ones, or where it
    has none, those with the suffixes of `others`."""
    path = Path(source).expanduser()
    paths = [path]
    if not path.exists() and _PATTERN & {*source}:
        paths = sorted(map(Path, glob(str(path), recursive=True)))
        if not paths:
            raise DocumentError("no file fits the pattern", place=source, hint="check the path")
    for path in paths:
        readable, rest = _in_folder(path) if path.is_dir() else ([path], [])
        readable = readable or [file for file in rest if file.suffix.lower() in others]
        if not readable:
            raise DocumentError("no file in it can be read", place=str(path), hint=unknown_type_hint())
        yield from readable


def skipped(sources: Iterable[str]) -> list[str]:
    """Return the names of the files in folders that no reader takes."""
    folders = [Path(source).expanduser() for source in sources]
    return [path.name for folder in folders if folder.is_dir() for path in _in_folder(folder)[1]]


def _in_folder(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files directly in a folder, without hidden ones: those that can be read, and the others."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]
    taken = [path for path in files if path.suffix.lower() == LINES or is_readable(path)]
    return taken, [path for path in files if path not in taken]


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the entries of a JSON-lines file with their ids or line numbers."""
    names: set[str] = set()
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1):
                if not line.strip():
                    continue
                entry = _entry(line, f"{path}:{number}")
                name = entry.get("id") or (Path(entry["path"]).stem if "path" in entry else str(number))
                if name in names:
                    raise UsageError(f"two lines have the id {name!r}", place=f"{path}:{number}", hint=_HINT)
                names.add(name)
                yield name, entry
    except OSError as error:
        raise DocumentError(error.strerror or str(error), place=str(path), hint="check the path") from error


def _entry(line: bytes, place: str) -> Mapping[str, Any]:
    """Return the validated object of a line."""
    try:
        entry = json.loads(line.decode("utf-8-sig", "replace"))
    except ValueError:
        raise UsageError("this is not a line of JSON", place=place, hint=_HINT) from None
    if not isinstance(entry, Mapping) or ("text" in entry) == ("path" in entry):
        raise UsageError("a line needs either a text or a path", place=place, hint=_HINT)
    for name, kind in _FIELDS.items():
        if name in entry and (not isinstance(entry[name], kind) or isinstance(entry[name], bool)):
            raise UsageError(f"{name} is not a {'number' if kind is int else 'text'}", place=place, hint=_HINT)
    if not -(2**31) <= entry.get("priority", 0) < 2**31:
        raise UsageError("priority is out of range", place=place, hint=_HINT)
    return entry


def _document(entry: Mapping[str, Any]) -> Document:
    title = entry.get("title") or entry.get("id") or ""
    return prepared(Document.from_text(entry["text"], title=one_line(title)), one_line(entry.get("id") or title))


_OF_TEXT = re.compile(r"#[0-9a-f]{8}$")
"""What a source without a file has, to distinguish it from others of its name."""


def source_name(source: str) -> str:
    """Return a source as people call it: the name of its file or text, or its id in a file of lines."""
    path, _, line = source.partition(f"{LINES}#")
    return line or PurePath(_OF_TEXT.sub("", path)).name or source


def file_name(name: str) -> str:
    """Return a result's file name, valid on any file system, from its document's title."""
    short = _UNSAFE.sub("-", name).strip("-. ")[:_LONGEST_NAME].encode()[:_LONGEST_BYTES].decode("utf-8", "ignore")
    safe = short.rstrip("-. ") or "document"
    return f"{safe}-summary" if safe.casefold() in _RESERVED else safe
