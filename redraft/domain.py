"""The nouns of redraft. Plain frozen values; nothing here imports anything else of the package."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple


def content_id(text: str) -> str:
    """The id under which a text is stored: the SHA-256 of its UTF-8 form."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Span(NamedTuple):
    """A half-open range of character offsets into a document."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Section:
    """A titled stretch of a document: a chapter, a part. `level` 1 is the outermost."""

    title: str
    level: int
    span: Span


@dataclass(frozen=True, slots=True)
class Document:
    """A source text. `text` is what the offsets of every span refer to."""

    id: str
    title: str
    text: str
    sections: tuple[Section, ...] = ()
    source: str = ""
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document that fits a token budget."""

    index: int
    span: Span
    tokens: int


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


Task = Literal["add", "correct", "change"]
"""What a finding asks for: `add` what is missing, `correct` what is wrong, `change` as its explanation says."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Words of the document, and where they stand; without a span where only the words are known."""

    text: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with a draft, precise enough to act on. The explanation is an instruction in plain words."""

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
    """What the document says."""
    evidence: Evidence | None = None

    @property
    def id(self) -> str:
        """The same for the same complaint about the same words, in whichever draft."""
        return content_id("\n".join((self.metric, self.kind, self.sentence, self.question, self.explanation)))[:12]


Outcome = Literal["scored", "not_applicable", "failed"]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class PackQuestion:
    """A question about a document, with the document's own answer. `position` is where in it, from 0 to 1."""

    id: int
    text: str
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
