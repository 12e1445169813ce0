"""The contents of a dossier: the contract of `export --format json` and of the HTTP API. It holds the records of a run
as `show`, `trace` and `lineage` print them, and adds what became of each finding and what the summary was judged by.

Offsets count characters (Unicode code points) in the text that they belong to, from `start` up to but excluding `end`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainSerializer, WrapSerializer, computed_field, field_serializer

from redraft.domain import Document, Evidence, Finding, KeyFacts, Parent, PassageLocation, Piece, Span
from redraft.report.history.lineage import TracedSentence
from redraft.report.history.results import Result
from redraft.report.history.trace import RoundTrace
from redraft.report.tables import Clean, Entry, Line, Scrubbed, ScrubbedLine
from redraft.store.calls import PromptRecord
from redraft.store.messages import Message
from redraft.text.languages import primary
from redraft.text.places import part_read
from redraft.text.sanitizer import one_line, scrubbed, scrubbed_all
from redraft.text.words import count_words

FORMAT = 4
State = Literal["open", "fixed", "set aside", "withdrawn"]
"""The state of a finding. `open`: it applies to the result, or is a request that the reviser left; `fixed`: it no
longer applies; `set aside`: it was about a draft that was rejected; `withdrawn`: a second look found that the document
says so."""


SharedResult = Annotated[
    Result,
    PlainSerializer(
        # The sentences are spans of the summary, which stays as it is.
        lambda result: (
            scrubbed_all(result.record().model_dump(mode="json", exclude={"settings": {"key_env"}}))
            | {"summary": result.summary}
        )
    ),
]
"""The result of a run as `redraft show --json` prints it, without what tells of the machine."""


_SCRUBBED = WrapSerializer(lambda records, dump: scrubbed_all(dump(records)))


class FindingOutcome(Entry):
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


class FindingHistory(Entry):
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


class JudgedItem(Entry):
    """An item that the summary is judged by: a question, a key fact, a claim."""

    metric: str
    kind: str
    text: Line
    expected: Line
    found: Line
    verdict: str
    value: float | None
    """1 if correct, 0 if not, in between if judges differ; None without a verdict."""
    evidence: Evidence | None
    """The passage of the document that it rests on."""
    place: PassageLocation | None
    """Where that passage is."""
    sentences: tuple[int, ...]
    """The sentences of the summary that the verdict is based on."""
    key: str
    """The same in every run that is judged by the item, such as `PACK/3` or `KEYFACTS/CHUNK/PERSPECTIVE/3`; empty for a
    claim, which belongs to one summary."""
    weight: int = 1
    """How often it counts in the score."""


class TracedPiece(Entry):
    """A partial summary, and what it was made from."""

    piece: Piece
    said: str
    """Its name for people."""
    span: Span | None
    """The part of the document that it covers."""
    parents: tuple[Parent, ...]


class CallEntry(Entry):
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


class CallDetails(CallEntry):
    """A call with its prompt and its reply."""

    messages: tuple[Message, ...]
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


class Dossier(Entry):
    """Everything that can be shown of a run."""

    format: int = FORMAT
    holds: str
    """A sentence on how much of the document it contains."""
    result: SharedResult
    document: Document
    has_source: Annotated[bool, Field(exclude=True)]
    """Whether the document's text is shared, or only what is cited."""
    sentences: tuple[TracedSentence, ...]
    findings: tuple[FindingHistory, ...]
    rounds: Annotated[tuple[RoundTrace, ...], _SCRUBBED]
    items: tuple[JudgedItem, ...]
    keyfacts: KeyFacts | None
    """The key facts that the summary was judged by; the verdicts on them are items."""
    pieces: Annotated[tuple[TracedPiece, ...], _SCRUBBED]
    calls: tuple[CallEntry, ...]
    prompts: tuple[PromptRecord, ...]
    call_details: Annotated[tuple[CallDetails, ...], Field(exclude=True)] = ()
    """The calls with their prompts and replies, as far as the page contains them."""
    left_out: tuple[str, ...]
    """Sentences on what is missing from the summary or the dossier, and why."""

    @computed_field
    def settings(self) -> dict[str, dict[str, Any]]:
        """The settings of the run by what they are for, without what tells of the machine."""
        run = self.result.run
        groups = {
            "drafting": run.settings.model_dump(mode="json", exclude={"key_env"}),
            "judging": run.judging.model_dump(mode="json") if run.judging else {},
            "refining": run.refinement.model_dump(mode="json") if run.refinement else {},
            "limits": run.limits.model_dump(mode="json"),
        }
        return {name: scrubbed_all(settings) for name, settings in groups.items() if settings}

    @field_serializer("document")
    def _document(self, document: Document) -> dict[str, Any]:
        """Return what is shared of the document, with the part that was read, and null for a text that is left out."""
        return {
            "id": document.id,
            "title": one_line(document.title),
            "characters": len(document.text),
            "words": count_words(document.text),
            "sections": [
                {"title": one_line(section.title), "level": section.level, **section.span._asdict()}
                for section in document.sections
            ],
            "text": document.text if self.has_source else None,
            "language": primary(document.language),
            "part": part_read(self.result.outline.notes),
        }
