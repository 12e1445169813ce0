"""One-line summaries of runs, for lists and status."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.report.entry import Entry, Line
from redraft.report.history.certificates import self_checked
from redraft.report.history.comparisons import preferred
from redraft.report.history.trace import scores_among
from redraft.settings import GIVEN_STRATEGY, ExperimentPart
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

_PREVIEW = 160


class RunSummary(Entry):
    """A run in one line, for lists and status."""

    run: str
    created: str
    updated: str
    status: str
    kind: str
    parent: str | None
    experiment: str | None
    part: bool
    """Whether it is part of an experiment; only the experiment can resume it."""
    chapter_of: str | None
    """The run for which it summarizes a chapter or drafts a candidate."""
    strategy: str
    """Empty for a summary given by the user."""
    model: str
    judges: tuple[str, ...]
    document: str
    title: str
    query: Line
    words: int | None
    """The length of the summary; None if there is none yet."""
    preview: Line = ""
    """The first words of the summary."""
    limit: int | None
    """The maximum number of words that was asked for."""
    stop_reason: str
    scores: dict[str, float | None]
    self_check: bool
    """Whether the built-in model judged its own text."""
    preferred: str | None
    """The better of two summaries that were compared."""
    calls: int
    cost_usd: float | None
    """None if a price is unknown."""
    seconds: float


def summary_of(store: Store, run: Run) -> RunSummary:
    """Return a run in one line."""
    return summaries(store, [run])[0]


def summaries(store: Store, runs: Sequence[Run]) -> list[RunSummary]:
    """Return the runs in one line each. Each table is read once, however many runs there are."""
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
