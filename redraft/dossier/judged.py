"""What the summary was judged by, and what that came to: scores, questions, claims, key facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from redraft.domain import Evaluation, KeyFact, KeyFacts, Pack, Span, Tree
from redraft.dossier.contents import Fact, FactTree, Item, Score
from redraft.dossier.places import Places
from redraft.dossier.scrubbing import scrubbed, scrubbed_all
from redraft.history.results import Result
from redraft.store.store import Store
from redraft.text.cleaning import one_line

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


def items(store: Store, result: Result, places: Places) -> Iterator[Item]:
    """Everything with a place in the document that the result was judged by."""
    told = result.evaluations
    if "coverage" in told:
        yield from _questions(_pack(store, result, told["coverage"]), told["coverage"], places)
    if "keyfact_recall" in told:
        yield from _facts(told["keyfact_recall"], _keyfacts(store, result), places)
    if "consistency" in told:
        yield from _claims(told["consistency"], places)


def trees(store: Store, result: Result, places: Places) -> Iterator[FactTree]:
    """The key facts that the result was judged by, with what it states of them."""
    told = result.evaluations.get("keyfact_recall")
    known = _keyfacts(store, result)
    if told is None or known is None:
        return
    stated = {(one["chunk"], one["perspective"], one["id"]): one for one in _listed(told.details, "facts")}
    for tree in known.trees:
        yield FactTree(
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


def _questions(pack: Pack | None, told: Evaluation, places: Places) -> Iterator[Item]:
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


def _facts(told: Evaluation, keyfacts: KeyFacts | None, places: Places) -> Iterator[Item]:
    known = _facts_by_key(keyfacts)
    for one in _listed(told.details, "facts"):
        found = known.get((one["chunk"], one["perspective"], one["id"]))
        key = f"{keyfacts.id}/{one['chunk']}/{one['perspective']}/{one['id']}" if keyfacts else ""
        # A fact without a sentence of its own stands somewhere in its stretch.
        span = (found[1].evidence.span or found[0].span) if found else None
        yield _item("keyfact_recall", one, one["fact"], places, span, kind=one["level"], key=key)


def _claims(told: Evaluation, places: Places) -> Iterator[Item]:
    for one in _listed(told.details, "claims"):
        where = one.get("place")
        span = Span(*where) if isinstance(where, list | tuple) and len(where) == len(Span._fields) else None
        yield _item("consistency", {**one, "sentences": [one["sentence"]]}, one["question"], places, span)


def _item(
    metric: str, one: Details, text: str, places: Places, span: Span | None, *, kind: str | None = None, key: str = ""
) -> Item:
    value = one.get("value")
    return Item(
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


def _fact(fact: KeyFact, told: Details | None, places: Places) -> Fact:
    value = told.get("value") if told else None
    return Fact(
        id=fact.id,
        level=fact.level,
        parent=fact.parent,
        text=one_line(fact.text),
        place=places.at(fact.evidence.span),
        stated=None if value is None else float(value),
        sentences=tuple(int(number) for number in told.get("sentences", ())) if told else (),
        pruned="; ".join(f"{one.dimension}: {one_line(one.reason)}" for one in fact.objections),
    )
