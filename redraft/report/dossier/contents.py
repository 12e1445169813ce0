"""The contents of a dossier: the contract of `export --format json` and of the HTTP API. Fields are added to it, never
changed.

Offsets count characters (Unicode code points) into the text that they belong to, from `start` to before `end`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from redraft.domain import Document, Span
from redraft.report.history.lineage import Stop
from redraft.rulings import Lookup
from redraft.text.places import chapter_of, document_of, pages_of, percent_of
from redraft.text.sanitizer import one_line

FORMAT = 1
State = Literal["open", "mended", "set aside"]
"""Of a finding: it holds of the result; it holds no more; it was about a draft that was refused."""


class DossierModel(BaseModel):
    """A value of a dossier."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PlaceEntry(DossierModel):
    """A stretch of the document."""

    start: int
    end: int
    document: str
    """Which of several documents that were read as one it is in; empty where there is one alone."""
    chapter: str
    pages: str
    """The page that it is on, as it is printed, or the first and the last; empty where the document has no pages."""
    percent: int
    """How far into the document it begins, in hundredths."""
    text: str
    """Its words, on one line."""


class SourceEntry(DossierModel):
    """A place of the document that a sentence comes from."""

    place: PlaceEntry
    weight: float
    """How sure that is, from 0 to 1."""
    way: tuple[Stop, ...]
    """The texts in between, from the summary down to the document."""
    by: Literal["judge", "words"]
    """Whether a judge has quoted it for the sentence, or it was matched by wording."""


class SentenceEntry(DossierModel):
    """A sentence of the summary."""

    number: int
    start: int
    end: int
    text: str
    sources: tuple[SourceEntry, ...]
    drift: str
    """In words, where the texts in between say something else than the document; else empty."""
    invented: str
    """The text in which it came up although nothing bears it out; empty for one that has sources."""
    findings: tuple[int, ...]
    """The numbers of those that are about it and hold of it."""


class FindingOutcome(DossierModel):
    """What became of a finding in a round."""

    round: int
    taken: bool | None
    """Whether that round's draft was taken; None while it has not been judged."""
    gone: bool
    """Whether the finding holds no more of that draft."""
    before: str
    after: str
    """The sentence that was changed for it, where one was."""
    became: str = ""
    """What the reviser says of it: mended, kept or left; empty where it has said nothing."""
    words: str = ""
    """The document's words for which it was kept, or why it was left."""


class FindingEntry(DossierModel):
    """Something found wrong, in whichever round."""

    number: int
    id: str
    metric: str
    kind: str
    task: str
    explanation: str
    sentence: int | None
    """The number of the sentence of the summary that it is about; None where something is missing, or where the
    sentence is one of another draft."""
    about: str
    """That sentence's words; empty where something is missing."""
    question: str
    found: str
    expected: str
    evidence: PlaceEntry | None
    """None where there is none, or only words whose place is not known."""
    said: str
    """The words of the evidence."""
    judges: str
    """How many judges say so, where several were asked."""
    rounds: tuple[int, ...]
    """Of whose drafts it was found."""
    aimed: tuple[FindingOutcome, ...]
    """The rounds that were to mend it, and what came of that."""
    state: State


class Score(DossierModel):
    """What a metric says of a draft."""

    metric: str
    outcome: str
    score: float | None
    judged: int
    unjudged: int
    reason: str
    missing: tuple[str, ...]
    goal: float | None
    met: bool | None
    """None without a goal, and where too few items have a verdict to tell."""
    initial: float | None
    self_check: bool
    """Whether the built-in model has judged what it has written itself."""
    certificate: dict[str, Any] | None
    stands_on: str
    """The certificate in a line."""
    details: dict[str, Any]


class Withdrawn(DossierModel):
    """A finding that a second look has overruled, for the document does say so."""

    metric: str
    sentence: str
    question: str
    quote: str
    reason: str
    judge: str


class RoundEntry(DossierModel):
    """A round: its draft, how good that is, and what became of it."""

    number: int
    draft: str
    base: int | None
    """The round whose draft it revises."""
    text: str
    words: int
    scores: dict[str, float | None]
    self_check: bool
    """Whether the built-in model has judged what it has written itself."""
    unjudged: dict[str, int]
    aims: tuple[str, ...]
    findings: tuple[int, ...]
    """The numbers of those that it was to mend."""
    found: tuple[int, ...]
    """The numbers of those that were found of its draft."""
    taken: bool | None
    reason: str
    why: str
    instruction: str
    looked_up: tuple[Lookup, ...]
    notes: tuple[str, ...]
    result: bool
    """Whether its draft is what the run came to."""
    withdrawn: tuple[Withdrawn, ...] = ()
    """The findings on its draft that were overruled."""


class JudgedItem(DossierModel):
    """Something that the summary is judged by, with its place in the document: a question, a key fact, a claim."""

    metric: str
    kind: str
    text: str
    expected: str
    found: str
    verdict: str
    value: float | None
    """1 where it is as it should be, 0 where it is not, None without a verdict."""
    place: PlaceEntry | None
    sentences: tuple[int, ...]
    """Those of the summary that it rests on."""
    key: str
    """The same in every run that is judged by it; empty for a claim, which is the summary's own."""


class KeyFactEntry(DossierModel):
    """A key fact, and whether the summary states it."""

    id: int
    level: str
    parent: int | None
    text: str
    place: PlaceEntry | None
    stated: float | None
    """1 where it is stated, 0 where it is not, None without a verdict."""
    sentences: tuple[int, ...]
    pruned: str
    """Why it was pruned; empty for one that summaries are judged by."""


class KeyFactTree(DossierModel):
    """The key facts of a stretch of the document from one perspective."""

    chunk: int
    perspective: str
    place: PlaceEntry
    query: str
    facts: tuple[KeyFactEntry, ...]


class ChapterEntry(DossierModel):
    """A chapter, or one of several documents, that is summarized by itself, in a run of its own."""

    title: str
    start: int
    end: int
    pages: str
    """The page that it is on, as it is printed, or the first and the last; empty where the document has no pages."""
    run: str
    """Empty while nobody has begun it."""
    status: str
    words: int
    summary: str
    scores: dict[str, float | None]
    self_check: bool
    """Whether the built-in model has judged what it has written itself."""


class PieceEntry(DossierModel):
    """A partial summary, and what it was made from."""

    name: str
    said: str
    level: int
    first_chunk: int
    last_chunk: int
    place: PlaceEntry | None
    """What of the document it is about."""
    words: int
    limit: int
    attempts: int
    flaw: str
    text: str
    made_from: tuple[str, ...]
    """The names of the pieces that it merges."""
    goes_on_from: tuple[str, ...]
    """The names of those that it was shown besides: the summary so far, or what comes before."""


class CallEntry(DossierModel):
    """A call to a model, or an answer that was taken from an earlier one."""

    number: int
    label: str
    prompt: str
    hash: str
    model: str
    outcome: str
    borrowed: bool
    """Whether the answer was there already, and cost nothing."""
    began: float
    """Seconds since the first call."""
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_usd: float | None
    error: str


class Positions(DossierModel):
    """From where in the document the summary comes."""

    traced: int
    untraced: int
    thirds: tuple[float, ...]
    bins: tuple[float, ...]
    density: tuple[float, ...]
    spread: float | None


class PromptText(DossierModel):
    """A prompt that was used."""

    name: str
    hash: str
    text: str | None
    """None where its text is not on record."""


class DocumentEntry(DossierModel):
    """The document."""

    id: str
    title: str
    characters: int
    words: int
    sections: tuple[dict[str, Any], ...]
    text: str | None
    """None where it is left out."""
    language: str = ""
    """The language that it is in, such as `de`; empty where nothing tells."""


class RunEntry(DossierModel):
    """The run."""

    id: str
    kind: str
    status: str
    stopped: str
    """Why it goes no further."""
    why: str
    """The same in the words of a model that led it."""
    error: str
    parent: str | None
    model: str
    judges: tuple[str, ...]
    strategy: str
    version: str
    tokenizer: str
    created: str
    updated: str
    settings: dict[str, Any]
    judging: dict[str, Any] | None
    refinement: dict[str, Any] | None
    limits: dict[str, Any]
    usage: dict[str, Any]


class Dossier(DossierModel):
    """All that there is to look at in a run."""

    format: int = FORMAT
    holds: str
    """What it contains of the document, in a sentence."""
    run: RunEntry
    document: DocumentEntry
    draft: str | None
    summary: str | None
    words: int
    sentences: tuple[SentenceEntry, ...]
    findings: tuple[FindingEntry, ...]
    scores: tuple[Score, ...]
    rounds: tuple[RoundEntry, ...]
    compared: str = ""
    """How the first and the best draft compare in the end, with the votes; empty where nobody has compared them."""
    items: tuple[JudgedItem, ...]
    trees: tuple[KeyFactTree, ...]
    positions: Positions | None
    chapters: tuple[ChapterEntry, ...] = ()
    pieces: tuple[PieceEntry, ...]
    calls: tuple[CallEntry, ...]
    prompts: tuple[PromptText, ...]
    left_out: tuple[str, ...]
    """What is not in the summary or not in the dossier, and why, in sentences."""


class Places:
    """Names stretches of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def at(self, span: Span | None) -> PlaceEntry | None:
        """A stretch with its chapter, how far into the document it is, and its words; None for none."""
        return None if span is None else self.known(span)

    def known(self, span: Span) -> PlaceEntry:
        """The same of a stretch that there is."""
        return self._named(span, one_line(self._document.text[span.start : span.end]))

    def wide(self, span: Span) -> PlaceEntry:
        """A stretch without its words, since these are many."""
        return self._named(span, "")

    def _named(self, span: Span, words: str) -> PlaceEntry:
        document = self._document
        return PlaceEntry(
            start=span.start,
            end=span.end,
            document=one_line(document_of(document, span)),
            chapter=one_line(chapter_of(document, span)),
            pages=one_line(pages_of(document, span)),
            percent=percent_of(document, span.start),
            text=words,
        )
