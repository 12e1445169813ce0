"""A book of millers, one a paragraph; models that read all of it, forget its middle, know its start, or invent; and a
judge that goes by the one word that tells a miller's answer from every other's."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic import BaseModel

from redraft.domain import Document
from redraft.llm.base import Request
from redraft.llm.replies import read_value
from redraft.prompts.book import PromptBook
from redraft.readers.documents import parse
from tests.chatserver import ChatRequest
from tests.judges import UNANSWERABLE, Sheet, read_sheet

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
    match = _MILLER.search(excerpt)
    assert match is not None
    n = int(match.group(1))
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
    number = _NUMBER.search(question)
    assert number is not None
    n = int(number.group(1))
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
    request = [int(number) for number in _MILLER.findall(document)]
    third = len(request) / 3
    places = {number: at for at, number in enumerate(request)}
    if character == "forgetful":
        return [n for n in request if not third <= places[n] + 0.5 < 2 * third]
    return [n for n in request if places[n] + 0.5 < third] if character == "starter" else request


def is_right(reference: str, reply: str) -> bool:
    """Whether an answer has the word of the reference."""
    return _TOKEN.findall(reference) == _TOKEN.findall(reply) != []


def replies(request: Request[Any, Any]) -> BaseModel:
    """The reply to a request by a model that makes the questions, judges, and reads everything."""
    sheet = Sheet(request.prompt.name, PromptBook().render(request.prompt, request.given))
    value: BaseModel = read_value(json.dumps(_reply(sheet, "reader")), request.prompt.returns, request.given)
    return value


def over_wire(request: ChatRequest) -> dict[str, Any]:
    """The same over HTTP; the name of the model is its character."""
    return _reply(read_sheet(request), request.model)


def _reply(sheet: Sheet, character: Any) -> dict[str, Any]:
    if sheet.prompt == "ask_typed":
        question_type = next(name for name, sign in SIGNS.items() if sign in sheet.text)
        return dict(ask(sheet.within("excerpt"), question_type))
    if sheet.prompt == "answer_from_document":
        return {"answers": [{"id": name, "answer": UNANSWERABLE, "quote": ""} for name in sheet.items("questions")]}
    if sheet.prompt == "answer_questions":
        document, questions = sheet.within("document"), sheet.items("questions").items()
        return {"answers": [{"id": name, **answer(document, item["text"], character)} for name, item in questions]}
    assert sheet.prompt == "judge_answers", sheet.prompt
    verdicts = {name: is_right(item["reference"], item["answer"]) for name, item in sheet.items("answers").items()}
    return {
        "answers": [
            {"id": name, "reason": "It has the word.", "verdict": "right"}
            if right
            else {"id": name, "reason": "It has not.", "verdict": "wrong"}
            for name, right in verdicts.items()
        ]
    }


SIGNS = {
    "abstractive": "put together from several things",
    "extractive": "a few words of the paragraph answer",
    "binary": "answers with yes or no",
    "unanswerable": "seems to answer but does not",
}
