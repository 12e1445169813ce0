"""What came of each question that was put to a model at a step: as tables count it, and as JSON has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from redraft.agents.questioner import Judged, Response
from redraft.domain import Document, Totals
from redraft.evaluators.similarity import Similarity
from redraft.experiments.context.steps import Step
from redraft.experiments.records import json_of, status_of
from redraft.prompts.typed import AnswerPair, yes_or_no
from redraft.questions import Third, TypedQuestion, TypedQuestions, third_of
from redraft.runs.experiment_runner import Failure

QUESTIONS, ANSWERS, VERDICTS = "questions", "answers", "verdicts"
"""The stages of the experiment."""
Place = Literal["read", "cut", "ahead"]
"""Whether the paragraph of a question was read, was cut through, or lies ahead of what was read."""


@dataclass(frozen=True, slots=True)
class QaSubject:
    """A document with its steps, and its questions once it has them."""

    document: Document
    tokens: int
    steps: tuple[Step, ...]
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
    step: Step
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
    verdict: Judged | None = None
    """Of an answer, and of the reason where the question takes yes or no."""
    similarity: float | None = None
    draft: str | None = None
    """The run that made the summary from which it is answered, if it is from one."""

    @property
    def name(self) -> tuple[str, int]:
        """Which question it is, of all documents."""
        return self.document, self.question.id

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
            "document title model step tokens question=question.id type=question.type third place third_read status run"
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
