"""From what a caller has to a document or a summary: a path, an id in the store, or the thing itself."""

from __future__ import annotations

import re
from pathlib import Path

from redraft.domain import Document
from redraft.store.store import Store
from redraft.text.documents import Text, finished, load, read_text

_ID = re.compile(r"[0-9a-f]{64}")


def document_of(store: Store, source: str | Path | Document) -> Document:
    """The document of a path, of an id in the store, or of a text that was handed over as one."""
    if isinstance(source, Document):
        if source.sections or source.source:
            return source
        return finished(source)
    if _ID.fullmatch(str(source)) and store.documents.has(str(source)):
        return store.documents.get(str(source))
    return load(str(source))


def summary_of(store: Store, source: str) -> Text:
    """The text of a summary that a graph was given, by its path or by its id in the store."""
    if _ID.fullmatch(source):
        return Text(store.documents.text(source), ())
    return read_text(source)
