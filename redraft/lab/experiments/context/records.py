"""The experiment on a growing span: what it compares, how far is read at each step, and what came of each summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from redraft.domain import Document, Span, Totals
from redraft.errors import UsageError
from redraft.graphs.plan import fitting_words
from redraft.lab.experiments.frames import group_by
from redraft.lab.experiments.plan import ModelsDesign, check_models
from redraft.lab.experiments.runner import json_of, status_of
from redraft.prompts.factual import FACTUAL, SPLIT_FACTS
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.models import resolve, tokenizer_of
from redraft.runs.prepare import RunSpec
from redraft.settings import DraftConfig, ExperimentPart, JudgeConfig
from redraft.text.chunks import beginning
from redraft.text.origin_chains import EmbeddingSimilarity, SentenceSimilarity, TermSimilarity
from redraft.text.positions import OriginMass
from redraft.text.vectors import Encoder, load_encoder
from redraft.text.words import count_words

USUAL = "10000:128000:10000"
"""The thesis's: from 10,000 tokens to 128,000 by 10,000."""
_FEWEST_TOKENS = 64
_MOST_STEPS = 100
# Where a document is too short for the usual steps, it has so many at most, none of fewer tokens than these.
_STEPS, _SHORTEST = 13, 256
# What is summarized has this many times the words of its summary, at least.
_LONGER = 2


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """So many tokens are read; without `until` all of the document, which has about so many."""

    number: int
    tokens: int
    until: int | None


def read_steps(words: str) -> tuple[int, ...]:
    """The steps of START:STOP:STEP, with STOP as the last of them, or of N,N..."""
    try:
        if ":" in words:
            start, stop, by = (int(word) for word in words.split(":"))
            fitting = 0 < start <= stop <= start + _MOST_STEPS * by
            steps = (*range(start, stop, by), stop) if fitting else ()
        else:
            steps = tuple(sorted({int(word) for word in words.split(",")}))
    except ValueError:
        raise _no_steps(words) from None
    if not steps or steps[0] < _FEWEST_TOKENS or len(steps) > _MOST_STEPS or list(steps) != sorted(set(steps)):
        raise _no_steps(words)
    return steps


def _no_steps(words: str) -> UsageError:
    return UsageError(
        f"--until: {words!r:.60} are no steps",
        hint=f"write START:STOP:STEP, such as {USUAL}, or N,N...: at most {_MOST_STEPS} steps, each of"
        f" {_FEWEST_TOKENS} tokens or more",
    )


def steps_of(
    asked: Sequence[int] | None, tokens: int, words: int, limit: int | None
) -> tuple[tuple[ReadingStep, ...], str]:
    """The steps for a document of so many tokens and words, and what there is to say where they are not as asked.

    Without steps that are `asked` they are the usual ones, or equal parts of a document that has room for fewer than
    two of these. `limit` is the length of its summaries, if that is known.
    """
    usual = read_steps(USUAL)
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


class ContextContestant(NamedTuple):
    """Who summarizes, and how."""

    model: str
    strategy: str

    @property
    def name(self) -> str:
        """What it is called in tables and pictures."""
        return f"{self.model}, {self.strategy}"


@dataclass(frozen=True, slots=True)
class SummarySentencePlaces:
    """A sentence of a summary, what it points back to, and the places of the document that it comes from."""

    number: int
    text: str
    before: str
    places: tuple[tuple[Span, float], ...]
    """Each with its weight, the best first; none where it comes from nowhere."""

    def masses(self, length: int) -> list[OriginMass]:
        """The sentence, parted among its places by their weight; these by their middle, as a share of `length`."""
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
    """Whether the place bears it out; None where nobody has said, or there is no place."""
    category: str = ""
    """What is wrong with it, where something is."""
    likeness: float | None = None
    """To the fact of the reference that is most like it."""
    in_reference: bool | None = None
    """Whether the reference states it, by the alignment prompt."""

    def at(self, length: int) -> float | None:
        """The middle of its place, as a share of the document."""
        return (self.place.start + self.place.end) / 2 / length if self.place else None


@dataclass(frozen=True, slots=True)
class FactComparison:
    """The facts of a summary beside those of the step before, by one measure, in both directions."""

    measure: str
    threshold: float | None
    kept: tuple[bool | None, ...]
    """Of each fact of the step before, whether it is there again; None where the measure does not tell."""
    known: tuple[bool | None, ...]
    """Of each fact of this step, whether it was there before."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One contestant's summary at one step. None is what there is not, or not yet."""

    document: str
    title: str
    length: int
    """The characters of the document."""
    contestant: ContextContestant
    step: ReadingStep
    end: int
    """Where that ends which is read, in characters of the document."""
    run: str | None = None
    usage: Totals | None = None
    words: int | None = None
    gaps: int = 0
    told: tuple[SummarySentencePlaces, ...] | None = None
    facts: tuple[AtomicFact, ...] | None = None
    unsplit: int = 0
    """The sentences that nobody has taken apart."""
    compared: tuple[FactComparison, ...] = ()
    failure: Failure | None = None

    @property
    def read(self) -> float:
        """Which share of the document is read."""
        return self.end / self.length

    @property
    def status(self) -> str:
        """Whether its summary is `done`, has `failed`, or was `not made`."""
        return status_of(self.failure, done=self.told is not None)

    @property
    def located(self) -> list[SummarySentencePlaces]:
        """The sentences that come from somewhere."""
        return [one for one in self.told or () if one.places]

    def masses(self, *, of_read: bool = False) -> list[OriginMass]:
        """The places of the summary, as shares of the document or of what was read of it."""
        length = self.end if of_read else self.length
        return [mass for one in self.located for mass in one.masses(length)]

    def to_json(self, before: ContextItem | None) -> list[dict[str, object]]:
        """The records in `items.json`: the summary, each of its sentences, and each of its facts."""
        head = json_of(self, "document title model=contestant.model strategy=contestant.strategy step=step.number")
        summary = {
            **head,
            "kind": "summary",
            **json_of(self, "until=step.tokens end length status run words gaps"),
            "sentences": None if self.told is None else len(self.told),
            "located": None if self.told is None else len(self.located),
            "facts": None if self.facts is None else len(self.facts),
            **json_of(self, "unsplit usage failure"),
        }
        sentences = [{**head, "kind": "sentence", **_sentence_json(one)} for one in self.told or ()]
        facts = [
            {**head, "kind": "fact", **json_of(one, _FACT), **_fate(self, before, at)}
            for at, one in enumerate(self.facts or ())
        ]
        return [summary, *sentences, *facts]


def _sentence_json(one: SummarySentencePlaces) -> dict[str, object]:
    places = [[*span, round(weight, 3)] for span, weight in one.places]
    return {"number": one.number, "text": one.text, "places": places}


_FACT = "number=sentence text place supported category likeness in_reference"


def _fate(item: ContextItem, before: ContextItem | None, at: int) -> dict[str, object]:
    """Whether the fact was there at the step before, by each measure."""
    return {f"known ({one.measure})": one.known[at] for one in item.compared} if before else {}


@dataclass(frozen=True, slots=True)
class BaselineSummary:
    """A summary that somebody else has written of a document: the baseline."""

    words: int
    told: tuple[SummarySentencePlaces, ...]
    length: int
    facts: tuple[AtomicFact, ...] | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """A document with its steps, the length of its summaries, and what there is to say of them."""

    document: str
    title: str
    tokens: int
    steps: tuple[ReadingStep, ...]
    words: int
    note: str = ""
    reference: BaselineSummary | None = None
    run: str | None = None
    """The run in which facts were judged."""
    usage: Totals | None = None
    failures: Mapping[str, Failure] = field(default_factory=dict)
    """What went wrong with the facts, by what was asked."""

    def to_json(self) -> dict[str, object]:
        """The document as programs read it."""
        steps, reference = [step.tokens for step in self.steps], self.reference is not None
        keys = "id=document title tokens words steps: note reference: run"
        return json_of(self, keys, steps=steps, reference=reference)


def half_of(item: ContextItem, items: Sequence[ContextItem]) -> str:
    """In which half of its document's steps an item is."""
    steps = max(one.step.number for one in items if one.document == item.document)
    return LOWER if item.step.number <= steps // 2 else UPPER


def with_before(items: Sequence[ContextItem]) -> list[tuple[ContextItem, ContextItem | None]]:
    """The items, each with that of the step before."""
    before = {id(now): then for group in series(items) for then, now in pairwise(group)}
    return [(item, before.get(id(item))) for item in items]


def series(items: Sequence[ContextItem]) -> list[list[ContextItem]]:
    """The items of each contestant on each document, step by step."""
    groups = group_by(items, "document", "contestant").values()
    return [sorted(group, key=lambda item: item.step.number) for group in groups]


CONTEXT = "context"
"""What its runs are for, and the command that repeats them."""
FACT_PROMPTS = (SPLIT_FACTS, *FACTUAL)
"""With all of those by which facts are judged elsewhere, so that what is known of their judge is known here."""


@dataclass(frozen=True, slots=True)
class ContextDesign(ModelsDesign):
    """Models and strategies, and how far they read. The judge takes summaries apart, and compares their facts."""

    strategies: tuple[str, ...] = ("hierarchical",)
    steps: tuple[int, ...] | None = None
    """Without any the thesis's, or what a short document has."""
    words: int | None = None
    """The limit of every summary; without one it is the reference's, or what suits the first step."""
    facts: bool = True
    threshold: float | None = None
    """In place of the measure's own."""
    embeddings: str | None = None
    reference: str | None = None
    """Somebody else's summary: the baseline."""

    @property
    def contestants(self) -> tuple[ContextContestant, ...]:
        """Each model by each strategy."""
        return tuple(ContextContestant(model.name, strategy) for model in self.models for strategy in self.strategies)

    def course(self, document: Document) -> Course:
        """The steps of a document, and the length of its summaries, which is the same at all of them."""
        tokenizer, _ = tokenizer_of(resolve(self.drafting(self.contestants[0])))
        tokens, limit = tokenizer.count(document.text), self.words
        if limit is None and self.reference:
            limit = count_words(self.reference)
        steps, note = steps_of(self.steps, tokens, count_words(document.text), limit)
        if limit is None:
            until = steps[0].until
            end = None if until is None else beginning(document.text, tokenizer, until)
            limit = fitting_words(None, count_words(document.text[:end]))
        return Course(document.id, document.title, tokens, steps, limit, note)

    def drafting(
        self, contestant: ContextContestant, course: Course | None = None, step: ReadingStep | None = None
    ) -> DraftConfig:
        """How a contestant writes, of a document as far as a step reads it."""
        words, until = course.words if course else self.words, step.until if step else None
        return self.writing(contestant.model, strategy=contestant.strategy, until=until, words=words)

    def order(self) -> RunSpec:
        """The order to judge the facts of all summaries of a document."""
        return RunSpec(
            ExperimentPart(kind=CONTEXT, judging=JudgeConfig(embeddings=self.embeddings)), prompts=FACT_PROMPTS
        )

    def encoder(self) -> Encoder | None:
        """The model of embeddings, where one is named."""
        return load_encoder(self.embeddings) if self.embeddings else None

    def likeness(self, document: Document) -> SentenceSimilarity:
        """By what facts are compared without a judge: their meanings, or where no encoder is named, their words."""
        encoder = self.encoder()
        return EmbeddingSimilarity(encoder) if encoder else TermSimilarity(document.text)

    def least(self, likeness: SentenceSimilarity) -> float:
        """What is more alike than this says the same."""
        return likeness.threshold if self.threshold is None else self.threshold

    def check(self, runner: ExperimentRunner) -> None:
        """Refuse what cannot be meant, a name or a price that nobody knows, before anything is paid for."""
        check_models(runner, *((self.drafting(contestant), None) for contestant in self.contestants))
        if self.facts:
            check_models(runner, (self.judging(), None))
