"""The contents of a dossier: the contract of `export --format json` and of the HTTP API. Fields are added, never
changed.

Offsets count characters (Unicode code points) in the text that they belong to, from `start` up to but excluding `end`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, ConfigDict, SerializerFunctionWrapHandler, field_serializer

from redraft.domain import Document, Finding, Piece, Span, Totals, Tree
from redraft.report.entry import Clean, Entry, Line, Scrubbed, ScrubbedDict, ScrubbedLine
from redraft.report.history.lineage import TracedSentence
from redraft.report.history.results import ChapterResult, RequestOutcome, count_unmet
from redraft.report.history.trace import RoundTrace
from redraft.settings import COMPUTED, NEWCOMER
from redraft.text.places import chapter_of, document_of, pages_of, percent_of
from redraft.text.sanitizer import one_line, scrubbed, scrubbed_all
from redraft.text.words import score, spaced

FORMAT = 3
State = Literal["open", "fixed", "set aside"]
"""The state of a finding. `open`: it applies to the result, or is a request that the reviser left; `fixed`: it no
longer applies; `set aside`: it was about a draft that was rejected."""


class DossierModel(Entry):
    """A value of a dossier."""

    model_config = ConfigDict(extra="forbid")


class PlaceEntry(DossierModel):
    """A span of the document."""

    start: int
    end: int
    document: Line
    """Which of several documents read as one it is in; empty for a single document."""
    chapter: Line
    pages: Line
    """The printed page it is on, or the first and last; empty if the document has no pages."""
    percent: int
    """How far into the document it starts, in percent."""
    text: Line
    """The text of the span."""


class FindingOutcome(DossierModel):
    """What became of a finding in a round."""

    round: int
    taken: bool | None
    """Whether the draft of that round was accepted; None if it is not judged yet."""
    gone: bool
    """Whether the finding no longer applies to that draft."""
    before: str
    after: str
    """The sentence that was changed because of it, if any."""
    became: str = ""
    """What the reviser reports: fixed, kept or left; empty if it reported nothing."""
    words: Line = ""
    """The document's words for which it was kept, or the reason why it was left."""


class FindingHistory(DossierModel):
    """A finding, from any round, and what became of it."""

    number: int
    finding: Finding
    sentence: int | None
    """The number of the sentence of the summary that it is about; None if something is missing, or if the sentence is
    in another draft."""
    rounds: tuple[int, ...]
    """The rounds in whose drafts it was found."""
    aimed: tuple[FindingOutcome, ...]
    """The rounds that were to fix it, and their outcome."""
    state: State


class Range(DossierModel):
    """The range that holds 95% of the resamples of a figure."""

    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        """Whether it includes 0, so that there may be no difference."""
        return self.low <= 0 <= self.high


class MetricScore(DossierModel):
    """A metric's score of a summary."""

    metric: str
    outcome: str
    score: float | None
    interval: Range | None
    """In a comparison, the range with other items drawn; None if fewer than five are judged, or if the score is not
    their mean."""
    judged: int
    unjudged: int
    reason: Scrubbed
    stands_on: Scrubbed
    """The judges and prompts, in one line."""
    offline_check: bool
    """Whether the built-in model judged its own text."""


class Score(MetricScore):
    """A metric's score of a draft, with its goal and all that it rests on."""

    missing: tuple[Scrubbed, ...]
    goal: float | None
    met: bool | None
    """None without a goal, or if too few items have a verdict."""
    initial: float | None
    certificate: ScrubbedDict | None
    details: ScrubbedDict


class JudgedItem(DossierModel):
    """An item that the summary is judged by, with its place in the document: a question, a key fact, a claim."""

    metric: str
    kind: str
    text: Line
    expected: Line
    found: Line
    verdict: str
    value: float | None
    """1 if correct, 0 if not; None without a verdict."""
    place: PlaceEntry | None
    sentences: tuple[int, ...]
    """The sentences of the summary that it is based on."""
    key: str
    """The same in every run that is judged by the item; empty for a claim, which belongs to one summary."""
    weight: int = 1
    """How often it counts in the score."""


class FactStanding(NamedTuple):
    """Whether the summary states a key fact."""

    value: float | None
    """1 if stated, 0 if not; None without a verdict."""
    sentences: tuple[int, ...]
    """The sentences of the summary that it is based on."""


class KeyFactTree(DossierModel):
    """The key facts of a span of the document from one perspective, and the verdicts on them by their ids."""

    tree: Tree
    place: PlaceEntry
    verdicts: dict[int, FactStanding]


class PieceEntry(DossierModel):
    """A partial summary, and what it was made from."""

    piece: Piece
    said: str
    """Its name for people."""
    place: PlaceEntry | None
    """The span of the document that it covers."""
    made_from: tuple[str, ...]
    """The names of the pieces that it merges."""
    goes_on_from: tuple[str, ...]
    """The names of the pieces shown as context: the summary so far, or what comes before."""


class CallEntry(DossierModel):
    """A call to a model, or a reply reused from an earlier call."""

    number: int
    label: Line
    prompt: str
    hash: str
    model: Scrubbed
    outcome: str
    borrowed: bool
    """Whether the reply was reused, at no cost."""
    began: float
    """Seconds since the first call."""
    seconds: float
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost_usd: float | None
    error: ScrubbedLine


class CallMessage(DossierModel):
    """A message that was sent in a call."""

    role: str
    """Its author, `user` or `assistant`; `schema` is the JSON Schema of the reply, which providers take in the request,
    as a tool or in the prompt."""
    text: Clean


class CallDetails(CallEntry):
    """A call with its prompt and its reply."""

    messages: tuple[CallMessage, ...]
    """What was sent; empty for a call made before messages were stored."""
    prompt_text: Clean | None
    """The template of the prompt, if it is stored."""
    reply: Annotated[Clean, AfterValidator(scrubbed)] | None
    """None without a reply."""
    finish_reason: str
    attempt: int
    attempts: int
    """How often the request was sent."""
    made_by: str | None
    """The run that sent it; None once that is deleted."""


class Positions(DossierModel):
    """Which parts of the document the summary comes from."""

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
    text: Clean | None
    """None if its text is not recorded."""


class DocumentEntry(DossierModel):
    """The document."""

    id: str
    title: Line
    characters: int
    words: int
    sections: tuple[dict[str, Any], ...]
    text: str | None
    """None if it is left out."""
    language: str = ""
    """The language of the document, such as `de`; empty if unknown."""
    part: str = ""
    """The chapters and pages that were read; empty if all were."""


class RunEntry(DossierModel):
    """The run."""

    id: str
    kind: str
    status: str
    stopped: str
    """Why it stopped."""
    why: Clean
    """The reason in the words of a model that led the run."""
    error: Scrubbed
    parent: str | None
    model: Scrubbed
    judges: tuple[Scrubbed, ...]
    strategy: str
    version: str
    tokenizer: str
    created: str
    updated: str
    settings: ScrubbedDict
    judging: ScrubbedDict | None
    refinement: ScrubbedDict | None
    limits: dict[str, Any]
    usage: Totals


class Dossier(DossierModel):
    """Everything that can be shown of a run."""

    format: int = FORMAT
    holds: str
    """A sentence on how much of the document it contains."""
    run: RunEntry
    document: DocumentEntry
    draft: str | None
    summary: str | None
    words: int
    sentences: tuple[TracedSentence, ...]
    findings: tuple[FindingHistory, ...]
    scores: tuple[Score, ...]
    rounds: tuple[RoundTrace, ...]
    requests: tuple[RequestOutcome, ...] = ()
    """The outcome of each of a person's requests that a revision tried."""
    items: tuple[JudgedItem, ...]
    trees: tuple[KeyFactTree, ...]
    positions: Positions | None
    chapters: tuple[ChapterResult, ...] = ()
    pieces: tuple[PieceEntry, ...]
    calls: tuple[CallEntry, ...]
    prompts: tuple[PromptText, ...]
    left_out: tuple[str, ...]
    """Sentences on what is missing from the summary or the dossier, and why."""

    @field_serializer("rounds", "chapters", "pieces", mode="wrap")
    def _scrubbed(self, records: Any, dump: SerializerFunctionWrapHandler) -> Any:
        return scrubbed_all(dump(records))

    def findings_on(self, sentence: int) -> tuple[int, ...]:
        """Return the numbers of the findings about a sentence that still apply."""
        return tuple(
            history.number for history in self.findings if history.sentence == sentence and history.state == "open"
        )

    def to_fix(self, number: int) -> tuple[int, ...]:
        """Return the numbers of the findings that a round was to fix."""
        return tuple(
            history.number for history in self.findings if any(outcome.round == number for outcome in history.aimed)
        )

    def number(self, draft: str | None) -> int | None:
        """Return the number of the round that made a draft; None if no round did."""
        return next((turn.round.number for turn in self.rounds if turn.draft.id == draft), None)

    @property
    def offline_check(self) -> bool:
        """Whether the built-in model judged."""
        return any(score.offline_check for score in self.scores)


class Places:
    """Describes spans of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def at(self, span: Span | None) -> PlaceEntry | None:
        """Return a span with its chapter, its percentage and its text; None for None."""
        return None if span is None else self.known(span)

    def known(self, span: Span, *, words: bool = True) -> PlaceEntry:
        """Return the same for a span that is not None; a long one can go without its text."""
        document = self._document
        return PlaceEntry(
            start=span.start,
            end=span.end,
            document=document_of(document, span),
            chapter=chapter_of(document, span),
            pages=pages_of(document, span),
            percent=percent_of(document, span.start),
            text=document.text[span.start : span.end] if words else "",
        )


_LONGEST = 160
_CLAUSE = re.compile(r"[;:,.] ")
_STATES = {
    "waiting": "Waiting for your review.",
    "running": "Running.",
    "failed": "Failed.",
    "stopped": "Stopped at a limit.",
    "interrupted": "Interrupted.",
    "killed": "Crashed.",
}


class VerdictPart(NamedTuple):
    """One clause of a verdict, with a sign so that colour is not the only cue."""

    kind: str
    """met, missed, unsure or note."""
    sign: str
    says: str


def verdict(status: str, scores: Sequence[Score], requests: Sequence[RequestOutcome] = ()) -> tuple[VerdictPart, ...]:
    """Return the status unless the run is done, then every goal, or every score if there are no goals, and how many
    requests were not met."""
    judged = [metric for metric in scores if metric.metric not in COMPUTED]
    shown = [metric for metric in judged if metric.goal is not None] or judged
    # Metrics without a score for the same reason share a clause.
    reasons: dict[str, list[Score]] = {}
    for metric in shown:
        why = metric.reason.rpartition("; ")[2] if metric.score is None else ""
        reasons.setdefault(why or metric.metric, []).append(metric)
    parts = [_clause(metrics[0]) if len(metrics) == 1 else _unjudged(metrics, why) for why, metrics in reasons.items()]
    if not parts and status == "done":
        parts = [VerdictPart("note", "", "not judged")]
    parts[:1] = [part._replace(says=part.says[:1].upper() + part.says[1:]) for part in parts[:1]]
    if unmet := count_unmet(requests):
        parts.append(VerdictPart("missed", "✗", unmet))
    return (*([VerdictPart("note", "", _STATES[status])] if status in _STATES else ()), *parts)


def _unjudged(metrics: Sequence[Score], why: str) -> VerdictPart:
    names = " and ".join(", ".join(spaced(metric.metric) for metric in metrics).rsplit(", ", 1))
    kind, sign = ("note", "") if metrics[0].goal is None else ("unsure", "?")
    return VerdictPart(kind, sign, f"{names} were not judged: {_shortened(why)}")


def _clause(metric: Score) -> VerdictPart:
    name, why = spaced(metric.metric), _shortened(metric.reason) if metric.score is None else ""
    if metric.metric == NEWCOMER and metric.judged:
        return VerdictPart("note", "", f"{name}: {metric.reason}")
    if metric.goal is None:
        unscored = f"not scored{f' ({why})' if why else ''}"
        return VerdictPart("note", "", f"{name} {score(metric.score) if metric.score is not None else unscored}")
    goal = f"goal {score(metric.goal)}"
    if metric.score is None:
        return VerdictPart("unsure", "?", f"{name} not scored ({goal}{f'; {why}' if why else ''})")
    state, sign = ("undecided", "?") if metric.met is None else ("met", "✓") if metric.met else ("missed", "✗")
    return VerdictPart(state.replace("undecided", "unsure"), sign, f"{name} {score(metric.score)} ({goal} {state})")


def _shortened(reason: str) -> str:
    """Return as many of the first clauses of a reason as there is room for."""
    whole = one_line(reason).rstrip(".")
    ends = [match.start() for match in _CLAUSE.finditer(whole, 0, _LONGEST)]
    return whole if len(whole) <= _LONGEST else whole[: ends[-1]] if ends else one_line(whole, _LONGEST)
