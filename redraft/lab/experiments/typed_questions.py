"""Typed questions (thesis, 5.8): each about one paragraph of a third of a document, with its reference answer; and the
questions of an earlier experiment, read from its files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as record

from redraft.domain import DEFERRED, Document, Span, content_id
from redraft.errors import UsageError
from redraft.fields import first_error
from redraft.prompts.qa import QuestionType
from redraft.sources import MAX_BYTES, read_file
from redraft.text.sanitizer import one_line
from redraft.text.words import has_words, words_key

Third = Literal["beginning", "middle", "end"]
TYPES: tuple[QuestionType, ...] = get_args(QuestionType)
THIRDS: tuple[Third, ...] = get_args(Third)
IMPORTED = "imported"
"""The model of questions that were read from a file."""
_HINT = "name the DIR that `redraft experiment qa -o DIR` wrote"


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


class _AskedItem(BaseModel):
    """The part of an item of the experiment that has its question."""

    document: str
    question: TypedQuestion


def read_typed_questions(folder: str, documents: Sequence[Document]) -> dict[str, TypedQuestions]:
    """Return the questions that an earlier experiment asked about these documents, by document id, from its files.

    Raise if a question does not fit its document, or if there is none about one of them.
    """
    place = str(Path(folder).expanduser() / "items.json")
    try:
        entries: Any = json.loads(read_file(Path(place), MAX_BYTES))
        entries_with_question = [
            entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("question"), dict)
        ]
        items = TypeAdapter(list[_AskedItem]).validate_python(entries_with_question)
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}", place=place, hint=_HINT) from error
    except ValidationError as error:
        raise UsageError(f"it has other questions: {first_error(error)}", place=place, hint=_HINT) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError("it is not the items.json of an experiment", place=place, hint=_HINT) from error
    questions: dict[str, TypedQuestions] = {}
    for document in documents:
        by_number = {item.question.id: item.question for item in items if item.document == document.id}
        for number, question in by_number.items():
            start, end = question.paragraph
            inside = 0 <= start < end <= len(document.text)
            flaw = flaw_of(question, document.text[start:end]) if inside else "is about a place outside the document"
            if flaw:
                name = f"question {number} about {one_line(document.title, 60)}"
                raise UsageError(f"{name} {flaw}", place=place, hint=_HINT)
        if not by_number:
            title = one_line(document.title, 60)
            raise UsageError(f"it has no questions about {title}", place=place, hint=_HINT)
        chosen = tuple(by_number[number] for number in sorted(by_number))
        questions[document.id] = TypedQuestions(document.id, IMPORTED, len(document.text), chosen)
    return questions
