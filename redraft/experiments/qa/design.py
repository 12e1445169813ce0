"""What the experiment on questions compares, and how."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.agents.questioner import ANSWER
from redraft.domain import Document
from redraft.errors import PlanError, UsageError
from redraft.evaluators.similarity import Similarity, similarity
from redraft.experiments.context.steps import Step, steps_of
from redraft.experiments.seats import Seat, keyed, seated
from redraft.packs.typed import BUILDING, PER_THIRD
from redraft.prompts.typed import ANSWER_QUESTIONS, JUDGE_ANSWERS
from redraft.runs.bench import Bench
from redraft.runs.jobs import wording
from redraft.runs.opening import resolve, tokenizer_of
from redraft.runs.preparing import Order, Prepared, prepare
from redraft.runs.staff import hire
from redraft.settings import Judging, Part, Settings, SimilarityName, is_entailment, reads_prompts
from redraft.text.embeddings import load_encoder
from redraft.text.words import count_words

QA = "qa"
"""What its runs are for, and the command that repeats them."""
# A draft has a limit of words; answers have none, and this is the least that there may be.
_WORDS = 10
# About the tokens of a question.
_QUESTION = 40
# What a model that reads no prompt may be given at once; it has no window.
_NO_WINDOW = 100_000_000


@dataclass(frozen=True, slots=True)
class Design:
    """Everything but the documents and the limits."""

    models: tuple[Seat, ...]
    judge: Seat
    """Who makes the questions, and judges the answers."""
    steps: tuple[int, ...] | None = None
    per_third: int = PER_THIRD
    at_once: int = 1
    """How many questions a model is asked at once. By itself no question can tell anything about another."""
    similarity: SimilarityName = "rouge1"
    threshold: float = 0.6
    embeddings: str | None = None

    def course(self, document: Document) -> tuple[int, tuple[Step, ...], str]:
        """The tokens of a document, its steps, and what there is to say of them."""
        tokenizer, _ = tokenizer_of(self.judging())
        tokens = tokenizer.count(document.text)
        return tokens, *steps_of(self.steps, tokens, count_words(document.text), None)

    def judging(self) -> Settings:
        """Who asks and judges."""
        return keyed(self.judge.settings, self._everyone)

    def answering(self, model: str, step: Step) -> Settings:
        """How a model answers: like a direct summary, it has all of what is read before it at once."""
        own = seated(model, self.models).settings
        changes: dict[str, object] = {"strategy": "direct", "until": step.until, "words": _WORDS}
        if not reads_prompts(own.model):
            changes |= {"context_tokens": _NO_WINDOW}
        return keyed(own.model_copy(update=changes), self._everyone)

    def prepared(self, document: Document, model: str, step: Step) -> Prepared:
        """A step before a model; refused where its window has no room for the questions and the answers besides."""
        made = prepare(document, self.answering(model, step))
        asked = made.tokenizer.count(made.book.template(ANSWER_QUESTIONS)) + self.at_once * _QUESTION
        read = sum(chunk.tokens for chunk in made.chunks)
        needed, window = read + asked + self.at_once * ANSWER.tokens(wording(made)), made.settings.context_tokens
        if needed > window:
            raise PlanError(
                f"{read:,} tokens with question and answer need {needed:,} tokens, more than the window of {window:,}",
                hint=f"use --context-tokens {needed} if the model has such a window, or fewer steps with --until",
            )
        return made

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
        for settings in (*(self.answering(one.name, step) for one in self.models), self.judging()):
            hire(resolve(settings), None, bench.limits, bench.prices)
