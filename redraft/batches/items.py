"""The documents of a batch, each with what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from redraft.batches.dossiers import FOLDER, is_true, page_in, wanted_in
from redraft.errors import RedraftError
from redraft.report.history.results import Result, read_result
from redraft.store.batches import BatchItemRow, Error, State
from redraft.store.runs import Run
from redraft.store.store import Store
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
        return {one.name: getattr(self, one.name) for one in fields(self)}


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
