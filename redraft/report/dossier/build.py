"""Builds a dossier: the findings of a run with what became of them, the sentences of its summary, and all else. It only
reads, except for storing links between texts that were not traced before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from redraft.domain import REVIEW, Document, Evaluation, Evidence, Finding, KeyFacts, Span
from redraft.evaluators.metric_info import stops_in_words
from redraft.report.dossier.contents import (
    CallDetails,
    CallEntry,
    Dossier,
    FindingHistory,
    FindingOutcome,
    JudgedItem,
    State,
    TracedPiece,
)
from redraft.report.history.judges import Details, listed, yardstick_of
from redraft.report.history.lineage import piece_name, read_lineage
from redraft.report.history.results import Result, document_read, findings_in
from redraft.report.history.trace import RoundTrace, RunTrace, difference, read_trace
from redraft.settings import NEWCOMER
from redraft.store.calls import PromptRecord
from redraft.store.messages import Message
from redraft.store.runs import WITHOUT_SUMMARY
from redraft.store.store import Store
from redraft.text.languages import language_context
from redraft.text.places import place_in
from redraft.text.sanitizer import clean, one_line, scrubbed
from redraft.text.vectors import Encoder
from redraft.text.words import spaced

_ORDER: tuple[State, ...] = ("open", "fixed", "set aside", "withdrawn")
_MAX_CALLS = 500
"""The maximum number of calls whose prompts and replies are on a page."""


def read_dossier(
    store: Store, key: str, *, source: bool = True, encoder: Encoder | None = None, texts: bool = False
) -> Dossier:
    """Return the dossier of a run, given its id or a prefix of it.

    Without `source` the document's text is left out, except for what is cited; with `texts` the page contains the
    prompts and replies of the first calls. Raises a `RunError` if there is no such run, or if it is of a kind that
    makes no summary.
    """
    trace = read_trace(store, key)
    result = trace.result
    if result.run.kind in WITHOUT_SUMMARY:
        result.run.drafted()
    document, hashes = document_read(store, result.run), result.run.prompt_hashes
    templates = {prompt.hash: prompt for prompt in store.prompts.find(key=list(hashes.values()))}
    lineage = read_lineage(store, result.run.id, encoder=encoder) if result.draft else None
    with language_context(document):
        traced = lineage.sentences if lineage else ()
        # If several sentences are equal, the first has their number.
        numbers = {sentence.text: sentence.number for sentence in reversed(traced)}
        rulings = store.rulings.find(document=document.id)
        overruled = {ruling.finding for ruling in rulings if ruling.overruled}
        findings = finding_histories(trace, numbers, overruled)
        length = f"{len(document.text):,} characters"
        recorded = tuple(calls(store, result.run.id))
        details = with_texts(store, result.run.id, recorded[: _MAX_CALLS * texts])
        return Dossier(
            holds=f"Includes the full text of the document ({length}){', prompts and replies' * texts}."
            if source
            else f"Leaves out the document ({length}), except the cited passages and the texts drafted from it.",
            result=result,
            document=document,
            has_source=source,
            sentences=traced,
            findings=findings,
            rounds=trace.rounds,
            items=tuple(items(store, result, document)),
            keyfacts=_keyfacts(store, result),
            pieces=tuple(_pieces(store, result)),
            calls=recorded,
            call_details=tuple(details),
            prompts=tuple(
                PromptRecord(digest, name, clean(templates[digest].text or "") if digest in templates else None)
                for name, digest in sorted(hashes.items())
            ),
            left_out=(
                *([] if source else ["The document's text was left out on request. Cited passages are quoted."]),
                *(f"Document: {scrubbed(note)}." for note in result.outline.notes),
                *chunks_left_out(result),
                *(f"No {spaced(metric)} score: {scrubbed(reason)}" for metric, reason in result.unscored.items()),
            ),
        )


def finding_histories(
    trace: RunTrace, numbers: Mapping[str, int], overruled: Collection[str] = ()
) -> tuple[FindingHistory, ...]:
    """Return the findings of a run, numbered: those that apply to the result first, in the order of its sentences,
    whose numbers are given by their text. `overruled` are the ids of findings that were withdrawn."""
    by_draft = {turn.draft.id: turn for turn in trace.rounds}
    result = by_draft.get(trace.result.run.draft or "")
    findings: dict[str, Finding] = {}
    rounds, outcomes = defaultdict[str, set[int]](set), defaultdict[str, list[FindingOutcome]](list)
    for turn in trace.rounds:
        for finding in findings_in(turn.evaluations):
            findings.setdefault(finding.id, finding)
            rounds[finding.id].add(turn.round.number)
        if (base := by_draft.get(turn.round.base or "")) is not None:
            for finding, outcome in _outcomes(base, turn):
                findings.setdefault(finding.id, finding)
                outcomes[finding.id].append(outcome)
    ancestors, turn_or_none = set[int](), result
    while turn_or_none is not None and turn_or_none.round.number not in ancestors:
        ancestors.add(turn_or_none.round.number)
        turn_or_none = by_draft.get(turn_or_none.round.base or "")

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

    histories = [
        FindingHistory(
            number=0,
            finding=finding,
            sentence=numbers.get(one_line(finding.sentence)) if finding.sentence else None,
            rounds=tuple(sorted(rounds[finding.id])),
            aimed=tuple(outcomes[finding.id]),
            state=state(finding),
        )
        for finding in findings.values()
    ]
    histories.sort(key=lambda history: (_ORDER.index(history.state), history.sentence or 10**9))
    return tuple(history.model_copy(update={"number": number}) for number, history in enumerate(histories, 1))


def _outcomes(base: RoundTrace, turn: RoundTrace) -> Iterator[tuple[Finding, FindingOutcome]]:
    """Yield the findings on the base that a round was to fix, and what became of them."""
    changed = difference(base, turn)
    # The change to credit with each finding that is gone, if any.
    credited = {finding.id: ("", "") for finding in changed.answered_elsewhere}
    credited |= {finding.id: (change.before, change.after) for change in changed.changes for finding in change.answers}
    answers = {answer.finding: answer for answer in turn.round.answers}
    for finding in turn.to_fix:
        answer = answers.get(finding.id)
        before, after = credited.get(finding.id, ("", ""))
        yield (
            finding,
            FindingOutcome(
                round=turn.round.number,
                taken=turn.round.accepted,
                gone=finding.id in credited,
                before=before,
                after=after,
                became=answer.became if answer else "",
                words=answer.said if answer else "",
            ),
        )


def items(store: Store, result: Result, document: Document) -> Iterator[JudgedItem]:
    """Yield every item that the result was judged by, with the passage of the document that it rests on."""
    evaluations, rows = result.evaluations, list[tuple[str, Details, str, Evidence | None, str]]()

    def quote(span: Span | None) -> Evidence | None:
        return Evidence(document.text[span.start : span.end], span) if span else None

    pack_key = yardstick_of(result.run, evaluations, "coverage") if "coverage" in evaluations else None
    pack = store.packs.get(pack_key) if pack_key else None
    answers = {question.id: quote(question.evidence.span) for question in pack.questions} if pack else {}
    for item in listed(evaluations, "coverage", "questions"):
        key = f"{pack.id}/{item['id']}" if pack else ""
        rows.append(("coverage", item, item["question"], answers.get(item["id"]), key))
    keyfacts = _keyfacts(store, result)
    facts = {
        # A fact without a place of its own is somewhere in its tree's span.
        (tree.chunk, tree.perspective, fact.id): quote(fact.evidence.span) or Evidence("", tree.span)
        for tree in (keyfacts.trees if keyfacts else ())
        for fact in tree.facts
    }
    for item in listed(evaluations, "keyfact_recall", "facts"):
        place = (item["chunk"], item["perspective"], item["id"])
        key = "/".join(map(str, (keyfacts.id, *place))) if keyfacts else ""
        rows.append(("keyfact_recall", {**item, "kind": item["level"]}, item["fact"], facts.get(place), key))
    for item in listed(evaluations, "consistency", "claims"):
        claim = {**item, "sentences": [item["sentence"]]}
        rows.append(
            ("consistency", claim, item["question"], quote(Span(*item["place"]) if item.get("place") else None), "")
        )
    for metric, details, text, evidence, key in rows:
        value = details.get("value")
        yield JudgedItem(
            metric=metric,
            kind=str(details.get("kind", "")),
            text=text,
            expected=str(details.get("expected") or ""),
            found=str(details.get("found") or ""),
            verdict=str(details.get("verdict", "")),
            value=None if value is None else float(value),
            evidence=evidence,
            place=place_in(document, evidence.span) if evidence and evidence.span else None,
            sentences=tuple(int(number) for number in details.get("sentences", ())),
            key=key,
            weight=int(details.get("weight", 1)),
        )


def _keyfacts(store: Store, result: Result) -> KeyFacts | None:
    """Return the key facts that the result was judged by; None if it was judged by none."""
    if "keyfact_recall" not in result.evaluations:
        return None
    key = yardstick_of(result.run, result.evaluations, "keyfact_recall")
    return store.keyfacts.get(key) if key else store.keyfacts.latest(result.run.document)


def _pieces(store: Store, result: Result) -> Iterator[TracedPiece]:
    """Yield the partial summaries, from the lowest level up."""
    run = result.run
    chunks = store.chunks(run)
    chapters = [chapter.title for chapter in store.chapters.of(run.id)]
    parents = store.runs.parents(run.id)
    for piece in store.runs.pieces(run.id):
        summarized = chunks[piece.first_chunk : piece.last_chunk + 1]
        span = Span(summarized[0].span.start, summarized[-1].span.end) if summarized else None
        yield TracedPiece(
            piece=piece, said=piece_name(piece, chapters), span=span, parents=tuple(parents.get(piece.name, ()))
        )


def calls(store: Store, run: str) -> Iterator[CallEntry]:
    """Yield every attempt to call a model, in order; replies reused from earlier runs come first and took no time."""
    recorded = store.calls.of(run)
    first = min((datetime.fromisoformat(call.started) for call in recorded if not call.borrowed), default=None)
    for number, call in enumerate(recorded, 1):
        began = datetime.fromisoformat(call.started) - first if first and not call.borrowed else None
        yield CallEntry.of(
            call,
            number=number,
            hash=call.prompt_hash,
            began=round(began.total_seconds(), 3) if began else 0.0,
            seconds=0.0 if call.borrowed else round(call.seconds, 3),
            prompt_tokens=call.usage.prompt_tokens,
            completion_tokens=call.usage.completion_tokens,
            cached_tokens=call.usage.cached_prompt_tokens,
            cost_usd=0.0 if call.borrowed else call.cost_usd,
        )


def call_of(store: Store, run: str, number: int) -> CallDetails | None:
    """Return a call of a run with its texts; None if there is none of this number."""
    found_calls = with_texts(store, run, [entry for entry in calls(store, run) if entry.number == number])
    return found_calls[0] if found_calls else None


def with_texts(store: Store, run: str, entries: Sequence[CallEntry]) -> list[CallDetails]:
    """Return calls of a run with their texts, without those that were deleted meanwhile."""
    details = []
    for entry in entries:
        texts, prompt = store.calls.texts_of(run, entry.number), store.prompts.first(key=entry.hash)
        if texts is not None:
            messages = tuple(Message(message.role, clean(message.text)) for message in texts.messages)
            template = prompt.text if prompt else None
            values = {**dict(entry), "messages": messages, "prompt_text": template, "made_by": texts.run}
            details.append(CallDetails.of(texts, **values))
    return details


def chunks_left_out(result: Result) -> Iterator[str]:
    """Yield which parts of the document a summary does not cover, and why."""
    for gap in result.gaps:
        unit = "Chapter" if result.settings.by_chapter else "Chunk"
        which = f"{unit} {gap.chunk + 1} of {result.chunks}"
        yield f"{which} of the document was left out of the summary: {scrubbed(gap.reason)}"


def reason_of(evaluation: Evaluation) -> str:
    """Return why a metric has no score; of a newcomer, how far it came."""
    is_newcomer = evaluation.metric == NEWCOMER and evaluation.judged
    return stops_in_words(evaluation) if is_newcomer else evaluation.reason
