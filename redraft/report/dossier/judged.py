"""What the summary was judged by, what that came to, and how it was made: scores, items, pieces, calls, prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from redraft.domain import Evaluation, KeyFact, KeyFacts, Pack, Parent, Span, Tree
from redraft.report.dossier.contents import (
    CallEntry,
    ChapterEntry,
    JudgedItem,
    KeyFactEntry,
    KeyFactTree,
    PieceEntry,
    Places,
    PromptText,
    Score,
)
from redraft.report.history.results import Result
from redraft.report.history.trace import piece_said
from redraft.store.store import Store
from redraft.text.sanitizer import clean, one_line, scrubbed, scrubbed_all

Details = Mapping[str, Any]


def scores(result: Result) -> Iterator[Score]:
    """What each metric says of the result."""
    for name, one in result.evaluations.items():
        goal = result.goals.get(name, {})
        certificate = result.certificates.get(name)
        first = result.initial.get(name)
        yield Score(
            metric=name,
            outcome=one.outcome,
            score=one.score,
            judged=one.judged,
            unjudged=one.unjudged,
            reason=scrubbed(one.reason),
            missing=tuple(scrubbed(what) for what in one.missing),
            goal=cast(float | None, goal.get("at_least")),
            met=cast(bool | None, goal.get("met")),
            initial=first.score if first else None,
            self_check=bool(certificate and certificate.self_check),
            certificate=scrubbed_all(certificate.to_json()) if certificate else None,
            stands_on=scrubbed(certificate.line()) if certificate else "",
            details=scrubbed_all(one.details),
        )


def items(store: Store, result: Result, places: Places) -> Iterator[JudgedItem]:
    """Everything with a place in the document that the result was judged by."""
    told = result.evaluations
    if "coverage" in told:
        yield from _questions(_pack(store, result, told["coverage"]), told["coverage"], places)
    if "keyfact_recall" in told:
        yield from _facts(told["keyfact_recall"], _keyfacts(store, result), places)
    if "consistency" in told:
        yield from _claims(told["consistency"], places)


def trees(store: Store, result: Result, places: Places) -> Iterator[KeyFactTree]:
    """The key facts that the result was judged by, with what it states of them."""
    told = result.evaluations.get("keyfact_recall")
    known = _keyfacts(store, result)
    if told is None or known is None:
        return
    stated = {(one["chunk"], one["perspective"], one["id"]): one for one in _listed(told.details, "facts")}
    for tree in known.trees:
        yield KeyFactTree(
            chunk=tree.chunk,
            perspective=tree.perspective,
            place=places.wide(tree.span),
            query=one_line(tree.query),
            facts=tuple(_fact(one, stated.get((tree.chunk, tree.perspective, one.id)), places) for one in tree.facts),
        )


def _listed(details: Details, name: str) -> Sequence[Details]:
    found = details.get(name)
    return found if isinstance(found, list) else ()


def _pack(store: Store, result: Result, told: Evaluation) -> Pack | None:
    judging = result.run.judging
    key = told.details.get("pack") or (judging.pack if judging else None)
    return store.packs.get(str(key)) if key else None


def _keyfacts(store: Store, result: Result) -> KeyFacts | None:
    told, judging = result.evaluations.get("keyfact_recall"), result.run.judging
    # The evaluation says which it went by: there may be later ones by now.
    key = (told.details.get("keyfacts") if told else None) or (judging.keyfacts if judging else None)
    return store.keyfacts.get(str(key)) if key else store.keyfacts.latest(result.run.document)


def _questions(pack: Pack | None, told: Evaluation, places: Places) -> Iterator[JudgedItem]:
    known = {one.id: one for one in pack.questions} if pack else {}
    for one in _listed(told.details, "questions"):
        question = known.get(one["id"])
        span = question.evidence.span if question else None
        key = f"{pack.id}/{one['id']}" if pack else ""
        yield _item("coverage", one, one["question"], places, span, key=key)


def _facts_by_key(known: KeyFacts | None) -> dict[tuple[int, str, int], tuple[Tree, KeyFact]]:
    if known is None:
        return {}
    return {(tree.chunk, tree.perspective, one.id): (tree, one) for tree in known.trees for one in tree.facts}


def _facts(told: Evaluation, keyfacts: KeyFacts | None, places: Places) -> Iterator[JudgedItem]:
    known = _facts_by_key(keyfacts)
    for one in _listed(told.details, "facts"):
        found = known.get((one["chunk"], one["perspective"], one["id"]))
        key = f"{keyfacts.id}/{one['chunk']}/{one['perspective']}/{one['id']}" if keyfacts else ""
        # A fact without a sentence of its own stands somewhere in its stretch.
        span = (found[1].evidence.span or found[0].span) if found else None
        yield _item("keyfact_recall", one, one["fact"], places, span, kind=one["level"], key=key)


def _claims(told: Evaluation, places: Places) -> Iterator[JudgedItem]:
    for one in _listed(told.details, "claims"):
        where = one.get("place")
        span = Span(*where) if isinstance(where, list | tuple) and len(where) == len(Span._fields) else None
        yield _item("consistency", {**one, "sentences": [one["sentence"]]}, one["question"], places, span)


def _item(
    metric: str, one: Details, text: str, places: Places, span: Span | None, *, kind: str | None = None, key: str = ""
) -> JudgedItem:
    value = one.get("value")
    return JudgedItem(
        metric=metric,
        kind=kind or str(one.get("kind", "")),
        text=one_line(text),
        expected=one_line(str(one.get("expected") or "")),
        found=one_line(str(one.get("found") or "")),
        verdict=str(one.get("verdict", "")),
        value=None if value is None else float(value),
        place=places.at(span),
        sentences=tuple(int(number) for number in one.get("sentences", ())),
        key=key,
    )


def _fact(fact: KeyFact, told: Details | None, places: Places) -> KeyFactEntry:
    value = told.get("value") if told else None
    return KeyFactEntry(
        id=fact.id,
        level=fact.level,
        parent=fact.parent,
        text=one_line(fact.text),
        place=places.at(fact.evidence.span),
        stated=None if value is None else float(value),
        sentences=tuple(int(number) for number in told.get("sentences", ())) if told else (),
        pruned="; ".join(f"{one.dimension}: {one_line(one.reason)}" for one in fact.objections),
    )


def chapters(result: Result) -> Iterator[ChapterEntry]:
    """What is summarized by itself, in the order of the document."""
    for one in result.chapters:
        made = one.result
        yield ChapterEntry(
            title=one_line(one.title),
            start=one.span.start,
            end=one.span.end,
            pages=one_line(one.pages),
            run=made.run.id if made else "",
            status=made.status if made else "not begun",
            words=made.draft.words if made and made.draft else 0,
            summary=clean((made.summary if made else None) or ""),
            scores=dict(made.scores) if made else {},
            self_check=bool(made and made.self_checked),
        )


def pieces(store: Store, result: Result, places: Places) -> Iterator[PieceEntry]:
    """The partial summaries, from the lowest level up."""
    run = result.run
    chunks = store.chunks(run)
    chapters = [one.title for one in store.chapters.of(run.id)]
    parents = store.ancestry.of(run.id)
    for piece in store.runs.pieces(run.id):
        about = chunks[piece.first_chunk : piece.last_chunk + 1]
        yield PieceEntry(
            name=piece.name,
            said=piece_said(piece, chapters),
            level=piece.level,
            first_chunk=piece.first_chunk,
            last_chunk=piece.last_chunk,
            place=places.wide(Span(about[0].span.start, about[-1].span.end)) if about else None,
            words=piece.words,
            limit=piece.limit,
            attempts=piece.attempts,
            flaw=scrubbed(piece.flaw),
            text=clean(piece.text),
            made_from=_named(parents.get(piece.name, ()), merged=True),
            goes_on_from=_named(parents.get(piece.name, ()), merged=False),
        )


def _named(parents: Sequence[Parent], *, merged: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.node for one in parents if one.node and (one.kind == "piece") == merged))


def calls(store: Store, run: str) -> Iterator[CallEntry]:
    """Every attempt to ask a model, in their order; what was taken from earlier runs comes first, and took no time."""
    recorded = store.calls.of(run)
    begun = [datetime.fromisoformat(one.started) for one in recorded if not one.borrowed]
    first = min(begun, default=None)
    for number, one in enumerate(recorded, 1):
        own = first is not None and not one.borrowed
        yield CallEntry(
            number=number,
            label=one_line(one.label),
            prompt=one.prompt,
            hash=one.prompt_hash,
            model=scrubbed(one.model),
            outcome=one.outcome,
            borrowed=one.borrowed,
            began=round((datetime.fromisoformat(one.started) - first).total_seconds(), 3) if own and first else 0.0,
            seconds=0.0 if one.borrowed else round(one.seconds, 3),
            prompt_tokens=one.usage.prompt_tokens,
            completion_tokens=one.usage.completion_tokens,
            cached_tokens=one.usage.cached_prompt_tokens,
            cost_usd=0.0 if one.borrowed else one.cost_usd,
            error=scrubbed(one_line(one.error)),
        )


def prompts(store: Store, result: Result) -> Iterator[PromptText]:
    """The prompts that the run has on record."""
    hashes = result.run.prompt_hashes
    known = store.prompts.of(list(hashes.values()))
    for name, digest in sorted(hashes.items()):
        yield PromptText(name=name, hash=digest, text=clean(known[digest].text) if digest in known else None)
