"""From what a caller has to a document or a summary: a path, an id in the store, or the thing itself."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.store.store import Store
from redraft.text.documents import load, parse, read_text

_ID = re.compile(r"[0-9a-f]{64}")
_LONGEST_PATH = 1000


def document_of(store: Store, source: str | Path | Document) -> Document:
    """The document of a path, of an id in the store, or of a text that was handed over as one."""
    if isinstance(source, Document):
        if source.sections or source.source:
            return source
        read = parse(source.text.encode("utf-8", "replace"), name=source.title or "text")
        return replace(read, title=source.title or read.title, source="")
    if _ID.fullmatch(str(source)) and store.documents.has(str(source)):
        return store.documents.get(str(source))
    return load(_path(source, "redraft.Document.from_text(text, title=...)"))


def summary_of(store: Store, source: str) -> str:
    """The text of a summary that a graph was given, by its path or by its id in the store."""
    if _ID.fullmatch(source):
        return store.documents.text(source)
    return read_text(_path(source, "the id that `await shop.add(text)` returns"))


def _path(source: str | Path, instead: str) -> str:
    """A path, and not a text in its place, which is not quoted: it may be long, and it may be private."""
    path = str(source)
    if "\n" in path or len(path) > _LONGEST_PATH:
        raise UsageError(
            f"a text of {len(path):,} characters was given where a path was expected", hint=f"give {instead}"
        )
    return path
