"""A book of millers, one a paragraph; models that read all of it, forget its middle, know its start, or invent; and a
judge that goes by the one word that tells a miller's answer from every other's."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import BaseModel

from redraft.domain import Document
from redraft.llm.base import Request
from redraft.prompts.qa import (
    AnswerFromDocumentInput,
    AnswerQuestionsInput,
    AnswerVerdict,
    AnswerVerdicts,
    AskTypedInput,
    DocumentAnswer,
    DocumentAnswers,
    GivenAnswer,
    GivenAnswers,
    JudgeAnswersInput,
    TypedReply,
)
from redraft.readers.documents import parse
from tests.chatserver import Seen
from tests.judges import UNANSWERABLE, seen_on

Character = Literal["reader", "forgetful", "starter", "inventor", "reticent"]
Said = dict[str, str]
_MILLER = re.compile(r"the miller (\d+) grinds")
_NUMBER = re.compile(r"miller (\d+)")
_TOKEN = re.compile(r"\b(?:Carver|Cause|Holder)\d+\b")


def paragraph(number: int) -> str:
    """All that is told of a miller: some fifty words."""
    return (
        f"In valley {number} the miller {number} grinds barley and rye for all the farms along the river."
        f" The wheel of miller {number} was carved out of old oak by Carver{number} in one long winter."
        f" The miller {number} stays in the valley because of the Cause{number}, and for no other reason."
        f" The deed of his mill {'is his own' if number % 2 == 0 else 'is held by another'}, as Holder{number} says."
    )


def book(millers: int) -> Document:
    """A document with a paragraph for each miller."""
    return parse("\n\n".join(map(paragraph, range(1, millers + 1))).encode(), name="valley.txt")


def ask(excerpt: str, of_type: str) -> Said:
    """The question of a type about the miller of a paragraph, with its answer."""
    found = _MILLER.search(excerpt)
    assert found is not None
    n = int(found.group(1))
    return {
        "abstractive": {"question": f"Why does miller {n} stay?", "answer": f"He has a Cause{n}.", "reason": ""},
        "extractive": {"question": f"Who carved the wheel of miller {n}?", "answer": f"Carver{n}", "reason": ""},
        "binary": {"question": f"Does miller {n} own his mill?", "answer": owns(n), "reason": f"Holder{n} says so."},
        "unanswerable": {"question": f"What did miller {n} pay for the wheel?", "answer": "", "reason": ""},
    }[of_type]


def owns(number: int) -> str:
    """Whether a miller owns his mill."""
    return "yes" if number % 2 == 0 else "no"


def answer(document: str, question: str, character: Character) -> Said:
    """What a model of some character answers when it can read so much of the book."""
    asked = _NUMBER.search(question)
    assert asked is not None
    n = int(asked.group(1))
    if character == "reticent" or n not in remembered(document, character):
        if character == "inventor":
            return {"answer": "yes" if question.startswith("Does") else "Nobody999", "reason": "So one hears."}
        return {"answer": "The text does not say.", "reason": ""}
    if question.startswith("Why"):
        return {"answer": f"Because of the Cause{n}.", "reason": ""}
    if question.startswith("Who"):
        return {"answer": f"Carver{n}", "reason": ""}
    if question.startswith("Does"):
        return {"answer": owns(n), "reason": f"As Holder{n} says."}
    return {"answer": "Ninety crowns" if character == "inventor" else UNANSWERABLE, "reason": ""}


def remembered(document: str, character: Character) -> list[int]:
    """The millers that a model still knows of when it has read so much."""
    seen = [int(number) for number in _MILLER.findall(document)]
    third = len(seen) / 3
    places = {number: at for at, number in enumerate(seen)}
    if character == "forgetful":
        return [n for n in seen if not third <= places[n] + 0.5 < 2 * third]
    return [n for n in seen if places[n] + 0.5 < third] if character == "starter" else seen


def is_right(reference: str, given: str) -> bool:
    """Whether an answer has the word of the reference."""
    return _TOKEN.findall(reference) == _TOKEN.findall(given) != []


def replies(request: Request[Any, Any]) -> BaseModel:
    """What is replied to a request by who makes the questions, judges, and reads all."""
    given = request.given
    if isinstance(given, AskTypedInput):
        return TypedReply.model_validate(ask(given.excerpt, given.type))
    if isinstance(given, AnswerFromDocumentInput):
        answers = [DocumentAnswer(id=question.id, quote="", answered=False, answer="") for question in given.questions]
        return DocumentAnswers(answers=answers)
    if isinstance(given, AnswerQuestionsInput):
        return GivenAnswers(
            answers=[
                GivenAnswer.model_validate({"id": question.id, **answer(given.document, question.question, "reader")})
                for question in given.questions
            ]
        )
    assert isinstance(given, JudgeAnswersInput)
    return AnswerVerdicts(
        answers=[
            AnswerVerdict(
                id=answer.id, reason="", verdict="right" if is_right(answer.reference, answer.answer) else "wrong"
            )
            for answer in given.answers
        ]
    )


def over_wire(seen: Seen) -> dict[str, Any]:
    """The same over HTTP; the name of the model is its character."""
    sheet = seen_on(seen)
    if sheet.prompt == "ask_typed":
        wanted = next(of for of, sign in SIGNS.items() if sign in sheet.text)
        return dict(ask(sheet.within("excerpt"), wanted))
    if sheet.prompt == "answer_from_document":
        return {"answers": [{"id": name, "answer": UNANSWERABLE, "quote": ""} for name in sheet.items("questions")]}
    if sheet.prompt == "answer_questions":
        character: Any = seen.model
        document = sheet.within("document")
        return {
            "answers": [
                {"id": name, **answer(document, one["text"], character)}
                for name, one in sheet.items("questions").items()
            ]
        }
    assert sheet.prompt == "judge_answers", sheet.prompt
    return {
        "answers": [
            {
                "id": name,
                "reason": "It has the word." if is_right(one["reference"], one["answer"]) else "It has not.",
                "verdict": "right" if is_right(one["reference"], one["answer"]) else "wrong",
            }
            for name, one in sheet.items("answers").items()
        ]
    }


SIGNS = {
    "abstractive": "put together from several things",
    "extractive": "a few words of the paragraph answer",
    "binary": "answers with yes or no",
    "unanswerable": "seems to answer but does not",
}
