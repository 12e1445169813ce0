"""The sources of a batch: files, folders, patterns and JSON lines; and its items."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from functools import partial
from glob import glob
from itertools import islice
from os.path import exists
from pathlib import Path
from typing import Any

from redraft.batches.dossiers import FOLDER, is_true, page_in, wanted_in
from redraft.domain import Document
from redraft.errors import DocumentError, RedraftError, UsageError
from redraft.readers.documents import finished, is_readable, load
from redraft.readers.formats import how_to_read
from redraft.report.history.results import Result, read_result
from redraft.runs.inputs import document_of
from redraft.sources import STDIN
from redraft.store.batches import BatchItemRow, Error, NewItem, State
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

SUMMARY = ".md"
"""How the names of files with summaries end."""


@dataclass(frozen=True, slots=True)
class BatchItem:
    """A document of a batch with what came of it. Whatever a run would say is None where there is no run.

    The run has the rest: `session.result(run)`, `redraft.read_dossier(store, run)`, `redraft export RUN -o FILE`.
    """

    source: str
    state: State
    run: str | None
    title: str | None
    document: str | None
    """Its id in the store."""
    summary: str | None
    words: int | None
    complete: bool | None
    """Whether the summary rests on the whole document."""
    stop_reason: str | None
    scores: Mapping[str, float | None]
    self_check: bool
    """Whether the built-in model has judged what it has written itself."""
    goals: Mapping[str, bool | None]
    """Whether each goal is met; None where too few items have a verdict."""
    gaps: int | None
    calls: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    seconds: float | None
    file: str | None
    """What its summary is called in the folder, where there is one."""
    dossier: str | None
    """Where its dossier is, seen from the folder, where one was written that still says how the run stands."""
    priority: int
    attempts: int
    error: Error | None
    """The `code`, the `message` and the `hint` of what went wrong."""

    def to_json(self) -> dict[str, Any]:
        """The contract of an item in `batch results`."""
        return asdict(self)


def items_of(store: Store, name: str, folder: str | None = None) -> Iterator[BatchItem]:
    """Every document of a batch in its order, read one after the other; its dossier is in a folder, or the batch's."""
    folder = store.batches.get(name).folder if folder is None else folder
    for item in store.batches.items(name):
        yield item_of(store, item, folder)


def item_of(store: Store, item: BatchItemRow, folder: str = "") -> BatchItem:
    """A document with what its run has come to; of a batch with this folder."""
    found = result_of(store, item)
    usage = found.usage if found else None
    return BatchItem(
        source=item.source,
        state=item.state,
        run=item.run,
        title=found.title if found else None,
        document=found.run.document if found else item.document,
        summary=found.summary if found else None,
        words=count_words(found.summary) if found and found.summary else None,
        complete=found.complete if found else None,
        stop_reason=found.run.stop_reason if found else None,
        scores=found.scores if found else {},
        self_check=bool(found and found.self_checked),
        goals={name: _met(goal["met"]) for name, goal in found.goals.items()} if found else {},
        gaps=len(found.gaps) if found else None,
        calls=usage.calls if usage else None,
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
        cost_usd=usage.cost_usd if usage else None,
        seconds=usage.seconds if usage else None,
        file=f"{item.file}{SUMMARY}" if found and found.summary else None,
        dossier=_dossier(folder, item, found.run) if found and item.state == "done" else None,
        priority=item.priority,
        attempts=item.attempts,
        error=item.error,
    )


def _dossier(folder: str, item: BatchItemRow, run: Run) -> str | None:
    place = wanted_in(folder)
    page = page_in(place, item.file) if place else None
    return f"{FOLDER}/{page.name}" if page and is_true(page, run) else None


def _met(verdict: object) -> bool | None:
    return None if verdict is None else bool(verdict)


def result_of(store: Store, item: BatchItemRow) -> Result | None:
    """What the run of a document has come to; nothing where there is none, or where it was forgotten."""
    try:
        return read_result(store, item.run) if item.run else None
    except RedraftError:
        return None


LINES = ".jsonl"
_paths_allowed: ContextVar[bool] = ContextVar("paths_allowed", default=False)
_PATTERN = frozenset("*?[")
_UNSAFE = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 80
_LONGEST_BYTES = 180
"""Most disks have room for 255 in a name, a number and what a file is called while it is written among them."""
_LONGEST_LINE = 200_000_000
_RESERVED = {"report"}
"""What the folder of the results has other files for."""
_AT_ONCE = 200
_HINT = 'write a line for each document, such as {"id": "a1", "text": "..."} or {"path": "a1.pdf"}'
_FIELDS = {"id": str, "text": str, "path": str, "title": str, "priority": int}


def put_in(store: Store, batch: str, sources: Iterable[str | NewItem]) -> int:
    """Put the documents of some sources into a batch, those that it has not yet; returns how many there are of them."""
    found, added = _items(sources, store), 0
    while some := list(islice(found, _AT_ONCE)):
        added += store.batches.add(batch, some)
    return added


def check(sources: Iterable[str | NewItem], folder: str | Path | None = None) -> int:
    """How many documents some sources have. What is amiss with their names or their lines is said, and nothing kept.

    One that is where summaries go, in the `folder` and of their kind, might have another's written over it.
    """
    place = None if folder is None else Path(folder).expanduser().resolve()
    found = 0
    for item in _items(sources, None):
        found += 1
        path = Path(item.source)
        if place is None or path.suffix.lower() != SUMMARY or not exists(path):
            continue
        if path.parent.resolve() == place:
            raise UsageError(
                f"{path.name} is in the folder for the summaries, where one of them may be written over it",
                place=str(path),
                hint="name another folder with -o",
            )
    return found


def documents_in(sources: Iterable[str]) -> Iterator[tuple[str, str | Document]]:
    """Each document by what it is called and where it is, or as it was handed over; for a look at what they cost."""
    for source in sources:
        for path in _files(source):
            if path is None:
                yield STDIN, load(STDIN)
            elif path.suffix.lower() == LINES:
                for name, entry in _lines(path):
                    yield name, _document(entry) if "text" in entry else str(_beside(path, entry))
            else:
                yield str(path), str(path)


def of_document(store: Store, document: Document) -> NewItem:
    """The item of a document that was handed over, whose text is kept here and now; or else what is amiss with it."""
    name = one_line(document.title) or "document"
    return _of_text(f"{name}#{document.id[:8]}", name, lambda: document_of(store, document), 0, store)


def _items(sources: Iterable[str | NewItem], store: Store | None) -> Iterator[NewItem]:
    for source in sources:
        if isinstance(source, NewItem):
            yield source
            continue
        for path in _files(source):
            if path is None:
                yield NewItem(STDIN, "stdin", document=_kept(store, load(STDIN)) if store else None)
            elif path.suffix.lower() == LINES:
                yield from _of_lines(path, store)
            else:
                yield NewItem(str(path), file_name(path.stem))


def _files(source: str) -> Iterator[Path | None]:
    """The files of a source with their whole paths; None for standard input."""
    path = Path(source).expanduser()
    if source == STDIN:
        yield None
    elif path.is_dir():
        yield from _folder(path)
    elif path.exists() or not _PATTERN & {*source}:
        yield _there(path)
    else:
        fitting = sorted(Path(one) for one in glob(str(path), recursive=True))
        if not fitting:
            raise DocumentError("no file fits the pattern", place=source, hint="check the path")
        for one in fitting:
            yield from _folder(one) if one.is_dir() else [_there(one)]


def _there(path: Path) -> Path:
    if not path.exists():
        raise DocumentError("no such file", place=str(path), hint="check the path")
    return path.absolute()


def _folder(folder: Path) -> Iterator[Path]:
    """The files in a folder that can be read, but for hidden ones; not those of folders within it."""
    files = [one for one in sorted(folder.iterdir()) if one.is_file() and not one.name.startswith(".")]
    readable = [one.absolute() for one in files if one.suffix.lower() == LINES or is_readable(one)]
    if not readable:
        raise DocumentError("no file in it can be read", place=str(folder), hint=how_to_read())
    yield from readable


def _of_lines(path: Path, store: Store | None) -> Iterator[NewItem]:
    for name, entry in _lines(path):
        priority = entry.get("priority", 0)
        if "text" in entry:
            yield _of_text(f"{path}#{name}", name, partial(_document, entry), priority, store)
        else:
            yield NewItem(str(_beside(path, entry)), file_name(name), priority)


def _of_text(source: str, name: str, made: Callable[[], Document], priority: int, store: Store | None) -> NewItem:
    """An item whose text is kept here and now; or else what is amiss with it."""
    try:
        document = _kept(store, made()) if store else None
    except DocumentError as error:
        told = {"code": error.code, "message": error.message, "hint": "fix the text, and repeat this"}
        return NewItem(source, file_name(name), priority, error=told)
    return NewItem(source, file_name(name), priority, document)


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The entries of a file of lines, each with its id, or its number where it has none."""
    seen: set[str] = set()
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1):
                if not line.strip():
                    continue
                entry = _entry(line, f"{path}:{number}")
                name = entry.get("id") or (Path(entry["path"]).stem if "path" in entry else str(number))
                if name in seen:
                    raise UsageError(f"two lines have the id {name!r}", place=f"{path}:{number}", hint=_HINT)
                seen.add(name)
                yield name, entry
    except OSError as error:
        raise DocumentError(error.strerror or str(error), place=str(path), hint="check the path") from error


def _entry(line: bytes, place: str) -> Mapping[str, Any]:
    """The object in a line, of which all is as it should be."""
    try:
        entry = json.loads(line.decode("utf-8-sig", "replace"))
    except ValueError:
        raise UsageError("this is not a line of JSON", place=place, hint=_HINT) from None
    if not isinstance(entry, Mapping) or ("text" in entry) == ("path" in entry):
        raise UsageError("a line needs either a text or a path", place=place, hint=_HINT)
    for name, kind in _FIELDS.items():
        if name in entry and (not isinstance(entry[name], kind) or isinstance(entry[name], bool)):
            raise UsageError(f"{name} is no {'number' if kind is int else 'text'}", place=place, hint=_HINT)
    if not -(2**31) <= entry.get("priority", 0) < 2**31:
        raise UsageError("priority is no number of usual size", place=place, hint=_HINT)
    return entry


def _document(entry: Mapping[str, Any]) -> Document:
    title = entry.get("title") or entry.get("id") or ""
    return finished(Document.from_text(entry["text"], title=one_line(title)), one_line(entry.get("id") or title))


def _beside(lines: Path, entry: Mapping[str, Any]) -> Path:
    """The path in an entry, which is meant from where the file with the entry is, and leads no further unasked."""
    path = (lines.parent / Path(entry["path"]).expanduser()).absolute()
    if not _paths_allowed.get() and not path.resolve().is_relative_to(lines.parent.resolve()):
        raise UsageError(
            f"a line names a file outside its folder: {one_line(entry['path'])}",
            place=str(lines),
            hint="if you trust it, add --allow-paths",
        )
    return path


def allow_paths(allowed: bool = True) -> None:
    """Let files of lines name any file of this machine."""
    _paths_allowed.set(allowed)


def _kept(store: Store, document: Document) -> str:
    store.documents.add(document)
    return document.id


def file_name(name: str) -> str:
    """What a result may be called on any disk, by what its document is called."""
    short = _UNSAFE.sub("-", name).strip("-. ")[:_LONGEST_NAME].encode()[:_LONGEST_BYTES].decode("utf-8", "ignore")
    safe = short.rstrip("-. ") or "document"
    return f"{safe}-summary" if safe.casefold() in _RESERVED else safe
