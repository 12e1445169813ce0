"""Typed questions by rules: what some words answer, and whether a sentence is so.

No question is put together from what a paragraph says, and none is known to have no answer: these are left out.
"""

from __future__ import annotations

import re

from redraft.builtin.coverage.asking import ask_document
from redraft.builtin.forms import ask_whether
from redraft.builtin.registry import answers
from redraft.prompts.judging import AskDocumentGiven
from redraft.prompts.typed import ASK_TYPED, AskTypedGiven, TypedReply
from redraft.text.cleaning import one_line
from redraft.text.words import count_words

_TRIED = 6
_LONGEST_ANSWER = 10
_NONE = TypedReply(question="", answer="", reason="")
_FIGURE = re.compile(r"(?<![\d.,])[1-9]\d{0,3}(?![\d.,]*\d)")


@answers(ASK_TYPED)
def ask_typed(given: AskTypedGiven) -> TypedReply:
    """An extractive question with the answer that the paragraph has, or whether one of its sentences is so."""
    if given.type not in ("extractive", "binary"):
        return _NONE
    asked = ask_document(AskDocumentGiven(excerpt=given.excerpt, count=_TRIED)).questions
    if given.type == "binary":
        return _whether(one_line(asked[0].quote)) if asked else _NONE
    short = (one for one in asked if count_words(one.answer) <= _LONGEST_ANSWER)
    return next((TypedReply(question=one.question, answer=one.answer, reason="") for one in short), _NONE)


def _whether(sentence: str) -> TypedReply:
    """Whether the sentence is so; where it has a figure, whether it is so with another."""
    if (figure := _FIGURE.search(sentence)) is None:
        return TypedReply(question=ask_whether(sentence), answer="yes", reason=sentence)
    other = f"{sentence[: figure.start()]}{int(figure.group()) + 1}{sentence[figure.end() :]}"
    return TypedReply(question=ask_whether(other), answer="no", reason=sentence)
