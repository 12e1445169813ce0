"""What the experiment on a growing span compares, and how: everything but the documents and the limits."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.domain import Document
from redraft.experiments.context.records import ContextContestant, Course
from redraft.experiments.context.steps import Step, steps_of
from redraft.experiments.seats import Seat, check_seats, keyed, seated
from redraft.graphs.plan import fitting_words
from redraft.prompts.facts import SPLIT_FACTS
from redraft.prompts.factual import FACTUAL
from redraft.runs.experiment_runner import Bench
from redraft.runs.models import resolve, tokenizer_of
from redraft.runs.prepare import Order
from redraft.settings import Judging, Part, Settings
from redraft.text.chunks import beginning
from redraft.text.embeddings import Encoder, load_encoder
from redraft.text.likeness import ByMeaning, ByWords, Likeness
from redraft.text.words import count_words

CONTEXT = "context"
"""What its runs are for, and the command that repeats them."""
FACT_PROMPTS = (SPLIT_FACTS, *FACTUAL)
"""With all of those by which facts are judged elsewhere, so that what is known of their judge is known here."""


@dataclass(frozen=True, slots=True)
class Design:
    """Models and strategies, and how far they read."""

    models: tuple[Seat, ...]
    judge: Seat
    """Who takes summaries apart, and says what became of facts."""
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
        self, contestant: ContextContestant, course: Course | None = None, step: Step | None = None
    ) -> Settings:
        """How a contestant writes, of a document as far as a step reads it."""
        changes = {"strategy": contestant.strategy, "until": step.until if step else None}
        changes |= {"words": course.words if course else self.words}
        writer = seated(contestant.model, self.models).settings
        return keyed(writer.model_copy(update=changes), self._everyone)

    def judging(self) -> Settings:
        """Who judges the facts."""
        return keyed(self.judge.settings, self._everyone)

    def order(self) -> Order:
        """The order to judge the facts of all summaries of a document."""
        return Order(Part(kind=CONTEXT, judging=Judging(embeddings=self.embeddings)), prompts=FACT_PROMPTS)

    def encoder(self) -> Encoder | None:
        """The model of embeddings, where one is named."""
        return load_encoder(self.embeddings) if self.embeddings else None

    def likeness(self, document: Document) -> Likeness:
        """By what facts are compared without a judge: their meanings, or where no encoder is named, their words."""
        encoder = self.encoder()
        return ByMeaning(encoder) if encoder else ByWords(document.text)

    def least(self, likeness: Likeness) -> float:
        """What is more alike than this says the same."""
        return likeness.threshold if self.threshold is None else self.threshold

    def check(self, bench: Bench) -> None:
        """Refuse what cannot be meant, a name or a price that nobody knows, before anything is paid for."""
        check_seats(bench, *((self.drafting(contestant), None) for contestant in self.contestants))
        if self.facts:
            check_seats(bench, (self.judging(), None))

    @property
    def _everyone(self) -> list[Settings]:
        return [one.settings for one in (*self.models, self.judge)]
