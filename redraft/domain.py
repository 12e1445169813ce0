"""The nouns of redraft. Plain frozen values; nothing here imports anything of the package but other such values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, PlainSerializer, computed_field
from pydantic.dataclasses import dataclass as record

from redraft.document import Chunk as Chunk
from redraft.document import Document as Document
from redraft.document import DocumentSection as DocumentSection
from redraft.document import Span as Span
from redraft.document import content_id as content_id
from redraft.rulings import PointAnswer

DEFERRED = ConfigDict(defer_build=True)
"""Of records: what checks and writes one is made when the first is made, and most commands make few kinds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A partial summary: of one chunk (level 0), or of consecutive pieces one level below."""

    level: int
    index: int
    first_chunk: int
    last_chunk: int
    text: str
    words: int
    tokens: int
    limit: int
    attempts: int = 1
    flaw: str = ""
    """Why this text was kept although it is not valid; empty for a valid one."""
    step: int = 0
    """How often it was worked on since it was first written: a running summary that was shortened is another piece."""

    @property
    def name(self) -> str:
        """Which piece of its run it is."""
        return f"{self.level}/{self.index}/{self.step}"


ParentKind = Literal["excerpt", "piece", "context", "running", "base", "evidence"]
"""As what a text was shown to whoever wrote another one: a part of the document, a partial summary to be merged, the
one before it, the summary so far, the draft to be revised, a part of the document to revise it by."""


@dataclass(frozen=True, slots=True)
class Parent:
    """What one text was made from: so much of another text as its prompt showed."""

    kind: ParentKind
    text: str
    """The id of that text."""
    span: Span
    node: str = ""
    """Which piece or draft has that text; empty for the document."""

    @classmethod
    def of_piece(cls, piece: Piece, kind: ParentKind = "piece", shown: int | None = None) -> Parent:
        """A partial summary, or its beginning where no more of it was shown."""
        return cls(kind, content_id(piece.text), Span(0, len(piece.text) if shown is None else shown), piece.name)

    @classmethod
    def of_draft(cls, draft: Draft) -> Parent:
        """The draft that another one was made from."""
        return cls("base", content_id(draft.text), Span(0, len(draft.text)), draft.id)


@dataclass(frozen=True, slots=True)
class Gap:
    """A chunk that could not be summarized, and why."""

    chunk: int
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call, or a run, consumed."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_prompt_tokens: int = 0
    reasoning_tokens: int = 0
    reported: bool = True
    """False where the provider sent no usage and the figures are ours."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The ledger of a run, added up."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    """None where a call was made to a model without a known price."""
    seconds: float = 0.0
    lost: int = 0
    """How many of the calls were sent and never answered. What they cost nobody knows, and is not among the above."""
    lost_tokens: int = 0
    """Their own prompts, and the replies that they were asked for with."""
    lost_usd: float | None = 0.0
    """The most that they can have cost, as budgets count them."""
    over_usd: float = 0.0
    """How much more than the limit was spent: replies may be longer than they were allowed to be."""


GIVEN, OTHER = "given", "other"
"""The nodes of the drafts that come from the user: one summary, and the second where two are compared."""


@dataclass(frozen=True, slots=True)
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
"""What kind of text something is: what a summary of it cannot do without depends on that."""
Task = Literal["add", "correct", "remove", "change", "clarify", "connect", "drop"]
"""What a finding asks for: `add` what is missing, `correct` what the document has otherwise, `remove` from a sentence
what nothing bears out, `clarify` what a sentence leaves open, `connect` a sentence with those around it, `drop` a
sentence that is of no use, `change` as its explanation says."""


@record(frozen=True, slots=True, config=DEFERRED)
class Evidence:
    """Words of the document, and where they stand; without a span where only the words are known."""

    text: str
    span: Span | None = None


WHOLE = "the whole document"
"""What was read for a finding, where it was not passages alone, begins with this."""


def _counted(said_by: tuple[int, int] | None) -> dict[str, int] | None:
    return {"judges": said_by[0], "of": said_by[1]} if said_by else None


@record(frozen=True, slots=True, config=DEFERRED)
class Finding:
    """One thing wrong with a draft, precise enough to act on.

    The explanation is an instruction in plain words, and in our own: whoever revises does as it says. What a text or a
    model says stands in the other fields.
    """

    metric: str
    kind: str
    task: Task
    explanation: str
    sentence: str = ""
    """The sentence of the draft that it is about, empty where something is missing."""
    question: str = ""
    found: str = ""
    """What the draft says."""
    expected: str = ""
    """What the document says, or in which way it says otherwise."""
    evidence: Evidence | None = None
    said_by: Annotated[tuple[int, int] | None, PlainSerializer(_counted, when_used="json")] = None
    """How many judges say so, and of how many who gave a verdict on it; None where it was one judge's to say."""
    read: str = ""
    """What of the document was read for it: "the whole document (22,479 tokens)", or "14 passages"."""
    value: float = 0.0
    """What its item counts in the score; 1 where it is withdrawn."""

    @property
    def is_absence(self) -> bool:
        """Whether it says that the document has no such thing, after all of it was read."""
        return self.task == "remove" and self.read.startswith(WHOLE)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        """The same for the same complaint about the same words, in whichever draft."""
        about = self.question or ("" if self.sentence else self.expected)
        return content_id("\n".join((self.metric, self.kind, self.sentence, about, self.explanation)))[:12]

    @property
    def answer(self) -> str:
        """What the document says, or is missing of it: words to copy, which a judge's reason is not."""
        return "" if self._is_reasoned else self.expected

    @property
    def why(self) -> str:
        """A judge's own words on what is wrong with a sentence that no question was put to."""
        return self.expected if self._is_reasoned else ""

    @property
    def _is_reasoned(self) -> bool:
        return bool(self.sentence) and not self.question


REVIEW = "review"
"""The name under which a person's own requests stand beside the findings of the metrics."""

Outcome = Literal["scored", "measured", "not_applicable", "failed"]
"""`measured`: there are figures, and none of them says how good the draft is."""


@record(frozen=True, slots=True, config=DEFERRED)
class Evaluation:
    """What one metric says of one draft. There is a score exactly when the outcome is `scored`."""

    metric: str
    version: int
    outcome: Outcome
    score: float | None = None
    judged: int = 0
    unjudged: int = 0
    findings: tuple[Finding, ...] = ()
    held: tuple[str, ...] = ()
    """The sentences of the draft without which the score would fall: a revision had better keep them."""
    details: Mapping[str, object] = field(default_factory=dict)
    reason: str = ""
    """Why there is no score."""

    @property
    def judged_share(self) -> float | None:
        """The share of its items on which there is a verdict; None where it counts no items."""
        items = self.judged + self.unjudged
        return self.judged / items if items else None

    @property
    def missing(self) -> tuple[str, ...]:
        """What the part of the document's pack lacks that the score rests on, and why."""
        found = self.details.get("missing") if self.outcome == "scored" else None
        return tuple(map(str, found)) if isinstance(found, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class PackQuestion:
    """A question about a document, with the document's own answer. `position` is where in it, from 0 to 1."""

    id: Annotated[int, Field(serialization_alias="rank")]
    text: Annotated[str, Field(serialization_alias="question")]
    kind: str
    answer: str
    evidence: Evidence
    position: float


@dataclass(frozen=True, slots=True)
class Pack:
    """The frozen yardstick of one document: its questions, the most important first."""

    id: str
    document: str
    model: str
    prompt_hashes: Mapping[str, str]
    questions: tuple[PackQuestion, ...]
    missing: tuple[str, ...] = ()
    """The stretches of the document that no questions could be had about, and why."""
    imported: bool = False


Perspective = Literal["analytical", "narrative"]
"""What a tree of key facts is about: what the text means and argues, or what happens in it."""
Level = Literal["root", "branch", "leaf"]


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a key fact was pruned: the dimension in which it failed, and the validator's reason.

    Besides the three dimensions a fact may be `orphaned`, or `unjudged` where nobody gave a verdict on it.
    """

    dimension: str
    reason: str


@dataclass(frozen=True, slots=True)
class KeyFact:
    """A fact that a good summary may state. The numbers of a tree's facts follow each other depth first, from 1."""

    id: int
    level: Level
    parent: int | None
    text: Annotated[str, Field(serialization_alias="fact")]
    evidence: Evidence
    objections: Annotated[tuple[Objection, ...], Field(serialization_alias="pruned")] = ()
    """Empty for a fact that is kept; one that is pruned stays on record."""

    @property
    def kept(self) -> bool:
        """Whether summaries are judged by it."""
        return not self.objections


@dataclass(frozen=True, slots=True)
class Tree:
    """The key facts of one stretch of a document from one perspective, and the question that they answer."""

    chunk: int
    perspective: Perspective
    span: Span
    position: float
    """Where in the document the middle of the stretch is, from 0 to 1."""
    facts: tuple[KeyFact, ...]
    query: str = ""
    """Empty where nothing of the tree was kept, or no question came back."""

    @property
    def kept(self) -> tuple[KeyFact, ...]:
        """The facts that summaries are judged by, depth first."""
        return tuple(fact for fact in self.facts if fact.kept)


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """The trees of one document, in its order: the part of its pack that recall and faithfulness are judged by."""

    id: str
    document: str
    builder: str
    validator: str
    prompt_hashes: Mapping[str, str]
    trees: tuple[Tree, ...]
    missing: tuple[str, ...] = ()
    """What could not be built, and why."""
    imported: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One turn of the refinement: a draft, what it was to mend, and what became of it. Round 0 is the first draft."""

    number: int
    draft: str
    base: str | None = None
    """The draft that it revises."""
    aims: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    """The ids of the findings that the revision was to mend, all of them findings on the base."""
    accepted: bool | None = None
    """None while it has not been judged."""
    reason: str = ""
    why: str = ""
    """Why these findings, where a model has decided."""
    instruction: str = ""
    """What it told the reviser."""
    answers: tuple[PointAnswer, ...] = ()
    """What became of each finding, as the reviser says."""


STOPS = {
    "goals_met": "every goal is met",
    "rounds": "the limit of rounds was reached",
    "no_progress": "two revisions in a row were rejected",
    "nothing_to_fix": "nothing is left to try",
    "unsure": "too few items have a verdict to tell whether every goal is met",
    "decided": "the deciding model saw nothing more to gain",
    "first_draft_preferred": "the first draft reads better than the best revision, so it is the result",
    "budget": "the budget is used up",
    "cancelled": "you stopped it",
}
"""Why runs go no further, in words, by the reason that is on record for it."""


SHORTENED = "shortened"
"""The node of a draft whose sentences were chosen from summaries that no model would make shorter."""
REVISION_OF = "revision of "
"""How the node of a draft begins that the reviser has written; the id of what it revises follows."""
NO_REVISION_OF = "no revision of "
"""How that of a draft begins where nothing came back: the text is that of the draft that was to be revised."""


def highest(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The highest pieces that together are about as many chunks as there are summaries of, each about its own."""
    cover: list[Piece] = []
    taken: set[int] = set()
    for piece in sorted(pieces, key=lambda one: (-one.level, -one.last_chunk, -one.step)):
        chunks = set(range(piece.first_chunk, piece.last_chunk + 1))
        if not chunks & taken:
            cover.append(piece)
            taken |= chunks
    return tuple(sorted(cover, key=lambda one: one.first_chunk))
