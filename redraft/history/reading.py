"""The document of a run, in the language by which the run has read it."""

from __future__ import annotations

from redraft.domain import Document
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.languages import said_to_be


def document_read(store: Store, run: Run) -> Document:
    """The document of a run. What was said of its language for another run does not count."""
    return said_to_be(store.documents.get(run.document), run.settings.source_language)


def outline_read(store: Store, run: Run) -> Document:
    """The same without the text, which may be long."""
    return said_to_be(store.documents.outline(run.document), run.settings.source_language)
