"""Facts that a document has and its summary lacks, the step where each was lost, and what was invented on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from redraft.domain import Evaluation, Evidence, Finding, KeyFact, KeyFacts, Pack, PackQuestion, Parent, Span, computed
from redraft.errors import RunCommand, RunError
from redraft.report.history.lineage import NEAR, Lineage, Tracer, origin_note
from redraft.report.history.quotes import FactKey, StatedFact, stated_facts, yardstick_of
from redraft.report.history.results import document_read
from redraft.report.history.trace import GIVEN_SAID, TextNode
from redraft.store.runs import Run
from redraft.store.store import Store, check_store
from redraft.text.languages import language_context
from redraft.text.origins import Link, OriginTracer
from redraft.text.places import chapter_of, document_of, pages_of, percent_of
from redraft.text.vectors import Encoder


@dataclass(frozen=True, slots=True)
class DocumentFact:
    """Something the document says: a key fact, or the answer to a question of its pack."""

    text: str
    kind: str
    """The level of a key fact, or the kind of a question."""
    evidence: Evidence
    places: tuple[Span, ...]
    """Where the document says it."""
    keys: Annotated[tuple[FactKey, ...], Field(exclude=True)] = ()
    """The keys of the document's questions or key facts under which judges know it."""


@dataclass(frozen=True, slots=True)
class FactSet:
    """The facts to look for, and the metric that judges by them."""

    metric: str
    what: str
    id: str
    facts: Sequence[DocumentFact]

    def verdicts(self, store: Store, draft: str) -> dict[str, StatedFact]:
        """Return what the judges of a draft say about the facts, by their text."""
        known = stated_facts(store.judgments.of(draft), self.metric, self.id)
        return {
            fact.text: StatedFact(
                any(stated_fact.holds for stated_fact in said),
                tuple(sorted({n for stated_fact in said for n in stated_fact.sentences})),
            )
            for fact in self.facts
            if (said := [known[key] for key in fact.keys if key in known])
        }


def facts_of(store: Store, run: Run, tracer: Tracer, draft: str) -> FactSet:
    """Return the facts that a summary of the run's document may state: those a draft was judged by, or else the
    document's own."""
    judged = store.judgments.of(draft)
    keyfacts = _keyfacts(store, run, judged)
    if keyfacts is not None and "coverage" in judged and "keyfact_recall" not in judged:
        # A judge that read the draft takes precedence over matching by wording.
        keyfacts = None
    origins = tracer.origins([tracer.document.text])

    def fact(text: str, kind: str, evidence: Evidence, keys: Sequence[FactKey]) -> DocumentFact:
        if evidence.span is not None:
            return DocumentFact(text, kind, evidence, (evidence.span,), tuple(keys))
        direct = [link.span for origin in origins.trace(text) for link in origin.links[:1]]
        passage = [Evidence(tracer.document.text[place.start : place.end], place) for place in direct[:1]]
        return DocumentFact(text, kind, next(iter(passage), evidence), tuple(direct), tuple(keys))

    if keyfacts is not None:
        trees = [tree for tree in keyfacts.trees if run.settings.query in (None, tree.query)]
        kept: dict[str, list[tuple[FactKey, KeyFact]]] = {}
        for tree in trees:
            for key_fact in tree.kept:
                kept.setdefault(key_fact.text, []).append(((tree.chunk, tree.perspective, key_fact.id), key_fact))
        facts = [
            fact(text, some[-1][1].level, some[-1][1].evidence, [key for key, _ in some]) for text, some in kept.items()
        ]
        return FactSet("keyfact_recall", "key facts", keyfacts.id, facts)
    pack = _pack(store, run, judged)
    if pack is None:
        raise RunError(
            f"there are no questions or key facts for {tracer.document.title or 'the document'}",
            fix=(
                "build it with ",
                *(RunCommand("keyfacts", more=("SOURCE",)), " or ", RunCommand("pack build", more=("SOURCE",))),
            ),
        )
    questions: dict[str, list[PackQuestion]] = {}
    for question in pack.questions:
        questions.setdefault(question.evidence.text or question.answer, []).append(question)
    facts = [
        fact(
            text,
            pack_questions[-1].kind,
            pack_questions[-1].evidence,
            [(pack_question.id,) for pack_question in pack_questions],
        )
        for text, pack_questions in questions.items()
    ]
    return FactSet("coverage", "questions", pack.id, facts)


def _keyfacts(store: Store, run: Run, judged: Mapping[str, Evaluation]) -> KeyFacts | None:
    key = yardstick_of(run, judged, "keyfact_recall")
    return store.keyfacts.get(key) if key else store.keyfacts.latest(run.document)


def _pack(store: Store, run: Run, judged: Mapping[str, Evaluation]) -> Pack | None:
    key = yardstick_of(run, judged, "coverage")
    return store.packs.get(key) if key else store.packs.latest(run.document)


METRIC = "lineage"
"""Takes the place of a metric in findings on what was lost and invented."""
Step = Literal["gap", "extraction", "merge", "update", "compression", "tidying", "revision", "refusal"]
STEPS: dict[Step, str] = {
    "gap": "in a chunk that was left out",
    "extraction": "never extracted",
    "merge": "dropped in a merge",
    "update": "dropped in an update",
    "compression": "cut by compression",
    "tidying": "dropped in the last step",
    "revision": "dropped in a revision",
    "refusal": "only in a rejected revision",
}
"""How something is lost at each step."""
# A text that supports a fact with this weight states it, wherever it has it from.
_SURE = 0.5
_THIRDS = 3


@dataclass(frozen=True, slots=True)
class Loss:
    """A fact that a summary lacks, and where it was lost."""

    fact: DocumentFact
    step: Step
    level: int | None
    """The level of the merge that dropped it, or the lowest level; None for a draft or a chunk that was left out."""
    said: str
    """The display name of the text that lacks it although one of its sources has it."""
    node: str
    """The id of that draft, or the name of that piece; empty for a chunk that was left out."""
    document: str
    """Which of several documents read as one it is in."""
    chapter: str
    pages: str
    percent: int

    @property
    def third(self) -> int:
        """The third of the document that it is in: 1, 2 or 3."""
        return min(_THIRDS, 1 + self.percent * _THIRDS // 100)


@dataclass(frozen=True, slots=True)
class Losses:
    """What became of the facts of a document on the way into a summary."""

    lineage: Lineage
    by: str
    """What was looked for: key facts or questions, with their id."""
    kept: tuple[DocumentFact, ...]
    lost: tuple[Loss, ...]
    judged: Mapping[str, StatedFact] = field(default_factory=dict)
    """What the judges of the summary say about facts, by their text. The others are matched by wording."""

    @computed
    def by_step(self) -> dict[str, list[int]]:
        """The number of facts lost in each third of the document, by step, and by level for merges."""
        found: dict[str, list[int]] = {}
        order = list(STEPS)
        for loss in sorted(self.lost, key=lambda loss: (order.index(loss.step), loss.level or 0)):
            found.setdefault(describe_loss(loss), [0] * _THIRDS)[loss.third - 1] += 1
        return found

    @computed
    def invented_by_step(self) -> dict[str, list[int]]:
        """The number of unplaced sentences in each third of the summary, by the text where they first appeared."""
        levels = {node.name: node.level for node in self.lineage.members}
        length, found = len(self.lineage.text), dict[str, list[int]]()
        for sentence in sorted(
            self.lineage.unplaced, key=lambda one: (levels.get(one.invented_in) is None, one.invented_in)
        ):
            level = levels.get(sentence.invented_in)
            where = (
                sentence.invented if level is None else f"a merge of level {level}" if level else "a summary of chunks"
            )
            said = "without matching wording" if where == GIVEN_SAID else f"first appeared in {where}"
            found.setdefault(said, [0] * _THIRDS)[sentence.span.start * _THIRDS // length] += 1
        return found

    @computed
    def findings(self) -> tuple[Finding, ...]:
        """The losses as findings that a reviser can act on: a fact with its passage, an invented sentence with its
        step.

        Sentences that only wording does not find are not to be removed.
        """
        lost = (
            Finding(
                METRIC,
                "lost",
                "add",
                "State this, which the document says and the summary does not.",
                expected=loss.fact.text,
                evidence=loss.fact.evidence,
            )
            for loss in self.lost
        )
        invented = (
            Finding(
                METRIC,
                "invented",
                "remove",
                f"Not in the document, which was read in full; {origin_note(sentence.invented)}.",
                sentence=sentence.text,
            )
            for sentence in self.lineage.invented
        )
        return (*lost, *invented)


def describe_loss(loss: Loss) -> str:
    """Return how a fact was lost, with the level for a merge; for a summary given by the user this is unknown."""
    if loss.said == GIVEN_SAID:
        return f"not in {GIVEN_SAID}"
    return f"{STEPS[loss.step]} of level {loss.level}" if loss.step == "merge" else STEPS[loss.step]


def read_losses(store: Store, key: str, *, encoder: Encoder | None = None) -> Losses:
    """Return what became of the document's key facts, or else its questions, on the way into a run's result.

    No model is called. Raises a `RunError` if there is no draft yet, or nothing in the document to look for.
    """
    check_store(store)
    run = store.runs.get(key)
    draft = run.drafted()
    tracer = Tracer(store, document_read(store, run), encoder)
    with language_context(tracer.document):
        return FactSearch(store, run, tracer, draft).losses()


class FactSearch:
    """Looks for a document's facts in the texts of a run, and for the steps where they were lost on the way into a
    draft."""

    def __init__(self, store: Store, run: Run, tracer: Tracer, draft: str) -> None:
        self._store = store
        self._run = run
        self._tracer = tracer
        self._sought = facts_of(store, run, tracer, draft)
        self._facts = self._sought.facts
        self._lineage = tracer.lineage(draft)
        self._refusals = self._refused(draft)
        self._holding: dict[tuple[str, str], bool] = {}
        self._origins: dict[str, OriginTracer] = {}
        self._judged: dict[str, dict[str, StatedFact]] = {}

    def losses(self) -> Losses:
        """Return what became of each fact."""
        members = self._lineage.members
        facts = [fact for fact in self._facts if self._holds(members[-1], fact)]
        lost = [self._loss(members, self._refusals, fact) for fact in self._facts if fact not in facts]
        by = f"{self._sought.what} {self._sought.id}"
        return Losses(self._lineage, by, tuple(facts), tuple(lost), self._said_of(members[-1]))

    def _origins_of(self, member: TextNode) -> OriginTracer:
        if member.key not in self._origins:
            self._origins[member.key] = self._tracer.origins([member.text])
        return self._origins[member.key]

    def _refused(self, draft: str) -> list[tuple[TextNode, TextNode]]:
        """Return the rejected revisions, each with its base."""
        rounds = self._store.judgments.rounds(self._run.id)
        member = self._tracer.family.draft
        return [
            (member(made.draft), member(made.base))
            for made in rounds
            if made.accepted is False and made.base and made.draft != draft
        ]

    def _loss(
        self, members: Sequence[TextNode], refused: Sequence[tuple[TextNode, TextNode]], fact: DocumentFact
    ) -> Loss:
        document = self._tracer.document
        place = fact.places[0] if fact.places else Span(0, 0)
        named = document_of(document, place), chapter_of(document, place), pages_of(document, place)
        where = (*named, percent_of(document, place.start))
        for node, base in reversed(refused):
            if self._holds(node, fact) and not self._holds(base, fact):
                return Loss(fact, "refusal", None, node.said, node.name, *where)
        at = self._last_without(members, fact)
        if at is None:
            return Loss(fact, "gap", None, "a chunk that was left out", "", *where)
        return Loss(fact, self._step(at, fact), at.level, at.said, at.name, *where)

    def _last_without(self, members: Sequence[TextNode], fact: DocumentFact) -> TextNode | None:
        """Return the last text on the fact's path that lacks it although one of its sources has it.

        Returns None if the place of the fact was never read.
        """
        on_path: set[str] = set()
        node: TextNode | None = None
        for member in members:
            had = False
            for parent, other in zip(member.parents, self._tracer.family.parents(member), strict=True):
                if parent.kind == "context":
                    # Context repeats what came before, which a merge need not repeat.
                    continue
                if other is None:
                    on = _reads(parent, fact)
                    had = had or on
                else:
                    on = other.key in on_path
                    had = had or (on and self._holds(other, fact))
                if on:
                    on_path.add(member.key)
            if had and member.key in on_path and not self._holds(member, fact):
                node = member
        return node

    def _step(self, at: TextNode, fact: DocumentFact) -> Step:
        kinds = {parent.kind for parent in at.parents}
        if at.level is None:
            return "revision" if "base" in kinds else "extraction" if "excerpt" in kinds else "tidying"
        if kinds == {"running"}:
            return "compression"
        if "running" in kinds:
            return "extraction" if any(_reads(parent, fact) for parent in at.parents) else "update"
        return "extraction" if "excerpt" in kinds else "merge"

    def _said_of(self, member: TextNode) -> dict[str, StatedFact]:
        """Return what judges say about the facts in a text; empty if it was not judged, as for partial summaries."""
        if member.level is not None:
            return {}
        if member.name not in self._judged:
            self._judged[member.name] = self._sought.verdicts(self._store, member.name)
        return self._judged[member.name]

    def _holds(self, member: TextNode, fact: DocumentFact) -> bool:
        """Return whether a text states a fact: its judges say so, or it has nearly the same words, or similar words
        that come from the fact's place."""
        if (stated_fact := self._said_of(member).get(fact.text)) is not None:
            return stated_fact.holds
        key = (member.key, fact.text)
        if key not in self._holding:
            links = [link for origin in self._origins_of(member).trace(fact.text) for link in origin.links[:1]]
            self._holding[key] = any(link.weight >= _SURE or self._comes_from(member, link, fact) for link in links)
        return self._holding[key]

    def _comes_from(self, member: TextNode, link: Link, fact: DocumentFact) -> bool:
        composed = [origin for origin in self._tracer.composed(member) if origin.span.overlaps(link.span)]
        spans = [place.span for origin in composed for place in origin.places]
        near = [Span(span.start - NEAR - 1, span.end + NEAR + 1) for span in spans]
        return any(place.overlaps(span) for span in near for place in fact.places)


def _reads(parent: Parent, fact: DocumentFact) -> bool:
    """Return whether a fact is in the part of the document that was shown for summarizing."""
    return parent.kind == "excerpt" and any(place.overlaps(parent.span) for place in fact.places)
