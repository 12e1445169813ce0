"""Runs as the studio shows them: rows of a list, and one run."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import ceil
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from redraft.domain import widened
from redraft.errors import RunError, UsageError
from redraft.order import ExperimentPart
from redraft.report.dossier.contents import read_dossier
from redraft.report.history.results import RunResult, read_result
from redraft.report.history.summaries import RunSummary, summaries
from redraft.report.history.trace import read_trace
from redraft.report.tables import Entry
from redraft.store.runs import DAMAGE, HumanOpinion, Run
from redraft.store.store import Store
from redraft.store.table import now
from redraft.studio.contracts import OpinionInput, OpinionList, Page, PieceList, RunStatus, SentenceEvidence
from redraft.studio.doors import NotFound, worded_error

RUNNING = "running"
_SCORE = "score."
_AT_ONCE = 20


def stamps_of(store: Store) -> list[tuple[str, str, str]]:
    """Return the id, last change and stored status of every run, newest first."""
    rows = store.connection.rows("SELECT id, updated, status FROM runs ORDER BY created DESC, rowid DESC")
    return [(row["id"], row["updated"], row["status"]) for row in rows]


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


class RunFilter(Entry):
    """The filter, order and page of a list of runs."""

    q: str = Field(default="", max_length=300)
    """Words that must all occur in the title, id, model, query or preview."""
    kind: str = ""
    status: str = ""
    model: str = ""
    document: str = ""
    """The id of a document, or the start of it."""
    experiment: str = ""
    all: bool = False
    """Whether to include runs of experiments and chapters."""
    sort: str = "created"
    dir: Literal["asc", "desc"] = "desc"
    page: int = Field(default=1, ge=1)
    per: int = Field(default=50, ge=1, le=500)

    @field_validator("sort")
    @classmethod
    def check_sort(cls, sort: str) -> str:
        if sort not in _KEYS and not sort.startswith(_SCORE):
            raise ValueError(f"{sort!r:.60} must be {', '.join(_KEYS)} or {_SCORE}METRIC")
        return sort

    def matches(self, row: RunSummary) -> bool:
        """Return whether a run has all that is filtered by."""
        text = " ".join((row.run, row.title, row.model, row.query, row.preview)).casefold()
        return (
            all(word in text for word in self.q.casefold().split())
            and self.kind in ("", row.kind)
            and self.status in ("", row.status)
            and self.model.casefold() in row.model.casefold()
            and row.document.startswith(self.document)
            and self.experiment in ("", row.experiment or (row.kind if row.part else ""))
        )


class RunList(Page):
    """A page of the list; its metrics are those of all pages."""

    rows: tuple[RunSummary, ...]
    kinds: dict[str, int]
    statuses: dict[str, int]
    """The number of runs with each status, regardless of the filters."""
    damaged: dict[str, str] = Field(default={})
    """The runs that cannot be read, and why."""


def page_at(total: int, number: int, per: int) -> tuple[int, int]:
    """Return the number of pages of a list with `total` rows, and which of them has this number, or is the last."""
    pages = max(1, ceil(total / per))
    return pages, min(max(1, number), pages)


class RunRows:
    """The rows of a store. Runs that are not running are cached until they change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[tuple[str, str], RunSummary]] = {}
        self._damaged: dict[str, str] = {}
        self._lock = threading.Lock()

    def listed(self, run_filter: RunFilter) -> RunList:
        """Return the page of runs that match a filter."""
        self._store.runs.check_filter(run_filter.kind, run_filter.status)
        shows_all = run_filter.all or bool(run_filter.experiment)
        run_summaries = [
            row for row in self.all() if shows_all or not (row.experiment is not None or row.part or row.chapter_of)
        ]
        # Missing values come last in either direction, and ties stay newest first.
        metric = run_filter.sort.removeprefix(_SCORE)
        of_metric: Callable[[RunSummary], Any] = lambda row: row.scores.get(metric)  # noqa: E731
        key = of_metric if run_filter.sort.startswith(_SCORE) else _KEYS[run_filter.sort]
        chosen = [row for row in run_summaries if run_filter.matches(row)]
        rows = sorted((row for row in chosen if key(row) is not None), key=key, reverse=run_filter.dir == "desc")
        rows += [row for row in chosen if key(row) is None]
        pages, page = page_at(len(rows), run_filter.page, run_filter.per)
        return RunList(
            rows=tuple(rows[(page - 1) * run_filter.per : page * run_filter.per]),
            total=len(rows),
            page=page,
            pages=pages,
            metrics=tuple(dict.fromkeys(metric for row in rows for metric in row.scores)),
            kinds=dict(sorted(Counter(row.kind for row in run_summaries).items())),
            statuses=dict(sorted(Counter(row.status for row in run_summaries).items())),
            damaged=self._damaged,
        )

    def all(self) -> list[RunSummary]:
        """Return a row for every run, newest first."""
        runs = self._store.runs
        with self._lock:
            stamps = stamps_of(self._store)
            new = {key: (updated, status) for key, updated, status in stamps if key not in self._known}
            if len(new) >= _AT_ONCE:
                # If reading them at once fails, each is read alone below, which identifies the damaged ones.
                with suppress(RunError, *DAMAGE):
                    rows = summaries(self._store, runs.some(ids=list(new)))
                    self._known |= {row.run: (new[row.run], row) for row in rows}

            known = dict[str, tuple[tuple[str, str], RunSummary]]()
            self._damaged = {}
            for key, *stamp in stamps:
                updated, status = stamp
                before = self._known.get(key)
                if before is not None and before[0] == (updated, status) and status != RUNNING:
                    known[key] = before
                    continue
                with runs.damage_noted(key):
                    known[key] = ((updated, status), summaries(self._store, [runs.get(key)])[0])
                if key not in known:
                    self._damaged[key] = runs.damaged.get(key, "")
            self._known = known
            return [row for _, row in known.values()]


_RESUMABLE = frozenset({"stopped", "failed", "interrupted", "killed"})
_MAX_PIECES = 40


def status_of(store: Store, run: Run, *, at_work: bool) -> RunStatus:
    """Return the status of a run."""
    (row,) = summaries(store, [run])
    if at_work and row.status == "killed":
        # It is stored, but not claimed yet.
        row = replace(row, status=RUNNING)
    resumable = row.status in _RESUMABLE and not isinstance(run.order, ExperimentPart)
    at_work = at_work and row.status == RUNNING
    error = worded_error(run.error, f"/api/runs/{run.id}")
    limit = run.limits.max_cost
    return widened(RunStatus, row, error=error, at_work=at_work, resumable=resumable, max_cost=limit)


def result_of(store: Store, run: str) -> RunResult:
    """Return the result of a run, as `redraft show --json` prints it, with its error in the words of who asks."""
    record = read_result(store, run).record()
    return replace(record, error=worded_error(record.error, f"/api/runs/{record.run}"))


def pieces_of(store: Store, run: str) -> BaseModel:
    """Return the parts of a summary so far."""
    stored_run = store.runs.get(run)
    chunks = store.chunks(stored_run)
    pieces = store.runs.pieces(run)
    latest = {(piece.level, piece.index): piece for piece in pieces}
    order = sorted(latest, reverse=True)[:_MAX_PIECES]
    return PieceList(
        chunks=len(chunks),
        total=len(latest),
        pieces=tuple(latest[place] for place in order),
        draft=store.runs.draft(stored_run.draft).text if stored_run.draft else None,
    )


def evidence_of(store: Store, run: str, query: Any) -> BaseModel:
    """Return the evidence for a sentence or a finding. A finding is named by its number or id."""
    dossier, sentence, finding = read_dossier(store, run), query.sentence, query.finding
    if (sentence is None) == (finding is None):
        raise UsageError("name one sentence or one finding", hint="add ?sentence= or ?finding= and its number")
    sentences = {entry.number: entry for entry in dossier.sentences}
    if sentence is not None:
        if sentence not in sentences:
            raise NotFound(f"the summary has no sentence {sentence}", hint=f"it has {len(sentences)}")
        about = [history for history in dossier.findings if history.sentence == sentence]
        histories = tuple(history for history in about if history.state == "open")
        return SentenceEvidence(sentence=sentences[sentence], findings=histories)
    names = (finding or "", (finding or "").removeprefix("f"))
    for history in dossier.findings:
        if history.finding.id == names[0] or str(history.number) == names[1]:
            return SentenceEvidence(sentence=sentences.get(history.sentence or 0), findings=(history,))
    raise NotFound(f"there is no finding {finding!r}", hint=f"there are {len(dossier.findings)}")


def opinions_of(store: Store, run: str) -> BaseModel:
    """Return the opinions on its findings."""
    return OpinionList(opinions=tuple(store.opinions.of(run)))


def say(store: Store, run: str, opinion: OpinionInput) -> BaseModel:
    """Store an opinion on a finding, or withdraw it, and return all of them."""
    turns = read_trace(store, run).rounds
    drafts = [turn.draft.id for turn in turns if any(finding.id == opinion.finding for finding in turn.findings)]
    if not drafts:
        result = read_result(store, run)
        is_finding = any(finding.id == opinion.finding for finding in result.findings)
        drafts = [result.draft.id] if is_finding and result.draft else []
    if not drafts:
        raise NotFound(f"run {run} has no finding {opinion.finding!r}")
    if opinion.agrees is None:
        store.opinions.delete(run=run, key=opinion.finding)
    else:
        store.opinions.put(HumanOpinion(run, opinion.finding, drafts[-1], opinion.agrees, opinion.note, now()))
    return opinions_of(store, run)
