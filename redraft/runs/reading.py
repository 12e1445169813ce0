"""From what a caller has to a document or a summary: a path, an id in the store, a round, or the thing itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from redraft.domain import Document
from redraft.errors import RunError
from redraft.readers.corpus import check_sources, together
from redraft.readers.documents import Text, finished, load, read_text
from redraft.store.runs import Run
from redraft.store.store import Store

_ID = re.compile(r"[0-9a-f]{64}")


Source = str | Path | Document
"""A document by its path, by the id under which it is in the store, or as an object."""
Sources = Source | Sequence[Source]
"""A document, or several that are read as one."""


def document_of(store: Store, source: Sources) -> Document:
    """The document of a path, of an id in the store, or of a text that was handed over as one; of several, all."""
    if not isinstance(source, str | Path | Document):
        check_sources(source)
        return together([document_of(store, one) for one in source])
    if isinstance(source, Document):
        if source.sections or source.source:
            return source
        return finished(source)
    if _ID.fullmatch(str(source)) and store.documents.has(str(source)):
        return store.documents.get(str(source))
    return load(source)


def summary_of(store: Store, source: str | Path) -> Text:
    """The text of a summary that a graph was given, by its path or by its id in the store."""
    if _ID.fullmatch(str(source)):
        return Text(store.documents.text(str(source)), ())
    return read_text(source)


def draft_of_round(store: Store, run: Run, number: int) -> str:
    """The text of the draft that a round of a run has made; the one of a run without rounds is that of round 0."""
    rounds = store.judgments.rounds(run.id)
    drafts = {made.number: made.draft for made in rounds}
    if not rounds and run.draft is not None:
        drafts[0] = run.draft
    if number not in drafts:
        there = ", ".join(str(one) for one in sorted(drafts))
        raise RunError(f"run {run.id} has no draft of round {number}", hint=f"its rounds are: {there}")
    return store.runs.draft(drafts[number]).text
