"""Answers to questions from the beginning of a document, and verdicts on answers beside a reference, by words alone."""

from __future__ import annotations

from redraft.builtin.consistency.holding import Ground, ground_of
from redraft.builtin.coverage.agreeing import differ
from redraft.builtin.coverage.finding import look_up, silence
from redraft.builtin.forms import read_claim, read_question
from redraft.builtin.registry import answers
from redraft.prompts.contract import UNSURE
from redraft.prompts.judging import Asked, Pair
from redraft.prompts.typed import (
    ANSWER_QUESTIONS,
    JUDGE_ANSWERS,
    AnswerPair,
    AnswerQuestionsGiven,
    AnswerVerdict,
    AnswerVerdicts,
    GivenAnswer,
    GivenAnswers,
    JudgeAnswersGiven,
)
from redraft.text.wording import carries, keys

# An answer that has all telling words of the reference, and so many more besides, may say something else with them.
_MORE = 3


@answers(ANSWER_QUESTIONS)
def answer_questions(given: AnswerQuestionsGiven) -> GivenAnswers:
    """Each answer from the line that has most of the question's words; whether a sentence is so, by its words."""
    ground = ground_of((given.document,))
    return GivenAnswers(answers=[_answer(ground, asked) for asked in given.questions])


def _answer(ground: Ground, asked: Asked) -> GivenAnswer:
    if not (claim := read_claim(asked.question)):
        sought = read_question(asked.question)
        found = look_up(ground.source, sought)
        answered = True if found else silence(sought)
        return GivenAnswer(id=asked.id, answered=answered, answer=found.answer if found else "", reason="")
    held = ground.hold(claim)
    said = {"borne out": "yes", "contradicted": "no"}.get(held.verdict, "")
    answered = bool(said) or (False if held.verdict == "absent" else UNSURE)
    return GivenAnswer(id=asked.id, answered=answered, answer=said, reason=ground.text_of(held) if said else "")


@answers(JUDGE_ANSWERS)
def judge_answers(given: JudgeAnswersGiven) -> AnswerVerdicts:
    """Right where it has the reference's words, wrong where it has others in their place; what else is left open."""
    return AnswerVerdicts(answers=[_judge(pair) for pair in given.answers])


def _judge(pair: AnswerPair) -> AnswerVerdict:
    reference, answer = (set(filter(carries, keys(text))) for text in (pair.reference, pair.answer))
    if reference and reference <= answer and len(answer - reference) <= _MORE:
        return AnswerVerdict(id=pair.id, reason="It has the words of the reference.", verdict="right")
    other = differ(Pair(id=pair.id, question=pair.question, document=pair.reference, summary=pair.answer))
    if other:
        return AnswerVerdict(id=pair.id, reason="It has something else than the reference.", verdict="wrong")
    return AnswerVerdict(id=pair.id, reason="Its words do not tell.", verdict=UNSURE)
