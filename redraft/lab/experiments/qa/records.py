"""The experiment on questions: what it compares and how, and what came of each question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal, NamedTuple

from redraft.agents.questioner import ANSWER, JudgedAnswer, Response
from redraft.domain import Document, Totals
from redraft.errors import PlanError, UsageError
from redraft.evaluators.reference.typed import BUILDING, PER_THIRD
from redraft.evaluators.similarity import Similarity, similarity
from redraft.graphs.strategies import strategy_named
from redraft.lab.experiments.context.records import ReadingStep, steps_of
from redraft.lab.experiments.plan import ModelsDesign, check_models, configured
from redraft.lab.experiments.runner import json_of, status_of
from redraft.prompts.qa import ANSWER_QUESTIONS, JUDGE_ANSWERS, AnswerPair, yes_or_no
from redraft.questions import QuestionType, Third, TypedQuestion, TypedQuestions, third_of
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.job import wording
from redraft.runs.models import tokenizer_of
from redraft.runs.prepare import PreparedDocument, RunSpec, prepare
from redraft.settings import DraftConfig, ExperimentPart, JudgeConfig, SimilarityName, is_entailment, reads_prompts
from redraft.text.vectors import load_encoder
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
class QaDesign(ModelsDesign):
    """Everything but the documents and the limits. The judge makes the questions, and judges the answers."""

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

    def course(self, document: Document) -> tuple[int, tuple[ReadingStep, ...], str]:
        """The tokens of a document, its steps, and what there is to say of them."""
        tokenizer, _ = tokenizer_of(self.judging())
        tokens = tokenizer.count(document.text)
        return tokens, *steps_of(self.steps, tokens, count_words(document.text), None)

    def answering(self, name: str, step: ReadingStep) -> DraftConfig:
        """How a contestant answers, and drafts what it answers from: an answer, like a direct summary, has all that it
        is from before it at once."""
        one = self.contestant(name)
        changes: dict[str, object] = {"strategy": one.strategy, "until": step.until, "words": self.words}
        if one.strategy == DIRECT:
            unread = not reads_prompts(configured(one.model, self.models).settings.model)
            changes |= {"words": _WORDS, **(_UNBOUNDED if unread else {})}
        return self.writing(one.model, **changes)

    def prepared(self, document: Document, name: str, step: ReadingStep) -> PreparedDocument:
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

    def before(self, name: str, made: PreparedDocument) -> int:
        """The tokens that a contestant answers from, at most."""
        if self.contestant(name).strategy == DIRECT:
            return sum(chunk.tokens for chunk in made.chunks)
        return ceil(made.plan.words * made.plan.tokens_per_word)

    def building(self) -> RunSpec:
        """The order to ask typed questions about a document."""
        return RunSpec(ExperimentPart(kind=QA, judging=JudgeConfig(questions=self.per_third)), prompts=BUILDING)

    def answers(self, questions: str) -> RunSpec:
        """The order to answer the questions of this id."""
        return RunSpec(ExperimentPart(kind=QA, judging=JudgeConfig(pack=questions)), prompts=(ANSWER_QUESTIONS,))

    def verdicts(self, questions: str) -> RunSpec:
        """The order to judge the answers to the questions of this id."""
        return RunSpec(ExperimentPart(kind=QA, judging=JudgeConfig(pack=questions)), prompts=(JUDGE_ANSWERS,))

    def measure(self) -> Similarity:
        """How alike two answers are."""
        return similarity(self.similarity, load_encoder(self.embeddings) if self.embeddings else None)

    def check(self, runner: ExperimentRunner) -> None:
        """Refuse what cannot be meant, a name or a price that nobody knows, before anything is paid for."""
        for one in (*self.models, self.judge):
            if is_entailment(one.settings.model):
                raise UsageError(f"{one.name} neither asks nor answers questions", hint="name a language model")
        if self.similarity == "judge":
            raise UsageError("--similarity judge measures nothing: the judge gives its verdicts besides")
        self.measure()
        step = ReadingStep(1, 1, None)
        for strategy in self.strategies:
            strategy_named(strategy)
        answering = [self.answering(one.name, step) for one in self.contestants]
        check_models(runner, *((settings, None) for settings in (*answering, self.judging())))


QUESTIONS, ANSWERS, VERDICTS = "questions", "answers", "verdicts"
"""The stages of the experiment."""
Place = Literal["read", "cut", "ahead"]
"""Whether the paragraph of a question was read, was cut through, or lies ahead of what was read."""


@dataclass(frozen=True, slots=True)
class QaSubject:
    """A document with its steps, and its questions once it has them."""

    document: Document
    tokens: int
    steps: tuple[ReadingStep, ...]
    questions: TypedQuestions | None = None
    runs: Mapping[str, str] = field(default_factory=dict)
    """By stage the run of what the judge did."""
    usage: Mapping[str, Totals] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The document as programs read it."""
        return json_of(
            self,
            "id=document.id title=document.title tokens steps: questions: missing: runs usage failures",
            steps=[step.tokens for step in self.steps],
            questions=self.questions.id if self.questions else None,
            missing=list(self.questions.missing) if self.questions else [],
        )


@dataclass(frozen=True, slots=True)
class QaCell:
    """One model at one step of one document: its answers by the numbers of the questions, or why there are none."""

    document: str
    model: str
    """The name of the contestant: a model, with what it answers from where that is not the same for all."""
    step: ReadingStep
    end: int | None = None
    """How many characters were read."""
    responses: Mapping[int, Response] = field(default_factory=dict)
    trouble: str = ""
    """Why a question has no answer in a cell that was done."""
    run: str | None = None
    usage: Totals | None = None
    draft: str | None = None
    """The run that made the summary from which it answers, if it does from one."""
    drafting: Totals | None = None
    """What that used."""
    failure: Failure | None = None
    done: bool = False

    @property
    def status(self) -> str:
        """Whether it is `done`, has `failed`, or was `not made`."""
        return status_of(self.failure, done=self.done)


@dataclass(frozen=True, slots=True)
class QaItem:
    """One question put to one model at one step. None is what there is not."""

    document: str
    title: str
    model: str
    step: int
    tokens: int
    question: TypedQuestion
    third: Third
    end: int | None
    """How many characters were read."""
    run: str | None
    status: str
    response: Response | None = None
    verdict: JudgedAnswer | None = None
    """Of an answer, and of the reason where the question takes yes or no."""
    similarity: float | None = None
    draft: str | None = None
    """The run that made the summary from which it is answered, if it is from one."""

    @property
    def name(self) -> tuple[str, int]:
        """Which question it is, of all documents."""
        return self.document, self.question.id

    @property
    def type(self) -> QuestionType:
        """The type of the question."""
        return self.question.type

    @property
    def place(self) -> Place | None:
        """Whether the paragraph was read; None where nothing was."""
        if self.end is None:
            return None
        start, end = self.question.paragraph
        return "read" if end <= self.end else "ahead" if start >= self.end else "cut"

    @property
    def third_read(self) -> Third | None:
        """In which third of what was read the paragraph lies."""
        return third_of(self.question.paragraph, self.end) if self.end and self.place == "read" else None

    @property
    def should_abstain(self) -> bool:
        """Whether there is nothing to answer from: in the document, or in what was read of it."""
        return not self.question.is_answerable or self.place == "ahead"

    @property
    def abstained(self) -> bool | None:
        """Whether the model said that there is no answer; None where it said nothing."""
        return self.response.abstained if self.response else None

    @property
    def given(self) -> Response | None:
        """The answer, where there is one and the model did not abstain."""
        return self.response if self.response and not self.response.abstained else None

    @property
    def yes_no(self) -> bool | None:
        """Of a yes-or-no question that was answered, whether with the right one of both; apart from the reason."""
        if self.question.type != "binary" or self.given is None:
            return None
        return yes_or_no(self.given.answer) == self.question.answer

    @property
    def judged_right(self) -> bool | None:
        """What the judge says of the answer, or of the reason; None where it has not said."""
        return self.verdict.right if self.verdict else None

    @property
    def answered_right(self) -> bool | None:
        """Whether an answer that was given is right: by the judge, or by its yes or no."""
        return self.yes_no if self.question.type == "binary" else self.judged_right

    @property
    def correct(self) -> bool | None:
        """Whether the model did right by the question whose paragraph it has read; None where nobody knows."""
        if self.response is None:
            return None
        if not self.question.is_answerable:
            return self.response.abstained
        return False if self.response.abstained else self.answered_right

    @property
    def pair(self) -> AnswerPair | None:
        """What there is to judge: an answer beside its reference, or a reason beside its own."""
        if self.given is None or not self.question.is_answerable:
            return None
        of_reason = self.question.type == "binary"
        said = self.given.reason if of_reason else self.given.answer
        reference = self.question.reason if of_reason else self.question.answer
        return AnswerPair(id=1, question=self.question.text, reference=reference, answer=said) if said else None

    def compared(self, similarity: Similarity) -> QaItem:
        """The item with how alike what was said is to the reference."""
        pair = self.pair
        return self if pair is None else replace(self, similarity=round(similarity(pair.answer, pair.reference), 6))

    def to_json(self) -> dict[str, object]:
        """The record in `items.json`."""
        said, verdict = self.response, self.verdict
        return json_of(
            self,
            "document title model step tokens question=question.id type third place third_read status run"
            " draft answer: reason: abstained should_abstain yes_no verdict=judged_right why: similarity correct:",
            answer=said.answer if said else None,
            reason=said.reason if said else None,
            why=verdict.reason if verdict else None,
            correct=self.correct if self.place == "read" else None,
        )


def items_of(subject: QaSubject, cell: QaCell) -> list[QaItem]:
    """The questions of a document as they were put to one model at one step."""
    if (asked := subject.questions) is None:
        return []
    return [
        QaItem(
            document=subject.document.id,
            title=subject.document.title,
            model=cell.model,
            step=cell.step.number,
            tokens=cell.step.tokens,
            question=question,
            third=asked.third(question),
            end=cell.end,
            run=cell.run,
            status=cell.status,
            draft=cell.draft,
            response=cell.responses.get(question.id),
        )
        for question in asked.questions
    ]
