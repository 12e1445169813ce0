"""Request and response models of the HTTP API. Fields may be added, but are never changed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model
from pydantic.dataclasses import dataclass as record

from redraft.batches.sources import DocumentResult
from redraft.batches.tables import BatchSnapshot
from redraft.domain import DEFERRED, Finding, Piece, ReviewQuestion, computed
from redraft.report.dossier.contents import FindingHistory
from redraft.report.history.citations import Citation, NumberedSentence
from redraft.report.history.lineage import TracedSentence
from redraft.report.history.summaries import RunSummary
from redraft.report.tables import Entry, Line, Table
from redraft.store.runs import HumanOpinion


class RequestBody(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")


StartedRun = create_model("StartedRun", run=str, events=str)
"""A run that has started, and the address of its events."""


@record(frozen=True, kw_only=True, config=DEFERRED)
class RunStatus(RunSummary):
    """The status of a run."""

    error: dict[str, str] | None
    at_work: bool
    """Whether this studio is running it, and can stop it."""
    resumable: bool
    max_cost: float | None
    """Its limit of cost."""


SentenceEvidence = create_model(
    "SentenceEvidence", sentence=(TracedSentence | None, ...), findings=tuple[FindingHistory, ...]
)
"""A sentence with its sources, and findings with their evidence."""


EvidenceFilter = create_model("EvidenceFilter", sentence=(int | None, None), finding=(str | None, None))
"""The number of a sentence of the summary, or the number or id of a finding."""


PieceList = create_model("PieceList", chunks=int, total=int, pieces=tuple[Piece, ...], draft=(str | None, ...))
"""The parts of a summary that are written so far, the latest level first."""


class ResumeBody(RequestBody):
    """How a run or a batch goes on."""

    max_cost: float | None = Field(default=None, gt=0)
    """Stop before it costs more US dollars in all; by default the limit that it has anyway."""


class QuestionBody(RequestBody):
    """A question about the document of a run. `follow` is the run of a question that it follows."""

    follow: str | None = None
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]


class AskedQuestion(Entry):
    """A question about a document, with its answer once there is one."""

    run: str
    question: Line
    follows: bool
    """Whether it knows the questions before it."""
    status: str
    trouble: Line
    """Why there is no answer."""
    answered: bool | None = None
    """Whether the document answers it; null while that is not known."""
    answer: Line = ""
    sentences: tuple[NumberedSentence, ...] = ()
    citations: tuple[Citation, ...] = ()
    judged: Line
    """The score of the answer and who gave it; empty if it was not judged."""
    findings: tuple[Finding, ...]
    """What the judge found wrong with it."""
    notes: tuple[Line, ...] = ()


AnswerList = create_model("AnswerList", answers=tuple[AskedQuestion, ...])
"""The questions about a document, newest first."""


PendingReview = create_model("PendingReview", question=(ReviewQuestion | None, ...))
"""The question of a run that waits for a review; null if it does not wait."""


class OpinionInput(RequestBody):
    """An opinion on a finding. `agrees: null` withdraws an earlier one."""

    finding: str = Field(max_length=64)
    """The id of the finding."""
    agrees: bool | None
    note: str = Field(default="", max_length=4000)


OpinionList = create_model("OpinionList", opinions=tuple[HumanOpinion, ...])
"""The opinions on the findings of a run."""


PackKind = Literal["questions", "keyfacts"]


@record(frozen=True, slots=True, kw_only=True, config=DEFERRED)
class PackLine:
    """A pack in the list: questions or key facts."""

    id: str
    document: str
    title: str
    created: str
    imported: bool
    model: str
    items: int
    """The number of questions, or of facts that are kept."""
    missing: int
    kind: PackKind


PackList = create_model("PackList", packs=tuple[PackLine, ...])
"""All packs, newest first."""


ExportedPack = create_model("ExportedPack", __config__=ConfigDict(extra="allow"))
"""A pack of questions or key facts, as `redraft pack export` writes it."""


ChapterLine = create_model("ChapterLine", number=int, title=Line, words=int)
"""A chapter of a document, with the number by which `chapters` names it."""


ChapterList = create_model("ChapterList", chapters=tuple[ChapterLine, ...])
"""The chapters of a document; none if it has none."""


class DocumentLine(BaseModel):
    """A document in the database."""

    id: str
    title: Line
    characters: int
    part: Line
    """Which chapters or pages were read, such as "chapters 2-3"; empty for all."""


class RunChoices(BaseModel):
    """The documents, models, strategies and metrics that a run can use."""

    documents: tuple[DocumentLine, ...]
    strategies: tuple[str, ...]
    models: dict[str, str]
    """The models by name."""
    metrics: tuple[str, ...]
    goals: tuple[str, ...]
    """The metrics that can be goals."""
    most_bytes: int


BatchOrder = Literal["pause", "cancel", "resume"]
Which = Literal["", "waiting", "leased", "done", "short", "failed", "aside"]
"""A state of documents; `short` means done, but a goal was missed."""


@record(frozen=True, slots=True, kw_only=True, config=DEFERRED)
class BatchStatus(BatchSnapshot):
    """The status of a batch, what was asked of it, and within which limits."""

    title: Line
    """Its name, or its first documents if it was given none."""
    model: str
    shown_name: Annotated[str, Field(exclude=True)] = ""
    """The model's name for people."""
    strategy: str
    words: int | None
    goals: dict[str, float]
    max_cost: float | None = None
    max_calls: int | None = None
    left_out: tuple[str, ...]
    """The files that could not be read, and why."""
    at_work: bool
    """Whether this studio is running it."""

    @computed
    def orders(self) -> tuple[BatchOrder, ...]:
        """The orders that it accepts now."""
        is_open, counts = self.status in ("working", "idle"), self.counts
        is_left = bool(counts.waiting or counts.failed or counts.aside)
        accepted: dict[BatchOrder, bool] = {
            "pause": is_open,
            "cancel": is_open or (self.status == "paused" and counts.leased > 0),
            "resume": is_left and self.status != "working" and not self.at_work,
        }
        return tuple(order for order, is_accepted in accepted.items() if is_accepted)


BatchList = create_model("BatchList", batches=tuple[BatchStatus, ...])
"""All batches, newest first."""


class ItemFilter(Entry):
    """Filters for the documents of a batch."""

    state: Which = ""
    q: str = Field(default="", max_length=300)
    """A part of the name or path."""
    page: int = Field(default=1, ge=1)
    per: int = Field(default=50, ge=1, le=200)


@record(frozen=True, slots=True, kw_only=True, config=DEFERRED)
class ItemRow(DocumentResult):
    """A document in a batch."""

    number: int
    """Its number in the batch, from 1."""
    name: Line
    """The name of its file or text, or the id within a JSONL file."""
    short: bool
    """Whether it finished with gaps or missed a goal."""


class Page(BaseModel):
    """A page of a list."""

    total: int
    """The number of rows on all pages."""
    page: int
    pages: int
    metrics: tuple[str, ...]
    """The metrics of these rows."""


ItemList = create_model("ItemList", __base__=Page, rows=tuple[ItemRow, ...])
"""A page of the documents of a batch."""


BatchTables = create_model("BatchTables", tables=tuple[Table, ...])
"""The results of a batch as tables, as `redraft batch status NAME` prints them."""
