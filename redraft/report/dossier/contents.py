"""The contents of a dossier, and reading them from a store: the contract of `export --format json` and of the HTTP API.
It holds the records of a run as `show`, `trace` and `lineage` print them, and adds what became of each finding and what
the summary was judged by. Nothing is written but links between texts that were not traced before.

Offsets count characters (Unicode code points) in the text that they belong to, from `start` up to but excluding `end`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, WrapSerializer, field_serializer
from pydantic.dataclasses import dataclass as record

from redraft.domain import (
    DEFERRED,
    REVIEW,
    Document,
    Evidence,
    Finding,
    JudgedPoint,
    KeyFacts,
    Parent,
    PassageLocation,
    Piece,
    Span,
    computed,
    record_json,
    widened,
)
from redraft.report.history.judges import Details, listed, yardstick_of
from redraft.report.history.lineage import TracedSentence, piece_name, read_lineage
from redraft.report.history.results import Result, document_read
from redraft.report.history.trace import RoundTrace, RunTrace, difference, read_trace
from redraft.report.tables import Entry, Line
from redraft.store.calls import CallRecord, Message, PromptRecord
from redraft.store.runs import WITHOUT_SUMMARY
from redraft.store.store import Store
from redraft.text.languages import language_context, primary
from redraft.text.places import part_read, place_in
from redraft.text.sanitizer import clean, one_line, scrubbed, scrubbed_all
from redraft.text.vectors import Encoder
from redraft.text.words import count_words, spaced

FORMAT = 5
_MAX_CALLS = 500
"""The maximum number of calls whose prompts and replies are on a page."""
_HALF = 0.5
State = Literal["open", "fixed", "set aside", "withdrawn"]
"""The state of a finding. `open`: it applies to the result, or is a request that the reviser left; `fixed`: it no
longer applies; `set aside`: it was about a draft that was rejected; `withdrawn`: a second look found that the document
says so."""
_ORDER: tuple[State, ...] = ("open", "fixed", "set aside", "withdrawn")

SharedResult = Annotated[
    Result,
    PlainSerializer(
        # The sentences are spans of the summary, which stays as it is.
        lambda result: (
            scrubbed_all(record_json(result.record(), {"settings": {"key_env"}})) | {"summary": result.summary}
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


@record(frozen=True, slots=True, kw_only=True, config=DEFERRED)
class JudgedItem(JudgedPoint):
    """An item that the summary is judged by: a question, a key fact, a claim. Its weight is how often it counts."""

    text: str
    verdict: str
    value: float | None
    """1 if correct, 0 if not, in between if judges differ; None without a verdict."""
    place: PassageLocation | None
    """Where the passage of the document is that it rests on."""
    sentences: tuple[int, ...]
    """The sentences of the summary that the verdict is based on."""
    key: str
    """The same in every run that is judged by the item, such as `PACK/3` or `KEYFACTS/CHUNK/PERSPECTIVE/3`; empty for a
    claim, which belongs to one summary."""

    @property
    def is_stated(self) -> bool | None:
        """Whether the summary has it, as half of the judges say or more; None without a verdict."""
        return None if self.value is None else self.value >= _HALF


class TracedPiece(Entry):
    """A partial summary, and what it was made from."""

    piece: Piece
    said: str
    """Its name for people."""
    span: Span | None
    """The part of the document that it covers."""
    parents: tuple[Parent, ...]


@record(frozen=True, slots=True, kw_only=True, config=DEFERRED)
class CallEntry(CallRecord):
    """A call to a model, or a reply reused from an earlier call, at no cost. Its texts are safe to show."""

    number: int
    hash: str
    began: float
    """Seconds since the first call."""
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    made_by: str | None
    """The run that sent it; None once that is deleted."""


@record(frozen=True, slots=True, kw_only=True, config=DEFERRED)
class CallDetails(CallEntry):
    """A call with its prompt and its reply."""

    messages: tuple[Message, ...]
    """What was sent; empty for a call made before messages were stored."""
    prompt_text: str | None
    """The template of the prompt, if it is stored."""
    reply: str | None
    attempts: int
    """How often the request was sent."""


class Dossier(Entry):
    """Everything that can be shown of a run."""

    format: int = FORMAT
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
    """As far as the page contains prompts and replies, `CallDetails`; without them in JSON."""
    prompts: tuple[PromptRecord, ...]
    left_out: tuple[str, ...]
    """Sentences on what is missing from the summary or the dossier, and why."""

    @computed
    def holds(self) -> str:
        """A sentence on how much of the document it contains."""
        length = f"{len(self.document.text):,} characters"
        if not self.has_source:
            return f"Leaves out the document ({length}), except the cited passages and the texts drafted from it."
        texts = ", prompts and replies" * any(isinstance(call, CallDetails) for call in self.calls)
        return f"Includes the full text of the document ({length}){texts}."

    @computed
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


def read_dossier(
    store: Store, key: str, *, source: bool = True, encoder: Encoder | None = None, texts: bool = False
) -> Dossier:
    """Return the dossier of a run, given its id or a prefix of it.

    Without `source` the document's text is left out, except for what is cited; with `texts` the page contains the
    prompts and replies of the first calls. Raises a `RunError` if there is no such run, or if it is of a kind that
    makes no summary.
    """
    trace = read_trace(store, key)
    result, run = trace.result, trace.result.run
    if run.kind in WITHOUT_SUMMARY:
        run.drafted()
    document, hashes = document_read(store, run), run.prompt_hashes
    chunks, parents = store.chunks(run), store.runs.parents(run.id)
    chapters = [chapter.title for chapter in store.chapters.of(run.id)]
    templates = {prompt.hash: clean(prompt.text or "") for prompt in store.prompts.find(key=list(hashes.values()))}
    with language_context(document):
        traced = read_lineage(store, run.id, encoder=encoder).sentences if result.draft else ()
        overruled = {ruling.finding for ruling in store.rulings.find(document=document.id) if ruling.overruled}
        return Dossier(
            result=result,
            document=document,
            has_source=source,
            sentences=traced,
            findings=_histories(trace, traced, overruled),
            rounds=trace.rounds,
            items=tuple(items(store, result, document)),
            keyfacts=_keyfacts(store, result),
            pieces=tuple(
                TracedPiece(
                    piece=piece,
                    said=piece_name(piece, chapters),
                    span=Span(read[0].span.start, read[-1].span.end) if read else None,
                    parents=parents.get(piece.name, ()),
                )
                for piece in store.runs.pieces(run.id)
                for read in [chunks[piece.first_chunk : piece.last_chunk + 1]]
            ),
            calls=tuple(calls(store, run.id, range(1, 1 + _MAX_CALLS * texts))),
            prompts=tuple(PromptRecord(digest, name, templates.get(digest)) for name, digest in sorted(hashes.items())),
            left_out=(
                *([] if source else ["The document's text was left out on request. Cited passages are quoted."]),
                *(f"Document: {scrubbed(note)}." for note in result.outline.notes),
                *chunks_left_out(result),
                *(f"No {spaced(metric)} score: {scrubbed(reason)}" for metric, reason in result.unscored.items()),
            ),
        )


def _histories(
    trace: RunTrace, sentences: Sequence[TracedSentence], overruled: Collection[str]
) -> tuple[FindingHistory, ...]:
    """Return the findings of a run, numbered: those that apply to the result first, in the order of its sentences.
    `overruled` are the ids of findings that were withdrawn."""
    result = next((turn for turn in trace.rounds if turn.draft.id == trace.result.run.draft), None)
    findings: dict[str, Finding] = {}
    rounds, outcomes = defaultdict[str, set[int]](set), defaultdict[str, list[FindingOutcome]](list)
    for turn in trace.rounds:
        for finding in turn.findings:
            findings.setdefault(finding.id, finding)
            rounds[finding.id].add(turn.round.number)
        for finding, outcome in _outcomes(turn):
            findings.setdefault(finding.id, finding)
            outcomes[finding.id].append(outcome)
    ancestors, ancestor = set[int](), result
    while ancestor is not None:
        ancestors.add(ancestor.round.number)
        ancestor = ancestor.base

    def state(finding: Finding) -> State:
        if finding.id in overruled:
            return "withdrawn"
        in_line = [outcome for outcome in outcomes[finding.id] if outcome.round in ancestors]
        came_up = not ancestors.isdisjoint(rounds[finding.id])
        # No metric looks for a request again: it is met only if an accepted round tried it, and did not leave it.
        unmet = finding.metric == REVIEW and came_up and (not in_line or in_line[-1].became == "left")
        if result is None or result.round.number in rounds[finding.id] or unmet:
            return "open"
        return "fixed" if came_up else "set aside"

    # If several sentences are equal, the first has their number.
    numbers = {sentence.text: sentence.number for sentence in reversed(sentences)}
    ordered = sorted(
        ((state(finding), numbers.get(one_line(finding.sentence)), finding) for finding in findings.values()),
        key=lambda entry: (_ORDER.index(entry[0]), entry[1] or 10**9),
    )
    return tuple(
        FindingHistory(
            number=number,
            finding=finding,
            sentence=sentence,
            rounds=tuple(sorted(rounds[finding.id])),
            aimed=tuple(outcomes[finding.id]),
            state=finding_state,
        )
        for number, (finding_state, sentence, finding) in enumerate(ordered, 1)
    )


def _outcomes(turn: RoundTrace) -> Iterator[tuple[Finding, FindingOutcome]]:
    """Yield the findings that a round was to fix, and what became of them."""
    credited = difference(turn.base, turn).credited if turn.base else {}
    answers = {answer.finding: answer for answer in turn.round.answers}
    for finding in turn.to_fix:
        answer, change = answers.get(finding.id), credited.get(finding.id)
        yield (
            finding,
            FindingOutcome(
                round=turn.round.number,
                taken=turn.round.accepted,
                gone=finding.id in credited,
                before=change.before if change else "",
                after=change.after if change else "",
                became=answer.became if answer else "",
                words=answer.said if answer else "",
            ),
        )


def items(store: Store, result: Result, document: Document) -> Iterator[JudgedItem]:
    """Yield every item that the result was judged by, with the passage of the document that it rests on."""
    evaluations, keyfacts = result.evaluations, _keyfacts(store, result)
    pack_key = yardstick_of(result.run, evaluations, "coverage") if "coverage" in evaluations else None
    pack = store.packs.get(pack_key) if pack_key else None
    answers = {question.id: question.evidence.span for question in pack.questions} if pack else {}
    # A fact without a place of its own is somewhere in its tree's span.
    facts = {
        (tree.chunk, tree.perspective, fact.id): (fact.evidence.span or tree.span, fact.evidence.span is not None)
        for tree in (keyfacts.trees if keyfacts else ())
        for fact in tree.facts
    }

    def item(
        metric: str, details: Details, text: str, span: Span | None, key: str = "", *, quote: bool = True
    ) -> JudgedItem:
        value = details.get("value")
        return JudgedItem(
            metric=metric,
            kind=str(details.get("kind") or ""),
            text=one_line(text),
            expected=one_line(str(details.get("expected") or "")),
            found=one_line(str(details.get("found") or "")),
            verdict=str(details.get("verdict") or ""),
            value=None if value is None else float(value),
            evidence=Evidence(document.text[slice(*span)] if quote else "", span) if span else None,
            place=place_in(document, span) if span else None,
            sentences=tuple(int(number) for number in details.get("sentences", ())),
            key=key,
            weight=int(details.get("weight", 1)),
        )

    for question in listed(evaluations, "coverage", "questions"):
        key = f"{pack.id}/{question['id']}" if pack else ""
        yield item("coverage", question, question["question"], answers.get(question["id"]), key)
    for fact in listed(evaluations, "keyfact_recall", "facts"):
        place = fact["chunk"], fact["perspective"], fact["id"]
        key = "/".join(map(str, (keyfacts.id, *place))) if keyfacts else ""
        span, is_own = facts.get(place, (None, False))
        yield item("keyfact_recall", {**fact, "kind": fact["level"]}, fact["fact"], span, key, quote=is_own)
    for claim in listed(evaluations, "consistency", "claims"):
        span = Span(*claim["place"]) if claim.get("place") else None
        yield item("consistency", {**claim, "sentences": [claim["sentence"]]}, claim["question"], span)


def _keyfacts(store: Store, result: Result) -> KeyFacts | None:
    """Return the key facts that the result was judged by; None if it was judged by none."""
    if "keyfact_recall" not in result.evaluations:
        return None
    key = yardstick_of(result.run, result.evaluations, "keyfact_recall")
    return store.keyfacts.get(key) if key else store.keyfacts.latest(result.run.document)


def calls(store: Store, run: str, with_texts: Container[int] = ()) -> Iterator[CallEntry]:
    """Yield every attempt to call a model in order, those of some numbers with their texts. Replies reused from earlier
    runs come first and took no time."""
    recorded = store.calls.of(run)
    first = min((datetime.fromisoformat(call.started) for call in recorded if not call.borrowed), default=None)
    for number, call in enumerate(recorded, 1):
        began = datetime.fromisoformat(call.started) - first if first and not call.borrowed else None
        texts: dict[str, Any] = {}
        # A call may have been deleted meanwhile.
        if number in with_texts and (details := store.calls.texts_of(run, number)):
            prompt = store.prompts.first(key=call.prompt_hash)
            texts["messages"] = [Message(part.role, clean(part.text)) for part in details.messages]
            texts["prompt_text"] = prompt and prompt.text and clean(prompt.text)
            texts["reply"] = details.reply and scrubbed(clean(details.reply))
            texts["attempts"] = details.attempts
        yield widened(
            CallDetails if texts else CallEntry,
            call,
            call.usage,
            number=number,
            hash=call.prompt_hash,
            label=one_line(call.label),
            model=scrubbed(call.model),
            error=scrubbed(one_line(call.error)),
            began=round(began.total_seconds(), 3) if began else 0.0,
            seconds=0.0 if call.borrowed else round(call.seconds, 3),
            cached_tokens=call.usage.cached_prompt_tokens,
            cost_usd=0.0 if call.borrowed else call.cost_usd,
            made_by=call.run,
            **texts,
        )


def chunks_left_out(result: Result) -> Iterator[str]:
    """Yield which parts of the document a summary does not cover, and why."""
    for gap in result.gaps:
        unit = "Chapter" if result.settings.by_chapter else "Chunk"
        which = f"{unit} {gap.chunk + 1} of {result.chunks}"
        yield f"{which} of the document was left out of the summary: {scrubbed(gap.reason)}"
