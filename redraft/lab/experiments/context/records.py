"""The design and records of the experiment on a growing span: what it compares, its steps, and each summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, PlainSerializer

from redraft.domain import Document, Rounded, Span, computed
from redraft.errors import UsageError
from redraft.graphs.plan import fitting_words
from redraft.lab.experiments.context.similarity import EmbeddingSimilarity, SentenceSimilarity, TermSimilarity
from redraft.lab.experiments.experiment import group_by
from redraft.lab.experiments.plan import ModelsDesign, check_models
from redraft.lab.experiments.runner import Used, status_of
from redraft.prompts.factual import FACT_PROMPTS, SPLIT_FACTS
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.models import resolve, tokenizer_of
from redraft.runs.prepare import RunSpec
from redraft.settings import DraftConfig, ExperimentPart, JudgeConfig
from redraft.text.chunks import beginning
from redraft.text.origins import OriginMass
from redraft.text.vectors import Encoder, load_encoder
from redraft.text.words import count_words

USUAL = "10000:128000:10000"
"""The steps of the thesis: from 10,000 tokens to 128,000 by 10,000."""
_MIN_TOKENS = 64
_MAX_STEPS = 100
# The maximum steps, and minimum tokens of a step, for a document too short for the usual steps.
_STEPS, _SHORTEST = 13, 256
# The minimum ratio of the words that are summarized to those of the summary.
_LONGER = 2


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """A step that reads so many tokens; without `until` it reads the whole document, of about so many tokens."""

    number: int
    tokens: int
    until: int | None


def parse_steps(words: str) -> tuple[int, ...]:
    """Return the steps of START:STOP:STEP, ending with STOP, or of N,N..."""
    try:
        if ":" in words:
            start, stop, by = (int(word) for word in words.split(":"))
            fitting = 0 < start <= stop <= start + _MAX_STEPS * by
            steps = (*range(start, stop, by), stop) if fitting else ()
        else:
            steps = tuple(sorted({int(word) for word in words.split(",")}))
    except ValueError:
        raise _no_steps(words) from None
    if not steps or steps[0] < _MIN_TOKENS or len(steps) > _MAX_STEPS or list(steps) != sorted(set(steps)):
        raise _no_steps(words)
    return steps


def _no_steps(words: str) -> UsageError:
    return UsageError(
        f"until: {words!r:.60} are not steps",
        hint=f"write START:STOP:STEP, such as {USUAL}, or N,N...: at most {_MAX_STEPS} steps, each of"
        f" {_MIN_TOKENS} tokens or more",
    )


def plan_steps(
    asked: Sequence[int] | None, tokens: int, words: int, limit: int | None
) -> tuple[tuple[ReadingStep, ...], str]:
    """Return the steps for a document of so many tokens and words, and a note where they are not as asked.

    If no steps are `asked` for, they are the usual ones, or equal parts of a document with room for fewer than two of
    those. `limit` is the length of its summaries, if known.
    """
    usual = parse_steps(USUAL)
    wanted = tuple(asked or usual)
    within = [one for one in wanted if one < tokens]
    if len(within) == len(wanted):
        return tuple(ReadingStep(n, one, one) for n, one in enumerate(within, 1)), ""
    if asked or len(within) > 1:
        steps = [
            *(ReadingStep(n, one, one) for n, one in enumerate(within, 1)),
            ReadingStep(len(within) + 1, tokens, None),
        ]
        return tuple(steps), f"has about {tokens:,} tokens: {len(steps)} steps, the last of which is all of it"
    by_length = words // (_LONGER * limit) if limit else _STEPS
    count = max(1, min(_STEPS, tokens // _SHORTEST, by_length))
    parts = [ReadingStep(n, round(n * tokens / count), round(n * tokens / count)) for n in range(1, count)]
    said = f"has about {tokens:,} tokens, too few for steps of {usual[0]:,}: {count} of about {tokens // count:,} each"
    return (*parts, ReadingStep(count, tokens, None)), said


LOWER, UPPER = "lower half", "upper half"
"""The halves of the steps of a document."""
PHASES = ("first phase", "second phase", "third phase")
"""The thirds of the steps of a document; of the thesis's thirteen they have four, four and five."""
PlacesName = Literal["lineage", "tfidf", "embeddings"]
"""How the place of a sentence is found: by the lineage map, or as the most similar paragraph."""


@dataclass(frozen=True, slots=True)
class ContextContestant:
    """A model with a strategy."""

    model: str
    strategy: str

    @property
    def name(self) -> str:
        """The name in tables and pictures."""
        return f"{self.model}, {self.strategy}"


@dataclass(frozen=True, slots=True)
class SummarySentencePlaces:
    """A sentence of a summary, the sentence it refers back to, and its source places in the document."""

    number: int
    text: str
    before: str
    places: tuple[tuple[Span, Rounded], ...]
    """The places with their weights, the best first; empty if the sentence has no source."""

    def masses(self, length: int) -> list[OriginMass]:
        """Return the sentence's mass divided among its places by weight, each at its middle as a share of `length`."""
        whole = sum(weight for _, weight in self.places) or 1.0
        return [OriginMass((span.start + span.end) / 2 / length, weight / whole) for span, weight in self.places]


@dataclass(frozen=True, slots=True)
class AtomicFact:
    """An atomic fact of a summary."""

    text: str
    sentence: int
    place: Span | None
    """The best place of its sentence."""
    supported: bool | None = None
    """True if the place supports it; None without a verdict or a place."""
    category: str = ""
    """The category of error, if it has one."""
    likeness: float | None = None
    """The likeness to the most similar fact of the reference."""
    in_reference: bool | None = None
    """True if the reference states it, by the alignment prompt."""

    def at(self, length: int) -> float | None:
        """Return the middle of its place, as a share of the document; None without a place."""
        return (self.place.start + self.place.end) / 2 / length if self.place else None


@dataclass(frozen=True, slots=True)
class FactComparison:
    """The facts of a summary compared with those of the step before, by one measure, in both directions."""

    measure: str
    threshold: float | None
    kept: tuple[bool | None, ...]
    """For each fact of the step before, whether it is still there; None if the measure cannot tell."""
    known: tuple[bool | None, ...]
    """For each fact of this step, whether it was there before."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One contestant's summary at one step. A None field does not exist, or not yet."""

    document: str
    title: str
    length: int
    """The length of the document, in characters."""
    contestant: ContextContestant
    step: ReadingStep
    end: int
    """The end of what is read, in characters of the document."""
    run: str | None = None
    usage: Used | None = None
    words: int | None = None
    gaps: int = 0
    sentences: tuple[SummarySentencePlaces, ...] | None = None
    facts: tuple[AtomicFact, ...] | None = None
    unsplit: int = 0
    """The number of sentences that were not split into facts."""
    compared: tuple[FactComparison, ...] = ()
    failure: Failure | None = None

    @property
    def read(self) -> float:
        """The share of the document that is read."""
        return self.end / self.length

    @computed
    def status(self) -> str:
        """The status of its summary: `done`, `failed` or `not made`."""
        return status_of(self.failure, done=self.sentences is not None)

    @property
    def located(self) -> list[SummarySentencePlaces]:
        """The sentences that have a source place."""
        return [places for places in self.sentences or () if places.places]

    def masses(self, *, of_read: bool = False) -> list[OriginMass]:
        """Return the places of the summary, as shares of the document or of what was read of it."""
        length = self.end if of_read else self.length
        return [mass for places in self.located for mass in places.masses(length)]


@dataclass(frozen=True, slots=True)
class BaselineSummary:
    """The reference summary of a document, used as the baseline."""

    words: int
    sentences: tuple[SummarySentencePlaces, ...]
    length: int
    facts: tuple[AtomicFact, ...] | None = None


@dataclass(frozen=True, slots=True)
class StepPlan:
    """A document with its steps, the length of its summaries, and notes on them."""

    document: str
    title: str
    tokens: int
    steps: tuple[ReadingStep, ...]
    words: int
    note: str = ""
    reference: Annotated[BaselineSummary | None, PlainSerializer(bool)] = None
    """The reference summary; JSON says whether there is one."""
    run: str | None = None
    """The run that judged the facts."""
    usage: Used | None = None
    failures: Mapping[str, Failure] = field(default_factory=dict)
    """The failures of judging facts, by what was asked."""


def half_of(item: ContextItem, items: Sequence[ContextItem]) -> str:
    """Return which half of its document's steps an item is in."""
    steps = max(context_item.step.number for context_item in items if context_item.document == item.document)
    return LOWER if item.step.number <= steps // 2 else UPPER


def phase_of(item: ContextItem, items: Sequence[ContextItem]) -> str:
    """Return which third of its document's steps an item is in; the last has what is left over."""
    steps = max(context_item.step.number for context_item in items if context_item.document == item.document)
    return PHASES[min(len(PHASES) - 1, (item.step.number - 1) // max(1, steps // len(PHASES)))]


def with_previous(items: Sequence[ContextItem]) -> list[tuple[ContextItem, ContextItem | None]]:
    """Return the items, each with that of the step before."""
    before = {id(now): then for group in series(items) for then, now in pairwise(group)}
    return [(item, before.get(id(item))) for item in items]


def series(items: Sequence[ContextItem]) -> list[list[ContextItem]]:
    """Return the items of each contestant on each document, in order of steps."""
    groups = group_by(items, "document", "contestant").values()
    return [sorted(group, key=lambda item: item.step.number) for group in groups]


CONTEXT = "context"
"""The experiment's name in its runs, and the command that repeats it."""
FACT_PROMPTS = (SPLIT_FACTS, *FACT_PROMPTS)
"""Includes all prompts by which facts are judged elsewhere, so that certificates of their judge apply here."""


@dataclass(frozen=True, slots=True)
class ContextDesign(ModelsDesign):
    """The models, strategies and steps to compare. The judge splits summaries into facts and compares them."""

    strategies: tuple[str, ...] = ("hierarchical",)
    steps: tuple[int, ...] | None = None
    """The steps; by default those of the thesis, or what a short document allows."""
    words: int | None = None
    """The word limit of every summary; by default that of the reference, or what suits the first step."""
    facts: bool = True
    threshold: float | None = None
    """Overrides the threshold of the measure."""
    embeddings: str | None = None
    places: PlacesName = "lineage"
    references: Annotated[Mapping[str, str], Field(exclude=True)] = field(default_factory=dict)
    """The texts of the reference summaries by document id: the length of its summaries, and the baseline."""
    sets: Mapping[str, str] = field(default_factory=dict)
    """The dataset of each document, by id, where tables tell datasets apart."""

    def complete(self) -> ContextDesign:
        """Return the design; raise if it has no model for its places."""
        if self.places == "embeddings" and not self.embeddings:
            raise UsageError("--places embeddings needs an embedding model", hint="name one with --embeddings")
        return self

    @property
    def contestants(self) -> tuple[ContextContestant, ...]:
        """Each model with each strategy."""
        return tuple(ContextContestant(model.name, strategy) for model in self.models for strategy in self.strategies)

    def step_plan(self, document: Document) -> StepPlan:
        """Return the steps of a document and the length of its summaries, which is the same at all steps."""
        tokenizer, _ = tokenizer_of(resolve(self.draft_settings(self.contestants[0])))
        tokens, limit = tokenizer.count(document.text), self.words
        if limit is None and (reference := self.references.get(document.id)):
            limit = count_words(reference)
        steps, note = plan_steps(self.steps, tokens, count_words(document.text), limit)
        if limit is None:
            until = steps[0].until
            end = None if until is None else beginning(document.text, tokenizer, until)
            limit = fitting_words(None, count_words(document.text[:end]))
        return StepPlan(document.id, document.title, tokens, steps, limit, note)

    def draft_settings(
        self, contestant: ContextContestant, course: StepPlan | None = None, step: ReadingStep | None = None
    ) -> DraftConfig:
        """Return a contestant's settings for a document as far as a step reads it."""
        words, until = course.words if course else self.words, step.until if step else None
        return self.writer_settings(contestant.model, strategy=contestant.strategy, until=until, words=words)

    def order(self) -> RunSpec:
        """Return the spec of a run that judges the facts of all summaries of a document."""
        return RunSpec(
            ExperimentPart(kind=CONTEXT, judging=JudgeConfig(embeddings=self.embeddings)), prompts=FACT_PROMPTS
        )

    def encoder(self) -> Encoder | None:
        """Return the embedding model; None if none is set."""
        return load_encoder(self.embeddings) if self.embeddings else None

    def fact_similarity(self, document: Document) -> SentenceSimilarity:
        """Return the measure that compares facts without a judge: embeddings, or words if no encoder is set."""
        encoder = self.encoder()
        return EmbeddingSimilarity(encoder) if encoder else TermSimilarity(document.text)

    def paragraph_similarity(self, document: Document) -> SentenceSimilarity | None:
        """Return the measure that finds the most similar paragraph; None if places are those of the lineage map."""
        if self.places == "lineage":
            return None
        encoder = self.encoder() if self.places == "embeddings" else None
        return EmbeddingSimilarity(encoder) if encoder else TermSimilarity(document.text)

    def match_threshold(self, likeness: SentenceSimilarity) -> float:
        """Return the likeness above which two facts are the same."""
        return likeness.threshold if self.threshold is None else self.threshold

    def check(self, runner: ExperimentRunner) -> None:
        """Raise if a name or a price is unknown, before anything is paid for."""
        check_models(runner, *((self.draft_settings(contestant), None) for contestant in self.contestants))
        if self.facts:
            check_models(runner, (self.judge_settings(), None))
