"""The context experiment: design, plan and run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from redraft.agents.accounts import gather_all
from redraft.domain import Document
from redraft.errors import BudgetError, RedraftError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.evaluators.reference.typed import paragraphs
from redraft.events import StageStarted
from redraft.lab.experiments.context.facts import ALIGNMENT, judge_facts, named
from redraft.lab.experiments.context.records import (
    CONTEXT,
    BaselineSummary,
    ContextContestant,
    ContextDesign,
    ContextItem,
    Course,
    ReadingStep,
    SummarySentencePlaces,
)
from redraft.lab.experiments.plan import DRAFTING
from redraft.lab.experiments.runner import GuardedStage, RunBatch, certified, used_by
from redraft.report.history.certificates import Certificate
from redraft.report.history.lineage import read_lineage
from redraft.runs.experiment_runner import ExperimentRunner, failure
from redraft.runs.prepare import RunSpec, prepare
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.text.languages import language_of, reading
from redraft.text.origin_chains import SentenceSimilarity
from redraft.text.origins import Origins
from redraft.text.quotes import points_back
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading
from redraft.text.vectors import Encoder
from redraft.text.words import count_words


@dataclass(frozen=True, slots=True)
class ContextOutcome:
    """The outcome of the experiment."""

    design: ContextDesign
    courses: tuple[Course, ...]
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
    runner.draw_on(CONTEXT, repr(design), *(document.id for document in documents))
    measures = [await asyncio.to_thread(design.placing, document) for document in documents]
    courses = [await asyncio.to_thread(_course, *each, design) for each in zip(documents, measures, strict=True)]
    placing = {document.id: measure for document, measure in zip(documents, measures, strict=True)}
    todo = [
        (document, course, contestant, step)
        for document, course in zip(documents, courses, strict=True)
        for contestant in design.contestants
        for step in course.steps
    ]
    blank = await asyncio.to_thread(_planned, todo, design)
    for document, course, contestant, step in todo:
        await runner.known(document, design.drafting(contestant, course, step), RunSpec())
    runner.observer(StageStarted("summaries of a growing span", len(todo)))
    batch = RunBatch(runner, len(todo))

    items = await gather_all(
        _drafted(document, course, item, design, placing[document.id], batch)
        for (document, course, _, _), item in zip(todo, blank, strict=True)
    )
    measure = ""
    if design.facts:
        runner.observer(StageStarted("facts of the summaries", 0))
        found: list[ContextItem] = []
        for at, document in enumerate(documents):
            own = [item for item in items if item.document == document.id]
            courses[at], own = await judge_facts(document, courses[at], own, design, runner)
            found += own
        items = found
        likeness = design.likeness(documents[0])
        measure = f"{likeness.name} above {design.least(likeness):g}"
    behind = await asyncio.to_thread(_certificates, courses, items, runner)
    return ContextOutcome(design, tuple(courses), tuple(items), measure, runner.stopped, behind)


def _certificates(
    courses: Sequence[Course], items: Sequence[ContextItem], runner: ExperimentRunner
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
        certified(runner, run, metric.name, metric.version, len(some) - some.count(None), some.count(None))
        for metric, some in said.items()
    )


def _course(document: Document, placing: SentenceSimilarity | None, design: ContextDesign) -> Course:
    course = design.course(document)
    if not (text := design.references.get(document.id)):
        return course
    told = placed(reference_told(document, text, design.encoder()), document.text, placing)
    return replace(course, reference=BaselineSummary(count_words(text), told, len(document.text)))


def placed(
    told: tuple[SummarySentencePlaces, ...], text: str, likeness: SentenceSimilarity | None
) -> tuple[SummarySentencePlaces, ...]:
    """Return sentences with the most similar paragraph as their place; without a measure they stay as they are.

    Only a sentence that is like no paragraph at all has no place.
    """
    if likeness is None or not told:
        return told
    spans = paragraphs(text, len(text))
    found = likeness.between([one.text for one in told], [text[span.start : span.end] for span in spans])
    return tuple(
        replace(one, places=((spans[int(row.argmax())], float(row.max())),) if row.any() else (), traced=one.places)
        for one, row in zip(told, found, strict=True)
    )


def reference_told(document: Document, text: str, encoder: Encoder | None) -> tuple[SummarySentencePlaces, ...]:
    """Return the sentences of the reference summary, with their places in the document."""
    found: list[SummarySentencePlaces] = []
    with reading(document):
        traced, language = Origins([document.text], encoder).trace(text), language_of(text)
    for one in traced:
        said = one_line(text[one.span.start : one.span.end])
        if not is_heading(said):
            before = found[-1].text if found and points_back(said, language) else ""
            places = tuple((link.span, link.weight) for link in one.links)
            found.append(SummarySentencePlaces(len(found) + 1, said, before, places))
    return tuple(found)


def _planned(
    todo: Sequence[tuple[Document, Course, ContextContestant, ReadingStep]], design: ContextDesign
) -> list[ContextItem]:
    """Return the items before any work is done. Raise, before anything is paid for, if none of them can be planned."""
    items: list[ContextItem] = []
    refused: list[RedraftError] = []
    for document, course, contestant, step in todo:
        item = ContextItem(document.id, document.title, len(document.text), contestant, step, len(document.text))
        try:
            prepared = prepare(document, design.drafting(contestant, course, step))
            items.append(replace(item, end=prepared.chunks[-1].span.end))
        except RedraftError as error:
            refused.append(error)
            items.append(replace(item, failure=failure(DRAFTING, error)))
    if len(refused) == len(items):
        raise refused[0]
    return items


async def _drafted(
    document: Document,
    course: Course,
    item: ContextItem,
    design: ContextDesign,
    placing: SentenceSimilarity | None,
    batch: RunBatch,
) -> ContextItem:
    if item.failure is None:
        settings, runner = design.drafting(item.contestant, course, item.step), batch.runner
        async with batch.places:
            step = f"{DRAFTING}, {item.contestant.strategy}"
            made = await batch.quietly(DRAFTING, step, named(item), document, settings, RunSpec(experiment=CONTEXT))
            item = replace(item, run=made.run, usage=used_by(runner, made.run), failure=made.failure)
            if (result := made.result) is not None:
                with GuardedStage(DRAFTING) as tried:
                    told = await off_loop(read_told, runner.store, result.run.id, design.encoder())
                    told = await asyncio.to_thread(placed, told, document.text[: item.end], placing)
                    words = result.draft.words if result.draft else None
                    item = replace(item, told=told, words=words, gaps=len(result.gaps))
                item = replace(item, failure=tried.failure)
    batch.tell(f"{item.title}, {named(item)}: {item.status}")
    return item


def read_told(store: Store, run: str, encoder: Encoder | None) -> tuple[SummarySentencePlaces, ...]:
    """Return the sentences of a run's summary, without headings, with their places by the lineage map."""
    found: list[SummarySentencePlaces] = []
    for one in read_lineage(store, run, encoder=encoder).sentences:
        if not is_heading(one.text):
            before = found[-1].text if found and points_back(one.text) else ""
            places = tuple((origin.span, origin.weight) for origin in one.mapped)
            found.append(SummarySentencePlaces(len(found) + 1, one.text, before, places))
    return tuple(found)
