"""Runs as lists have them, and whoever asks how one stands."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.report.entry import Entry, Line
from redraft.report.history.certificates import self_checked
from redraft.report.history.results import preferred
from redraft.report.history.trace import scores_among
from redraft.settings import GIVEN_STRATEGY, ExperimentPart
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

_PREVIEW = 160


class RunSummary(Entry):
    """A run in a line: for lists, and for whoever asks how it stands."""

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
    """The run that it summarizes a chapter, or drafts a candidate, for."""
    strategy: str
    """Empty for a summary that was given."""
    model: str
    judges: tuple[str, ...]
    document: str
    title: str
    query: Line
    words: int | None
    """Of the summary; None while there is none."""
    preview: Line = ""
    """The first words of the summary."""
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
    """A run in a line."""
    return summaries(store, [run])[0]


def summaries(store: Store, runs: Sequence[Run]) -> list[RunSummary]:
    """Runs in a line each. Each table is read once, however many runs there are."""
    keys, drafts = [run.id for run in runs], [run.draft for run in runs if run.draft]
    used, openings, scores = store.calls.made_by(keys), store.runs.openings(drafts), store.judgments.scores(drafts)
    wholes = store.wholes_of(keys)
    titles = store.documents.titles_of({run.document for run in runs})
    made = []
    for run in runs:
        words, opening = openings.get(run.draft or "", (None, ""))
        calls, cost = used.get(run.id, (0, 0.0))
        one = RunSummary.of(
            run,
            run=run.id,
            status=store.status(run),
            part=isinstance(run.purpose, ExperimentPart),
            chapter_of=wholes.get(run.id),
            strategy="" if run.settings.strategy == GIVEN_STRATEGY else run.settings.strategy,
            model=run.settings.model,
            judges=run.judging.judges if run.judging else (),
            title=titles.get(run.document, ""),
            query=run.settings.query or "",
            words=words,
            preview=one_line(opening, _PREVIEW),
            limit=run.settings.words,
            stop_reason=run.stop_reason or "",
            scores=scores_among(run, scores),
            self_check=bool(self_checked(run)),
            preferred=preferred(store, run),
            calls=calls,
            cost_usd=cost,
        )
        made.append(one)
    return made
