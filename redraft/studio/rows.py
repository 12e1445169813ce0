"""The list of runs: a row for each, filtered, sorted and paged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from redraft.report.history.summaries import RunSummary, summary_of
from redraft.store.store import Store

RUNNING = "running"
_SCORE = "score."


class RunFilter(BaseModel):
    """Which runs are listed, in which order, and which page of them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    q: str = Field(default="", max_length=300)
    """Words, each of which is in the title, the id, the model or the query."""
    kind: str = ""
    status: str = ""
    model: str = ""
    document: str = ""
    """The id of a document, or the beginning of it."""
    experiment: str = ""
    all: bool = False
    """Those of experiments and of chapters, too."""
    sort: str = "created"
    dir: Literal["asc", "desc"] = "desc"
    page: int = Field(default=1, ge=1)
    per: int = Field(default=50, ge=1, le=500)


class RunList(BaseModel):
    """A page of the list."""

    rows: tuple[RunSummary, ...]
    total: int
    """How many runs are meant, on all pages."""
    page: int
    pages: int
    metrics: tuple[str, ...]
    """Those that any of them has a score of."""
    kinds: dict[str, int]
    statuses: dict[str, int]
    """How many runs there are of each, whatever is asked for."""
    damaged: dict[str, str] = {}
    """The runs that cannot be read, and why."""


class _Known(NamedTuple):
    stamp: tuple[str, str]
    row: RunSummary


class RunRows:
    """The rows of one store. What is at rest is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, _Known] = {}
        self._damaged: dict[str, str] = {}
        self._lock = threading.Lock()

    def listed(self, wanted: RunFilter) -> RunList:
        """The runs that are wanted."""
        everything = self.all()
        shown = [row for row in everything if _is_shown(row, wanted)]
        found = _sorted([row for row in shown if _is_wanted(row, wanted)], wanted)
        pages = max(1, ceil(len(found) / wanted.per))
        page = min(wanted.page, pages)
        return RunList(
            rows=tuple(found[(page - 1) * wanted.per : page * wanted.per]),
            total=len(found),
            page=page,
            pages=pages,
            metrics=tuple(dict.fromkeys(metric for row in found for metric in row.scores)),
            kinds=_counted(row.kind for row in shown),
            statuses=_counted(row.status for row in shown),
            damaged=self._damaged,
        )

    def all(self) -> list[RunSummary]:
        """A row for every run, newest first."""
        with self._lock:
            stamps = self._store.runs.stamps()
            readable = self._store.runs.readable
            found = {key: readable(key, partial(self._row, key, (updated, status))) for key, updated, status in stamps}
            self._known = {key: known for key, known in found.items() if known is not None}
            told = self._store.runs.damaged
            self._damaged = {key: told.get(key, "") for key, known in found.items() if known is None}
            return [one.row for one in self._known.values()]

    def _row(self, key: str, stamp: tuple[str, str]) -> _Known:
        known = self._known.get(key)
        if known is not None and known.stamp == stamp and stamp[1] != RUNNING:
            return known
        return _Known(stamp, summary_of(self._store, self._store.runs.get(key)))


def _is_shown(row: RunSummary, wanted: RunFilter) -> bool:
    of_another = row.experiment is not None or row.part or row.chapter_of
    return wanted.all or bool(wanted.experiment) or not of_another


def _is_wanted(row: RunSummary, wanted: RunFilter) -> bool:
    text = " ".join((row.run, row.title, row.model, row.query)).casefold()
    return (
        all(word in text for word in wanted.q.casefold().split())
        and wanted.kind in ("", row.kind)
        and wanted.status in ("", row.status)
        and wanted.model.casefold() in row.model.casefold()
        and row.document.startswith(wanted.document)
        and wanted.experiment in ("", row.experiment or (row.kind if row.part else ""))
    )


_KEYS: Mapping[str, Callable[[RunSummary], Any]] = {
    "created": lambda row: row.created,
    "status": lambda row: row.status,
    "kind": lambda row: row.kind,
    "title": lambda row: row.title.casefold() or None,
    "model": lambda row: row.model.casefold(),
    "words": lambda row: row.words,
    "cost": lambda row: row.cost_usd,
    "calls": lambda row: row.calls,
    "seconds": lambda row: row.seconds,
}


def _sorted(rows: Sequence[RunSummary], wanted: RunFilter) -> list[RunSummary]:
    """In the order that was asked for; what has no value comes last either way. Equals stay newest first."""
    metric = wanted.sort.removeprefix(_SCORE)
    of_metric: Callable[[RunSummary], Any] = lambda row: row.scores.get(metric)  # noqa: E731
    key = of_metric if wanted.sort.startswith(_SCORE) else _KEYS.get(wanted.sort, _KEYS["created"])
    valued = sorted((row for row in rows if key(row) is not None), key=key, reverse=wanted.dir == "desc")
    return valued + [row for row in rows if key(row) is None]


def _counted(names: Any) -> dict[str, int]:
    counted: dict[str, int] = {}
    for name in names:
        counted[name] = counted.get(name, 0) + 1
    return dict(sorted(counted.items()))
