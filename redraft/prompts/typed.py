"""The prompts that ask typed questions: one from a paragraph, their answers from a document, and verdicts on these."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator

from redraft.prompts.contract import (
    Also,
    Aside,
    Context,
    Excerpt,
    Fence,
    GivenModel,
    Prompt,
    ReplyModel,
    Text,
    Unsure,
    WholeDocument,
    as_asked,
    is_denied,
    lenient,
)
from redraft.prompts.judging import IDS, LABELS, Answered, AskedQuestions, Reason
from redraft.prompts.tags import Names, TaggedItem
from redraft.questions import QuestionType

Correctness = Literal["right", "wrong"]
_VERDICTS = dict.fromkeys(("correct", "true", "yes", "accurate", "equivalent", "matches", "match", "same"), "right") | (
    dict.fromkeys(("incorrect", "not correct", "not right", "false", "no", "inaccurate", "does not match"), "wrong")
)
# "Yes" and "no" in the languages that models answer in, whatever they were told.
_YES = frozenset(("yes", "ja", "oui", "sí", "si", "sim", "да", "是", "是的", "はい"))
_NO = frozenset(("no", "nein", "non", "não", "нет", "不", "不是", "否", "いいえ"))
_FIRST_WORD = re.compile(r"[^\w]*(\w+)")


def yes_or_no(answer: str) -> Literal["yes", "no"] | None:
    """Which of the two an answer begins with; None where it begins with neither."""
    found = None if is_denied(answer, "yes") else _FIRST_WORD.match(answer.casefold())
    word = found.group(1) if found else ""
    return "yes" if word in _YES else "no" if word in _NO else None


class AskTypedGiven(GivenModel):
    """A paragraph, what stands before it, and which type of question is wanted."""

    context: Context = ""
    excerpt: Excerpt
    type: QuestionType


class TypedReply(ReplyModel):
    """A question with its answer, and why that is the answer; no question where none of the type can be asked."""

    # That there is none has to be said: a reply without a word of a question says nothing.
    question: Annotated[Text, BeforeValidator(lambda value: "" if value is None else value)]
    answer: Aside
    reason: Reason


class AnswerQuestionsGiven(GivenModel):
    """A document, as far as it is to be read, and questions to be answered from it."""

    document: WholeDocument
    questions: AskedQuestions


class GivenAnswer(ReplyModel):
    """Whether there is an answer, and what it is; and where it is yes or no, why."""

    id: Annotated[int, Names("questions"), IDS]
    answered: Answered
    answer: Aside
    reason: Reason


class GivenAnswers(ReplyModel):
    """One answer to each question."""

    answers: list[GivenAnswer]


class AnswerPair(TaggedItem):
    """A question with its reference answer, and the answer that is to be judged."""

    question: str
    reference: str
    answer: str


class JudgeAnswersGiven(GivenModel):
    """Answers to judge."""

    answers: Annotated[list[AnswerPair], Fence("pair")]


class AnswerVerdict(ReplyModel):
    """Whether an answer says what the reference says, and why."""

    id: Annotated[int, Names("answers"), IDS]
    reason: Reason
    verdict: Annotated[
        Correctness | Unsure,
        BeforeValidator(lenient(Correctness, None, _VERDICTS)),
        as_asked(Correctness),
        Also(*LABELS),
    ]


class AnswerVerdicts(ReplyModel):
    """One verdict on each answer."""

    answers: list[AnswerVerdict]


ASK_TYPED = Prompt(
    "ask_typed", AskTypedGiven, TypedReply, "typed questions: ask one question of a type about a paragraph", 0.0
)
ANSWER_QUESTIONS = Prompt(
    "answer_questions",
    AnswerQuestionsGiven,
    GivenAnswers,
    "typed questions: answer from the beginning of a document",
    0.0,
)
JUDGE_ANSWERS = Prompt(
    "judge_answers",
    JudgeAnswersGiven,
    AnswerVerdicts,
    "typed questions: does an answer say what the reference says?",
    0.0,
)
