"""Facts that a document has and its summary lacks, the step where each was lost, and what was invented on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from redraft.domain import Evidence, Finding, Parent, Span, computed
from redraft.errors import RunCommand, RunError
from redraft.report.history.lineage import NEAR, Lineage, Tracer, origin_note, place_fields
from redraft.report.history.quotes import FactKey, StatedFact, stated_facts, yardstick_of
from redraft.report.history.results import document_read
from redraft.report.history.texts import GIVEN_SAID, TextNode
from redraft.store.runs import Run
from redraft.store.store import Store, check_store
from redraft.text.languages import language_context
from redraft.text.origins import Link, OriginTracer
from redraft.text.vectors import Encoder

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
    def description(self) -> str:
        """How the fact was lost, with the level for a merge; for a summary given by the user this is unknown."""
        if self.said == GIVEN_SAID:
            return f"not in {GIVEN_SAID}"
        return f"{STEPS[self.step]} of level {self.level}" if self.step == "merge" else STEPS[self.step]


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
        counts: dict[str, list[int]] = {}
        steps = list(STEPS)
        for loss in sorted(self.lost, key=lambda loss: (steps.index(loss.step), loss.level or 0)):
            thirds = counts.setdefault(loss.description, [0] * _THIRDS)
            thirds[min(_THIRDS - 1, loss.percent * _THIRDS // 100)] += 1
        return counts

    @computed
    def findings(self) -> tuple[Finding, ...]:
        """The losses as findings that a reviser can act on: a fact with its passage, an invented sentence with its
        step.

        Sentences that only wording does not find are not to be removed.
        """
        say = "State this, which the document says and the summary does not."
        lost = (
            Finding(METRIC, "lost", "add", say, expected=loss.fact.text, evidence=loss.fact.evidence)
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


def read_losses(store: Store, key: str, *, encoder: Encoder | None = None) -> Losses:
    """Return what became of the document's key facts, or else its questions, on the way into a run's result.

    No model is called. Raises a `RunError` if there is no draft yet, or nothing in the document to look for.
    """
    check_store(store)
    run = store.runs.get(key)
    draft = run.drafted()
    tracer = Tracer(store, document_read(store, run), encoder)
    with language_context(tracer.document):
        return _FactSearch(store, run, tracer, draft).losses()


@dataclass(frozen=True, slots=True)
class _Reference:
    """Key facts or questions of a document, and the metric that judges by them."""

    metric: str
    name: str
    id: str
    items: Sequence[tuple[str, str, Evidence, FactKey]]
    """The text, the kind, the evidence and the key of each."""


def _reference_of(store: Store, run: Run, draft: str, title: str) -> _Reference:
    """Return what a draft was judged by, or else the key facts or questions of its document."""
    evaluations = store.judgments.of(draft)
    key = yardstick_of(run, evaluations, "keyfact_recall")
    keyfacts = store.keyfacts.get(key) if key else store.keyfacts.latest(run.document)
    # A judge that read the draft takes precedence over matching by wording.
    if keyfacts is not None and ("coverage" not in evaluations or "keyfact_recall" in evaluations):
        facts = [
            (fact.text, fact.level, fact.evidence, (tree.chunk, tree.perspective, fact.id))
            for tree in keyfacts.trees
            if run.settings.query in (None, tree.query)
            for fact in tree.kept
        ]
        return _Reference("keyfact_recall", "key facts", keyfacts.id, facts)
    key = yardstick_of(run, evaluations, "coverage")
    pack = store.packs.get(key) if key else store.packs.latest(run.document)
    if pack is None:
        builders = (RunCommand("keyfacts", more=("SOURCE",)), " or ", RunCommand("pack build", more=("SOURCE",)))
        fix = ("build it with ", *builders)
        raise RunError(f"there are no questions or key facts for {title or 'the document'}", fix=fix)
    questions = [
        (question.evidence.text or question.answer, question.kind, question.evidence, (question.id,))
        for question in pack.questions
    ]
    return _Reference("coverage", "questions", pack.id, questions)


def _facts_in(reference: _Reference, tracer: Tracer) -> Iterator[DocumentFact]:
    """Yield the distinct facts, each with its places in the document."""
    text = tracer.document.text
    origins = tracer.origins([text])
    keys: dict[str, list[FactKey]] = {}
    for fact, _, _, key in reference.items:
        keys.setdefault(fact, []).append(key)
    latest = {fact: (kind, evidence) for fact, kind, evidence, _ in reference.items}
    for fact in keys:
        kind, evidence = latest[fact]
        places = [evidence.span] if evidence.span else [link.span for link in _best_links(origins, fact)]
        if places and evidence.span is None:
            evidence = Evidence(text[slice(*places[0])], places[0])
        yield DocumentFact(fact, kind, evidence, tuple(places), tuple(keys[fact]))


class _FactSearch:
    """Looks for a document's facts in the texts of a run, and for the steps where they were lost on the way into a
    draft."""

    def __init__(self, store: Store, run: Run, tracer: Tracer, draft: str) -> None:
        self._store = store
        self._tracer = tracer
        self._reference = _reference_of(store, run, draft, tracer.document.title)
        self._facts = tuple(_facts_in(self._reference, tracer))
        self._lineage = tracer.lineage(draft)
        node = tracer.family.draft
        self._rejected = [
            (node(round_.draft), node(round_.base))
            for round_ in store.judgments.rounds(run.id)
            if round_.accepted is False and round_.base and round_.draft != draft
        ]
        """The rejected revisions, each with its base."""
        self._statements: dict[tuple[str, str], bool] = {}
        self._origins: dict[str, OriginTracer] = {}
        self._verdicts: dict[str, dict[str, StatedFact]] = {}

    def losses(self) -> Losses:
        """Return what became of each fact."""
        last = self._lineage.members[-1]
        stated = tuple(fact for fact in self._facts if self._states(last, fact))
        lost = tuple(self._loss(fact) for fact in self._facts if fact not in stated)
        by = f"{self._reference.name} {self._reference.id}"
        return Losses(self._lineage, by, stated, lost, self._verdicts_on(last))

    def _loss(self, fact: DocumentFact) -> Loss:
        place = place_fields(self._tracer.document, fact.places[0] if fact.places else Span(0, 0))
        for node, base in reversed(self._rejected):
            if self._states(node, fact) and not self._states(base, fact):
                return Loss(fact, "refusal", None, node.said, node.name, **place)
        lossy = self._last_without(fact)
        if lossy is None:
            return Loss(fact, "gap", None, "a chunk that was left out", "", **place)
        return Loss(fact, _step(lossy, fact), lossy.level, lossy.said, lossy.name, **place)

    def _last_without(self, fact: DocumentFact) -> TextNode | None:
        """Return the last text on the fact's path that lacks it although one of its sources has it.

        Returns None if the place of the fact was never read.
        """
        path: set[str] = set()
        lossy: TextNode | None = None
        for node in self._lineage.members:
            has_source = False
            for parent, source in zip(node.parents, self._tracer.family.parents(node), strict=True):
                # Context repeats what came before, which a merge need not repeat.
                if parent.kind == "context" or not (source.key in path if source else _reads(parent, fact)):
                    continue
                path.add(node.key)
                has_source = has_source or source is None or self._states(source, fact)
            if has_source and not self._states(node, fact):
                lossy = node
        return lossy

    def _verdicts_on(self, node: TextNode) -> dict[str, StatedFact]:
        """Return what judges say about the facts in a text; empty if it was not judged, as for partial summaries."""
        if node.level is None and node.name not in self._verdicts:
            evaluations = self._store.judgments.of(node.name)
            stated = stated_facts(evaluations, self._reference.metric, self._reference.id)
            verdicts = {fact.text: [stated[key] for key in fact.keys if key in stated] for fact in self._facts}
            self._verdicts[node.name] = {
                text: StatedFact(
                    any(verdict.holds for verdict in same),
                    tuple(sorted({number for verdict in same for number in verdict.sentences})),
                )
                for text, same in verdicts.items()
                if same
            }
        return self._verdicts.get(node.name, {})

    def _states(self, node: TextNode, fact: DocumentFact) -> bool:
        """Return whether a text states a fact: its judges say so, or it has nearly the same words, or similar words
        that come from the fact's place."""
        if (verdict := self._verdicts_on(node).get(fact.text)) is not None:
            return verdict.holds
        key = (node.key, fact.text)
        if key not in self._statements:
            if node.key not in self._origins:
                self._origins[node.key] = self._tracer.origins([node.text])
            links = _best_links(self._origins[node.key], fact.text)
            self._statements[key] = any(link.weight >= _SURE or self._comes_from(node, link, fact) for link in links)
        return self._statements[key]

    def _comes_from(self, node: TextNode, link: Link, fact: DocumentFact) -> bool:
        composed = [origin for origin in self._tracer.composed(node) if origin.span.overlaps(link.span)]
        spans = [place.span for origin in composed for place in origin.places]
        near = [Span(span.start - NEAR - 1, span.end + NEAR + 1) for span in spans]
        return any(place.overlaps(span) for span in near for place in fact.places)


def _best_links(origins: OriginTracer, text: str) -> list[Link]:
    """Return the best place of each sentence of a text that has one."""
    return [link for origin in origins.trace(text) for link in origin.links[:1]]


def _step(node: TextNode, fact: DocumentFact) -> Step:
    """Return the step that made a text from its sources."""
    kinds = {parent.kind for parent in node.parents}
    if node.level is None:
        return "revision" if "base" in kinds else "extraction" if "excerpt" in kinds else "tidying"
    if kinds == {"running"}:
        return "compression"
    if "running" in kinds:
        return "extraction" if any(_reads(parent, fact) for parent in node.parents) else "update"
    return "extraction" if "excerpt" in kinds else "merge"


def _reads(parent: Parent, fact: DocumentFact) -> bool:
    """Return whether a fact is in the part of the document that was shown for summarizing."""
    return parent.kind == "excerpt" and any(place.overlaps(parent.span) for place in fact.places)
