"""The context experiment: summaries of a growing span, their places, and their facts from step to step (thesis, 6.1 and
6.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar

from redraft.agents.judge import gather_all
from redraft.domain import Document, Span
from redraft.errors import BudgetError, RedraftError, Set, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.events import Notice
from redraft.graphs.plan import fitting_words
from redraft.graphs.prepared import tokenizer_of
from redraft.lab.experiments.context_frames import (
    ALIGNMENT,
    ALL_STEPS,
    ANYWHERE,
    FATES,
    PLACES,
    REFERENCE,
    AtomicFact,
    ContextItem,
    StepPlan,
    SummarySentencePlaces,
    accuracy_frame,
    change_frame,
    density_frame,
    halves_frame,
    position_frame,
    series,
    share_frame,
    step_frame,
)
from redraft.lab.experiments.experiment import MAX_LINES, Experiment, JudgedPart, NamedFrame
from redraft.lab.experiments.facts import FactJudge, judged_series
from redraft.lab.experiments.frames import SET, by_set
from redraft.lab.experiments.orders import Asked, ContextOrder, ReadingDesign
from redraft.lab.experiments.questioner import (
    EmbeddingSimilarity,
    ReadingStep,
    SentenceSimilarity,
    TermSimilarity,
    paragraphs,
    plan_steps,
)
from redraft.lab.experiments.runner import (
    DRAFTING,
    FACTS,
    GuardedStage,
    RunBatch,
    check_models,
    judge_on_document,
    open_work,
)
from redraft.order import ExperimentPart, Summarize
from redraft.prompts.factual import FACT_PROMPTS, SPLIT_FACTS
from redraft.report.history.lineage import read_lineage
from redraft.report.tables import Record, Table, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure, failure
from redraft.runs.models import resolve
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig, JudgeConfig
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.text.chunks import beginning
from redraft.text.languages import ENGLISH, language_context, language_of
from redraft.text.origins import OriginTracer
from redraft.text.quotes import needs_context
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading
from redraft.text.vectors import Encoder, load_encoder
from redraft.text.words import count_words

CONTEXT = "context"
_PROMPTS = (SPLIT_FACTS, *FACT_PROMPTS)
"""Includes all prompts by which facts are judged elsewhere, so that certificates of their judge apply here."""


class ContextDesign(ContextOrder, ReadingDesign, Experiment[StepPlan, ContextItem]):
    """Models summarize more and more of a document. The judge splits summaries into facts and compares them."""

    name: ClassVar = CONTEXT
    title: ClassVar = "Growing context: where summaries come from, and which facts they keep"
    item: ClassVar = "one summary by one system at one step each"

    @classmethod
    def asked(cls, request: Asked) -> ContextDesign:
        """Return the design that was asked for."""
        fields = request.reading(ContextOrder)
        design = cls(**fields if fields.get("facts", True) else fields | {"judges": ()})
        if design.places == "embeddings" and not design.embeddings:
            raise UsageError("places by embeddings need an embedding model", fix=("name one with ", Set("embeddings")))
        return design

    @property
    def contestants(self) -> list[tuple[str, str]]:
        """Each model with each strategy."""
        return [(model.name, strategy) for model in self.writers for strategy in self.strategies]

    def step_plan(self, document: Document) -> StepPlan:
        """Return the steps of a document, the length of its summaries, which is the same at all steps, and the
        reference with its places."""
        tokenizer, _ = tokenizer_of(resolve(self.draft_settings(*self.contestants[0])))
        tokens, limit = tokenizer.count(document.text), self.words
        if limit is None and (reference := self.references.get(document.id)):
            limit = count_words(reference)
        steps, note = plan_steps(self.steps, tokens, count_words(document.text), limit)
        if limit is None:
            until = steps[0].until
            end = None if until is None else beginning(document.text, tokenizer, until)
            limit = fitting_words(None, count_words(document.text[:end]))
        plan = StepPlan(document, tokens, steps, limit, note)
        if not (text := self.references.get(document.id)):
            return plan
        sentences = reference_sentences(document, text, self.encoder())
        places = place_sentences(sentences, document.text, self.paragraph_similarity(document))
        last, size = ReadingStep(0, tokens, None), len(document.text)
        of_document = (document.id, document.title, size, REFERENCE, "", last, size)
        return replace(plan, reference=ContextItem(*of_document, words=count_words(text), sentences=places))

    def draft_settings(
        self, model: str, strategy: str, plan: StepPlan | None = None, step: ReadingStep | None = None
    ) -> DraftConfig:
        """Return a model's settings for a document as far as a step reads it."""
        words, until = plan.words if plan else self.words, step.until if step else None
        return self.writer_settings(model, strategy=strategy, until=until, words=words)

    def encoder(self) -> Encoder | None:
        """Return the embedding model; None if none is set."""
        return load_encoder(self.embeddings) if self.embeddings else None

    def fact_similarity(self, document: Document) -> SentenceSimilarity:
        """Return the measure that compares facts without a judge, by embeddings, or words if no encoder is set."""
        encoder = self.encoder()
        return EmbeddingSimilarity(encoder) if encoder else TermSimilarity(document.text)

    def paragraph_similarity(self, document: Document) -> SentenceSimilarity | None:
        """Return the measure that finds the most similar paragraph; None if places are those of the lineage map."""
        if self.places == "lineage":
            return None
        encoder = self.encoder() if self.places == "embeddings" else None
        return EmbeddingSimilarity(encoder) if encoder else TermSimilarity(document.text)

    async def cells(self, documents: Sequence[Document], runner: ExperimentRunner) -> list[StepPlan]:
        """Return the documents with their steps. Raise if a name or a price is unknown, or no summary can be planned,
        before anything is paid for."""
        choices = [(self.draft_settings(*contestant), None) for contestant in self.contestants]
        check_models(runner, *choices, *([(self.judge_settings(), None)] if self.facts else []))
        cells = [await asyncio.to_thread(self.step_plan, document) for document in documents]
        for cell in cells:
            if cell.note:
                runner.observer(Notice(f"{cell.document.title} {cell.note}"))
        await asyncio.to_thread(_planned, cells, self, refuse=True)
        return cells

    async def run_cell(self, cell: StepPlan, batch: RunBatch) -> tuple[StepPlan, list[ContextItem]]:
        """Have the document summarized at every step, and the facts of the summaries compared."""
        blank = await asyncio.to_thread(_planned, [cell], self)
        batch.of += len(blank)
        placing = await asyncio.to_thread(self.paragraph_similarity, cell.document)
        items = await gather_all(draft_item(cell, item, self, placing, batch) for item in blank)
        return await judge_facts(cell, items, self, batch.runner) if self.facts else (cell, items)

    def judged_parts(self, items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Iterator[JudgedPart]:
        """Return the verdicts of two metrics: one judge judges all facts, with the prompts of these metrics."""
        runs = [cell.runs[FACTS] for cell in cells if cell.runs]
        facts = [fact for item in items for fact in item.facts or ()]
        compared = [by for item in items for by in item.compared if by.measure == ALIGNMENT]
        verdicts: dict[type[Evaluator], Sequence[bool | None]] = {
            KeyfactRecall: [verdict for by in compared for verdict in by.kept + by.known],
            Faithfulness: [fact.supported for fact in facts if fact.place is not None],
        }
        for metric, of_metric in verdicts.items() if runs and facts else ():
            unjudged = of_metric.count(None)
            yield runs[0], metric.name, metric.version, len(of_metric) - unjudged, unjudged

    def captions(self, cells: Sequence[StepPlan]) -> Mapping[str, object]:
        """Return how facts are compared without a judge."""
        if not self.facts:
            return {}
        likeness = self.fact_similarity(cells[0].document)
        return {"measure": f"{likeness.name} above {likeness.threshold:g}"}

    def frames(self, items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Iterator[NamedFrame]:
        """Yield the tables of places and facts."""
        yield "position_halves", by_set(self.sets, items, partial(halves_frame, cells=cells))
        yield "positions", position_frame(items, cells)
        yield "position_densities", by_set(self.sets, items, partial(density_frame, cells=cells))
        if self.facts:
            yield "fact_shares", by_set(self.sets, items, share_frame)
            yield "fact_steps", by_set(self.sets, items, step_frame)
            yield "fact_changes", change_frame(items).drop(columns="parts")
            yield "fact_accuracy", by_set(self.sets, items, accuracy_frame)

    def notes(self, _items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Iterator[str]:
        """Return the steps of each document."""
        for cell in cells:
            steps = f"{len(cell.steps)} steps up to {cell.steps[-1].tokens:,} tokens"
            note = f"; it {plain(cell.note)}" if cell.note else ""
            yield f"{plain(cell.document.title)}: {steps}, summaries of at most {cell.words} words{note}"

    def headline(self, _items: Sequence[ContextItem], tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the thirds that summaries come from, and what became of facts."""
        names = [", ".join(contestant) for contestant in self.contestants[: MAX_LINES // 2]]
        for record in tables["position_halves"].records:
            who = plain(", ".join(str(record[name]) for name in ("system", SET) if name in record))
            if record["system"] in (*names, REFERENCE):
                changes = [number(record[f"change {place} (%)"]) for place in PLACES]
                change = " / ".join("–" if value is None else f"{value:+.0f}%" for value in changes)
                later = "" if record["system"] == REFERENCE else f", later steps {change}"
                yield f"{who}: sentences by thirds {_percents(record, PLACES)}{later}"
        for record in tables["fact_shares"].records if "fact_shares" in tables else ():
            who = plain(", ".join(str(record[name]) for name in ("system", SET) if name in record))
            is_total = (record["steps"], record["section"], record["measure"]) == (ALL_STEPS, ANYWHERE, ALIGNMENT)
            if record["system"] in names and is_total and record["facts"]:
                even = _percents(record, [f"expected {fate}" for fate in FATES])
                fates = f"facts matching, lost, new {_percents(record, FATES)} by {ALIGNMENT}"
                yield f"{who}: {fates}; an even spread has {even}"


def _percents(record: Record, names: Sequence[str]) -> str:
    values = [number(record[name]) for name in names]
    return " / ".join("–" if value is None else f"{100 * value:.0f}" for value in values) + "%"


def _planned(cells: Sequence[StepPlan], design: ContextDesign, *, refuse: bool = False) -> list[ContextItem]:
    """Return the items before any work is done. Raise, if asked to, if none of them can be planned."""
    items: list[ContextItem] = []
    errors: list[RedraftError] = []
    for cell in cells:
        document = cell.document
        for contestant in design.contestants:
            for step in cell.steps:
                length = len(document.text)
                item = ContextItem(document.id, document.title, length, *contestant, step, length)
                try:
                    prepared = prepare(document, design.draft_settings(*contestant, cell, step))
                    items.append(replace(item, end=prepared.chunks[-1].span.end))
                except RedraftError as error:
                    errors.append(error)
                    items.append(replace(item, failure=failure(DRAFTING, error)))
    if refuse and len(errors) == len(items):
        raise errors[0]
    return items


async def draft_item(
    cell: StepPlan, item: ContextItem, design: ContextDesign, placing: SentenceSimilarity | None, batch: RunBatch
) -> ContextItem:
    """Return an item with its summary and the places of its sentences, as far as they could be had."""
    document, store = cell.document, batch.runner.store
    if item.failure is None:
        settings = design.draft_settings(item.model, item.strategy, cell, item.step)
        async with batch.places:
            step, order = f"{DRAFTING}, {item.strategy}", Summarize(experiment=CONTEXT)
            outcome = await batch.run_part(DRAFTING, step, item.label, document, settings, order)
            item = outcome.recorded(item, DRAFTING)
            if (result := outcome.result) is not None:
                with GuardedStage(DRAFTING) as stage:
                    places = await off_loop(read_sentences, store, result.run.id, design.encoder())
                    places = await asyncio.to_thread(place_sentences, places, document.text[: item.end], placing)
                    words = result.draft.words if result.draft else None
                    item = replace(item, sentences=places, words=words, gaps=len(result.gaps))
                item = replace(item, failure=stage.failure)
    batch.report_progress(f"{item.title}, {item.label}: {item.status}")
    return item


def place_sentences(
    sentences: tuple[SummarySentencePlaces, ...], text: str, likeness: SentenceSimilarity | None
) -> tuple[SummarySentencePlaces, ...]:
    """Return sentences with the most similar paragraph as their place; without a measure they stay as they are.

    Only a sentence that is like no paragraph at all has no place.
    """
    if likeness is None or not sentences:
        return sentences
    spans = paragraphs(text, len(text))
    similarities = likeness.between(
        [places.text for places in sentences], [text[span.start : span.end] for span in spans]
    )
    return tuple(
        replace(places, places=((spans[int(row.argmax())], float(row.max())),) if row.any() else ())
        for places, row in zip(sentences, similarities, strict=True)
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
        (sentence.text, tuple((origin.span, origin.weight) for origin in sentence.origins or sentence.direct))
        for sentence in sentences
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


async def judge_facts(
    cell: StepPlan, items: Sequence[ContextItem], design: ContextDesign, runner: ExperimentRunner
) -> tuple[StepPlan, list[ContextItem]]:
    """Return a document's items with their facts, judged in one run of its own. Earlier verdicts are reused."""
    document, judging = cell.document, JudgeConfig(embeddings=design.embeddings)
    order = ExperimentPart(kind=CONTEXT, judging=judging, prompts=_PROMPTS)
    prepared = await asyncio.to_thread(prepare, document, design.judge_settings())
    runner.note_token_counts(prepared)
    judged_items, failures = list(items), dict[str, Failure]()
    # When the budget ends, keep what has been done.
    with suppress(BudgetError):
        async with open_work(prepared, order, order.judging, runner, FACTS) as (run, pool):
            cell = replace(cell, runs={FACTS: run.id})
            worker = replace(pool.judges[0], book=prepared.book, settings=prepared.settings)
            examiner = judge_on_document(worker, prepared, runner)
            reader = prepared.reader([pool.judges[0].settings], prepared.tokenizer, design.encoder())
            likeness = design.fact_similarity(document)
            judge = FactJudge(examiner, reader, likeness, likeness.threshold, runner, failures, design.paragraph_facts)
            if (reference := cell.reference) is not None:
                nothing: list[tuple[tuple[AtomicFact, ...], int]] = []
                split = judge.split_facts([reference.sentences or ()], "the reference")
                parts = await judge.attempt("the reference", split, nothing)
                cell = replace(cell, reference=replace(reference, facts=parts[0][0] if parts else None))
            judged_items = [item for group in series(items) for item in await judged_series(group, cell, judge)]
            if runner.stopped is not None:
                raise runner.stopped
    named_failures = [replace(lost, message=f"{name}: {lost.message}") for name, lost in failures.items()]
    return replace(cell, failures=tuple(named_failures)), judged_items


EXPERIMENT = ContextDesign
