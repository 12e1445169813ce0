"""What the experiment on questions compares, and how."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from redraft.agents.questioner import ANSWER
from redraft.domain import Document
from redraft.errors import PlanError, UsageError
from redraft.evaluators.similarity import Similarity, similarity
from redraft.experiments.context.steps import Step, steps_of
from redraft.experiments.seats import Seat, check_seats, keyed, seated
from redraft.graphs.strategies import strategy_named
from redraft.packs.typed import BUILDING, PER_THIRD
from redraft.prompts.typed import ANSWER_QUESTIONS, JUDGE_ANSWERS
from redraft.runs.experiment_runner import Bench
from redraft.runs.job import wording
from redraft.runs.models import tokenizer_of
from redraft.runs.prepare import Order, Prepared, prepare
from redraft.settings import Judging, Part, Settings, SimilarityName, is_entailment, reads_prompts
from redraft.text.embeddings import load_encoder
from redraft.text.words import count_words

QA = "qa"
"""What its runs are for, and the command that repeats them."""
DIRECT = "direct"
"""A model has all of what is read before it."""
# A draft has a limit of words; answers have none, and this is the least that there may be.
_WORDS = 10
# About the tokens of a question.
_QUESTION = 40
# What a model that reads no prompt may be given at once; it has no window.
_UNBOUNDED = {"context_tokens": 100_000_000}


class QaContestant(NamedTuple):
    """A model, and from what it answers: all of what is read, or its own summary of that by a strategy."""

    name: str
    model: str
    strategy: str


@dataclass(frozen=True, slots=True)
class Design:
    """Everything but the documents and the limits."""

    models: tuple[Seat, ...]
    judge: Seat
    """Who makes the questions, and judges the answers."""
    strategies: tuple[str, ...] = (DIRECT,)
    words: int | None = None
    """The limit of a summary from which questions are answered; without one it is what suits what is read."""
    steps: tuple[int, ...] | None = None
    per_third: int = PER_THIRD
    at_once: int = 1
    """How many questions a model is asked at once. By itself no question can tell anything about another."""
    similarity: SimilarityName = "rouge1"
    threshold: float = 0.6
    embeddings: str | None = None

    @property
    def contestants(self) -> tuple[QaContestant, ...]:
        """Every model by every strategy, named by what there are several of."""
        several = len(self.strategies) > 1
        return tuple(
            QaContestant(f"{one.name}, {strategy}" if several else one.name, one.name, strategy)
            for one in self.models
            for strategy in self.strategies
        )

    def contestant(self, name: str) -> QaContestant:
        """The one of this name."""
        return next(one for one in self.contestants if one.name == name)

    def course(self, document: Document) -> tuple[int, tuple[Step, ...], str]:
        """The tokens of a document, its steps, and what there is to say of them."""
        tokenizer, _ = tokenizer_of(self.judging())
        tokens = tokenizer.count(document.text)
        return tokens, *steps_of(self.steps, tokens, count_words(document.text), None)

    def judging(self) -> Settings:
        """Who asks and judges."""
        return keyed(self.judge.settings, self._everyone)

    def answering(self, name: str, step: Step) -> Settings:
        """How a contestant answers, and drafts what it answers from: an answer, like a direct summary, has all that it
        is from before it at once."""
        one = self.contestant(name)
        own = seated(one.model, self.models).settings
        changes: dict[str, object] = {"strategy": one.strategy, "until": step.until, "words": self.words}
        if one.strategy == DIRECT:
            changes |= {"words": _WORDS} if reads_prompts(own.model) else {"words": _WORDS, **_UNBOUNDED}
        return keyed(own.model_copy(update=changes), self._everyone)

    def prepared(self, document: Document, name: str, step: Step) -> Prepared:
        """A step before a contestant; refused where there is no room for the questions and the answers besides."""
        made = prepare(document, self.answering(name, step))
        asked = made.tokenizer.count(made.book.template(ANSWER_QUESTIONS)) + self.at_once * _QUESTION
        read = self.before(name, made)
        needed, window = read + asked + self.at_once * ANSWER.tokens(wording(made)), made.settings.context_tokens
        if needed > window:
            raise PlanError(
                f"{read:,} tokens with question and answer need {needed:,} tokens, more than the window of {window:,}",
                hint=f"use --context-tokens {needed} if the model has such a window, or fewer steps with --until",
            )
        return made

    def before(self, name: str, made: Prepared) -> int:
        """The tokens that a contestant answers from, at most."""
        if self.contestant(name).strategy == DIRECT:
            return sum(chunk.tokens for chunk in made.chunks)
        return ceil(made.plan.words * made.plan.tokens_per_word)

    @property
    def _everyone(self) -> list[Settings]:
        return [one.settings for one in (*self.models, self.judge)]

    def building(self) -> Order:
        """The order to ask typed questions about a document."""
        return Order(Part(kind=QA, judging=Judging(questions=self.per_third)), prompts=BUILDING)

    def answers(self, questions: str) -> Order:
        """The order to answer the questions of this id."""
        return Order(Part(kind=QA, judging=Judging(pack=questions)), prompts=(ANSWER_QUESTIONS,))

    def verdicts(self, questions: str) -> Order:
        """The order to judge the answers to the questions of this id."""
        return Order(Part(kind=QA, judging=Judging(pack=questions)), prompts=(JUDGE_ANSWERS,))

    def measure(self) -> Similarity:
        """How alike two answers are."""
        return similarity(self.similarity, load_encoder(self.embeddings) if self.embeddings else None)

    def check(self, bench: Bench) -> None:
        """Refuse what cannot be meant, a name or a price that nobody knows, before anything is paid for."""
        for one in (*self.models, self.judge):
            if is_entailment(one.settings.model):
                raise UsageError(f"{one.name} neither asks nor answers questions", hint="name a language model")
        if self.similarity == "judge":
            raise UsageError("--similarity judge measures nothing: the judge gives its verdicts besides")
        self.measure()
        step = Step(1, 1, None)
        for strategy in self.strategies:
            strategy_named(strategy)
        answering = [self.answering(one.name, step) for one in self.contestants]
        check_seats(bench, *((settings, None) for settings in (*answering, self.judging())))
