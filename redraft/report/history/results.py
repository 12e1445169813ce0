"""The stored result of a run: summary, scores, chapters and the outcome of a person's requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic.dataclasses import dataclass as record
from pydantic_core import CoreSchema, core_schema

from redraft.domain import (
    DEFERRED,
    NO_REVISION_OF,
    REVIEW,
    SHORTENED,
    Document,
    Draft,
    Evaluation,
    Finding,
    Gap,
    KeyFacts,
    Pack,
    Piece,
    PointAnswer,
    Round,
    Span,
    Totals,
    computed,
    record_json,
    widened,
)
from redraft.errors import RunCommand, RunError
from redraft.evaluators.metric_info import PREFERENCE, WithdrawnFinding, goal_status, withdrawn
from redraft.report.history.judges import judged_by, judges_of, offline_checked
from redraft.report.tables import data_frame
from redraft.settings import EXTRACTIVE, FIGURES, STATISTICS, DraftConfig, JudgeConfig
from redraft.store.runs import Run, RunRecord, damage_named
from redraft.store.store import Store, check_store
from redraft.text.languages import language_context, with_language
from redraft.text.places import pages_of, place_in
from redraft.text.sanitizer import one_line
from redraft.text.sentences import sentences_in
from redraft.text.words import count, count_words


@dataclass(frozen=True, slots=True)
class ChapterResult:
    """A chapter that is summarized separately, and its result; None before it was started."""

    title: str
    span: Span
    pages: str
    """The first and last page as printed; empty if the document has none."""
    result: Result | None


@record(frozen=True, slots=True, config=DEFERRED)
class RequestOutcome:
    """The outcome of a person's request in the last revision that tried it, as far as the reviser reports it."""

    request: str
    round: int
    met: bool | None
    """None if the reviser did not say."""
    reason: str = ""
    """Why it was not met."""

    @computed
    def said(self) -> str:
        """The outcome in one line."""
        request = f"“{one_line(self.request, 100)}”"
        if self.met is False:
            return f"request not met: {request} in revision {self.round}: {one_line(self.reason, 200)}"
        unclear = "sent, but the reviser did not say whether it is met"
        return f"request {'met (as far as the reviser reports)' if self.met else unclear}: {request}"


def request_outcome(finding: Finding, answer: PointAnswer, round_: Round) -> RequestOutcome:
    """Return what a revision made of a person's request. What a rejected revision met is not met."""
    is_fixed = answer.became == "fixed"
    if (round_.accepted and is_fixed) or not answer.became:
        return RequestOutcome(finding.explanation, round_.number, True if is_fixed else None)
    why = (round_.reason or "the revision was not judged") if is_fixed else answer.said or "no reason was given"
    return RequestOutcome(finding.explanation, round_.number, False, why)


def count_unmet(requests: Sequence[RequestOutcome]) -> str:
    """Return, in a clause, how many requests were not met; empty if none."""
    unmet = sum(outcome.met is False for outcome in requests)
    if len(requests) == 1:
        return "your request was not met" if unmet else ""
    return f"{unmet} of {count(len(requests), 'request')} not met" if unmet else ""


def request_outcomes(store: Store, rounds: Sequence[Round]) -> Iterator[RequestOutcome]:
    """Yield the outcome of each request; that of the last revision that tried it counts."""
    # The findings of a file often ask for the same in the same words.
    outcomes: dict[str, RequestOutcome] = {}
    for round_ in rounds:
        if REVIEW not in round_.aims or round_.base is None:
            continue
        review = store.judgments.of(round_.base).get(REVIEW)
        requests = {finding.id: finding for finding in review.findings} if review else {}
        for answer in round_.answers:
            if answer.finding in requests:
                outcome = request_outcome(requests[answer.finding], answer, round_)
                outcomes[outcome.request] = outcome
    yield from outcomes.values()


@dataclass(frozen=True, kw_only=True)
class ResultFacts:
    """What is the same in a result and in its JSON."""

    usage: Totals
    gaps: tuple[Gap, ...]
    flawed: tuple[Piece, ...]
    """The partial summaries that were kept although they are invalid."""
    requests: tuple[RequestOutcome, ...] = ()
    """The outcome of each of a person's requests that a revision tried."""
    oddities: tuple[str, ...] = ()
    """Irregularities in the replies: another model answered, or the usage is unknown."""
    sentences: int | None = None
    """The number of sentences of a summary that was given to be judged; None for others."""
    chapters: Annotated[tuple[ChapterResult, ...], Field(exclude_if=lambda chapters: not chapters)] = ()
    """The result of each chapter if they were summarized separately; `usage` covers all of them."""
    unstored: Annotated[str, Field(exclude_if=lambda loss: not loss)] = ""
    """Why the run is not stored although it was carried out: its database was deleted meanwhile. Usually empty."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Result(ResultFacts):
    """A run with its summary. `complete` says whether the run did all it was asked for."""

    run: Run
    status: str
    """The status of the run; `incomplete` if it is done, but a metric has no score since judges could not be read."""
    outline: Document
    """The document without its text: title and structure."""
    tokens: int
    chunks: int
    draft: Draft | None
    rounds: tuple[Round, ...] = ()
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    """The evaluations of the draft by metric."""
    initial: Mapping[str, Evaluation] = field(default_factory=dict)
    """The evaluations of the first draft by metric."""
    lost: tuple[int, ...] = ()
    """The rounds in which no revision came back and another might have met the goals."""
    round_shown: str = ""
    """Which round this is, if it is an earlier one than the last."""

    def __repr__(self) -> str:
        cost = "unknown" if self.usage.cost_usd is None else f"{self.usage.cost_usd:.4f}"
        words = self.draft.words if self.draft else None
        run = f"{self.run.id!r}, kind={self.run.kind!r}, status={self.status!r}, title={one_line(self.title, 60)!r}"
        scores = {name: score if score is None else round(score, 3) for name, score in self.scores.items()}
        return f"Result(run={run}, words={words}, scores={scores}, findings={len(self.findings)}, cost_usd={cost})"

    def to_frame(self) -> Any:
        """Return a data frame of pandas with one row: the title, words, tokens, cost and scores."""
        usage, draft = self.usage, self.draft
        row = {"run": self.run.id, "title": self.outline.title, "status": self.status}
        tokens = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
        words = {"words": draft.words if draft else None, "calls": usage.calls}
        return data_frame([{**row, **words, **tokens, "cost_usd": usage.cost_usd, **self.scores}])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings on the draft, of all metrics."""
        return findings_in(self.evaluations)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed or could not be kept: for the run, and for its draft."""
        return (*self.run.notes, *(self.draft.notes if self.draft else ()))

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
        return scores_in(self.evaluations)

    @property
    def initial_scores(self) -> dict[str, float | None]:
        """The first draft's scores."""
        return scores_in(self.initial)

    @property
    def offline_checked(self) -> frozenset[str]:
        """The metrics by which the built-in model judges its own text, which do not measure quality."""
        return offline_checked(self.run)

    @property
    def judged_by(self) -> dict[str, str]:
        """By metric, which models judged and with which prompts."""
        return judged_by(self.run, self.evaluations)

    @property
    def goals(self) -> dict[str, dict[str, object]]:
        """The goal of each metric, and whether the draft meets it: None if too few items were judged."""
        refinement, goals = self.run.refinement, dict[str, dict[str, object]]()
        for metric, at_least in refinement.goals.items() if refinement else ():
            evaluation = self.evaluations.get(metric)
            status = goal_status(evaluation, at_least, refinement.judged_share if refinement else 0.0)
            goals[metric] = {
                "at_least": at_least,
                "met": None if status == "unsure" else status == "met",
                "judged_share": evaluation.judged_share if evaluation else None,
            }
        return goals

    @property
    def unjudged(self) -> dict[str, int]:
        """The number of items without a verdict, for each metric that has any."""
        return {metric: evaluation.unjudged for metric, evaluation in self.evaluations.items() if evaluation.unjudged}

    @property
    def unscored(self) -> dict[str, str]:
        """The reason for each metric that was judged but has no score."""
        return {name: judgment.reason for name, judgment in self.evaluations.items() if judgment.outcome == "failed"}

    @property
    def missing(self) -> dict[str, list[str]]:
        """What is missing from the basis of each score, for each metric where something is."""
        return {name: list(judgment.missing) for name, judgment in self.evaluations.items() if judgment.missing}

    @property
    def may_gain(self) -> bool:
        """Whether resuming the finished run may improve it. Replies that were read are cached, and the built-in model
        always gives the same ones, so an item that a judge left open stays open."""
        evaluations = self.evaluations.values() if set(self.judges) != {EXTRACTIVE} else ()
        in_trouble = any(
            evaluation.details.get("trouble") or (evaluation.outcome == "failed" and not evaluation.unjudged)
            for evaluation in evaluations
        )
        return bool(self.gaps or self.missing or in_trouble or (self.lost and self.settings.model != EXTRACTIVE))

    @property
    def complete(self) -> bool:
        """Whether the run did all it was asked for and is stored: nothing left out, no metric failed, and every goal
        met."""
        return (
            self.run.status == "done"
            and not (self.unstored or self.gaps or self.unscored)
            and (self.draft is None or self.draft.node != SHORTENED)
            and all(goal["met"] for goal in self.goals.values())
            and all(chapter.result is not None and chapter.result.complete for chapter in self.chapters)
        )

    @property
    def title(self) -> str:
        """The title of the document."""
        return self.outline.title

    @property
    def judges(self) -> list[str]:
        """The models that judge: those configured, or else the writer's."""
        return list(judges_of(self.run))

    @property
    def has_judges(self) -> bool:
        """Whether models judge in this run: none does where all that was evaluated is computed, unless it refines."""
        is_computed = bool(self.evaluations) and not self.judged_by and self.run.refinement is None
        return self.run.judging is not None and not is_computed

    def model_dump(self, *, mode: Literal["json", "python"] = "json") -> dict[str, object]:  # noqa: ARG002
        """Return what `--json` prints of any run, but for its `answer`, `comparison`, `pack` or `keyfacts`. The values
        are JSON in either mode."""
        return record_json(self.record())

    def record(self) -> RunResult:
        """Return the result as it is printed."""
        withdrawals = {name: withdrawn(evaluation) for name, evaluation in self.evaluations.items()}
        statistics, until = self.evaluations.get(STATISTICS), self.settings.until
        source: dict[str, object] = {
            "id": self.run.document,
            "title": self.title,
            "tokens": self.tokens,
            "chunks": self.chunks,
            "notes": list(self.outline.notes),
            "language": self.outline.language,
        }
        return widened(
            RunResult,
            self.run,
            self,
            self.settings,
            run=self.run.id,
            status=self.status,
            strategy_reason=self.settings.chosen,
            settings=self.settings.model_dump(mode="json"),
            source=source if until is None else {**source, "until": until},
            statistics=dict(statistics.details) if statistics and statistics.outcome == "measured" else None,
            words=count_words(self.draft.text) if self.draft else None,
            rounds=max((round_.number for round_ in self.rounds), default=0),
            judges=self.run.judging.judges if self.run.judging else (),
            metrics={name: record_json(evaluation) for name, evaluation in self.evaluations.items()},
            offline_check=bool(self.offline_checked),
            withdrawn={name: findings for name, findings in withdrawals.items() if findings},
            notes=self.notes,
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Show a result within another record as its `record()`, and take such a record in its place."""
        contract = handler.generate_schema(RunResult)
        serializer = core_schema.plain_serializer_function_ser_schema(
            lambda result: result.record() if isinstance(result, cls) else result, return_schema=contract
        )
        either = core_schema.union_schema([core_schema.is_instance_schema(cls), contract])
        return core_schema.json_or_python_schema(contract, either, serialization=serializer)


@record(frozen=True, kw_only=True, config=DEFERRED)
class RunFacts(RunRecord):
    """What lists of runs and the result of a run both have of it."""

    run: str
    kind: str
    status: str
    strategy: str
    """In lists empty for a summary given by the user."""
    model: str
    judges: tuple[str, ...]
    """The models that judge; empty for the writer's, or if nothing is judged."""
    words: int | None
    """The length of the summary; None if there is none yet."""
    scores: dict[str, float | None]
    offline_check: bool
    """Whether only the built-in model judged."""


@record(frozen=True, kw_only=True, config=DEFERRED)
class RunResult(ResultFacts, RunFacts):
    """The result of a run, as `redraft show --json` prints it. Fields are added, never changed."""

    source: dict[str, Any]
    strategy_reason: str
    settings: dict[str, Any]
    summary: str | None
    rounds: int
    initial_scores: dict[str, float | None]
    metrics: dict[str, dict[str, Any]]
    """The evaluations by metric, each with its findings."""
    goals: dict[str, dict[str, Any]]
    unjudged: dict[str, int]
    unscored: dict[str, str]
    judged_by: dict[str, str]
    """By metric, which models judged and with which prompts."""
    missing: dict[str, list[str]]
    withdrawn: dict[str, list[WithdrawnFinding]]
    statistics: dict[str, Any] | None
    error: dict[str, Any] | None


UNSCORED = {REVIEW, *FIGURES}
"""Evaluations of a draft without a score: a person's requests, and the statistics."""


def scores_in(evaluations: Mapping[str, Evaluation]) -> dict[str, float | None]:
    """Return the scores of a draft by metric, without those that have figures only."""
    return {metric: evaluation.score for metric, evaluation in evaluations.items() if metric not in UNSCORED}


def findings_in(evaluations: Mapping[str, Evaluation]) -> tuple[Finding, ...]:
    """Return the findings on a draft, of all metrics."""
    return tuple(finding for evaluation in evaluations.values() for finding in evaluation.findings)


def read_result(store: Store, key: str) -> Result:
    """Return the stored result of a run, given its id or a prefix of it. Raises a `RunError` if there is none."""
    check_store(store)
    run = store.runs.get(key)
    with damage_named(run.id):
        chunks = store.chunks(run)
        if not chunks:
            raise RunError(f"the chunks of run {run.id} are gone from the database")
        rounds = store.rounds.of(run.id)
        outline = document_read(store, run, outline=True)
        chapters = [
            ChapterResult(
                chapter.title,
                chapter.chunk.span,
                pages_of(outline, chapter.chunk.span),
                read_result(store, chapter.run) if chapter.run else None,
            )
            for chapter in store.chapters.of(run.id)
        ]
        draft = store.runs.draft(run.draft) if run.draft else None
        sentences = None
        if draft and run.kind == "evaluate":
            with language_context(document_read(store, run)):
                sentences = len(sentences_in(draft.text))
        # The chapters add no time; what is unknown of one is unknown in the sum.
        totals = store.calls.totals(run.id)
        usages = [asdict(totals), *(asdict(chapter.result.usage) for chapter in chapters if chapter.result)]
        columns = {name: [usage[name] for usage in usages] for name in usages[0]}
        values: dict[str, Any] = {name: None if None in column else sum(column) for name, column in columns.items()}
        values |= {"seconds": totals.seconds, "over_usd": store.calls.overspent(run.id, run.limits.max_cost)}
        return Result(
            run=run,
            status=store.status(run),
            outline=outline,
            tokens=sum(chunk.tokens for chunk in chunks),
            chunks=len(chunks),
            draft=draft,
            usage=Totals(**values),
            gaps=tuple(store.runs.gaps.of(run.id)),
            flawed=tuple(piece for piece in store.runs.pieces(run.id) if piece.flaw),
            rounds=tuple(rounds),
            evaluations=evaluations_of(store, run, draft.id, outline) if draft else {},
            initial=evaluations_of(store, run, rounds[0].draft, outline) if rounds else {},
            chapters=tuple(chapters),
            sentences=sentences,
            lost=tuple(lost_rounds(store, run)),
            oddities=tuple(store.calls.oddities(run.id)),
            requests=tuple(request_outcomes(store, rounds)),
            unstored=store.connection.loss,
        )


def lost_rounds(store: Store, run: Run) -> list[int]:
    """Return the rounds of a refinement in which no revision came back. Empty if the goals are met anyway, or if a
    person reviews each round and would have to be asked again."""
    if run.refinement is None or run.refinement.review or run.stop_reason == "goals_met":
        return []
    rounds = store.rounds.of(run.id)
    return [round_.number for round_ in rounds if store.runs.draft(round_.draft).node.startswith(NO_REVISION_OF)]


def evaluations_of(store: Store, run: Run, draft: str, outline: Document, *more: str) -> dict[str, Evaluation]:
    """Return the evaluations of a draft by the run's metrics, the statistics among them, and by `more` metrics, with
    the place of each finding's evidence."""
    evaluations, metrics = store.judgments.of(draft), run.judging.reported_metrics if run.judging else ()
    return {
        name: replace(evaluation, findings=tuple(with_place(finding, outline) for finding in evaluation.findings))
        for name in (*((PREFERENCE,) if run.kind == "compare" else metrics), *more)
        if (evaluation := evaluations.get(name))
    }


def with_place(finding: Finding, outline: Document) -> Finding:
    """Return a finding with the place of its evidence. The document may be without its text."""
    span = finding.evidence.span if finding.evidence else None
    return replace(finding, place=place_in(outline, span)) if span else finding


def document_read(store: Store, run: Run, *, outline: bool = False) -> Document:
    """Return the document of a run in the run's language and with its notes on it, rather than those of another run. An
    `outline` is without the text, which may be long."""
    document = store.documents.outline(run.document) if outline else store.documents.get(run.document)
    notes = document.notes if run.source_notes is None else run.source_notes
    return with_language(replace(document, notes=notes), run.settings.source_language)


def built(store: Store, run: Result | str) -> Pack:
    """Return the question pack that a run of `Session.build` built, given its result or its id."""
    _, key = _built(store, run, "pack")
    return store.packs.get(key)


def built_keyfacts(store: Store, run: Result | str) -> KeyFacts:
    """Return the key facts that a run of `Session.build` built, from the perspectives it was asked for."""
    judging, key = _built(store, run, "keyfacts")
    facts = store.keyfacts.get(key)
    # Key facts that already existed may be from both perspectives.
    trees = tuple(tree for tree in facts.trees if judging.perspective in ("both", tree.perspective))
    return replace(facts, trees=trees)


def _built(store: Store, run: Result | str, part: Literal["pack", "keyfacts"]) -> tuple[JudgeConfig, str]:
    """Return the judging of a run, and the id of what it built."""
    stored_run = run.run if isinstance(run, Result) else read_result(store, run).run
    key = getattr(stored_run.judging, part, None)
    if stored_run.judging is None or key is None:
        what = "question pack" if part == "pack" else "key facts"
        raise RunError(f"run {stored_run.id} has no {what}", fix=(RunCommand("pack build"), " makes them"))
    return stored_run.judging, key
