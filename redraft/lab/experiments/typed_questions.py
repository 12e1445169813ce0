"""Typed questions (thesis, 5.8): each about one paragraph of a third of a document, with its reference answer."""

from __future__ import annotations

import json
from typing import Annotated, Literal, get_args

from pydantic import Field
from pydantic.dataclasses import dataclass as record

from redraft.domain import DEFERRED, Span, content_id
from redraft.prompts.qa import QuestionType
from redraft.text.words import has_words, words_key

Third = Literal["beginning", "middle", "end"]
TYPES: tuple[QuestionType, ...] = get_args(QuestionType)
THIRDS: tuple[Third, ...] = get_args(Third)


@record(frozen=True, slots=True, config=DEFERRED)
class TypedQuestion:
    """A question about one paragraph, with its reference answer."""

    id: Annotated[int, Field(alias="rank")]
    type: QuestionType
    text: Annotated[str, Field(alias="question")]
    answer: str
    reason: str
    """Why "yes" or "no"; empty for other types, as the answer to an unanswerable question is."""
    paragraph: Span

    @property
    def is_answerable(self) -> bool:
        """Return whether the document has an answer."""
        return self.type != "unanswerable"


@record(frozen=True, slots=True, config=DEFERRED)
class TypedQuestions:
    """The typed questions of one document in paragraph order. They cover its text up to `end`."""

    document: str
    model: str
    end: int
    questions: tuple[TypedQuestion, ...]
    missing: tuple[str, ...] = ()
    """The questions that could not be written, and why."""

    @property
    def id(self) -> str:
        """Return the id, which is derived from the content."""
        material = [
            self.document,
            self.end,
            *([q.type, q.text, q.answer, q.reason, *q.paragraph] for q in self.questions),
        ]
        return content_id(json.dumps(material, ensure_ascii=False))[:16]

    def third(self, question: TypedQuestion) -> Third:
        """Return the third of the text that contains a question's paragraph."""
        return third_of(question.paragraph, self.end)


def third_of(place: Span, end: int) -> Third:
    """Return the third of a text ending at `end` that contains the middle of a place."""
    return THIRDS[min(2, int(3 * (place.start + place.end) / 2 / end))]


def flaw_of(question: TypedQuestion, paragraph: str) -> str:
    """Return why a question is not of its type, or an empty string."""
    answered, reasoned = has_words(question.answer), has_words(question.reason)
    match question.type:
        case _ if not has_words(question.text):
            return "has no words"
        case "unanswerable":
            return "has an answer" if question.answer or question.reason else ""
        case _ if not answered:
            return "has no answer"
        case "binary" if question.answer not in ("yes", "no"):
            return "is answered with neither yes nor no"
        case "binary":
            return "" if reasoned else "has no reason"
        case _ if question.reason:
            return "has a reason, which only yes and no have"
        case "extractive" if f" {words_key(question.answer)} " not in f" {words_key(paragraph)} ":
            return "has an answer that is not in its paragraph"
    return ""
