"""The context experiment (thesis, 6.1 and 6.2): summaries of a growing span, and their places. Their atomic facts are
split, checked against the place that each was traced to, and compared with those of other steps, of the reference and
of the paragraph (thesis, 5.7)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, pairwise, product
from typing import TypeVar

from pydantic import BaseModel

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, gather_all, in_batches
from redraft.domain import Document, Span
from redraft.errors import BudgetError, RedraftError, Set, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.factual import (
    SUPPORTED,
    VERIFICATION,
    Faithfulness,
    KeyfactRecall,
    SentenceVerdict,
    align_facts,
    verify_batch,
)
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
    FactComparison,
    StepPlan,
    SummarySentencePlaces,
    context_frames,
    series,
)
from redraft.lab.experiments.experiment import MAX_LINES, Experiment, JudgedPart, NamedFrame
from redraft.lab.experiments.frames import SET
from redraft.lab.experiments.orders import Asked, ContextOrder, Seats
from redraft.lab.experiments.questioner import ReadingStep, SentenceSimilarity, paragraphs, plan_steps
from redraft.lab.experiments.runner import DRAFTING, FACTS, GuardedStage, RunBatch, check_work
from redraft.order import ExperimentPart, Summarize
from redraft.prompts.contract import UNSURE
from redraft.prompts.factual import FACT_PROMPTS, SPLIT_FACTS, VERIFY_SENTENCES, SplitFactsInput
from redraft.prompts.qa import Statement
from redraft.report.history.lineage import read_lineage
from redraft.report.tables import Record, Table, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure, failure
from redraft.runs.models import resolve
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig, JudgeConfig
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.text.chunks import beginning
from redraft.text.languages import ENGLISH, language_context, language_key, language_of
from redraft.text.origins import OriginTracer
from redraft.text.quotes import needs_context
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading
from redraft.text.sentences import sentences as sentence_spans
from redraft.text.vectors import Encoder, load_encoder
from redraft.text.words import count_words

T = TypeVar("T")
_PROMPTS = (SPLIT_FACTS, *FACT_PROMPTS)
"""Includes all prompts by which facts are judged elsewhere, so that certificates of their judge apply here."""


class ContextDesign(ContextOrder, Seats, Experiment[StepPlan, ContextItem]):
    """Models summarize more and more of a document. The judge splits summaries into facts and compares them."""

    name = "context"
    title = "Growing context: where summaries come from, and which facts they keep"
    item = "one summary by one system at one step each"

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
        reference = self.references.get(document.id)
        if limit is None and reference:
            limit = count_words(reference)
        steps, note = plan_steps(self.steps, tokens, count_words(document.text), limit)
        if limit is None:
            until = steps[0].until
            end = None if until is None else beginning(document.text, tokenizer, until)
            limit = fitting_words(None, count_words(document.text[:end]))
        about = {"tokens": tokens, "words": limit, "note": note, "reference": bool(reference)}
        about["steps"] = [step.tokens for step in steps]
        plan = StepPlan(document, steps, limit, note, about=about)
        if not reference:
            return plan
        with language_context(document):
            origins = OriginTracer([document.text], self.encoder()).trace(reference)
        traced = (
            (one_line(reference[slice(*origin.span)]), tuple((link.span, link.weight) for link in origin.links))
            for origin in origins
        )
        sentences = _told(traced, language_of(reference))
        places = place_sentences(sentences, document.text, self.paragraph_similarity(document))
        last, size = ReadingStep(0, tokens, None), len(document.text)
        of_document = (document.id, document.title, size, REFERENCE, "", last, size)
        return replace(plan, reference=ContextItem(*of_document, words=count_words(reference), sentences=places))

    def draft_settings(
        self, model: str, strategy: str, plan: StepPlan | None = None, step: ReadingStep | None = None
    ) -> DraftConfig:
        """Return a model's settings for a document as far as a step reads it."""
        words, until = plan.words if plan else self.words, step.until if step else None
        return self.writer_settings(model, strategy=strategy, until=until, words=words)

    def encoder(self) -> Encoder | None:
        """Return the embedding model; None if none is set."""
        return load_encoder(self.embeddings) if self.embeddings else None

    def similarity(self, document: Document, *, by_terms: bool = False) -> SentenceSimilarity:
        """Return the measure that compares statements without a judge: embeddings, or terms if no encoder is set."""
        encoder = None if by_terms else self.encoder()
        by = SentenceSimilarity.by_embeddings(encoder) if encoder else None
        return by or SentenceSimilarity.by_terms(document.text)

    def paragraph_similarity(self, document: Document) -> SentenceSimilarity | None:
        """Return the measure that finds the most similar paragraph; None if places are those of the lineage map."""
        return None if self.places == "lineage" else self.similarity(document, by_terms=self.places == "tfidf")

    async def cells(self, documents: Sequence[Document], runner: ExperimentRunner) -> list[StepPlan]:
        """Return the documents with their steps. Raise if a name or a price is unknown, or no summary can be planned,
        before anything is paid for."""
        choices = [(self.draft_settings(*contestant), None) for contestant in self.contestants]
        check_work(runner, *choices, *([(self.judge_settings(), None)] if self.facts else []))
        cells = [await asyncio.to_thread(self.step_plan, document) for document in documents]
        for cell in cells:
            if cell.note:
                runner.observer(Notice(f"{cell.document.title} {cell.note}"))
        drafts = [(cell, *draft) for cell in cells for draft in product(self.contestants, cell.steps)]
        plans = [partial(prepare, cell.document, self.draft_settings(*who, cell, step)) for cell, who, step in drafts]
        await asyncio.to_thread(check_work, runner, plans=plans)
        return cells

    async def run_cell(self, cell: StepPlan, batch: RunBatch) -> tuple[StepPlan, list[ContextItem]]:
        """Have the document summarized at every step, and the facts of the summaries compared."""
        blank = await asyncio.to_thread(self.planned_items, cell)
        batch.of += len(blank)
        placing = await asyncio.to_thread(self.paragraph_similarity, cell.document)
        items = await gather_all(self.draft_item(cell, item, placing, batch) for item in blank)
        return await self.judge_facts(cell, items, batch) if self.facts else (cell, items)

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
        likeness = self.similarity(cells[0].document)
        return {"measure": f"{likeness.name} above {likeness.threshold:g}"}

    def frames(self, items: Sequence[ContextItem], cells: Sequence[StepPlan]) -> Iterator[NamedFrame]:
        """Yield the tables of places and facts."""
        yield from context_frames(items, cells, self.sets, with_facts=self.facts)

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

    def planned_items(self, cell: StepPlan) -> list[ContextItem]:
        """Return the items of a document before any work is done."""
        document, length, items = cell.document, len(cell.document.text), list[ContextItem]()
        for contestant, step in product(self.contestants, cell.steps):
            item = ContextItem(document.id, document.title, length, *contestant, step, length)
            try:
                prepared = prepare(document, self.draft_settings(*contestant, cell, step))
                prepared.plan  # noqa: B018  (refused where the document does not fit)
                items.append(replace(item, end=prepared.chunks[-1].span.end))
            except RedraftError as error:
                items.append(replace(item, failure=failure(DRAFTING, error)))
        return items

    async def draft_item(
        self, cell: StepPlan, item: ContextItem, placing: SentenceSimilarity | None, batch: RunBatch
    ) -> ContextItem:
        """Return an item with its summary and the places of its sentences, as far as they could be had."""
        document, store = cell.document, batch.runner.store
        if item.failure is None:
            settings = self.draft_settings(item.model, item.strategy, cell, item.step)
            async with batch.places:
                step, order = f"{DRAFTING}, {item.strategy}", Summarize(experiment=self.name)
                outcome = await batch.run_part(DRAFTING, step, item.label, document, settings, order)
                item = outcome.recorded(item, DRAFTING)
                if (result := outcome.result) is not None:
                    with GuardedStage(DRAFTING) as stage:
                        places = await off_loop(read_sentences, store, result.run.id, self.encoder())
                        places = await asyncio.to_thread(place_sentences, places, document.text[: item.end], placing)
                        words = result.draft.words if result.draft else None
                        item = replace(item, sentences=places, words=words, gaps=len(result.gaps))
                    item = replace(item, failure=stage.failure)
        batch.report_progress(f"{item.title}, {item.label}: {item.status}")
        return item

    async def judge_facts(
        self, cell: StepPlan, items: Sequence[ContextItem], batch: RunBatch
    ) -> tuple[StepPlan, list[ContextItem]]:
        """Return a document's items with their facts, judged in one run of its own. Earlier verdicts are reused."""
        order = ExperimentPart(kind=self.name, judging=JudgeConfig(embeddings=self.embeddings), prompts=_PROMPTS)
        prepared = await asyncio.to_thread(prepare, cell.document, self.judge_settings())
        judged_items, likeness, failures = list(items), self.similarity(cell.document), dict[str, Failure]()
        # When the budget ends, keep what has been done.
        with suppress(BudgetError):
            async with batch.own_work(prepared, order, FACTS) as (run, judge, _):
                cell = replace(cell, runs={FACTS: run.id})
                reader = prepared.reader([prepared.settings], prepared.tokenizer, self.encoder())
                facts = FactJudge(self, cell, judge, reader, batch.runner, likeness, failures)
                if (reference := cell.reference) is not None:
                    split = partial(facts.split_facts, [reference], "the reference")
                    (reference,) = await facts.attempt("the reference", split, [reference])
                    facts.cell = cell = replace(cell, reference=reference)
                judged_items = [item for group in series(items) for item in await facts.judged(group)]
                if batch.runner.stopped is not None:
                    raise batch.runner.stopped
        named_failures = [replace(lost, message=f"{name}: {lost.message}") for name, lost in failures.items()]
        return replace(cell, failures=tuple(named_failures)), judged_items


def _percents(record: Record, names: Sequence[str]) -> str:
    values = [number(record[name]) for name in names]
    return " / ".join("–" if value is None else f"{100 * value:.0f}" for value in values) + "%"


def place_sentences(
    sentences: tuple[SummarySentencePlaces, ...], text: str, likeness: SentenceSimilarity | None
) -> tuple[SummarySentencePlaces, ...]:
    """Return sentences with the most similar paragraph as their place; without a measure they stay as they are.

    Only a sentence that is like no paragraph at all has no place.
    """
    if likeness is None or not sentences:
        return sentences
    spans = paragraphs(text, len(text))
    texts = [text[span.start : span.end] for span in spans]
    similarities = likeness.between([places.text for places in sentences], texts)
    return tuple(
        replace(places, places=((spans[int(row.argmax())], float(row.max())),) if row.any() else ())
        for places, row in zip(sentences, similarities, strict=True)
    )


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


# The number of passages read on each side of the place that a fact was traced to.
_BESIDE = 1
SPLITTING = EntryBudget(frame=60, words=20, sentences=2)
"""What the facts of one sentence may need in a reply, with names in place of pronouns."""
SENTENCES_PER_REQUEST = 8
VERIFIED_PER_REQUEST = 12
MAX_FACTS = 20
"""The most facts of one sentence."""
_LONGEST_FACT = 400


class SentenceFactsFound(BaseModel):
    """The facts of one sentence, as stored."""

    facts: list[str]


def statements_of(sentences: Sequence[SummarySentencePlaces]) -> list[Statement]:
    """Return the sentences as prompts have them."""
    return [Statement(id=n, before=places.before, sentence=places.text) for n, places in enumerate(sentences, 1)]


async def split_sentences(judge: Judge, statements: Sequence[Statement]) -> ItemResults[SentenceFactsFound]:
    """Return the atomic facts of each sentence; known ones are reused."""

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[SentenceFactsFound]:
        facts_input = SplitFactsInput(sentences=[statements[n].model_copy(update={"id": n + 1}) for n in numbers])
        reply = await judge.ask_items(SPLIT_FACTS, facts_input, numbers, SPLITTING, "facts of sentence", attempt)
        facts_by_sentence: list[tuple[int, SentenceFactsFound]] = []
        for sentence in reply.value.sentences:
            lines = dict.fromkeys(one_line(fact, _LONGEST_FACT) for fact in sentence.facts)
            facts = [line for line in lines if line][:MAX_FACTS]
            facts_by_sentence.append((sentence.id - 1, SentenceFactsFound(facts=facts)))
        return reply, facts_by_sentence

    size = min(SENTENCES_PER_REQUEST, max(1, judge.reply_tokens // SPLITTING.tokens(judge.wording)))
    items = [[statement.before, statement.sentence] for statement in statements]
    return await judge.verdicts(SPLIT_FACTS, SentenceFactsFound, items, lambda ns: ask_all(in_batches(ns, size), ask))


@dataclass(slots=True)
class FactJudge:
    """Splits and compares the facts of one document's summaries, and records what failed."""

    design: ContextDesign
    cell: StepPlan
    judge: Judge
    reader: EvidenceReader
    runner: ExperimentRunner
    likeness: SentenceSimilarity
    failures: dict[str, Failure] = field(default_factory=dict)

    async def attempt(self, what: str, work: Callable[[], Awaitable[T]], otherwise: T) -> T:
        """Return the result of some work, or `otherwise` if it fails or the budget has ended. The failure is recorded
        and does not stop the rest."""
        result = otherwise
        if self.runner.stopped is None:
            with GuardedStage(FACTS, self.runner) as stage:
                result = await work()
            if stage.failure:
                self.failures[what] = stage.failure
        return result

    async def split_facts(self, summaries: Sequence[ContextItem], name: str) -> list[ContextItem]:
        """Return summaries with their facts and the number of their sentences that were not split. A sentence that
        several summaries share is asked about once."""
        sentences = [places for item in summaries for places in item.sentences or ()]
        results = await split_sentences(self.judge, statements_of(sentences))
        if results.trouble:
            self.failures[name] = Failure(FACTS, "unjudged", results.trouble)
        numbers = count()
        split_items = []
        for item in summaries:
            facts, unsplit = list[AtomicFact](), 0
            for sentence in item.sentences or ():
                verdict = results.verdicts.get(next(numbers))
                unsplit += verdict is None
                place = sentence.places[0][0] if sentence.places else None
                facts += [AtomicFact(fact, sentence.number, place) for fact in verdict.facts] if verdict else []
            split_items.append(replace(item, facts=tuple(facts), unsplit=unsplit))
        return split_items

    async def check_stated(
        self, facts: Sequence[AtomicFact], sentences: Sequence[SummarySentencePlaces]
    ) -> tuple[bool | None, ...]:
        """Return for each fact whether a summary states it, by the alignment prompt; None where there is no verdict."""
        if not facts or not sentences:
            return (False,) * len(facts)
        results = await align_facts(self.judge, statements_of(sentences), [fact.text for fact in facts], self.reader)
        return tuple(bool(results.verdicts[n]) if n in results.verdicts else None for n in range(len(facts)))

    def match_facts(
        self, facts: Sequence[AtomicFact], candidates: Sequence[AtomicFact], *, is_complete: bool
    ) -> tuple[bool | None, ...]:
        """Return for each fact whether it is among others, by likeness. If the candidates are not all facts of their
        summary, a fact that is not found gets None."""
        missing = False if is_complete else None
        return tuple(best > self.likeness.threshold or missing for best in self.best_similarity(facts, candidates))

    def best_similarity(self, facts: Sequence[AtomicFact], candidates: Sequence[AtomicFact]) -> list[float]:
        """Return for each fact its likeness to the most similar of the others."""
        if not facts or not candidates:
            return [0.0] * len(facts)
        similarities = self.likeness.between([fact.text for fact in facts], [fact.text for fact in candidates])
        return [float(row.max()) for row in similarities]

    async def verify_facts(self, facts: Sequence[AtomicFact]) -> list[AtomicFact]:
        """Return the facts with verdicts on whether their places support them, judged only by these places."""
        judge, reader, placed = self.judge, self.reader, list[tuple[int, str, Span]]()
        for at, fact in enumerate(facts):
            if fact.place is not None:
                near = reader.passages.around(fact.place, _BESIDE)
                place = Span(near[0].start, near[-1].end) if near else fact.place
                placed.append((at, fact.text, place))

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[SentenceVerdict]:
            spans = reader.joined([[placed[n][2]] for n in numbers])
            statements = [Statement(id=n + 1, sentence=placed[n][1]) for n in numbers]
            return await verify_batch(judge, reader, spans, statements, "verified fact", attempt)

        async def judged(numbers: Sequence[int]) -> ItemResults[SentenceVerdict]:
            # The passages of a batch fit a prompt together.
            limit = min(VERIFIED_PER_REQUEST, max(1, judge.reply_tokens // VERIFICATION.tokens(judge.wording)))
            batches: list[list[int]] = []
            for at in numbers:
                tried = [*batches[-1], at] if batches else [at]
                spans = reader.joined([[placed[n][2]] for n in tried])
                tokens = sum(reader.tokenizer.count(reader.text(span)) for span in spans)
                if batches and len(tried) <= limit and tokens <= reader.room:
                    batches[-1].append(at)
                else:
                    batches.append([at])
            return await ask_all(batches, ask)

        language = language_key(reader.document)
        items = [["mapped passage", language, place, fact] for _, fact, place in placed]
        results = await judge.verdicts(VERIFY_SENTENCES, SentenceVerdict, items, judged)
        verified = list(facts)
        for n, verdict in results.decided(lambda verdict: verdict.category != UNSURE).verdicts.items():
            at, supported = placed[n][0], verdict.category == SUPPORTED
            category = "" if supported else str(verdict.category)
            verified[at] = replace(facts[at], supported=supported, category=category)
        return verified

    async def compare_with_paragraphs(self, facts: Sequence[AtomicFact]) -> list[AtomicFact]:
        """Return the facts with their likeness to those of the paragraphs that they were traced to (thesis, 5.7.1)."""
        text, sentences = self.reader.document.text, list[tuple[Span, Statement]]()
        for place in dict.fromkeys(fact.place for fact in facts if fact.place is not None):
            for span in sentence_spans(text, place):
                sentences.append((place, Statement(id=len(sentences) + 1, sentence=text[slice(*span)])))
        results = await split_sentences(self.judge, [statement for _, statement in sentences])
        facts_by_place: dict[Span | None, list[AtomicFact]] = {}
        for at, verdict in sorted(results.verdicts.items()):
            place = sentences[at][0]
            facts_by_place.setdefault(place, []).extend(AtomicFact(fact, at, place) for fact in verdict.facts)
        compared = []
        for fact in facts:
            of_paragraph = facts_by_place.get(fact.place)
            likeness = self.best_similarity([fact], of_paragraph)[0] if of_paragraph else None
            compared.append(replace(fact, in_paragraph=likeness))
        return compared

    async def compare_steps(self, item: ContextItem, before: ContextItem) -> tuple[FactComparison, ...]:
        """Return the comparisons with the step before in both directions, by likeness and by alignment."""
        now, then = item.facts or (), before.facts or ()
        still_there = self.match_facts(then, now, is_complete=not item.unsplit)
        already_there = self.match_facts(now, then, is_complete=not before.unsplit)
        by_likeness = FactComparison(self.likeness.name, self.likeness.threshold, still_there, already_there)
        still_there, already_there = await gather_all(
            self.check_stated(facts, side.sentences or ()) for facts, side in ((then, item), (now, before))
        )
        return by_likeness, FactComparison(ALIGNMENT, None, still_there, already_there)

    async def compared(self, item: ContextItem, before: ContextItem | None) -> ContextItem:
        """Return a summary whose facts are compared with those of the reference and of the step before."""
        if item.facts is None or self.runner.stopped is not None:
            return item
        if (reference := self.cell.reference) is not None and reference.facts:
            likeness = self.best_similarity(item.facts, reference.facts)
            unknown: tuple[bool | None, ...] = (None,) * len(item.facts)
            check = partial(self.check_stated, item.facts, reference.sentences or ())
            stated = await self.attempt(f"{item.label}: reference", check, unknown)
            both = zip(item.facts, likeness, stated, strict=True)
            facts = tuple(replace(fact, likeness=value, in_reference=verdict) for fact, value, verdict in both)
            item = replace(item, facts=facts)
        if before is not None and before.facts is not None:
            compare = partial(self.compare_steps, item, before)
            item = replace(item, compared=await self.attempt(f"{item.label}: comparison", compare, ()))
        return item

    async def judged(self, group: Sequence[ContextItem]) -> list[ContextItem]:
        """Judge the facts of one system's summaries of all steps, as far as the budget goes."""
        name = group[0].by
        summaries = [item for item in group if item.sentences is not None]
        split = partial(self.split_facts, summaries, f"{name}: taking apart")
        summaries = await self.attempt(f"{name}: taking apart", split, summaries)
        facts = [fact for item in summaries for fact in item.facts or ()]
        facts = await self.attempt(f"{name}: verification", partial(self.verify_facts, facts), facts)
        if self.design.paragraph_facts:
            facts = await self.attempt(f"{name}: paragraphs", partial(self.compare_with_paragraphs, facts), facts)
        remaining = iter(facts)
        by_step = {item.step.number: item for item in group}
        for item in summaries:
            checked = None if item.facts is None else tuple(next(remaining) for _ in item.facts)
            by_step[item.step.number] = replace(item, facts=checked)
        steps = [by_step[number] for number in sorted(by_step)]
        return await gather_all(self.compared(item, before) for before, item in pairwise((None, *steps)) if item)


EXPERIMENT = ContextDesign
