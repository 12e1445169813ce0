"""Answering a summary's questions from passages of the document."""

from __future__ import annotations

from redraft.builtin.consistency.holding import Ground, ground_of
from redraft.builtin.coverage.finding import look_up, silence
from redraft.builtin.forms import read_claim, read_question
from redraft.builtin.registry import answers
from redraft.prompts.judging import (
    ANSWER_FROM_DOCUMENT,
    UNANSWERABLE,
    UNDECIDED,
    AnswerFromDocumentGiven,
    Asked,
    DocumentAnswer,
    DocumentAnswers,
)

_DENIAL = "Not so"


@answers(ANSWER_FROM_DOCUMENT)
def answer_from_document(given: AnswerFromDocumentGiven) -> DocumentAnswers:
    """Whether a sentence is so: its words as far as the passages bear them out, or what they have instead.

    Any other question is answered from the place that has most of its words.
    """
    ground = ground_of(tuple(given.passages))
    return DocumentAnswers(answers=[_answer(ground, asked) for asked in given.questions])


def _answer(ground: Ground, asked: Asked) -> DocumentAnswer:
    if not (claim := read_claim(asked.question)):
        sought = read_question(asked.question)
        found = look_up(ground.source, sought)
        if found is None:
            return DocumentAnswer(id=asked.id, answer=silence(sought), quote="")
        return DocumentAnswer(id=asked.id, answer=found.answer, quote=ground.source.text_of(found.lines[0]))
    held = ground.hold(claim)
    if held.verdict in ("absent", "open"):
        return DocumentAnswer(id=asked.id, answer=UNDECIDED if held.verdict == "open" else UNANSWERABLE, quote="")
    instead = _DENIAL if held.wrong == "negation" else held.its
    answer = instead if held.verdict == "contradicted" else held.there
    return DocumentAnswer(id=asked.id, answer=answer, quote=ground.text_of(held))
