"""The context experiment: summaries of a growing span, their places, and their facts from step to step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeVar

from redraft.agents.accounts import gather_all
from redraft.agents.evidence import EvidenceReader
from redraft.agents.fact_checker import SUPPORTED, FactChecker
from redraft.domain import Document, Span
from redraft.errors import BudgetError, RedraftError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.events import StageStarted
from redraft.lab.experiments.context.records import (
    CONTEXT,
    AtomicFact,
    BaselineSummary,
    ContextContestant,
    ContextDesign,
    ContextItem,
    FactComparison,
    ReadingStep,
    StepPlan,
    SummarySentencePlaces,
    series,
)
from redraft.lab.experiments.context.similarity import SentenceSimilarity
from redraft.lab.experiments.context.splitter import Splitter
from redraft.lab.experiments.plan import DRAFTING, FACTS
from redraft.lab.experiments.qa.questioner import paragraphs
from redraft.lab.experiments.runner import (
    GuardedStage,
    RunBatch,
    judge_on_document,
    open_part,
    run_certificate,
    run_usage,
)
from redraft.prompts.qa import Statement
from redraft.report.history.certificates import Certificate
from redraft.report.history.lineage import read_lineage
from redraft.runs.experiment_runner import ExperimentRunner, Failure, failure
from redraft.runs.job import reader_of
from redraft.runs.prepare import RunSpec, prepare
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.text.languages import ENGLISH, language_context, language_of
from redraft.text.origins import OriginTracer
from redraft.text.quotes import needs_context
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading
from redraft.text.vectors import Encoder
from redraft.text.words import count_words

T = TypeVar("T")
ALIGNMENT = "alignment"
"""The measure that asks a judge whether one summary states the facts of another."""
# The number of passages read on each side of the place that a fact was traced to.
_BESIDE = 1


@dataclass(slots=True)
class FactJudge:
    """Splits and compares the facts of one document's summaries, and records what failed."""

    document: Document
    splitter: Splitter
    reader: EvidenceReader
    likeness: SentenceSimilarity
    least: float
    runner: ExperimentRunner
    failures: dict[str, Failure] = field(default_factory=dict)

    async def attempt(self, what: str, asked: Awaitable[T], otherwise: T) -> T:
        """Return the awaited result, or `otherwise` if it fails. The failure is recorded and does not stop the rest."""
        found = otherwise
        with GuardedStage(FACTS, self.runner) as stage:
            found = await asked
        if stage.failure:
            self.failures[what] = stage.failure
        return found

    async def split_facts(
        self, texts: Sequence[Sequence[SummarySentencePlaces]], name: str
    ) -> list[tuple[tuple[AtomicFact, ...], int]]:
        """Return for each summary its facts and the number of its sentences that were not split. A sentence that
        several summaries share is asked about once."""
        results = await self.splitter.split(
            _statements([sentence_places for places in texts for sentence_places in places])
        )
        if results.trouble:
            self.failures[name] = Failure(FACTS, "unjudged", results.trouble)
        made: list[tuple[tuple[AtomicFact, ...], int]] = []
        first = 0
        for told in texts:
            known = {at: results.verdicts[first + at] for at in range(len(told)) if first + at in results.verdicts}
            facts = (
                AtomicFact(text, told[at].number, told[at].places[0][0] if told[at].places else None)
                for at, facts_found in sorted(known.items())
                for text in facts_found.facts
            )
            made.append((tuple(facts), len(told) - len(known)))
            first += len(told)
        return made

    async def check_stated(
        self, facts: Sequence[AtomicFact], told: Sequence[SummarySentencePlaces]
    ) -> tuple[bool | None, ...]:
        """Return for each fact whether a summary states it, by the alignment prompt; None where there is no verdict."""
        if not facts or not told:
            return (False,) * len(facts)
        results = await FactChecker(self.splitter.judge).align(
            _statements(told), [fact.text for fact in facts], self.reader
        )
        return tuple(results.verdicts[n].stated if n in results.verdicts else None for n in range(len(facts)))

    def match_facts(
        self, ones: Sequence[AtomicFact], others: Sequence[AtomicFact], *, whole: bool
    ) -> tuple[bool | None, ...]:
        """Return for each fact whether it is among others, by likeness. If the others are not the `whole` of their
        summary, a fact that is not found gets None."""
        return tuple(
            True if best > self.least else False if whole else None for best in self.best_similarity(ones, others)
        )

    def best_similarity(self, ones: Sequence[AtomicFact], others: Sequence[AtomicFact]) -> list[float]:
        """Return for each fact its likeness to the most similar of the others."""
        if not ones or not others:
            return [0.0] * len(ones)
        found = self.likeness.between([fact.text for fact in ones], [fact.text for fact in others])
        return [float(row.max()) for row in found]

    async def verify_facts(self, facts: Sequence[AtomicFact]) -> list[AtomicFact]:
        """Return the facts with verdicts on whether their places support them."""
        placed = [n for n, fact in enumerate(facts) if fact.place is not None]
        places = [self._around(fact.place) for fact in facts if fact.place is not None]
        results = await self.splitter.verify([facts[n].text for n in placed], places, self.reader)
        atomic_facts = list(facts)
        for at, verdict in results.verdicts.items():
            supported = verdict.category == SUPPORTED
            category = "" if supported else str(verdict.category)
            atomic_facts[placed[at]] = replace(atomic_facts[placed[at]], supported=supported, category=category)
        return atomic_facts

    def _around(self, place: Span) -> Span:
        near = self.reader.passages.around(place, _BESIDE)
        return Span(near[0].span.start, near[-1].span.end) if near else place


def _statements(told: Sequence[SummarySentencePlaces]) -> list[Statement]:
    return [Statement(id=n, before=places.before, sentence=places.text) for n, places in enumerate(told, 1)]


async def judge_facts(
    document: Document, course: StepPlan, items: Sequence[ContextItem], design: ContextDesign, runner: ExperimentRunner
) -> tuple[StepPlan, list[ContextItem]]:
    """Return a document's items with their facts, judged in one run of its own. Earlier verdicts are reused."""
    order = design.order()
    prepared = await asyncio.to_thread(prepare, document, design.judge_settings())
    runner.note_token_counts(prepared)
    run = await runner.open_run(prepared, order)
    context_items, failures = list(items), dict[str, Failure]()
    # When the budget ends, keep what has been done.
    with suppress(BudgetError):
        async with open_part(run, prepared, order.judging, runner, FACTS) as pool:
            worker = pool.judges[0]
            judge = judge_on_document(replace(worker, book=prepared.book, settings=prepared.settings), prepared, runner)
            reader = reader_of(prepared, [worker.settings], prepared.tokenizer, design.encoder())
            likeness = design.fact_similarity(document)
            fact_judge = FactJudge(
                document, Splitter(judge), reader, likeness, design.match_threshold(likeness), runner, failures
            )
            course = await _with_reference(course, fact_judge)
            context_items = await _all(context_items, course, fact_judge)
            if runner.stopped is not None:
                raise runner.stopped
    return replace(course, run=run.id, usage=run_usage(runner, run.id), failures=failures), context_items


async def _with_reference(course: StepPlan, fact_judge: FactJudge) -> StepPlan:
    if course.reference is None:
        return course
    reference: BaselineSummary = course.reference
    nothing: list[tuple[tuple[AtomicFact, ...], int]] = []
    found = await fact_judge.attempt(
        "the reference", fact_judge.split_facts([reference.sentences], "the reference"), nothing
    )
    return replace(course, reference=replace(reference, facts=found[0][0] if found else None))


async def _all(items: Sequence[ContextItem], course: StepPlan, fact_judge: FactJudge) -> list[ContextItem]:
    """Judge one contestant after the other, as far as the budget goes."""
    context_items: list[ContextItem] = []
    for group in series(items):
        name = f"{group[0].contestant.name}: "
        there = [item for item in group if item.sentences is not None]
        if fact_judge.runner.stopped is None:
            there = await fact_judge.attempt(
                f"{name}taking apart", _split(there, fact_judge, f"{name}taking apart"), there
            )
        if fact_judge.runner.stopped is None:
            there = await fact_judge.attempt(f"{name}verification", _verified(there, fact_judge), there)
        whole = sorted([*there, *(item for item in group if item.sentences is None)], key=lambda item: item.step.number)
        before = {now.step.number: then for then, now in pairwise(whole)}
        context_items += await gather_all(
            _held(item, before.get(item.step.number), course, fact_judge) for item in whole
        )
    return context_items


async def _split(items: Sequence[ContextItem], fact_judge: FactJudge, name: str) -> list[ContextItem]:
    found = await fact_judge.split_facts([item.sentences or () for item in items], name)
    return [replace(item, facts=facts, unsplit=left) for item, (facts, left) in zip(items, found, strict=True)]


async def _verified(items: Sequence[ContextItem], fact_judge: FactJudge) -> list[ContextItem]:
    facts = iter(await fact_judge.verify_facts([fact for item in items for fact in item.facts or ()]))
    return [
        item if item.facts is None else replace(item, facts=tuple(next(facts) for _ in item.facts)) for item in items
    ]


async def _held(item: ContextItem, before: ContextItem | None, course: StepPlan, fact_judge: FactJudge) -> ContextItem:
    """Return the item with its facts compared with those of the reference and of the step before."""
    if item.facts is None or fact_judge.runner.stopped is not None:
        return item
    if course.reference and course.reference.facts:
        held = _beside(item.facts, course.reference, fact_judge)
        item = replace(item, facts=await fact_judge.attempt(f"{item_name(item)}: reference", held, item.facts))
    if before is not None and before.facts is not None:
        compared = _compared(item, before, fact_judge)
        item = replace(item, compared=await fact_judge.attempt(f"{item_name(item)}: comparison", compared, ()))
    return item


async def _beside(
    facts: tuple[AtomicFact, ...], reference: BaselineSummary, fact_judge: FactJudge
) -> tuple[AtomicFact, ...]:
    likes, stated = (
        fact_judge.best_similarity(facts, reference.facts or ()),
        await fact_judge.check_stated(facts, reference.sentences),
    )
    both = zip(facts, likes, stated, strict=True)
    return tuple(replace(fact, likeness=like, in_reference=said) for fact, like, said in both)


async def _compared(item: ContextItem, before: ContextItem, fact_judge: FactJudge) -> tuple[FactComparison, ...]:
    """Return the comparisons in both directions, by likeness and by alignment."""
    now, then = item.facts or (), before.facts or ()
    kept = fact_judge.match_facts(then, now, whole=not item.unsplit)
    known = fact_judge.match_facts(now, then, whole=not before.unsplit)
    by_likeness = FactComparison(fact_judge.likeness.name, fact_judge.least, kept, known)
    sides = ((then, item), (now, before))
    kept, known = await gather_all(fact_judge.check_stated(facts, side.sentences or ()) for facts, side in sides)
    return by_likeness, FactComparison(ALIGNMENT, None, kept, known)


def item_name(item: ContextItem) -> str:
    """Return the name of an item in messages."""
    return f"{item.contestant.name}, step {item.step.number}"


Stretch = tuple[float, float]
"""A part of a document, as shares from 0 to 1."""
ANYWHERE, ADDED, NOWHERE = "anywhere", "added", "nowhere"
THIRDS = ("beginning", "middle", "end")
ALL_STEPS = "all steps"
REFERENCE = "reference"
PLACES = ("1st", "2nd", "3rd")
"""The names in tables of the thirds of what was read."""
FATES = ("matching", "lost", "new")
SECTIONS = (ANYWHERE, *THIRDS, ADDED, NOWHERE)


class FactCounts(NamedTuple):
    """The numbers of this step's facts that were known before, of earlier facts that are lost, and of new facts."""

    matching: float
    lost: float
    new: float

    @property
    def shares(self) -> list[float | None]:
        """The share of each count in their sum; None if the sum is zero."""
        whole = sum(self)
        return [one / whole if whole else None for one in self]


class FactChange(NamedTuple):
    """The counts in one section, those of an even spread, and the number of facts without a verdict."""

    found: FactCounts
    kept: int
    """The number of facts of the step before that are still there: the matches, counted from the other side."""
    unjudged: int
    expected: FactCounts | None
    """The counts of an even spread; None for facts without a place."""

    @property
    def shares(self) -> list[float | None]:
        """The shares that match, are lost and are new; None without verdicts on half of the facts."""
        judged = self.found.matching + self.found.new + self.found.lost + self.kept
        return self.found.shares if judged >= MIN_SHARE * (judged + self.unjudged) else [None] * len(self.found)


def overlap(one: Stretch, other: Stretch) -> float:
    """Return the length of the intersection, as a share of the document."""
    return max(0.0, min(one[1], other[1]) - max(one[0], other[0]))


def thirds(end: float) -> list[Stretch]:
    """Return the thirds of what is read until `end`."""
    return [(end * at / 3, end * (at + 1) / 3) for at in range(3)]


def expected_thirds(end: float) -> list[float]:
    """Return the share of each third of the whole document in an even summary of what is read until `end`."""
    return [overlap((0.0, end), third) / end for third in thirds(1.0)]


def fact_changes(item: ContextItem, before: ContextItem, compared: FactComparison) -> dict[str, FactChange]:
    """Return the change from the step before, by section."""
    now = _verdicts(item, compared.known)
    then = _verdicts(before, compared.kept)
    end, old = item.read, before.read
    placed = _placed(now), _placed(then)
    found = {ANYWHERE: _change(now, then, lambda _: True, _expected((0.0, end), *placed, old, end))}
    for name, part in {**dict(zip(THIRDS, thirds(end), strict=True)), ADDED: (old, end)}.items():
        inside = partial(_within, part=part, end=end)
        found[name] = _change(now, then, inside, _expected(part, *placed, old, end))
    found[NOWHERE] = _change(now, then, lambda at: at is None, None)
    return found


FactVerdict = tuple[float | None, bool | None]
"""A fact's position in the document, None if unknown, and whether the other summary has it, None if not judged."""


def _verdicts(item: ContextItem, said: Sequence[bool | None]) -> list[FactVerdict]:
    assert item.facts is not None
    return [(fact.at(item.length), one) for fact, one in zip(item.facts, said, strict=True)]


def _placed(verdicts: Sequence[FactVerdict]) -> int:
    return sum(at is not None and said is not None for at, said in verdicts)


def _change(
    now: Sequence[FactVerdict],
    then: Sequence[FactVerdict],
    inside: Callable[[float | None], bool],
    expected: FactCounts | None,
) -> FactChange:
    """Return the change among the facts inside a section."""
    known, kept = ([said for at, said in some if inside(at)] for some in (now, then))
    counts = FactCounts(known.count(True), kept.count(False), known.count(False))
    return FactChange(counts, kept.count(True), known.count(None) + kept.count(None), expected)


def _within(at: float | None, part: Stretch, end: float) -> bool:
    """Return True if a position is in a part; the very end of what is read belongs to the last part."""
    return at is not None and (part[0] <= at < part[1] or (at >= end == part[1]))


def _expected(part: Stretch, now: int, then: int, old: float, end: float) -> FactCounts:
    """Return the expected counts if facts are spread evenly over what is read.

    New facts come from the added text. The same share of the earlier facts gives way to them, wherever they are.
    """
    in_old = overlap(part, (0.0, old))
    return FactCounts(
        now * in_old / end, then * (end - old) / end * in_old / old, now * overlap(part, (old, end)) / end
    )


def total_change(found: Iterable[FactChange]) -> FactChange:
    """Return the sum of several changes."""
    changes = list(found)
    expected = [change.expected for change in changes if change.expected is not None]
    kept, unjudged = sum(change.kept for change in changes), sum(change.unjudged for change in changes)
    return FactChange(_sum([change.found for change in changes]), kept, unjudged, _sum(expected) if expected else None)


def _sum(some: Sequence[FactCounts]) -> FactCounts:
    return FactCounts(*(sum(column) for column in zip(*some, strict=True))) if some else FactCounts(0, 0, 0)


@dataclass(frozen=True, slots=True)
class ContextOutcome:
    """The outcome of the experiment."""

    design: ContextDesign
    courses: tuple[StepPlan, ...]
    items: tuple[ContextItem, ...]
    measure: str = ""
    """The measure that compares facts without a judge, and the threshold above which they are the same."""
    stopped: BudgetError | None = None
    certificates: tuple[Certificate, ...] = ()
    """The certificates for the verdicts on facts."""

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        done = all(item.status == "done" for item in self.items)
        return self.stopped is None and done and not any(course.failures for course in self.courses)


async def context(documents: Sequence[Document], design: ContextDesign, runner: ExperimentRunner) -> ContextOutcome:
    """Run what is not done yet, within the limits. A failure is recorded and does not stop the rest."""
    design.check(runner)
    runner.share_budget(CONTEXT, repr(design), *(document.id for document in documents))
    measures = [await asyncio.to_thread(design.paragraph_similarity, document) for document in documents]
    courses = [await asyncio.to_thread(_course, *each, design) for each in zip(documents, measures, strict=True)]
    placing = {document.id: measure for document, measure in zip(documents, measures, strict=True)}
    todo = [
        (document, course, contestant, step)
        for document, course in zip(documents, courses, strict=True)
        for contestant in design.contestants
        for step in course.steps
    ]
    blank = await asyncio.to_thread(_planned, todo, design)
    runner.observer(StageStarted("summaries of a growing span", len(todo)))
    batch = RunBatch(runner, len(todo))

    items = await gather_all(
        _drafted(document, course, item, design, placing[document.id], batch)
        for (document, course, _, _), item in zip(todo, blank, strict=True)
    )
    measure = ""
    if design.facts:
        runner.observer(StageStarted("facts of the summaries", 0))
        context_items: list[ContextItem] = []
        for at, document in enumerate(documents):
            own = [item for item in items if item.document == document.id]
            courses[at], own = await judge_facts(document, courses[at], own, design, runner)
            context_items += own
        items = context_items
        likeness = design.fact_similarity(documents[0])
        measure = f"{likeness.name} above {design.match_threshold(likeness):g}"
    behind = await asyncio.to_thread(_certificates, courses, items, runner)
    return ContextOutcome(design, tuple(courses), tuple(items), measure, runner.stopped, behind)


def _certificates(
    courses: Sequence[StepPlan], items: Sequence[ContextItem], runner: ExperimentRunner
) -> tuple[Certificate, ...]:
    """Return the certificates of two metrics: one judge judges all facts, with the prompts of these metrics."""
    run = next((runner.store.runs.get(course.run) for course in courses if course.run), None)
    facts = [fact for item in items for fact in item.facts or ()]
    if run is None or not facts:
        return ()
    aligned = [one for item in items for by in item.compared if by.measure == ALIGNMENT for one in by.kept + by.known]
    said: dict[type[Evaluator], Sequence[bool | None]] = {
        KeyfactRecall: aligned,
        Faithfulness: [fact.supported for fact in facts if fact.place is not None],
    }
    return tuple(
        run_certificate(runner, run, metric.name, metric.version, len(some) - some.count(None), some.count(None))
        for metric, some in said.items()
    )


def _course(document: Document, placing: SentenceSimilarity | None, design: ContextDesign) -> StepPlan:
    course = design.step_plan(document)
    if not (text := design.references.get(document.id)):
        return course
    places = place_sentences(reference_sentences(document, text, design.encoder()), document.text, placing)
    return replace(course, reference=BaselineSummary(count_words(text), places, len(document.text)))


def place_sentences(
    told: tuple[SummarySentencePlaces, ...], text: str, likeness: SentenceSimilarity | None
) -> tuple[SummarySentencePlaces, ...]:
    """Return sentences with the most similar paragraph as their place; without a measure they stay as they are.

    Only a sentence that is like no paragraph at all has no place.
    """
    if likeness is None or not told:
        return told
    spans = paragraphs(text, len(text))
    found = likeness.between([places.text for places in told], [text[span.start : span.end] for span in spans])
    return tuple(
        replace(places, places=((spans[int(row.argmax())], float(row.max())),) if row.any() else ())
        for places, row in zip(told, found, strict=True)
    )


def reference_sentences(document: Document, text: str, encoder: Encoder | None) -> tuple[SummarySentencePlaces, ...]:
    """Return the sentences of the reference summary, with their places in the document."""
    with language_context(document):
        origins = OriginTracer([document.text], encoder).trace(text)
    places = [tuple((link.span, link.weight) for link in origin.links) for origin in origins]
    texts = [one_line(text[origin.span.start : origin.span.end]) for origin in origins]
    return _told(zip(texts, places, strict=True), language_of(text))


def read_sentences(store: Store, run: str, encoder: Encoder | None) -> tuple[SummarySentencePlaces, ...]:
    """Return the sentences of a run's summary, with their places by the lineage map."""
    sentences = read_lineage(store, run, encoder=encoder).sentences
    return _told(
        (sentence.text, tuple((origin.span, origin.weight) for origin in sentence.mapped)) for sentence in sentences
    )


def _told(
    sentences: Iterable[tuple[str, tuple[tuple[Span, float], ...]]], language: str = ENGLISH
) -> tuple[SummarySentencePlaces, ...]:
    """Return sentences with their places, without headings, each with the one that it points back to."""
    sentence_places: list[SummarySentencePlaces] = []
    for text, places in sentences:
        if not is_heading(text):
            before = sentence_places[-1].text if sentence_places and needs_context(text, language) else ""
            sentence_places.append(SummarySentencePlaces(len(sentence_places) + 1, text, before, places))
    return tuple(sentence_places)


def _planned(
    todo: Sequence[tuple[Document, StepPlan, ContextContestant, ReadingStep]], design: ContextDesign
) -> list[ContextItem]:
    """Return the items before any work is done. Raise, before anything is paid for, if none of them can be planned."""
    items: list[ContextItem] = []
    refused: list[RedraftError] = []
    for document, course, contestant, step in todo:
        item = ContextItem(document.id, document.title, len(document.text), contestant, step, len(document.text))
        try:
            prepared = prepare(document, design.draft_settings(contestant, course, step))
            items.append(replace(item, end=prepared.chunks[-1].span.end))
        except RedraftError as error:
            refused.append(error)
            items.append(replace(item, failure=failure(DRAFTING, error)))
    if len(refused) == len(items):
        raise refused[0]
    return items


async def _drafted(
    document: Document,
    course: StepPlan,
    item: ContextItem,
    design: ContextDesign,
    placing: SentenceSimilarity | None,
    batch: RunBatch,
) -> ContextItem:
    if item.failure is None:
        settings, runner = design.draft_settings(item.contestant, course, item.step), batch.runner
        async with batch.places:
            step = f"{DRAFTING}, {item.contestant.strategy}"
            outcome = await batch.run_part(
                DRAFTING, step, item_name(item), document, settings, RunSpec(experiment=CONTEXT)
            )
            item = replace(item, run=outcome.run, usage=run_usage(runner, outcome.run), failure=outcome.failure)
            if (result := outcome.result) is not None:
                with GuardedStage(DRAFTING) as stage:
                    places = await off_loop(read_sentences, runner.store, result.run.id, design.encoder())
                    places = await asyncio.to_thread(place_sentences, places, document.text[: item.end], placing)
                    words = result.draft.words if result.draft else None
                    item = replace(item, sentences=places, words=words, gaps=len(result.gaps))
                item = replace(item, failure=stage.failure)
    batch.report_progress(f"{item.title}, {item_name(item)}: {item.status}")
    return item
