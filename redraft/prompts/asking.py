"""The prompt that answers a reader's question from a document."""

from __future__ import annotations

from typing import Annotated

from redraft.prompts.contract import Also, Aside, AtMost, EachAlone, Fence, Language, Prompt, ReplyModel, Text
from redraft.prompts.qa import Answered, DocumentView, Quote


class AnswerGiven(DocumentView):
    """A reader's question about a document; `again` where the quotes of a first answer were not in it."""

    question: Annotated[str, Fence("question", "the question to answer")]
    words: int
    language: Language = None
    again: bool = False


class AnswerSentence(ReplyModel):
    """A sentence of an answer, and the words of the document that it rests on."""

    quote: Quote
    sentence: Annotated[Text, Also("answer", "text", "statement")]


class WrittenAnswer(ReplyModel):
    """Whether the document answers the question, and the answer."""

    answered: Answered
    sentences: Annotated[list[AnswerSentence], EachAlone(), AtMost(40)]
    missing: Aside = ""


WRITE_ANSWER = Prompt(
    "write_answer", AnswerGiven, WrittenAnswer, "ask: answer a reader's question from the document, with quotes", 0.0
)
