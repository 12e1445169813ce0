"""Answering a summary's questions from passages of the document."""

from __future__ import annotations

from redraft.builtin.consistency.holding import Ground, ground_of
from redraft.builtin.coverage.finding import look_up, silence
from redraft.builtin.forms import read_claim, read_question
from redraft.builtin.registry import answers
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.judging import (
    ANSWER_FROM_DOCUMENT,
    AnswerFromDocumentGiven,
    Asked,
    DocumentAnswer,
    DocumentAnswers,
)

_DENIAL = "No"


@answers(ANSWER_FROM_DOCUMENT)
def answer_from_document(given: AnswerFromDocumentGiven) -> DocumentAnswers:
    """Whether a sentence is so: its words as far as the passages bear them out, or what they have instead.

    Any other question is answered from the place that has most of its words.
    """
    ground = ground_of(tuple(given.texts))
    return DocumentAnswers(answers=[_answer(ground, asked) for asked in given.questions])


def _answer(ground: Ground, asked: Asked) -> DocumentAnswer:
    if not (claim := read_claim(asked.question)):
        sought = read_question(asked.question)
        found = look_up(ground.source, sought)
        if found is None:
            return DocumentAnswer(id=asked.id, quote="", answered=silence(sought), answer="")
        quote = ground.source.text_of(found.lines[0])
        return DocumentAnswer(id=asked.id, quote=quote, answered=True, answer=found.answer)
    held = ground.hold(claim)
    if held.verdict in ("absent", "open"):
        answered: bool | Unsure = UNSURE if held.verdict == "open" else False
        return DocumentAnswer(id=asked.id, quote="", answered=answered, answer="")
    instead = _DENIAL if held.wrong == "negation" else held.its
    answer = instead if held.verdict == "contradicted" else held.there
    return DocumentAnswer(id=asked.id, quote=ground.text_of(held), answered=True, answer=answer)
