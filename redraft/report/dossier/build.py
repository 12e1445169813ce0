"""Builds a dossier: the findings of a run with what became of them, the sentences of its summary, and all else. It only
reads, except for storing links between texts that were not traced before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime

from redraft.domain import REVIEW, Document, Evaluation, Finding, KeyFacts, Pack, Parent, Span, record_json
from redraft.evaluators.metric_info import stops_in_words
from redraft.report.dossier.contents import (
    CallDetails,
    CallEntry,
    CallMessage,
    DocumentEntry,
    Dossier,
    FactStanding,
    FindingHistory,
    FindingOutcome,
    JudgedItem,
    KeyFactTree,
    PieceEntry,
    Places,
    Positions,
    PromptText,
    RunEntry,
    Score,
    State,
)
from redraft.report.history.changes import DraftDiff, SentenceChange, difference
from redraft.report.history.lineage import Lineage, TracedSentence, read_lineage
from redraft.report.history.quotes import Details, listed, span_of, yardstick_of
from redraft.report.history.results import Result, document_read
from redraft.report.history.texts import piece_name
from redraft.report.history.trace import RoundTrace, RunTrace, read_trace
from redraft.settings import NEWCOMER
from redraft.store.runs import WITHOUT_SUMMARY
from redraft.store.store import Store
from redraft.text.languages import language_context, primary
from redraft.text.origins import OriginMass, bins, density, shares, spread
from redraft.text.places import part_read
from redraft.text.sanitizer import one_line, scrubbed
from redraft.text.sentences import is_heading
from redraft.text.vectors import Encoder
from redraft.text.words import count, count_words

_ORDER: tuple[State, ...] = ("open", "fixed", "set aside")


class FindingRecord:
    """The findings of a run, numbered: those that apply to the result first, in the order of its sentences."""

    def __init__(self, trace: RunTrace, sentences: Mapping[str, int]) -> None:
        """`sentences` are the numbers of the result's sentences, by their text."""
        self._trace = trace
        self._result = next((turn for turn in trace.rounds if turn.draft.id == trace.run.draft), None)
        self._line = _line_of_descent(trace, self._result)
        found: dict[str, Finding] = {}
        rounds, aimed = defaultdict[str, set[int]](set), defaultdict[str, list[FindingOutcome]](list)
        for turn in trace.rounds:
            found |= {one.id: one for one in turn.findings if one.id not in found}
            for one in turn.findings:
                rounds[one.id].add(turn.round.number)
            for finding, outcome in self._outcomes(turn):
                found.setdefault(finding.id, finding)
                aimed[finding.id].append(outcome)
        histories = [
            FindingHistory(
                number=0,
                finding=one,
                sentence=sentences.get(one_line(one.sentence)) if one.sentence else None,
                rounds=tuple(sorted(rounds[one.id])),
                aimed=tuple(aimed[one.id]),
                state=self._state(one, rounds[one.id], aimed[one.id]),
            )
            for one in found.values()
        ]
        histories.sort(key=lambda one: (_ORDER.index(one.state), one.sentence or 10**9))
        self.entries = tuple(
            history.model_copy(update={"number": number}) for number, history in enumerate(histories, 1)
        )

    def _outcomes(self, turn: RoundTrace) -> Iterator[tuple[Finding, FindingOutcome]]:
        """Yield the findings that a round was to fix, and what became of them."""
        base = next((trace for trace in self._trace.rounds if trace.draft.id == turn.round.base), None)
        if base is None:
            return
        answers = _answers(difference(base, turn))
        told = {answer.finding: answer for answer in turn.round.answers}
        for finding in turn.to_fix:
            point_answer, change = told.get(finding.id), answers.get(finding.id)
            yield (
                finding,
                FindingOutcome(
                    round=turn.round.number,
                    taken=turn.round.accepted,
                    gone=finding.id in answers,
                    before=change.before if change else "",
                    after=change.after if change else "",
                    became=point_answer.became if point_answer else "",
                    words=point_answer.said if point_answer else "",
                ),
            )

    def _state(self, finding: Finding, rounds: Set[int], aimed: Sequence[FindingOutcome]) -> State:
        outcomes = [outcome for outcome in aimed if outcome.round in self._line]
        came_up = not self._line.isdisjoint(rounds)
        # No metric looks for a request again: it is met only if an accepted round tried it, and did not leave it.
        unmet = finding.metric == REVIEW and came_up and (not outcomes or outcomes[-1].became == "left")
        if self._result is None or self._result.round.number in rounds or unmet:
            return "open"
        return "fixed" if came_up else "set aside"


def _line_of_descent(trace: RunTrace, result: RoundTrace | None) -> set[int]:
    """Return the round of the result and those of its ancestors."""
    by_draft = {turn.draft.id: turn for turn in trace.rounds}
    line: set[int] = set()
    while result is not None and result.round.number not in line:
        line.add(result.round.number)
        result = by_draft.get(result.round.base or "")
    return line


def _answers(found: DraftDiff) -> dict[str, SentenceChange | None]:
    """Return the findings that are gone, by id, with the change to credit, if any."""
    gone: dict[str, SentenceChange | None] = {finding.id: None for finding in found.answered_elsewhere}
    return gone | {finding.id: change for change in found.changes for finding in change.answers}


_BINS = 10


def sentence_numbers(lineage: Lineage) -> dict[str, int]:
    """Return the number of each sentence by its text; that of the first if several are equal."""
    found: dict[str, int] = {}
    for sentence in lineage.sentences:
        found.setdefault(sentence.text, sentence.number)
    return found


def sentences(lineage: Lineage) -> Iterator[TracedSentence]:
    """Yield the sentences of a draft; a heading comes from nowhere, and nothing that has a place is invented."""
    for sentence in lineage.sentences:
        if is_heading(sentence.text):
            yield replace(sentence, origins=(), direct=(), judged=(), drift="", invented="")
        else:
            yield replace(sentence, invented="" if sentence.places else sentence.invented)


def positions(lineage: Lineage) -> Positions:
    """Return which parts of the document the draft comes from. Each sentence counts one, shared among its places by
    weight."""
    length = max(1, len(lineage.document.text))
    traced_sentences = [sentence for sentence in lineage.sentences if not is_heading(sentence.text)]
    traced = [sentence for sentence in traced_sentences if sentence.places]
    masses = [
        OriginMass(
            (origin.span.start + origin.span.end) / 2 / length, origin.weight / sum(o.weight for o in sentence.places)
        )
        for sentence in traced
        for origin in sentence.places
    ]
    return Positions(
        traced=len(traced),
        untraced=len(traced_sentences) - len(traced),
        thirds=tuple(shares(masses, bins(3))),
        bins=tuple(shares(masses, bins(_BINS))),
        density=tuple(density(masses)),
        spread=spread(masses, min(len(traced), _BINS)),
    )


Evaluations = Mapping[str, Evaluation]


def scores(result: Result) -> Iterator[Score]:
    """Yield each metric's score of the result."""
    for name, evaluation in result.evaluations.items():
        goal = result.goals.get(name, {})
        certificate = result.certificates.get(name)
        first = result.initial.get(name)
        yield Score.of(
            evaluation,
            metric=name,
            goal=goal.get("at_least"),
            met=goal.get("met"),
            initial=first.score if first else None,
            interval=None,
            reason=stops_in_words(evaluation) if name == NEWCOMER and evaluation.judged else evaluation.reason,
            offline_check=bool(certificate and certificate.offline_check),
            certificate=record_json(certificate) if certificate else None,
            stands_on=certificate.line() if certificate else "",
        )


def items(store: Store, result: Result, places: Places) -> Iterator[JudgedItem]:
    """Yield every item that the result was judged by, with its place in the document."""
    told = result.evaluations
    if "coverage" in told:
        key = yardstick_of(result.run, told, "coverage")
        yield from _questions(store.packs.get(key) if key else None, told, places)
    if "keyfact_recall" in told:
        yield from _facts(_keyfacts(store, result), told, places)
    yield from _claims(told, places)


def trees(store: Store, result: Result, places: Places) -> Iterator[KeyFactTree]:
    """Yield the key facts that the result was judged by, and whether it states them."""
    key_facts = _keyfacts(store, result)
    if "keyfact_recall" not in result.evaluations or key_facts is None:
        return
    verdicts: dict[tuple[int, str], dict[int, FactStanding]] = defaultdict(dict)
    for fact in listed(result.evaluations, "keyfact_recall", "facts"):
        value, sentences = fact.get("value"), tuple(map(int, fact.get("sentences", ())))
        verdicts[fact["chunk"], fact["perspective"]][fact["id"]] = FactStanding(value, sentences)
    for tree in key_facts.trees:
        place = places.known(tree.span, words=False)
        yield KeyFactTree(tree=tree, place=place, verdicts=verdicts[tree.chunk, tree.perspective])


def _keyfacts(store: Store, result: Result) -> KeyFacts | None:
    key = yardstick_of(result.run, result.evaluations, "keyfact_recall")
    return store.keyfacts.get(key) if key else store.keyfacts.latest(result.run.document)


def _questions(pack: Pack | None, told: Evaluations, places: Places) -> Iterator[JudgedItem]:
    known = {pack_question.id: pack_question for pack_question in pack.questions} if pack else {}
    for one in listed(told, "coverage", "questions"):
        question = known.get(one["id"])
        span = question.evidence.span if question else None
        key = f"{pack.id}/{one['id']}" if pack else ""
        yield _item("coverage", one, one["question"], places, span, key=key)


def _facts(keyfacts: KeyFacts | None, told: Evaluations, places: Places) -> Iterator[JudgedItem]:
    trees = keyfacts.trees if keyfacts else ()
    known = {(tree.chunk, tree.perspective, fact.id): (tree, fact) for tree in trees for fact in tree.facts}
    for one in listed(told, "keyfact_recall", "facts"):
        found = known.get((one["chunk"], one["perspective"], one["id"]))
        key = f"{keyfacts.id}/{one['chunk']}/{one['perspective']}/{one['id']}" if keyfacts else ""
        # A fact without a sentence of its own is somewhere in its tree's span.
        span = (found[1].evidence.span or found[0].span) if found else None
        yield _item("keyfact_recall", one, one["fact"], places, span, kind=one["level"], key=key)


def _claims(told: Evaluations, places: Places) -> Iterator[JudgedItem]:
    for one in listed(told, "consistency", "claims"):
        claim = {**one, "sentences": [one["sentence"]]}
        yield _item("consistency", claim, one["question"], places, span_of(one.get("place")))


def _item(
    metric: str, one: Details, text: str, places: Places, span: Span | None, *, kind: str | None = None, key: str = ""
) -> JudgedItem:
    value = one.get("value")
    return JudgedItem(
        metric=metric,
        kind=kind or str(one.get("kind", "")),
        text=text,
        expected=str(one.get("expected") or ""),
        found=str(one.get("found") or ""),
        verdict=str(one.get("verdict", "")),
        value=None if value is None else float(value),
        place=places.at(span),
        sentences=tuple(int(number) for number in one.get("sentences", ())),
        key=key,
        weight=int(one.get("weight", 1)),
    )


def pieces(store: Store, result: Result, places: Places) -> Iterator[PieceEntry]:
    """Yield the partial summaries, from the lowest level up."""
    run = result.run
    chunks = store.chunks(run)
    chapters = [chapter.title for chapter in store.chapters.of(run.id)]
    parents = store.ancestry.of(run.id)
    for piece in store.runs.pieces(run.id):
        about = chunks[piece.first_chunk : piece.last_chunk + 1]
        yield PieceEntry(
            piece=piece,
            said=piece_name(piece, chapters),
            place=places.known(Span(about[0].span.start, about[-1].span.end), words=False) if about else None,
            made_from=_named(parents.get(piece.name, ()), merged=True),
            goes_on_from=_named(parents.get(piece.name, ()), merged=False),
        )


def _named(parents: Sequence[Parent], *, merged: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parent.node for parent in parents if parent.node and (parent.kind == "piece") == merged))


def calls(store: Store, run: str) -> Iterator[CallEntry]:
    """Yield every attempt to call a model, in order; replies reused from earlier runs come first and took no time."""
    recorded = store.calls.of(run)
    times = [datetime.fromisoformat(recorded_call.started) for recorded_call in recorded if not recorded_call.borrowed]
    first = min(times, default=None)
    for number, call in enumerate(recorded, 1):
        own = first is not None and not call.borrowed
        yield CallEntry.of(
            call,
            number=number,
            hash=call.prompt_hash,
            began=round((datetime.fromisoformat(call.started) - first).total_seconds(), 3) if own and first else 0.0,
            seconds=0.0 if call.borrowed else round(call.seconds, 3),
            prompt_tokens=call.usage.prompt_tokens,
            completion_tokens=call.usage.completion_tokens,
            cached_tokens=call.usage.cached_prompt_tokens,
            cost_usd=0.0 if call.borrowed else call.cost_usd,
        )


def call_of(store: Store, run: str, number: int) -> CallDetails | None:
    """Return a call of a run with its texts; None if there is none of this number."""
    entry = next((call_entry for call_entry in calls(store, run) if call_entry.number == number), None)
    texts = store.calls.texts_of(run, number) if entry else None
    if entry is None or texts is None:
        return None
    prompt = store.prompts.of([entry.hash]).get(entry.hash)
    return CallDetails.of(
        texts,
        **dict(entry),
        messages=tuple(CallMessage(role=role, text=text) for role, text in texts.messages),
        prompt_text=prompt.text if prompt else None,
        made_by=texts.run,
    )


def prompts(store: Store, result: Result) -> Iterator[PromptText]:
    """Yield the prompts recorded for the run."""
    hashes = result.run.prompt_hashes
    known = store.prompts.of(list(hashes.values()))
    for name, digest in sorted(hashes.items()):
        yield PromptText(name=name, hash=digest, text=known[digest].text if digest in known else None)


PROMPTS_ELSEWHERE = "Prompts and replies are kept in the database, not on this page"


def read_dossier(store: Store, key: str, *, source: bool = True, encoder: Encoder | None = None) -> Dossier:
    """Return the dossier of a run, given its id or a prefix of it.

    Without `source` the document's text is left out, except for what is cited. Raises a `RunError` if there is no such
    run, or if it is of a kind that makes no summary.
    """
    trace = read_trace(store, key)
    result = trace.result
    if result.run.kind in WITHOUT_SUMMARY:
        result.run.drafted()
    document = document_read(store, result.run)
    lineage = read_lineage(store, result.run.id, encoder=encoder) if result.draft else None
    with language_context(document):
        return _put_together(store, trace, document, lineage, source=source)


def _put_together(
    store: Store, trace: RunTrace, document: Document, lineage: Lineage | None, *, source: bool
) -> Dossier:
    result, places = trace.result, Places(document)
    record = FindingRecord(trace, sentence_numbers(lineage) if lineage else {})
    traced = tuple(sentences(lineage)) if lineage else ()
    return Dossier(
        holds=_holds(document, source=source),
        run=_run(trace),
        document=DocumentEntry(
            id=document.id,
            title=document.title,
            characters=len(document.text),
            words=count_words(document.text),
            sections=tuple(
                {
                    "title": one_line(section.title),
                    "level": section.level,
                    "start": section.span.start,
                    "end": section.span.end,
                }
                for section in document.sections
            ),
            text=document.text if source else None,
            language=primary(document.language),
            part=part_read(result.outline.notes),
        ),
        draft=result.run.draft,
        summary=lineage.text if lineage else None,
        words=result.draft.words if result.draft else 0,
        sentences=traced,
        findings=record.entries,
        scores=tuple(scores(result)),
        rounds=trace.rounds,
        requests=tuple(
            replace(outcome, request=scrubbed(outcome.request), reason=scrubbed(outcome.reason))
            for outcome in result.requests
        ),
        items=tuple(items(store, result, places)),
        trees=tuple(trees(store, result, places)),
        positions=positions(lineage) if lineage and any(sentence.places for sentence in traced) else None,
        chapters=result.chapters,
        pieces=tuple(pieces(store, result, places)),
        calls=tuple(calls(store, result.run.id)),
        prompts=tuple(prompts(store, result)),
        left_out=tuple(_left_out(result, record.entries, source=source)),
    )


def _holds(document: Document, *, source: bool) -> str:
    length = f"{len(document.text):,} characters"
    if source:
        return f"Includes the full text of the document ({length})."
    return f"Includes only the cited passages of the document ({length} in all) and the texts drafted from it."


def _run(trace: RunTrace) -> RunEntry:
    result, run = trace.result, trace.run
    return RunEntry.of(
        run,
        status=result.status,
        stopped=run.stop_reason or "",
        error=(run.error or {}).get("message", ""),
        model=run.settings.model,
        judges=tuple(result.judges) if run.judging else (),
        strategy=run.settings.strategy,
        settings=run.settings.model_dump(mode="json", exclude={"key_env"}),
        judging=run.judging.model_dump(mode="json") if run.judging else None,
        refinement=run.refinement.model_dump(mode="json") if run.refinement else None,
        limits=run.limits.model_dump(mode="json"),
        usage=result.usage,
    )


def _left_out(result: Result, findings: tuple[FindingHistory, ...], *, source: bool) -> Iterator[str]:
    """Yield what is missing that a reader could not otherwise know of."""
    if not source:
        yield "The document's text was left out on request. Cited passages are quoted."
    for note in result.outline.notes:
        yield f"Document: {scrubbed(note)}."
    for gap in result.gaps:
        which = f"{result.unit.capitalize()} {gap.chunk + 1} of {result.chunks}"
        yield f"{which} of the document was left out of the summary: {scrubbed(gap.reason)}"
    for metric, reason in result.unscored.items():
        yield f"No {metric} score: {scrubbed(reason)}"
    for metric, number in result.unjudged.items():
        yield f"{count(number, 'item')} of {metric} without a verdict."
    for metric, what in result.missing.items():
        for one in what:
            yield f"Missing from the basis of {metric}: {scrubbed(one)}"
    for number in result.lost:
        yield f"The model returned no revision in round {number}."
    if adrift := sum(
        1 for history in findings if history.sentence is None and history.finding.sentence and history.state == "open"
    ):
        yield f"{count(adrift, 'finding')} about a sentence that is not in the summary word for word."
    yield f"{PROMPTS_ELSEWHERE}: `redraft trace {result.run.id} --calls`"
