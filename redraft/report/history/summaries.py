"""One-line summaries of runs for lists, and the result of comparing two summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass as record

from redraft.domain import DEFERRED, GIVEN, OTHER, Draft, Evaluation, widened
from redraft.errors import RunCommand, RunError
from redraft.evaluators.metric_info import PREFERENCE
from redraft.order import ExperimentPart
from redraft.report.history.judges import offline_checked, shown_names
from redraft.report.history.results import UNSCORED, Result, RunFacts, document_read, read_result
from redraft.report.tables import Line
from redraft.settings import GIVEN_STRATEGY, STATISTICS
from redraft.store.runs import INCOMPLETE, KILLED, Run
from redraft.store.store import Store
from redraft.text.languages import language_context
from redraft.text.sanitizer import one_line
from redraft.text.sentences import sentences_in


@dataclass(frozen=True, slots=True)
class ComparedSummary:
    """One of the two summaries with its statistics."""

    draft: Annotated[Draft, Field(exclude=True)]
    words: int
    sentences: int
    statistics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SummaryComparison:
    """Two summaries, A and B, and the verdicts on them. The run and its usage are in `result`."""

    result: Annotated[Result, Field(exclude=True)]
    a: ComparedSummary
    b: ComparedSummary
    preference: Annotated[Evaluation, Field(exclude=True)]
    """Its JSON is among the metrics of the result."""

    aspects: Annotated[Mapping[str, Mapping[str, Any]], Field(exclude=True)]
    """The winner by aspect, and the votes of the judgings."""
    judgings: Annotated[Sequence[Mapping[str, Any]], Field(exclude=True)]
    """The verdicts of each judge, in both orders."""
    document_read: Annotated[bool, Field(exclude=True)]
    """Whether every judge that gave a verdict saw the document."""
    same: Annotated[bool, Field(exclude=True)]
    """Whether both are the same text, so that no judge was asked."""
    winner: str | None
    """The better one overall: `a`, `b` or `tie`; None without a verdict."""


def compared(store: Store, of: Result | str) -> SummaryComparison:
    """Return the result of a `compare` run, given by its id or its `Result`. Raises a `RunError` for another run, or
    without a verdict yet."""
    result = of if isinstance(of, Result) else read_result(store, of)
    run = result.run
    if run.kind != "compare":
        fix = ("compare two with ", RunCommand("compare", more=("SOURCE", "A", "B")))
        raise RunError(f"run {run.id} does not compare summaries", fix=fix)
    by_node = {draft.node: draft for draft in store.runs.drafts(run.id)}
    drafts = [by_node[node] for node in (GIVEN, OTHER) if node in by_node]
    evaluations = [store.judgments.of(draft.id) for draft in drafts]
    if not drafts or PREFERENCE not in evaluations[0]:
        raise RunError(f"run {run.id} has no verdict yet", fix=run.next_step)
    summaries = []
    with language_context(document_read(store, run)):
        numbers = [len(sentences_in(draft.text)) for draft in drafts]
    for draft, sentences, by_metric in zip(drafts, numbers, evaluations, strict=True):
        measured = by_metric.get(STATISTICS)
        statistics = measured.details if measured and measured.outcome == "measured" else {}
        summaries.append(ComparedSummary(draft, draft.words, sentences, statistics))
    preference, (a, b) = evaluations[0][PREFERENCE], summaries
    parts: Mapping[str, Any] = preference.details
    details = {name: parts[name] for name in ("aspects", "judgings", "document_read", "same")}
    return SummaryComparison(result, a, b, preference, **details, winner=parts["aspects"]["overall"]["winner"])


_PREVIEW = 160


@record(frozen=True, kw_only=True, config=DEFERRED)
class RunSummary(RunFacts):
    """A run in one line, for lists and status."""

    part: bool
    """Whether it is part of an experiment; only the experiment can resume it."""
    chapter_of: str | None
    """The run for which it summarizes a chapter."""
    shown_names: dict[str, str] = Field(default={}, exclude=True)
    """The names of its models for people."""
    title: str
    query: Line
    preview: Line = ""
    """The first words of the summary."""
    limit: int | None
    """The maximum number of words that was asked for."""
    preferred: str | None
    """The better of two summaries that were compared."""
    calls: int
    cost_usd: float | None
    """None if a price is unknown."""


def latest_runs(
    store: Store,
    limit: int,
    *,
    include_parts: bool,
    kind: str | None = None,
    status: str | None = None,
    document: str | None = None,
    model: str | None = None,
) -> list[RunSummary]:
    """Return the latest runs, newest first; without `include_parts` or a `kind`, none of experiments or chapters. Runs
    that cannot be read are left out and noted in `store.runs.damaged`. Raises `UsageError` for a kind or status that no
    run can have."""
    store.runs.check_filter(kind, status)

    def is_listed(run: Run) -> bool:
        if model and model not in run.settings.model:
            return False
        if kind:
            is_right = run.kind == kind
        else:
            is_part = run.experiment or isinstance(run.order, ExperimentPart) or store.parents_of([run.id])
            is_right = include_parts or not is_part
        return is_right and (status is None or store.status(run) in statuses)

    # Whoever looks for stopped runs means all that can go on, whether a limit, the user or the machine stopped them.
    statuses = {"stopped", "interrupted", KILLED} if status == "stopped" else {status}
    stored_status = {KILLED: "running", INCOMPLETE: "done", "stopped": None}.get(status or "", status)
    documents = store.documents.named(document) if document else None
    runs = filter(is_listed, store.runs.newest(status=stored_status, documents=documents))
    rows: list[RunSummary] = []
    for run in islice(runs, limit):
        with store.runs.damage_noted(run.id):
            rows += summaries(store, [run])
    return rows


def summaries(store: Store, runs: Sequence[Run]) -> list[RunSummary]:
    """Return the runs in one line each. Each table is read once, however many runs there are."""
    keys, drafts = [run.id for run in runs], [run.draft for run in runs if run.draft]
    usage, openings = store.calls.made_by(keys), store.runs.openings(drafts)
    wholes, scores = store.parents_of(keys), store.judgments.scores(drafts)
    titles = store.documents.titles_of({run.document for run in runs})
    rows = []
    for run in runs:
        of_draft, metrics = scores.get(run.draft or "", {}), run.judging.reported_metrics if run.judging else ()
        words, opening = openings.get(run.draft or "", (None, ""))
        calls, cost = usage.get(run.id, (0, 0.0))
        evaluations = store.judgments.of(run.draft) if run.kind == "compare" and run.draft else {}
        aspects: Any = evaluations[PREFERENCE].details["aspects"] if PREFERENCE in evaluations else {"overall": {}}
        row = widened(
            RunSummary,
            run,
            run=run.id,
            status=store.status(run),
            part=isinstance(run.order, ExperimentPart),
            chapter_of=wholes.get(run.id),
            strategy="" if run.settings.strategy == GIVEN_STRATEGY else run.settings.strategy,
            model=run.settings.model,
            judges=run.judging.judges if run.judging else (),
            shown_names=shown_names(run.settings, run.judging),
            title=titles.get(run.document, ""),
            query=run.settings.query or "",
            words=words,
            preview=one_line(opening, _PREVIEW),
            limit=run.settings.words,
            stop_reason=run.stop_reason or "",
            scores={name: of_draft[name] for name in metrics if name in of_draft and name not in UNSCORED},
            offline_check=bool(offline_checked(run)),
            preferred=aspects["overall"].get("winner"),
            calls=calls,
            cost_usd=cost,
        )
        rows.append(row)
    return rows
