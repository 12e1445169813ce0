"""Builds a dossier. It only reads, except for storing links between texts that were not traced before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

from redraft.domain import Document
from redraft.errors import RunError
from redraft.evaluators.metric_info import withdrawn
from redraft.report.dossier.contents import (
    DocumentEntry,
    Dossier,
    FindingEntry,
    Places,
    RoundEntry,
    RunEntry,
    Withdrawn,
)
from redraft.report.dossier.findings import FindingRecord, positions, sentence_numbers, sentences
from redraft.report.dossier.judged import calls, chapters, items, pieces, prompts, scores, trees
from redraft.report.history.lineage import Lineage, read_lineage
from redraft.report.history.results import Result, document_read
from redraft.report.history.trace import RunTrace, Turn, read_trace
from redraft.settings import FIGURES
from redraft.store.store import Store
from redraft.text.languages import primary, reading
from redraft.text.sanitizer import one_line, scrubbed
from redraft.text.vectors import Encoder
from redraft.text.words import count, count_words

PROMPTS_ELSEWHERE = "Prompts and replies are kept in the database, not on this page"
_WITHOUT_DRAFT = ("pack", "keyfacts", "compare", "lineage")


def read_dossier(store: Store, key: str, *, source: bool = True, encoder: Encoder | None = None) -> Dossier:
    """Return the dossier of a run, given its id or a prefix of it.

    Without `source` the document's text is left out, except for what is cited. Raises a `RunError` if there is no such
    run, or if it is of a kind that makes no summary.
    """
    trace = read_trace(store, key)
    result = trace.result
    if result.run.kind in _WITHOUT_DRAFT:
        raise RunError(
            f"run {result.run.id} has no summary: its kind is {result.run.kind}", hint=f"redraft show {result.run.id}"
        )
    document = document_read(store, result.run)
    lineage = read_lineage(store, result.run.id, encoder=encoder) if result.draft else None
    with reading(document):
        return _put_together(store, trace, document, lineage, source=source)


def _put_together(
    store: Store, trace: RunTrace, document: Document, lineage: Lineage | None, *, source: bool
) -> Dossier:
    result, places = trace.result, Places(document)
    record = FindingRecord(trace, sentence_numbers(lineage) if lineage else {}, places)
    told = tuple(sentences(lineage, places, record.entries)) if lineage else ()
    return Dossier(
        holds=_holds(document, source=source),
        run=_run(trace),
        document=DocumentEntry(
            id=document.id,
            title=document.title,
            characters=len(document.text),
            words=count_words(document.text),
            sections=tuple(
                {"title": one_line(one.title), "level": one.level, "start": one.span.start, "end": one.span.end}
                for one in document.sections
            ),
            text=document.text if source else None,
            language=primary(document.language),
        ),
        draft=result.run.draft,
        summary=lineage.text if lineage else None,
        words=result.draft.words if result.draft else 0,
        sentences=told,
        findings=record.entries,
        scores=tuple(scores(result)),
        rounds=tuple(_rounds(trace, record)),
        compared=scrubbed(one_line(result.compared.said)) if result.compared else "",
        items=tuple(items(store, result, places)),
        trees=tuple(trees(store, result, places)),
        positions=positions(lineage) if lineage and any(one.sources for one in told) else None,
        chapters=tuple(chapters(result)),
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
        usage=asdict(result.usage),
    )


def _rounds(trace: RunTrace, record: FindingRecord) -> Iterator[RoundEntry]:
    for turn in trace.turns:
        made = turn.made
        yield RoundEntry.of(
            made,
            base=trace.number(made.base),
            text=turn.draft.text,
            words=turn.draft.words,
            scores=turn.scores,
            self_check=bool(trace.result.self_checked),
            unjudged={
                name: one.unjudged for name, one in turn.evaluations.items() if name not in FIGURES and one.unjudged
            },
            findings=record.numbered(turn.to_fix),
            found=record.numbered(turn.findings),
            taken=made.accepted,
            looked_up=tuple(replace(one, asked=one_line(one.asked), said=one_line(one.said)) for one in turn.lookups),
            notes=turn.draft.notes,
            result=turn.draft.id == trace.run.draft,
            withdrawn=tuple(_withdrawn(turn)),
        )


def _withdrawn(turn: Turn) -> Iterator[Withdrawn]:
    for name, one in turn.evaluations.items():
        for gone in withdrawn(one):
            said = {key: str(gone.get(key, "")) for key in ("sentence", "question", "quote", "reason")}
            yield Withdrawn(metric=name, judge=str(gone.get("by", "")), **said)


def _left_out(result: Result, findings: tuple[FindingEntry, ...], *, source: bool) -> Iterator[str]:
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
    if adrift := sum(1 for one in findings if one.sentence is None and one.about and one.state == "open"):
        yield f"{count(adrift, 'finding')} about a sentence that is not in the summary word for word."
    yield f"{PROMPTS_ELSEWHERE}: `redraft trace {result.run.id} --calls`"
