"""What a document says that its summary may state: its key facts, or else the answers to its questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redraft.domain import Evaluation, Evidence, KeyFact, KeyFacts, Pack, PackQuestion, Span
from redraft.errors import RunError
from redraft.history.lineage import Tracer
from redraft.history.quotes import FactKey, Held, held_of
from redraft.store.runs import Run
from redraft.store.store import Store


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that the document says: a key fact, or the answer to a question of its pack."""

    text: str
    kind: str
    """The level of a key fact, or the kind of a question."""
    evidence: Evidence
    places: tuple[Span, ...]
    """Where the document says it."""
    keys: tuple[FactKey, ...] = ()
    """Under which of the document's questions, or of its key facts, judges know it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that are looked for, and the metric that judges by them."""

    metric: str
    what: str
    id: str
    facts: Sequence[Fact]

    def held(self, store: Store, draft: str) -> dict[str, Held]:
        """What the judges of a draft say of the facts, by their text."""
        known = held_of(store.judgments.of(draft), self.metric, self.id)
        return {
            fact.text: Held(any(one.holds for one in said), tuple(sorted({n for one in said for n in one.sentences})))
            for fact in self.facts
            if (said := [known[key] for key in fact.keys if key in known])
        }


def facts_of(store: Store, run: Run, tracer: Tracer, draft: str) -> Facts:
    """What a summary of the run's document may state: what a draft of it was judged by, or the document's own."""
    judged = store.judgments.of(draft)
    keyfacts = _keyfacts(store, run, judged)
    if keyfacts is not None and "coverage" in judged and "keyfact_recall" not in judged:
        # What somebody has read the draft for goes before what is only matched by wording.
        keyfacts = None
    origins = tracer.origins([tracer.document.text])

    def fact(text: str, kind: str, evidence: Evidence, keys: Sequence[FactKey]) -> Fact:
        if evidence.span is not None:
            return Fact(text, kind, evidence, (evidence.span,), tuple(keys))
        direct = [link.span for one in origins.trace(text) for link in one.links[:1]]
        passage = [Evidence(tracer.document.text[place.start : place.end], place) for place in direct[:1]]
        return Fact(text, kind, next(iter(passage), evidence), tuple(direct), tuple(keys))

    if keyfacts is not None:
        trees = [tree for tree in keyfacts.trees if run.settings.query in (None, tree.query)]
        kept: dict[str, list[tuple[FactKey, KeyFact]]] = {}
        for tree in trees:
            for one in tree.kept:
                kept.setdefault(one.text, []).append(((tree.chunk, tree.perspective, one.id), one))
        facts = [
            fact(text, some[-1][1].level, some[-1][1].evidence, [key for key, _ in some]) for text, some in kept.items()
        ]
        return Facts("keyfact_recall", "key facts", keyfacts.id, facts)
    pack = _pack(store, run, judged)
    if pack is None:
        raise RunError(
            f"nothing is known of what a summary of {tracer.document.title or 'the document'} should say",
            hint="build it with `redraft keyfacts SOURCE` or `redraft pack build SOURCE`",
        )
    questions: dict[str, list[PackQuestion]] = {}
    for question in pack.questions:
        questions.setdefault(question.evidence.text or question.answer, []).append(question)
    facts = [
        fact(text, some[-1].kind, some[-1].evidence, [(one.id,) for one in some]) for text, some in questions.items()
    ]
    return Facts("coverage", "questions", pack.id, facts)


def _keyfacts(store: Store, run: Run, judged: Mapping[str, Evaluation]) -> KeyFacts | None:
    key = _named(run.judging.keyfacts if run.judging else None, judged, "keyfact_recall", "keyfacts")
    return store.keyfacts.get(key) if key else store.keyfacts.latest(run.document)


def _pack(store: Store, run: Run, judged: Mapping[str, Evaluation]) -> Pack | None:
    key = _named(run.judging.pack if run.judging else None, judged, "coverage", "pack")
    return store.packs.get(key) if key else store.packs.latest(run.document)


def _named(asked: str | None, judged: Mapping[str, Evaluation], metric: str, part: str) -> str | None:
    """The id of what a run was to be judged by, or was: there may be a later one by now."""
    found = judged[metric].details.get(part) if metric in judged else None
    return asked or (str(found) if found else None)
