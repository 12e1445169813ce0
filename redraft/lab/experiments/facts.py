"""Atomic facts of summaries (thesis, 5.7): split, checked against the place that each was traced to, and compared with
those of other steps, of the reference and of the paragraph."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from pydantic import BaseModel

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import (
    Attempt,
    Entries,
    EntryBudget,
    ItemResults,
    Judge,
    ask_all,
    gather_all,
    in_batches,
)
from redraft.domain import Span
from redraft.evaluators.faithfulness import SUPPORTED, VERIFICATION, SentenceVerdict, verify_batch
from redraft.evaluators.keyfact_recall import align_facts
from redraft.lab.experiments.context_frames import (
    ALIGNMENT,
    AtomicFact,
    ContextItem,
    FactComparison,
    StepPlan,
    SummarySentencePlaces,
)
from redraft.lab.experiments.questioner import SentenceSimilarity
from redraft.lab.experiments.runner import FACTS, GuardedStage
from redraft.prompts import factual
from redraft.prompts.contract import UNSURE
from redraft.prompts.factual import SPLIT_FACTS, SplitFactsInput
from redraft.prompts.qa import Statement
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.text.languages import language_key
from redraft.text.sanitizer import one_line
from redraft.text.sentences import sentences as sentence_spans

T = TypeVar("T")
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
        return Entries.of(reply, facts_by_sentence)

    size = min(SENTENCES_PER_REQUEST, max(1, judge.reply_tokens // SPLITTING.tokens(judge.wording)))
    items = [[statement.before, statement.sentence] for statement in statements]
    return await judge.verdicts(
        SPLIT_FACTS, SentenceFactsFound, items, lambda numbers: ask_all(in_batches(numbers, size), ask)
    )


async def verify_places(
    judge: Judge, facts: Sequence[str], places: Sequence[Span], reader: EvidenceReader
) -> ItemResults[SentenceVerdict]:
    """Return the error of each fact, judged only by the place of the document that it was traced to."""

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[SentenceVerdict]:
        spans = reader.joined([[places[n]] for n in numbers])
        statements = [Statement(id=n + 1, sentence=facts[n]) for n in numbers]
        return await verify_batch(judge, reader, spans, statements, "verified fact", attempt)

    async def judged(numbers: Sequence[int]) -> ItemResults[SentenceVerdict]:
        # The passages of a batch fit a prompt together.
        limit = min(VERIFIED_PER_REQUEST, max(1, judge.reply_tokens // VERIFICATION.tokens(judge.wording)))
        batches: list[list[int]] = []
        for number in numbers:
            tried = [*batches[-1], number] if batches else [number]
            spans = reader.joined([[places[n]] for n in tried])
            tokens = sum(reader.tokenizer.count(reader.text(span)) for span in spans)
            if batches and len(tried) <= limit and tokens <= reader.room:
                batches[-1].append(number)
            else:
                batches.append([number])
        return await ask_all(batches, ask)

    language = language_key(reader.document)
    items = [["mapped passage", language, place, fact] for fact, place in zip(facts, places, strict=True)]
    results = await judge.verdicts(factual.VERIFY_SENTENCES, SentenceVerdict, items, judged)
    return results.decided(lambda verdict: verdict.category != UNSURE)


@dataclass(slots=True)
class FactJudge:
    """Splits and compares the facts of one document's summaries, and records what failed."""

    judge: Judge
    reader: EvidenceReader
    likeness: SentenceSimilarity
    least: float
    runner: ExperimentRunner
    failures: dict[str, Failure] = field(default_factory=dict)
    reads_paragraphs: bool = False
    """Whether facts are also compared with those of their paragraphs."""

    async def attempt(self, what: str, work: Awaitable[T], otherwise: T) -> T:
        """Return the awaited result, or `otherwise` if it fails. The failure is recorded and does not stop the rest."""
        result = otherwise
        with GuardedStage(FACTS, self.runner) as stage:
            result = await work
        if stage.failure:
            self.failures[what] = stage.failure
        return result

    async def split_facts(
        self, texts: Sequence[Sequence[SummarySentencePlaces]], name: str
    ) -> list[tuple[tuple[AtomicFact, ...], int]]:
        """Return for each summary its facts and the number of its sentences that were not split. A sentence that
        several summaries share is asked about once."""
        sentences = [sentence_places for places in texts for sentence_places in places]
        results = await split_sentences(self.judge, statements_of(sentences))
        if results.trouble:
            self.failures[name] = Failure(FACTS, "unjudged", results.trouble)
        parts: list[tuple[tuple[AtomicFact, ...], int]] = []
        first = 0
        for places in texts:
            numbers = range(first, first + len(places))
            split = {at: results.verdicts[n] for at, n in enumerate(numbers) if n in results.verdicts}
            facts = tuple(
                AtomicFact(text, places[at].number, places[at].places[0][0] if places[at].places else None)
                for at, of_sentence in sorted(split.items())
                for text in of_sentence.facts
            )
            parts.append((facts, len(places) - len(split)))
            first += len(places)
        return parts

    async def check_stated(
        self, facts: Sequence[AtomicFact], sentences: Sequence[SummarySentencePlaces]
    ) -> tuple[bool | None, ...]:
        """Return for each fact whether a summary states it, by the alignment prompt; None where there is no verdict."""
        if not facts or not sentences:
            return (False,) * len(facts)
        results = await align_facts(self.judge, statements_of(sentences), [fact.text for fact in facts], self.reader)
        return tuple(results.verdicts[n][0] if n in results.verdicts else None for n in range(len(facts)))

    def match_facts(
        self, facts: Sequence[AtomicFact], candidates: Sequence[AtomicFact], *, is_complete: bool
    ) -> tuple[bool | None, ...]:
        """Return for each fact whether it is among others, by likeness. If the candidates are not all facts of their
        summary, a fact that is not found gets None."""
        return tuple(
            True if best > self.least else False if is_complete else None
            for best in self.best_similarity(facts, candidates)
        )

    def best_similarity(self, facts: Sequence[AtomicFact], candidates: Sequence[AtomicFact]) -> list[float]:
        """Return for each fact its likeness to the most similar of the others."""
        if not facts or not candidates:
            return [0.0] * len(facts)
        similarities = self.likeness.between([fact.text for fact in facts], [fact.text for fact in candidates])
        return [float(row.max()) for row in similarities]

    async def verify_facts(self, facts: Sequence[AtomicFact]) -> list[AtomicFact]:
        """Return the facts with verdicts on whether their places support them."""
        placed = [n for n, fact in enumerate(facts) if fact.place is not None]
        places: list[Span] = []
        for place in (fact.place for fact in facts if fact.place is not None):
            near = self.reader.passages.around(place, _BESIDE)
            places.append(Span(near[0].span.start, near[-1].span.end) if near else place)
        results = await verify_places(self.judge, [facts[n].text for n in placed], places, self.reader)
        atomic_facts = list(facts)
        for at, verdict in results.verdicts.items():
            supported = verdict.category == SUPPORTED
            category = "" if supported else str(verdict.category)
            atomic_facts[placed[at]] = replace(atomic_facts[placed[at]], supported=supported, category=category)
        return atomic_facts

    async def compare_with_paragraphs(self, facts: Sequence[AtomicFact]) -> list[AtomicFact]:
        """Return the facts with their likeness to those of the paragraphs that they were traced to (thesis, 5.7.1)."""
        text, sentences = self.reader.document.text, list[tuple[Span, Statement]]()
        for place in dict.fromkeys(fact.place for fact in facts if fact.place is not None):
            for span in sentence_spans(text, place):
                sentences.append((place, Statement(id=len(sentences) + 1, sentence=text[slice(*span)])))
        results = await split_sentences(self.judge, [statement for _, statement in sentences])
        facts_by_place: dict[Span | None, list[AtomicFact]] = {}
        for number, verdict in sorted(results.verdicts.items()):
            place = sentences[number][0]
            facts_by_place.setdefault(place, []).extend(AtomicFact(fact, number, place) for fact in verdict.facts)
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
        by_likeness = FactComparison(self.likeness.name, self.least, still_there, already_there)
        sides = ((then, item), (now, before))
        still_there, already_there = await gather_all(
            self.check_stated(facts, side.sentences or ()) for facts, side in sides
        )
        return by_likeness, FactComparison(ALIGNMENT, None, still_there, already_there)


async def judged_series(group: Sequence[ContextItem], cell: StepPlan, judge: FactJudge) -> list[ContextItem]:
    """Judge the facts of one system's summaries of all steps, as far as the budget goes."""
    summaries = [item for item in group if item.sentences is not None]
    if judge.runner.stopped is None:
        name = f"{group[0].by}: taking apart"
        parts = await judge.attempt(name, judge.split_facts([item.sentences or () for item in summaries], name), [])
        summaries = [
            replace(item, facts=facts, unsplit=unsplit)
            for item, (facts, unsplit) in zip(summaries, parts, strict=False)
        ] or summaries
    if judge.runner.stopped is None:
        every = [fact for item in summaries for fact in item.facts or ()]
        every = await judge.attempt(f"{group[0].by}: verification", judge.verify_facts(every), every)
        if judge.reads_paragraphs and judge.runner.stopped is None:
            every = await judge.attempt(f"{group[0].by}: paragraphs", judge.compare_with_paragraphs(every), every)
        facts = iter(every)
        summaries = [
            item if item.facts is None else replace(item, facts=tuple(next(facts) for _ in item.facts))
            for item in summaries
        ]
    by_step = {item.step.number: item for item in (*group, *summaries)}
    all_steps = [by_step[number] for number in sorted(by_step)]
    earlier = {now.step.number: then for then, now in pairwise(all_steps)}

    async def compare(item: ContextItem, before: ContextItem | None) -> ContextItem:
        """Compare the facts with those of the reference and of the step before, by likeness and by alignment."""
        if item.facts is None or judge.runner.stopped is not None:
            return item
        if (reference := cell.reference) is not None and reference.facts:
            likeness = judge.best_similarity(item.facts, reference.facts)
            unknown: tuple[bool | None, ...] = (None,) * len(item.facts)
            checked = judge.check_stated(item.facts, reference.sentences or ())
            stated = await judge.attempt(f"{item.label}: reference", checked, unknown)
            both = zip(item.facts, likeness, stated, strict=True)
            compared = (replace(fact, likeness=value, in_reference=verdict) for fact, value, verdict in both)
            item = replace(item, facts=tuple(compared))
        if before is not None and before.facts is not None:
            comparisons = judge.compare_steps(item, before)
            item = replace(item, compared=await judge.attempt(f"{item.label}: comparison", comparisons, ()))
        return item

    return await gather_all(compare(item, earlier.get(item.step.number)) for item in all_steps)
