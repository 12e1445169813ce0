"""What the HTTP API takes and gives, besides dossiers and the list of runs. Fields are added, never changed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from redraft.batches.status import Stage as BatchStage
from redraft.domain import Piece
from redraft.graphs.review import ReviewQuestion
from redraft.report.dossier.contents import FindingEntry, SentenceEntry
from redraft.report.entry import Entry, Line
from redraft.report.history.answers import AnswerCitation, AnswerSentence
from redraft.report.history.summaries import RunSummary
from redraft.runs.dry_run import Stage
from redraft.store.batches import ItemStates, State
from redraft.store.judgments import HumanOpinion
from redraft.studio.orders import RunBody


class RequestBody(BaseModel):
    """What is sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Start(RunBody):
    """A run to begin, or only its plan."""

    dry_run: bool = False
    """Only say what it would come to: nothing is asked and nothing stored."""


class Started(BaseModel):
    """A run that has begun."""

    run: str
    events: str
    """Where its progress can be followed."""


class PlanTotals(BaseModel):
    """About what a run would come to."""

    model_config = ConfigDict(extra="allow")

    source: dict[str, Any]
    model: str
    judges: list[str]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    """None where a price is not known."""
    stages: list[Stage]
    warnings: list[str]


class Status(RunSummary):
    """How a run stands."""

    error: dict[str, str] | None
    at_work: bool
    """Whether this studio is working on it, and can stop it."""
    resumable: bool


class RunResult(BaseModel):
    """The result of a run, as `redraft show --json` has it."""

    model_config = ConfigDict(extra="allow")

    run: str
    kind: str
    status: str
    source: dict[str, Any]
    strategy: str
    model: str
    summary: str | None
    words: int | None
    rounds: int
    stop_reason: str | None
    scores: dict[str, float | None]
    initial_scores: dict[str, float | None]
    self_check: bool
    goals: dict[str, dict[str, Any]]
    usage: dict[str, Any]


class SentenceEvidence(BaseModel):
    """A sentence with where it comes from, and findings with what bears them out."""

    sentence: SentenceEntry | None
    findings: tuple[FindingEntry, ...]


class Pieces(BaseModel):
    """What of a summary there is while it is being written: the latest partial summaries, the furthest first."""

    chunks: int
    total: int
    pieces: tuple[Piece, ...]
    draft: str | None


class Question(RequestBody):
    """A question about the document of a run."""

    question: str = Field(min_length=1, max_length=2000)


class AskedQuestion(Entry):
    """A question about a document, with its answer once there is one."""

    run: str
    question: Line
    status: str
    trouble: Line
    """Why there is no answer."""
    answered: bool | None
    """Whether the document answers it; null while that is not known."""
    answer: Line
    sentences: tuple[AnswerSentence, ...]
    citations: tuple[AnswerCitation, ...]
    judged: Line
    """The score of the answer and who gave it; empty where nobody has judged it."""
    findings: tuple[Line, ...]
    """What the judge found wrong with it."""
    notes: tuple[Line, ...]


class AnswerList(BaseModel):
    """The questions about a document, newest first."""

    answers: tuple[AskedQuestion, ...]


class PendingReview(BaseModel):
    """What a run that waits wants to know; null where it does not wait."""

    question: ReviewQuestion | None


class Review(RequestBody):
    """An answer to a run that waits: all of it may be left out, and then the revision goes ahead as planned."""

    drop: tuple[int | str, ...] = ()
    """Findings that are not to be mended, by number or id."""
    add: tuple[str, ...] = ()
    """Requests in your own words."""
    edited: str | None = None
    """The draft as you have edited it, to be judged instead of a revision."""
    stop: bool = False
    """Leave it at the best draft."""


class OpinionGiven(RequestBody):
    """A word on a finding. Without `agrees` an earlier one is withdrawn."""

    finding: str = Field(max_length=64)
    """Its id."""
    agrees: bool | None
    note: str = Field(default="", max_length=4000)


class OpinionList(BaseModel):
    """What was said of the findings of a run."""

    opinions: tuple[HumanOpinion, ...]


class PackLine(Entry):
    """Questions, key facts or typed questions in the list."""

    id: str
    kind: Literal["questions", "keyfacts", "typed"]
    created: str
    document: str
    title: Line
    model: str
    items: int
    missing: int
    imported: bool


class PackList(BaseModel):
    """All questions and key facts, newest first."""

    packs: tuple[PackLine, ...]


class Strike(RequestBody):
    """The questions to be left out of a new version of a pack."""

    questions: tuple[int, ...] = Field(min_length=1)
    """Their ranks."""


class PackContents(BaseModel):
    """A pack of questions, or key facts, as `redraft pack export` has them."""

    model_config = ConfigDict(extra="allow")


class Created(BaseModel):
    """What came into being."""

    id: str


class DocumentLine(BaseModel):
    """A document of the database."""

    id: str
    title: Line
    characters: int


class Offer(BaseModel):
    """What a run can be begun with."""

    documents: tuple[DocumentLine, ...]
    strategies: tuple[str, ...]
    models: dict[str, str]
    """The names that can be given, and which models they are."""
    metrics: tuple[str, ...]
    goals: tuple[str, ...]
    """The metrics that can be a goal."""
    most_bytes: int


class ExperimentLine(BaseModel):
    """An experiment."""

    name: str
    runs: int
    done: int
    cost_usd: float | None
    latest: str
    tables: int
    """Of the folder that was named."""


class ExperimentList(BaseModel):
    """The experiments of the database, and those of the folder that was named."""

    experiments: tuple[ExperimentLine, ...]


class TableEntry(BaseModel):
    """A table of an experiment."""

    name: str
    title: str
    caption: str
    basis: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, str | int | float | None], ...]


class ExperimentDetails(BaseModel):
    """An experiment with its tables, its pictures and its runs."""

    name: str
    settings: dict[str, Any]
    tables: tuple[TableEntry, ...]
    pictures: tuple[str, ...]
    runs: tuple[RunSummary, ...]


BatchOrder = Literal["pause", "cancel", "resume"]
Which = Literal["", "waiting", "leased", "done", "short", "failed", "aside"]
"""A state of documents; `short` are those of the ones that are done which fell short of what was asked."""


class BatchStatus(Entry):
    """How a batch stands."""

    batch: str
    status: BatchStage
    created: str
    items: ItemStates
    calls: int
    cost_usd: float | None
    """None where a price is not known."""
    a_minute: float | None
    """How many documents have come to their end a minute in the last ten minutes; None where nobody works on it."""
    seconds_left: float | None
    """If it goes on so."""
    error: dict[str, str] | None
    """What stands in the way of every document."""
    folder: str | None
    model: str
    strategy: str
    words: int | None
    goals: dict[str, float]
    max_cost: float | None
    max_calls: int | None
    at_work: bool
    """Whether this studio is working on it."""
    orders: tuple[BatchOrder, ...]
    """What can be done with it now."""


class BatchList(BaseModel):
    """All batches, newest first."""

    batches: tuple[BatchStatus, ...]


class WantedItems(Entry):
    """Which documents of a batch are listed, and which page of them."""

    state: Which = ""
    q: str = Field(default="", max_length=300)
    """What is in the name of the document or in its path."""
    page: int = Field(default=1, ge=1)
    per: int = Field(default=50, ge=1, le=200)


class ItemRow(Entry):
    """A document of a batch."""

    number: int
    """Its place in the batch, from 1 on."""
    source: Line
    name: Line
    """The last part of that, or its id in a file of lines."""
    title: Line
    state: State
    short: bool
    attempts: int
    run: str | None
    """The run that has the rest of it: /api/runs/RUN, /api/runs/RUN/dossier."""
    words: int | None
    scores: dict[str, float | None]
    self_check: bool
    """Whether the built-in model has judged what it has written itself."""
    calls: int | None
    cost_usd: float | None
    error: dict[str, str] | None


class ItemList(BaseModel):
    """A page of the documents of a batch."""

    rows: tuple[ItemRow, ...]
    total: int
    """How many documents are meant, on all pages."""
    page: int
    pages: int
    metrics: tuple[str, ...]
    """Those that any of these rows has a score of."""


class BatchTables(BaseModel):
    """What came of a batch in tables, as `redraft batch status NAME` prints them."""

    tables: tuple[TableEntry, ...]
