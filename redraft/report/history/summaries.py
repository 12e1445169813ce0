"""Runs as lists have them, and whoever asks how one stands."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from redraft.report.history.certificates import self_checked
from redraft.report.history.results import preferred
from redraft.report.history.trace import scores_of
from redraft.settings import GIVEN_STRATEGY, ExperimentPart
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line


class RunSummary(BaseModel):
    """A run in a line: for lists, and for whoever asks how it stands."""

    model_config = ConfigDict(frozen=True)

    run: str
    created: str
    updated: str
    status: str
    kind: str
    parent: str | None
    experiment: str | None
    part: bool
    """Whether it is part of an experiment, which alone can go on with it."""
    chapter_of: str | None
    """The run that it summarizes a chapter for."""
    strategy: str
    """Empty for a summary that was given."""
    model: str
    judges: tuple[str, ...]
    document: str
    title: str
    query: str
    words: int | None
    """Of the summary; None while there is none."""
    limit: int | None
    """The most words that were asked for."""
    stop_reason: str
    scores: dict[str, float | None]
    self_check: bool
    """Whether the built-in model has judged what it has written itself."""
    preferred: str | None
    """Of two summaries that were compared, the better one."""
    calls: int
    cost_usd: float | None
    """None where a price is not known."""
    seconds: float


def summary_of(store: Store, run: Run) -> RunSummary:
    """A run as it stands."""
    used = store.calls.totals(run.id)
    draft = store.runs.draft(run.draft) if run.draft else None
    return RunSummary(
        run=run.id,
        created=run.created,
        updated=run.updated,
        status=store.status(run),
        kind=run.kind,
        parent=run.parent,
        experiment=run.experiment,
        part=isinstance(run.purpose, ExperimentPart),
        chapter_of=store.chapters.whole_of(run.id) or None,
        strategy="" if run.settings.strategy == GIVEN_STRATEGY else run.settings.strategy,
        model=run.settings.model,
        judges=run.judging.judges if run.judging else (),
        document=run.document,
        title=store.documents.title(run.document),
        query=one_line(run.settings.query or ""),
        words=draft.words if draft else None,
        limit=run.settings.words,
        stop_reason=run.stop_reason or "",
        scores=scores_of(store, run),
        self_check=bool(self_checked(run)),
        preferred=preferred(store, run),
        calls=used.calls,
        cost_usd=used.cost_usd,
        seconds=used.seconds,
    )
