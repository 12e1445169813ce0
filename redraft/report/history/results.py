"""The stored result of a run: summary, scores, comparison with other runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from redraft.domain import (
    NO_REVISION_OF,
    SHORTENED,
    Document,
    Draft,
    Evaluation,
    Finding,
    Gap,
    KeyFacts,
    Pack,
    Piece,
    Round,
    Span,
    Totals,
    record_json,
)
from redraft.errors import RunCommand, RunError, UsageError
from redraft.evaluators.metric_info import PREFERENCE, WithdrawnFinding, goal_status, withdrawn
from redraft.report.entry import Entry
from redraft.report.history.certificates import Certificate, certificates, offline_checked
from redraft.report.history.requests import RequestOutcome, request_outcomes
from redraft.report.tables import data_frame, escaped, markdown_rows
from redraft.settings import EXTRACTIVE, FIGURES, STATISTICS, DraftConfig
from redraft.store.runs import Run, damage_named
from redraft.store.store import Store, check_store
from redraft.text.languages import language_context, with_language
from redraft.text.places import pages_of, place_in
from redraft.text.sanitizer import one_line
from redraft.text.sentences import sentences_in
from redraft.text.words import count_words, dollars
from redraft.text.words import score as shown_score

METRIC_COLUMNS = {
    "run": str,
    "metric": str,
    "outcome": str,
    "score": float,
    "initial_score": float,
    "goal": float,
    "met": bool,
    "judged": int,
    "unjudged": int,
    "findings": int,
    "reason": str,
}
"""The columns of `Result.to_frame("metrics")`, and their types."""
_TEXTS = ("run", "id", "metric", "kind", "task", "explanation", "sentence", "question", "found", "expected", "evidence")
FINDING_COLUMNS = {**dict.fromkeys(_TEXTS, str), "start": int, "end": int, "chapter": str, "value": float}
"""The columns of `Result.to_frame("findings")`, and their types."""


@dataclass(frozen=True, slots=True)
class ChapterResult:
    """A chapter that is summarized separately, and its result; None before it was started."""

    title: str
    span: Span
    pages: str
    """The first and last page as printed; empty if the document has none."""
    result: Result | None


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """A run with its summary. `complete` says whether the run did all it was asked for."""

    run: Run
    status: str
    outline: Document
    """The document without its text: title and structure."""
    tokens: int
    chunks: int
    draft: Draft | None
    usage: Totals
    gaps: tuple[Gap, ...]
    flawed: tuple[Piece, ...]
    rounds: tuple[Round, ...] = ()
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    """The evaluations of the draft by metric."""
    initial: Mapping[str, Evaluation] = field(default_factory=dict)
    """The evaluations of the first draft by metric."""
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    """The certificates of the draft's scores by metric."""
    chapters: tuple[ChapterResult, ...] = ()
    """The result of each chapter if they were summarized separately; `usage` covers all of them."""
    sentences: int | None = None
    """The number of sentences of a summary that was given to be judged; None for others."""
    candidates: tuple[CandidateResult, ...] = ()
    """The drafts from which the first was chosen, if several were made; `usage` covers all of them."""
    lost: tuple[int, ...] = ()
    """The rounds in which no revision came back and another might have met the goals."""
    oddities: tuple[str, ...] = ()
    """Irregularities in the replies: another model answered, or the usage is unknown."""
    requests: tuple[RequestOutcome, ...] = ()
    """The outcome of each of a person's requests that a revision tried."""
    unstored: str = ""
    """Why the run is not stored although it was carried out: its database was deleted meanwhile. Usually empty."""
    round_shown: str = ""
    """Which round this is, if it is an earlier one than the last."""

    def __repr__(self) -> str:
        cost = "unknown" if self.usage.cost_usd is None else f"{self.usage.cost_usd:.4f}"
        words = self.draft.words if self.draft else None
        named = f"{self.run.id!r}, kind={self.run.kind!r}, status={self.status!r}, title={one_line(self.title, 60)!r}"
        scores = {name: score if score is None else round(score, 3) for name, score in self.scores.items()}
        return f"Result(run={named}, words={words}, scores={scores}, findings={len(self.findings)}, cost_usd={cost})"

    def _repr_markdown_(self) -> str:
        """Return the result for a notebook. Texts of models and documents are escaped."""
        calls = f"{self.usage.calls} calls" + (f", {dollars(self.usage.cost_usd)}" if self.usage.cost_usd else "")
        head = (one_line(self.title, 200), self.run.kind, self.run.id, self.status, self.run.stop_reason or "", calls)
        parts = [" · ".join(f"{escaped(one)}" for one in head if one)]
        parts += [f"> {escaped(one)}" for one in (self.summary or "").split("\n") if one.strip()]
        columns = ("metric", "score", "initial_score", "goal", "findings", "reason")
        parts += [markdown_rows(columns, self._metric_rows())] if self.evaluations else []
        return "\n\n".join(parts) + "\n"

    def to_frame(self, rows: Literal["metrics", "findings"] = "metrics") -> Any:
        """Return a row for each metric, or for each finding, as a data frame of pandas, or else of polars. Raises
        `UsageError` if neither is installed."""
        if rows == "metrics":
            return data_frame(METRIC_COLUMNS, self._metric_rows())
        if rows != "findings":
            raise UsageError(f"a frame has no {rows!r}", hint='use "metrics" or "findings"')
        return data_frame(FINDING_COLUMNS, list(map(self._finding_row, self.findings)))

    def _finding_row(self, finding: Finding) -> dict[str, Any]:
        evidence, chapter = finding.evidence, finding.place.chapter if finding.place else None
        start, end = (evidence.span if evidence else None) or (None, None)
        place = {"evidence": evidence.text if evidence else None, "start": start, "end": end, "chapter": chapter}
        return {"run": self.run.id, **record_json(finding), **place}

    def _metric_rows(self) -> list[dict[str, Any]]:
        goals = self.goals
        return [
            {
                "run": self.run.id,
                "metric": name,
                "outcome": evaluation.outcome,
                "score": evaluation.score,
                "initial_score": self.initial[name].score if name in self.initial else None,
                "goal": goals[name]["at_least"] if name in goals else None,
                "met": goals[name]["met"] if name in goals else None,
                "judged": evaluation.judged,
                "unjudged": evaluation.unjudged,
                "findings": len(evaluation.findings),
                "reason": evaluation.reason,
            }
            for name, evaluation in self.evaluations.items()
        ]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings on the draft, of all metrics."""
        return tuple(finding for evaluation in self.evaluations.values() for finding in evaluation.findings)

    @property
    def settings(self) -> DraftConfig:
        """The settings of the run."""
        return self.run.settings

    @property
    def summary(self) -> str | None:
        """The summary; None if there is none yet."""
        return self.draft.text if self.draft else None

    @property
    def scores(self) -> dict[str, float | None]:
        """The draft's score by metric; None if it could not be scored."""
        return _scores(self.evaluations)

    @property
    def initial_scores(self) -> dict[str, float | None]:
        """The first draft's scores."""
        return _scores(self.initial)

    @property
    def offline_checked(self) -> frozenset[str]:
        """The metrics by which the built-in model judges its own text, which do not measure quality."""
        return offline_checked(self.run)

    @property
    def statistics(self) -> Mapping[str, object] | None:
        """The draft's statistics; None if it has none."""
        return figures(self.evaluations)

    @property
    def goals(self) -> dict[str, dict[str, object]]:
        """The goal of each metric, and whether the draft meets it: None if too few items were judged."""
        refinement = self.run.refinement
        if refinement is None:
            return {}
        return {
            metric: self._goal(metric, least, refinement.judged_share) for metric, least in refinement.goals.items()
        }

    def _goal(self, metric: str, least: float, share: float) -> dict[str, object]:
        evaluation = self.evaluations.get(metric)
        stands = goal_status(evaluation, least, share)
        return {
            "at_least": least,
            "met": None if stands == "unsure" else stands == "met",
            "judged_share": evaluation.judged_share if evaluation else None,
        }

    @property
    def unsure(self) -> list[str]:
        """The metrics with too few verdicts to tell whether their goals are met."""
        return [metric for metric, goal in self.goals.items() if goal["met"] is None]

    @property
    def unjudged(self) -> dict[str, int]:
        """The number of items without a verdict, for each metric that has any."""
        return {metric: evaluation.unjudged for metric, evaluation in self.evaluations.items() if evaluation.unjudged}

    @property
    def unscored(self) -> dict[str, str]:
        """The reason for each metric that was judged but has no score."""
        return {
            metric: evaluation.reason
            for metric, evaluation in self.evaluations.items()
            if evaluation.outcome == "failed"
        }

    @property
    def may_gain(self) -> bool:
        """Whether resuming the finished run may improve it. Replies that were read are cached, and the built-in model
        always gives the same ones, so an item that a judge left open stays open."""
        judged = self.evaluations.values() if set(self.judges) != {EXTRACTIVE} else ()
        troubled = any(
            evaluation.details.get("trouble") or (evaluation.outcome == "failed" and not evaluation.unjudged)
            for evaluation in judged
        )
        return bool(self.gaps or self.missing or troubled or (self.lost and self.settings.model != EXTRACTIVE))

    @property
    def missing(self) -> dict[str, list[str]]:
        """What is missing from the basis of each score, for each metric where something is."""
        return {
            metric: list(evaluation.missing) for metric, evaluation in self.evaluations.items() if evaluation.missing
        }

    @property
    def complete(self) -> bool:
        """Whether the run did all it was asked for and is stored: nothing left out, no metric failed, and every goal
        met."""
        judged = all(evaluation.outcome != "failed" for evaluation in self.evaluations.values())
        met = all(goal["met"] for goal in self.goals.values())
        chapters = all(chapter.result is not None and chapter.result.complete for chapter in self.chapters)
        whole = not self.gaps and (self.draft is None or self.draft.node != SHORTENED)
        return self.run.status == "done" and not self.unstored and whole and judged and met and chapters

    @property
    def source(self) -> dict[str, object]:
        """The document as JSON."""
        until = {} if self.settings.until is None else {"until": self.settings.until}
        return {
            "id": self.run.document,
            "title": self.title,
            "tokens": self.tokens,
            "chunks": self.chunks,
            "notes": list(self.outline.notes),
            "language": self.outline.language,
        } | until

    @property
    def unit(self) -> str:
        """The unit that the document is drafted by: chunk or chapter."""
        return "chapter" if self.settings.by_chapter else "chunk"

    @property
    def title(self) -> str:
        """The title of the document."""
        return self.outline.title

    @property
    def judges(self) -> list[str]:
        """The models that judge: those configured, or else the writer's."""
        return list(self.run.judging.judges if self.run.judging else ()) or [self.settings.model]

    def model_dump(self, *, mode: Literal["json", "python"] = "python") -> dict[str, object]:
        """Return what `--json` prints of any run, but for its `answer`, `comparison`, `pack` or `keyfacts`; in both
        modes the values are JSON."""
        if mode not in ("json", "python"):
            raise UsageError(f"there is no mode {mode!r}", hint='use mode="json"')
        return self.record().model_dump(mode="json")

    def record(self) -> RunResult:
        """Return the result as it is printed."""
        draft = self.draft
        return RunResult.of(
            self.run,
            self,
            self.settings,
            run=self.run.id,
            status=self.status,
            strategy_reason=self.settings.chosen,
            settings=self.settings.model_dump(mode="json"),
            words=count_words(draft.text) if draft else None,
            rounds=max((made.number for made in self.rounds), default=0),
            judges=self.run.judging.judges if self.run.judging else (),
            metrics=metrics_json(self.evaluations, self.certificates),
            offline_check=bool(self.offline_checked),
            certificates={metric: record_json(certificate) for metric, certificate in self.certificates.items()},
            withdrawn={
                name: found for name, evaluation in self.evaluations.items() if (found := withdrawn(evaluation))
            },
            notes=draft.notes if draft else (),
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Show a result within another record as its `record()`, and take such a record in its place."""
        shown = handler.generate_schema(RunResult)
        dumped = core_schema.plain_serializer_function_ser_schema(
            lambda one: one.record() if isinstance(one, cls) else one, return_schema=shown
        )
        known = core_schema.union_schema([core_schema.is_instance_schema(cls), shown])
        return core_schema.json_or_python_schema(shown, known, serialization=dumped)


def metrics_json(
    evaluations: Mapping[str, Evaluation], certificates: Mapping[str, Certificate]
) -> dict[str, dict[str, Any]]:
    """Return the evaluations of a draft by metric as JSON, each with its certificate."""
    return {
        name: record_json(evaluation)
        | ({"certificate": record_json(certificates[name])} if name in certificates else {})
        for name, evaluation in evaluations.items()
    }


def _scores(evaluations: Mapping[str, Evaluation]) -> dict[str, float | None]:
    return {metric: evaluation.score for metric, evaluation in evaluations.items() if metric not in FIGURES}


def figures(evaluations: Mapping[str, Evaluation]) -> Mapping[str, object] | None:
    """Return the statistics among a draft's evaluations; None if nothing was measured."""
    evaluation = evaluations.get(STATISTICS)
    return dict(evaluation.details) if evaluation and evaluation.outcome == "measured" else None


def read_result(store: Store, key: str) -> Result:
    """Return the stored result of a run, given its id or a prefix of it. Raises a `RunError` if there is none."""
    check_store(store)
    run = store.runs.get(key)
    with damage_named(run.id):
        return _result(store, run)


def _result(store: Store, run: Run) -> Result:
    chunks = store.chunks(run)
    if not chunks:
        raise RunError(f"the chunks of run {run.id} are gone from the database")
    pieces = store.runs.pieces(run.id)
    rounds = store.judgments.rounds(run.id)
    outline = outline_of_run(store, run)
    evaluations = _judged(store, run, run.draft, outline)
    chapters = tuple(_chapters(store, run, outline))
    draft = store.runs.draft(run.draft) if run.draft else None
    candidates = candidates_of(store, run)
    totals = [chapter.result.usage for chapter in chapters if chapter.result]
    totals += [
        store.calls.totals(candidate_result.run) for candidate_result in candidates if candidate_result.run != run.id
    ]
    return Result(
        run=run,
        status=store.status(run),
        outline=outline,
        tokens=sum(chunk.tokens for chunk in chunks),
        chunks=len(chunks),
        draft=draft,
        usage=replace(
            reduce(_added, totals, store.calls.totals(run.id)),
            over_usd=store.reservations.overspent(run.id, run.limits.max_cost),
        ),
        gaps=tuple(store.runs.gaps(run.id)),
        flawed=tuple(piece for piece in pieces if piece.flaw),
        rounds=tuple(rounds),
        evaluations=evaluations,
        initial=_judged(store, run, rounds[0].draft, outline) if rounds else {},
        certificates=certificates(store, run, evaluations),
        chapters=chapters,
        candidates=candidates,
        sentences=count_sentences(store, run, [draft])[0] if draft and run.kind == "evaluate" else None,
        lost=tuple(lost_rounds(store, run)),
        oddities=tuple(store.calls.oddities(run.id)),
        requests=tuple(request_outcomes(store, rounds)),
        unstored=store.connection.loss,
    )


def count_sentences(store: Store, run: Run, drafts: Sequence[Draft]) -> list[int]:
    """Return the number of sentences of each draft, split in the language of the run's document."""
    with language_context(document_read(store, run)):
        return [len(sentences_in(draft.text)) for draft in drafts]


def _added(one: Totals, other: Totals) -> Totals:
    """Return the usage of a run plus that of a chapter, which adds no time; a value unknown in one is unknown in the
    sum."""
    beside = asdict(other)
    both: dict[str, Any] = {
        name: None if None in (value, beside[name]) else value + beside[name] for name, value in asdict(one).items()
    }
    return Totals(**both | {"seconds": one.seconds})


def _chapters(store: Store, run: Run, outline: Document) -> Iterator[ChapterResult]:
    for chapter in store.chapters.of(run.id):
        span = chapter.chunk.span
        yield ChapterResult(
            chapter.title, span, pages_of(outline, span), read_result(store, chapter.run) if chapter.run else None
        )


def lost_rounds(store: Store, run: Run) -> list[int]:
    """Return the rounds of a refinement in which no revision came back. Empty if the goals are met anyway, or if a
    person reviews each round and would have to be asked again."""
    if run.refinement is None or run.refinement.review or run.stop_reason == "goals_met":
        return []
    rounds = store.judgments.rounds(run.id)
    return [made.number for made in rounds if store.runs.draft(made.draft).node.startswith(NO_REVISION_OF)]


def evaluations_of(store: Store, draft: str, outline: Document) -> dict[str, Evaluation]:
    """Return all evaluations of a draft by metric, with the place of each finding's evidence."""
    known = store.judgments.of(draft)
    return {
        name: replace(evaluation, findings=tuple(with_place(finding, outline) for finding in evaluation.findings))
        for name, evaluation in known.items()
    }


def with_place(finding: Finding, outline: Document) -> Finding:
    """Return a finding with the place of its evidence. The document may be without its text."""
    span = finding.evidence.span if finding.evidence else None
    return replace(finding, place=place_in(outline, span)) if span else finding


def _judged(store: Store, run: Run, draft: str | None, outline: Document) -> dict[str, Evaluation]:
    """Return the evaluations of a draft by the run's metrics, and its statistics."""
    if draft is None or run.judging is None:
        return {}
    known = evaluations_of(store, draft, outline)
    wanted = (PREFERENCE,) if run.kind == "compare" else run.judging.reported_metrics
    return {name: known[name] for name in wanted if name in known}


def document_read(store: Store, run: Run) -> Document:
    """Return the document of a run, without a language that was set for another run."""
    return with_language(store.documents.get(run.document), run.settings.source_language)


def outline_of_run(store: Store, run: Run) -> Document:
    """Return the document of a run without its text, which may be long."""
    return with_language(store.documents.outline(run.document), run.settings.source_language)


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """One of several drafts, with its scores and whether it was chosen; None before the choice."""

    number: int
    run: str
    """The run that drafted it: the run itself, or one that was made for it."""
    strategy: str
    draft: str | None
    words: int | None
    scores: Mapping[str, float | None]
    chosen: bool | None
    reason: str

    def line(self, count: int) -> str:
        """Return the candidate in one line."""
        scores = [f"{name} {'no score' if its is None else shown_score(its)}" for name, its in self.scores.items()]
        verdict = "undecided" if self.chosen is None else "chosen" if self.chosen else "not chosen"
        told = ", ".join([self.strategy, *scores, f"{verdict}{f': {self.reason}' if self.reason else ''}"])
        return f"candidate {self.number} of {count}: {told}"


class RunResult(Entry, defer_build=True):
    """The result of a run, as `redraft show --json` prints it. Fields are added, never changed."""

    run: str
    identity: str
    kind: str
    parent: str | None
    status: str
    source: dict[str, Any]
    strategy: str
    strategy_reason: str
    model: str
    judges: tuple[str, ...]
    """The models that judge; empty for the writer's, or if nothing is judged."""
    tokenizer: str
    settings: dict[str, Any]
    summary: str | None
    words: int | None
    sentences: int | None
    """The number of sentences of a summary that was given to be judged; None for others."""
    rounds: int
    stop_reason: str | None
    why: str
    scores: dict[str, float | None]
    initial_scores: dict[str, float | None]
    metrics: dict[str, dict[str, Any]]
    """The evaluations by metric, each with its findings and its certificate."""
    offline_check: bool
    goals: dict[str, dict[str, Any]]
    unjudged: dict[str, int]
    unscored: dict[str, str]
    certificates: dict[str, dict[str, Any]]
    missing: dict[str, list[str]]
    withdrawn: dict[str, list[WithdrawnFinding]]
    statistics: dict[str, Any] | None
    gaps: tuple[Gap, ...]
    flawed: tuple[Piece, ...]
    """The partial summaries that were kept although they are invalid."""
    notes: tuple[str, ...]
    requests: tuple[RequestOutcome, ...]
    oddities: tuple[str, ...]
    error: dict[str, Any] | None
    usage: Totals
    chapters: Annotated[tuple[ChapterResult, ...], Field(exclude_if=lambda some: not some)] = ()
    """The chapters with their results, if they were summarized separately."""
    unstored: Annotated[str, Field(exclude_if=lambda loss: not loss)] = ""
    """Why the run is not stored: its database was deleted while it was carried out."""
    candidates: Annotated[tuple[CandidateResult, ...], Field(exclude_if=lambda some: not some)] = ()


def candidates_of(store: Store, run: Run) -> tuple[CandidateResult, ...]:
    """Return the candidates of a run in order; empty for a run that makes one draft."""
    candidate_results: list[CandidateResult] = []
    for candidate in store.candidates.of(run.id):
        draft = store.runs.draft(candidate.draft) if candidate.draft else None
        judged: Mapping[str, Evaluation] = (
            store.judgments.of(candidate.draft) if candidate.draft and run.judging else {}
        )
        wanted = run.refinement.goals if run.refinement else run.judging.metrics if run.judging else ()
        scores = {name: judged[name].score for name in wanted if name in judged and name not in FIGURES}
        settings = store.runs.get(candidate.run).settings if candidate.run else run.settings
        words = draft.words if draft else None
        made = (candidate.run or run.id, settings.strategy, candidate.draft or None, words)
        candidate_results.append(CandidateResult(candidate.number, *made, scores, candidate.chosen, candidate.reason))
    return tuple(candidate_results)


def result_of(store: Store, run: Result | str) -> Result:
    """Return the result of a run that is given by its result or by its id."""
    return run if isinstance(run, Result) else read_result(store, run)


def built(store: Store, run: Result | str) -> Pack:
    """Return the question pack that a run of `Session.build` built, given its result or its id."""
    result = result_of(store, run)
    return store.packs.get(_built(result, result.run.judging.pack if result.run.judging else None))


def built_keyfacts(store: Store, run: Result | str) -> KeyFacts:
    """Return the key facts that a run of `Session.build` built, from the perspectives it was asked for."""
    result = result_of(store, run)
    judging = result.run.judging
    facts = store.keyfacts.get(_built(result, judging.keyfacts if judging else None, "key facts"))
    chosen = judging.perspective if judging else "both"
    # Key facts that already existed may be from both perspectives.
    return replace(facts, trees=tuple(tree for tree in facts.trees if chosen in ("both", tree.perspective)))


def _built(result: Result, key: str | None, what: str = "question pack") -> str:
    if key is None:
        raise RunError(f"run {result.run.id} has no {what}", fix=(RunCommand("pack build"), " makes them"))
    return key
