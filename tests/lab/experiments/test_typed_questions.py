"""Typed questions: made from paragraphs of every third, kept, and handed from one database to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from redraft.agents.judge import Judge
from redraft.domain import Document, Span
from redraft.errors import JudgingError
from redraft.events import ignore_event
from redraft.lab.experiments.questioner import (
    THIRDS,
    TYPES,
    TypedQuestion,
    TypedQuestionBuilder,
    flaw_of,
    paragraphs,
    slots,
    third_of,
)
from redraft.llm.base import FunctionModel, Request
from redraft.prompts.book import PromptBook
from redraft.prompts.qa import (
    AnswerFromDocumentInput,
    AskTypedInput,
    DocumentAnswer,
    DocumentAnswers,
    TypedReply,
    yes_or_no,
)
from redraft.runs.job import reader_of
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig
from redraft.store.store import Store
from tests.valley import book
from tests.valley import replies as read


def builder(
    store: Store, document: Document, replies: Callable[[Request[Any, Any]], BaseModel], each: int = 1
) -> TypedQuestionBuilder:
    prepared = prepare(document, DraftConfig(strategy="given"))
    judge = Judge(FunctionModel(replies), PromptBook("standard"), store.verdicts, document=document.id)
    return TypedQuestionBuilder(
        judge, reader_of(prepared, [prepared.settings], prepared.tokenizer), len(document.text), each, ignore_event
    )


@pytest.mark.slow
async def test_each_type_and_third_has_a_question(store: Store) -> None:
    document = book(12)
    actual = await builder(store, document, read).build()
    assert Counter(
        (question.type, third_of(question.paragraph, actual.end)) for question in actual.questions
    ) == dict.fromkeys(((of, third) for of in TYPES for third in THIRDS), 1)
    assert [question.id for question in actual.questions] == list(range(1, 13))
    assert [question.paragraph for question in actual.questions] == sorted(
        question.paragraph for question in actual.questions
    )
    assert actual.missing == ()
    # Each is about its own paragraph: valley 7 has the question about miller 7.
    for question in actual.questions:
        number = question.text.split("miller ")[1].split("?")[0].split()[0]
        assert f"miller {number} " in document.text[slice(*question.paragraph)]


async def test_impossible_questions_are_moved_then_named(store: Store) -> None:
    document, request_counts = book(12), Counter[str]()

    def replies(request: Request[Any, Any]) -> BaseModel:
        values = request.given
        if isinstance(values, AskTypedInput) and values.type == "binary":
            request_counts[values.excerpt] += 1
            return TypedReply(question="Is it so of the miller 1?", answer="perhaps", reason="It may be.")
        return read(request)

    actual = await builder(store, document, replies).build()
    assert len(request_counts) == 9, "three paragraphs of each third"
    assert [question.type for question in actual.questions].count("binary") == 0
    assert [question for question in actual.missing if "binary" in question] == [
        f"no binary question 1 about the {third}: the model's question is answered with neither yes nor no"
        for third in THIRDS
    ]


@pytest.mark.slow
async def test_answerable_question_is_not_unanswerable(store: Store) -> None:
    def replies(request: Request[Any, Any]) -> BaseModel:
        values = request.given
        if isinstance(values, AnswerFromDocumentInput):
            quote = " ".join(values.texts[0].split()[-6:])
            return DocumentAnswers(
                answers=[
                    DocumentAnswer(id=question.id, answered=True, answer=f"{quote} {question.id}", quote=quote)
                    for question in values.questions
                ]
            )
        return read(request)

    actual = await builder(store, book(12), replies).build()
    assert "unanswerable" not in {question.type for question in actual.questions}
    assert "no unanswerable question 1 about the middle: the document has an answer to it" in actual.missing


async def test_where_nothing_comes_it_is_said(store: Store) -> None:
    with pytest.raises(JudgingError, match="no typed question"):
        await builder(store, book(3), lambda _: TypedReply(question="", answer="", reason="")).build()


@pytest.mark.slow
@given(st.integers(1, 40), st.integers(1, 3), st.floats(0.2, 1))
def test_slots_keep_to_their_thirds(valleys: int, each: int, share: float) -> None:
    text = book(valleys).text
    end = max(1, int(len(text) * share))
    actual = slots(text, end, each)
    assert len(actual) == 12 * each
    for slot in actual:
        assert all(third_of(paragraph, end) == slot.third and paragraph.end <= end for paragraph in slot.paragraphs)
    spans = paragraphs(text, end)
    assert all(first.end <= second.start for first, second in pairwise(spans))


@pytest.mark.parametrize(
    ("changes", "flaw"),
    [
        ({}, ""),
        ({"text": "?"}, "has no words"),
        ({"answer": ""}, "has no answer"),
        ({"answer": "a red one"}, "is not in its paragraph"),
        ({"reason": "So it is."}, "has a reason"),
        ({"type": "abstractive", "answer": "A red one."}, ""),
        ({"type": "binary", "answer": "Yes"}, "neither yes nor no"),
        ({"type": "binary", "answer": "no"}, "has no reason"),
        ({"type": "binary", "answer": "no", "reason": "It was blue."}, ""),
        ({"type": "unanswerable"}, "has an answer"),
        ({"type": "unanswerable", "answer": ""}, ""),
    ],
)
def test_a_question_is_one_of_its_type(changes: dict[str, str], flaw: str) -> None:
    question = TypedQuestion(1, "extractive", "Which wheel was it?", "the blue wheel", "", Span(0, 30))
    actual = flaw_of(replace(question, **changes), "He sold The blue wheel, and left.")  # type: ignore[arg-type]
    assert flaw in actual
    assert bool(actual) == bool(flaw)


def test_yes_and_no_are_read() -> None:
    answers = {"Yes, he did.": "yes", "NO.": "no", "Ja": "yes", "“Non”": "no", "是的": "yes", "Nobody": None, "": None}
    assert {answer: yes_or_no(answer) for answer in answers} == answers
