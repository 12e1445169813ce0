"""The records of redraft: plain immutable values that import nothing but documents and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, computed_field
from pydantic.dataclasses import dataclass as record
from typing_extensions import TypedDict

from redraft.document import Chunk as Chunk
from redraft.document import Document as Document
from redraft.document import DocumentSection as DocumentSection
from redraft.document import PassageLocation as PassageLocation
from redraft.document import Span as Span
from redraft.document import content_id as content_id
from redraft.errors import Usage as Usage

if TYPE_CHECKING:
    computed = property
else:
    computed = computed_field
"""A property that is part of a record's JSON. Type checkers do not know pydantic's `computed_field` as a property."""


T = TypeVar("T")
DEFERRED = ConfigDict(defer_build=True, validate_by_name=True, validate_by_alias=True)
"""Builds validators on first use, since most commands use few kinds of records; fields go by their names in Python."""
_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def adapter_of(kind: type) -> TypeAdapter[Any]:
    """Return what reads and writes records of a kind."""
    return _ADAPTERS.get(kind) or _ADAPTERS.setdefault(kind, TypeAdapter(kind))


def record_json(record: object, exclude: Any = None) -> dict[str, Any]:
    """Return a record as JSON: its fields by their aliases, without those in `exclude`, and its computed properties."""
    content: dict[str, Any] = adapter_of(type(record)).dump_python(record, mode="json", by_alias=True, exclude=exclude)
    return content


def widened(kind: type[T], /, *records: object, **more: Any) -> T:
    """Return a record of a `kind` with `more`, and the fields it shares with others, of the first that has each."""
    names = getattr(kind, "model_fields", None) or {part.name for part in fields(cast("Any", kind)) if part.init}
    new = [name for name in names if name not in more]
    shared = {name: getattr(record, name) for record in reversed(records) for name in new if hasattr(record, name)}
    return kind(**shared, **more)


Rounded = Annotated[float, PlainSerializer(lambda value: round(value, 3), when_used="json")]
"""A number of which JSON has three decimals."""
PointOutcome = Literal["fixed", "kept", "left", ""]
"""The reviser's answer: fixed, kept because the document says so, or left as it is."""
RulingVerdict = Literal["supported", "contradicted", "absent", "unclear"]
"""What the document says about a claim of the summary; `absent` only after all of it was read."""


@record(frozen=True, slots=True, config=DEFERRED)
class PointAnswer:
    """The reviser's answer to a finding."""

    finding: str
    """The finding's id."""
    became: PointOutcome = "fixed"
    said: str = ""
    """The quoted words where the sentence was kept; the reason where the point was left."""


@record(frozen=True, slots=True, config=DEFERRED)
class Ruling:
    """A second look at a finding. An `overruled` finding is withdrawn from all drafts of the document."""

    document: str
    finding: str
    """The finding's id."""
    verdict: RulingVerdict
    quote: str = ""
    """The quoted words that the verdict rests on, and their place."""
    start: int | None = None
    end: int | None = None
    reason: str = ""
    by: str = ""
    """The judge's name."""
    contested: str = ""
    """The words quoted against the finding; empty if it was not contested."""
    run: str = ""
    round: int = 0
    """The round of the draft with the finding."""

    @property
    def overruled(self) -> bool:
        """Return whether the ruling withdraws the finding."""
        return self.verdict == "supported" and self.start is not None


@record(frozen=True, slots=True, config=DEFERRED)
class DraftComparison:
    """How many readings prefer a revision, the best draft before it, or neither, and why. Every judge reads the two in
    both orders."""

    revision: int
    best: int
    neither: int
    reasons: tuple[str, ...] = ()
    """The reason of each reading."""

    @property
    def is_preferred(self) -> bool:
        """Return whether the revision is preferred: in both orders, or in one of them and no worse in the other."""
        return self.revision > self.best

    @property
    def description(self) -> str:
        """Return the result for people, without the reasons."""
        if self.revision == self.best:
            return "neither draft is preferred"
        winner = "the revision" if self.is_preferred else "the earlier draft"
        votes, readings = max(self.revision, self.best), self.revision + self.best + self.neither
        if votes < readings:
            return f"{winner} is preferred in {votes} of {readings} readings"
        return f"{winner} is preferred in {'both orders' if readings == 2 else f'all {readings} readings'}"


@record(frozen=True, slots=True, config=DEFERRED)
class Completion:
    """A text that a model has written, the number of tries, and its flaws if none was valid."""

    text: str
    words: int
    attempts: int = 1
    flaw: str = ""
    """Why an invalid text was kept; empty for a valid one."""


@record(frozen=True, slots=True, config=DEFERRED, kw_only=True)
class Piece(Completion):
    """A partial summary: of one chunk (level 0), or of consecutive pieces one level below."""

    level: int
    index: int
    first_chunk: int
    last_chunk: int
    tokens: int
    limit: int
    step: int = 0
    """How often it was rewritten: a running summary that was shortened is another piece."""

    @property
    def name(self) -> str:
        """Return the name of the piece within its run."""
        return f"{self.level}/{self.index}/{self.step}"


ParentKind = Literal["excerpt", "piece", "context", "running", "base", "evidence"]
"""How a text was used in writing another: a part of the document, a partial summary to merge, the summary before it,
the summary so far, the draft to revise, or a part of the document as evidence for the revision."""


@record(frozen=True, slots=True, config=DEFERRED)
class Parent:
    """A source of a text: the part of another text that its prompt showed."""

    kind: ParentKind
    text: str
    """The id of that text."""
    span: Span
    node: str = ""
    """The piece or draft with that text; empty for the document."""

    @classmethod
    def of_piece(cls, piece: Piece, kind: ParentKind = "piece", length: int | None = None) -> Parent:
        """Return a partial summary as a parent, or its beginning where no more was shown."""
        return cls(kind, content_id(piece.text), Span(0, len(piece.text) if length is None else length), piece.name)

    @classmethod
    def of_draft(cls, draft: Draft) -> Parent:
        """Return a draft as a parent."""
        return cls("base", content_id(draft.text), Span(0, len(draft.text)), draft.id)


@record(frozen=True, slots=True, config=DEFERRED)
class Gap:
    """A chunk that could not be summarized, and why."""

    chunk: int
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a run's calls."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    """None if a model's price is unknown."""
    seconds: float = 0.0
    lost: int = 0
    """The number of calls that were sent and never answered. Their actual cost is unknown and not included above."""
    lost_tokens: int = 0
    """The tokens of their prompts and of the largest possible replies."""
    lost_usd: float | None = 0.0
    """Their maximum cost, as budgets count it."""
    over_usd: float = 0.0
    """By how much the limit was exceeded: replies may be longer than allowed."""


NOT_SAID = "The document does not say."
"""The text of an answer to a question that the document does not answer."""
NOT_FOUND = (
    "No sentence of the document shares enough words with the question. The built-in model compares words only; a"
    " language model may find the answer."
)
"""The text where the built-in model has no answer; the document may still have one."""
UNANSWERED = "unanswered"
"""The node of such an answer."""
GIVEN, OTHER = "given", "other"
"""The nodes of drafts that come from the user: the summary, and the second one of a comparison."""


@record(frozen=True, slots=True, config=DEFERRED)
class Draft:
    """One version of a summary."""

    id: str
    run: str
    round: int
    node: str
    text: str
    words: int
    notes: tuple[str, ...] = field(default=())


TextKind = Literal["narrative", "argument", "report", "reference", "other"]
"""The kind of a text, which determines what its summary must contain."""
Task = Literal["add", "correct", "remove", "change", "clarify", "connect", "drop"]
"""What a finding asks for: `add` what is missing, `correct` what the document contradicts, `remove` what nothing
supports, `clarify` what a sentence leaves open, `connect` a sentence with its neighbours, `drop` a useless sentence, or
`change` as its explanation says."""


@record(frozen=True, slots=True, config=DEFERRED)
class Evidence:
    """A quotation of the document and its place; without a span where only the words are known."""

    text: str
    span: Span | None = None


WHOLE = "the whole document"
"""`Finding.read` starts with this where the whole document was read."""
AGAIN = ", and again "
"""Joins what was read for a contradiction with what was read to confirm it."""


@record(frozen=True, slots=True, config=DEFERRED)
class JudgedPoint:
    """What a draft and the document say on one point that a metric judges, and how much that counts."""

    metric: str
    kind: str
    found: str = field(default="", kw_only=True)
    """What the draft says."""
    expected: str = field(default="", kw_only=True)
    """What the document says, or how it contradicts the draft."""
    evidence: Evidence | None = field(default=None, kw_only=True)
    weight: int = field(default=0, kw_only=True)
    """How much a summary needs it, from 1 to 3; 0 where nothing is weighed."""


@record(frozen=True, slots=True, config=DEFERRED)
class Finding(JudgedPoint):
    """One fault of a draft, precise enough to act on. The explanation is an instruction in redraft's own words, which
    the reviser follows. Words of texts and models are in the other fields."""

    task: Task
    explanation: str
    sentence: str = ""
    """The sentence of the draft that it is about; empty where something is missing."""
    question: str = ""
    said_by: Annotated[
        tuple[int, int] | None,
        PlainSerializer(lambda pair: pair and {"judges": pair[0], "of": pair[1]}, when_used="json"),
        BeforeValidator(lambda value: tuple(value.values()) if isinstance(value, dict) else value),
    ] = None
    """How many judges agree, and how many gave a verdict; None where a single judge decided."""
    read: str = ""
    """What was read: "the whole document (22,479 tokens)" or "14 passages", and `AGAIN` where that confirms it."""
    value: float = 0.0
    """The value of its item in the score; it becomes 1 if the finding is withdrawn."""
    counts: Annotated[int, Field(exclude_if=lambda counts: counts == 1)] = 1
    """How much of the score depends on it: the weights, or else the number, of the items that object to the same."""
    missing: Annotated[str, Field(exclude_if=lambda missing: not missing)] = ""
    """What a partial answer lacks, in a judge's words."""
    place: Annotated[PassageLocation | None, Field(exclude_if=lambda place: not place)] = field(
        default=None, compare=False
    )
    """The place of the evidence. It is not stored: a run's result has it from the document."""

    @property
    def is_confirmed(self) -> bool:
        """Return whether the document was read again, and its words contradict the draft once more."""
        return self.task == "correct" and self.evidence is not None and AGAIN in self.read

    @computed
    def id(self) -> str:
        """Return the id: equal for the same objection to the same words in any draft."""
        about = self.question or self.answer
        return content_id("\n".join((self.metric, self.kind, self.sentence, about, self.explanation)))[:12]

    @property
    def answer(self) -> str:
        """Return what the document says, or what is missing; a judge's reason is not an answer."""
        is_reason = not self.question and (self.sentence or self.task == "change")
        return "" if is_reason else self.expected

    @property
    def why(self) -> str:
        """Return a judge's own words: on what an answer lacks, or on a sentence or all of the draft, about which no
        question was asked."""
        return self.missing or ("" if self.answer else self.expected)


class RoundState(TypedDict):
    """A round by its number, and what is known before its revision is written."""

    round: int
    scores: dict[str, float | None]
    """The scores of the best draft."""
    why: str
    """Why these findings, or why to stop, if a model decided."""
    instruction: str
    """Its instruction to the reviser."""


class ReviewQuestion(RoundState):
    """What a person is asked about: the next round, the draft to be revised, and the findings to be fixed; if a model
    decided, `why` it chose these, and its `instruction` to the reviser."""

    run: str
    draft: str
    text: str
    words: int
    goals: dict[str, float]
    findings: list[dict[str, Any]]
    """The findings as JSON. An answer names them by id, or by number, counted from 1."""
    problem: str
    """What was wrong with the last answer; empty if there was none."""


REVIEW = "review"
"""The metric name of a person's own requests."""

Outcome = Literal["scored", "measured", "not_applicable", "failed"]
"""`measured` has figures, but none of them says how good the draft is."""


@record(frozen=True, slots=True, config=DEFERRED)
class Verdict:
    """What one metric says of one draft. It has a score exactly if the outcome is `scored`."""

    metric: str
    version: int
    outcome: Outcome
    score: float | None = None
    judged: int = 0
    """The number of items with a verdict."""
    unjudged: int = 0
    reason: str = field(default="", kw_only=True)
    """Why there is no score."""


@record(frozen=True, slots=True, config=DEFERRED)
class Evaluation(Verdict):
    """One metric's evaluation of one draft, with its findings."""

    findings: tuple[Finding, ...] = ()
    held: tuple[str, ...] = ()
    """The sentences of the draft that the score depends on; a revision should keep them."""
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def judged_share(self) -> float | None:
        """Return the share of items with a verdict; None where there are no items."""
        items = self.judged + self.unjudged
        return self.judged / items if items else None

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what the pack behind the score lacks, and why."""
        reasons = self.details.get("missing") if self.outcome == "scored" else None
        return tuple(map(str, reasons)) if isinstance(reasons, list | tuple) else ()


QuestionWord = Literal["what", "when", "where", "who", "how", "why"]
Share = Annotated[float, Field(ge=0, le=1)]
"""A place in a document, from 0 to 1."""
Weight = Annotated[int, Field(ge=1, le=3)]
"""How much a summary needs something: 3, nobody understands the whole without it; 1, worth having if there is room."""


@record(frozen=True, slots=True, config=DEFERRED)
class PackQuestion:
    """A question about a document and the document's answer."""

    id: Annotated[int, Field(alias="rank")]
    text: Annotated[str, Field(alias="question")]
    kind: QuestionWord
    answer: str
    evidence: Evidence
    position: Share
    weight: Weight = 1


@record(frozen=True, slots=True, config=DEFERRED)
class QuestionSet:
    """What the summaries of one document are judged by. It never changes."""

    id: str
    document: str
    imported: bool = field(default=False, kw_only=True)


@record(frozen=True, slots=True, config=DEFERRED)
class Pack(QuestionSet):
    """The questions of one document, most important first."""

    model: str
    prompt_hashes: Mapping[str, str]
    questions: tuple[PackQuestion, ...]
    missing: tuple[str, ...] = ()
    """The stretches of the document for which no questions could be written, and why."""

    @property
    def items(self) -> int:
        """Return the number of questions."""
        return len(self.questions)


Perspective = Literal["analytical", "narrative"]
"""The point of view of key facts: what the text means and argues, or what happens in it."""
Level = Literal["root", "branch", "leaf"]
Dimension = Literal["faithfulness", "objectivity", "significance", "orphaned", "unjudged"]
"""What a key fact failed in. Besides the three dimensions, a fact may be `orphaned`, or `unjudged` where there is no
verdict on it."""


@record(frozen=True, slots=True, config=DEFERRED)
class Objection:
    """Why a key fact was pruned: the dimension in which it failed and the validator's reason."""

    dimension: Dimension
    reason: str


@record(frozen=True, slots=True, config=DEFERRED)
class KeyFact:
    """A fact that a good summary may state. The facts of a tree are numbered depth first from 1."""

    id: int
    level: Level
    parent: int | None
    text: Annotated[str, Field(alias="fact")]
    evidence: Evidence
    objections: Annotated[tuple[Objection, ...], Field(alias="pruned")] = ()
    """Empty for a fact that is kept; pruned facts stay in the record."""

    @property
    def kept(self) -> bool:
        """Return whether summaries are judged by it."""
        return not self.objections


@record(frozen=True, slots=True, config=DEFERRED)
class Tree:
    """The key facts of one stretch of a document from one perspective, and the question that they answer."""

    chunk: Annotated[int, Field(ge=0)]
    perspective: Perspective
    span: Span
    position: Share
    """The middle of the stretch."""
    facts: Annotated[tuple[KeyFact, ...], Field(min_length=1, fail_fast=True)]
    query: str = ""
    """Empty where no fact of the tree was kept, or where no question was written."""

    @property
    def kept(self) -> tuple[KeyFact, ...]:
        """Return the facts that summaries are judged by, depth first."""
        return tuple(fact for fact in self.facts if fact.kept)


@record(frozen=True, slots=True, config=DEFERRED)
class KeyFacts(QuestionSet):
    """The key-fact trees of one document, in order; recall and faithfulness are judged by them."""

    builder: str
    validator: str
    prompt_hashes: Mapping[str, str]
    trees: Annotated[tuple[Tree, ...], Field(min_length=1, fail_fast=True)]
    missing: tuple[str, ...] = ()
    """What could not be built, and why."""

    @property
    def model(self) -> str:
        """Return the model that builds them."""
        return self.builder

    @property
    def items(self) -> int:
        """Return the number of facts that are kept."""
        return sum(len(tree.kept) for tree in self.trees)


@record(frozen=True, slots=True, config=DEFERRED)
class Round:
    """One round of a refinement: a draft, the findings it was to fix, and whether it was accepted. Round 0 is the first
    draft."""

    number: int
    draft: str
    base: str | None = None
    """The draft that it revises."""
    aims: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    """The ids of the findings on the base draft that the revision was to fix."""
    accepted: bool | None = None
    """None until it is judged."""
    reason: str = ""
    why: str = ""
    """Why these findings were chosen, where a model decided."""
    instruction: str = ""
    """The model's instruction to the reviser."""
    answers: tuple[PointAnswer, ...] = ()
    """The reviser's answer to each finding."""
    comparison: DraftComparison | None = None
    """How the draft compares with its base, if judges compared them."""


_STOPS = {
    "running": "running",
    "killed": "killed",
    "interrupted": "you stopped it",
    "waiting": "waiting for your review",
    "goals_met": "every goal is met",
    "rounds": "the limit of rounds was reached",
    "no_progress": "the last revision was not better than the best draft",
    "nothing_to_fix": "the judges found nothing more that a revision could fix",
    "unsure": "too few items have a verdict to tell whether every goal is met",
    "decided": "the deciding model saw nothing more to gain",
    "budget": "the budget is used up",
    "deadline": "the time is used up",
    "cancelled": "you stopped it",
}


def why_stopped(status: str, reason: str | None, error: str = "") -> str:
    """Return why a run stopped, in words, or its status if it has not stopped or has no reason."""
    if status == "failed":
        return f"failed: {error}" if error else "failed"
    return _STOPS.get(status) or _STOPS.get(reason or "", status)


SHORTENED = "shortened"
"""The node of a draft whose sentences were chosen from summaries that no model would make shorter."""
REVISION_OF = "revision of "
"""The prefix of the node of a revised draft; the id of the draft it revises follows."""
NO_REVISION_OF = "no revision of "
"""The prefix where the revision failed: the text is that of the draft it should have revised."""
