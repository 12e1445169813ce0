"""Typed questions, made from paragraphs and kept; and the tables on them by hand, on a book of 900 characters."""

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
from redraft.evaluators.consistency import rouge1
from redraft.events import ignore_event
from redraft.lab.experiments.frames import Frame
from redraft.lab.experiments.qa import QaItem, abstention_frame, accuracy_frame, difference_frame, group_by_length
from redraft.lab.experiments.questioner import (
    THIRDS,
    TYPES,
    JudgedAnswer,
    Response,
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
    QuestionType,
    TypedReply,
    yes_or_no,
)
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig
from redraft.store.store import Store
from tests.lab.experiments.made import rows
from tests.valley import book
from tests.valley import replies as read

BY_TYPE = {"type": (*TYPES, "all")}


def question(number: int, of_type: QuestionType, start: int) -> TypedQuestion:
    answer = {"binary": "no", "unanswerable": ""}.get(of_type, "the blue wheel")
    reason = "He left it behind" if of_type == "binary" else ""
    return TypedQuestion(number, of_type, f"Question {number}?", answer, reason, Span(start, start + 100))


def item(
    asked: TypedQuestion,
    said: str | None,
    *,
    right: bool | None = None,
    reason: str = "",
    end: int = 900,
    model: str = "a",
) -> QaItem:
    """A question as it was put to a model that had read up to `end`; "-" is abstaining, None is silence."""
    response = None if said is None else Response(answer=said, reason=reason, abstained=said == "-")
    verdict = JudgedAnswer(right=right, reason="") if right is not None else None
    step = 1 if end == 450 else 2
    third = third_of(asked.paragraph, 900)
    made = QaItem("d", "A book", model, step, end, asked, third, end, response=response, verdict=verdict)
    return made.with_similarities(rouge1)


EXTRACTIVE, LATER = question(1, "extractive", 0), question(2, "extractive", 700)
BINARY, ANOTHER, THIRD, FOURTH = (question(n, "binary", 100 * n) for n in (3, 4, 5, 6))
OPEN = question(7, "unanswerable", 400)


def row(actual: Frame, *key: object) -> tuple[object, ...]:
    """The cells behind those that name a row."""
    return next(row[len(key) :] for row in rows(actual, *actual.columns) if row[: len(key)] == key)


def test_yes_and_no_count_without_reasons() -> None:
    items = [
        item(BINARY, "No, never.", right=True, reason="He left it behind"),
        item(ANOTHER, "no", right=False, reason="Tuesday came"),
        item(THIRD, "yes", right=True, reason="He left it behind"),
        item(FOURTH, "no", reason=""),
    ]
    # Three said no, of which one had the right reason, one a wrong one, and one none; one said yes, for a good reason.
    # So the accuracy is 3/4, whatever the reasons; and similarity is that of the reasons: 1, 0 and 1 of three.
    accuracy, *_, unjudged, silent, of, similarity = row(accuracy_frame(items, BY_TYPE), "a", "binary")
    assert (accuracy, unjudged, silent, of, similarity) == (0.75, 0, 0, 4, pytest.approx(2 / 3))


def test_answers_neither_yes_nor_no_are_wrong() -> None:
    assert item(BINARY, "His cousin did.", right=True, reason="He left it behind").correct is False


def test_abstention_is_right_wrong_or_missed() -> None:
    items = [
        item(OPEN, "-"),  # right: the document has no answer
        item(OPEN, "Ninety crowns", end=450),  # missed
        item(LATER, "-", end=450),  # right: not read yet
        item(LATER, "the blue wheel", right=True, end=450, model="a"),  # missed, though it is the right answer
        item(EXTRACTIVE, "-"),  # wrong: it was read
        item(EXTRACTIVE, "the blue wheel", right=True, end=450),  # neither: it answers what it has read
        item(LATER, None, end=450),  # nothing was said
        item(BINARY, "-", end=350),  # cut through: not counted
    ]
    actual = abstention_frame(items)
    # right, missed, wrong, of, no answer, share of those of which it should have abstained
    assert row(actual, "a", "no answer in the document") == (1, 1, 0, 2, 0, 0.5)
    assert row(actual, "a", "not read yet") == (1, 1, 0, 2, 1, 0.5)
    assert row(actual, "a", "read") == (0, 0, 1, 2, 0, None)
    assert row(actual, "a", "all") == (2, 2, 1, 6, 1, 0.5)


def test_accuracy_uses_read_and_judged_questions() -> None:
    items = [
        item(EXTRACTIVE, "the blue wheel", right=True),
        item(EXTRACTIVE, "a red door", right=False, end=450),
        item(LATER, "-"),
        item(LATER, "the wheel"),
        item(LATER, None),
        item(LATER, "the blue wheel", right=True, end=450),  # ahead: guessed, and no part of accuracy
    ]
    actual = row(accuracy_frame(items, BY_TYPE), "a", "extractive")
    # right 1, wrong 1, abstained 1: 1/3 of three judged; one is unjudged, one has no answer, of five.
    assert (actual[0], actual[3:8]) == (pytest.approx(1 / 3), (1, 3, 1, 1, 5))
    assert row(accuracy_frame(items, {**BY_TYPE, "third": THIRDS}), "a", "extractive", "beginning")[0] == 0.5
    assert row(accuracy_frame(items, {**BY_TYPE, "third": THIRDS}), "a", "extractive", "end")[0] == 0.0
    assert row(accuracy_frame(items, {**BY_TYPE, "third": THIRDS}), "a", "extractive", "middle")[0] is None


def test_unequal_books_are_pooled_by_tokens_read() -> None:
    long = item(EXTRACTIVE, "the blue wheel", right=True)  # read to 900
    items = [
        replace(long, step=1, tokens=10_000),
        replace(long, step=2, tokens=20_000, response=Response(answer="-", reason="", abstained=True)),
        # Of a short book the second step is all of it.
        replace(long, document="short", step=1, tokens=10_000),
        replace(long, document="short", step=2, tokens=12_000),
    ]
    actual = accuracy_frame(items, {"tokens": (), "third": (*THIRDS, "all")})
    assert [row[:3] for row in rows(actual, *actual.columns) if row[2] == "all"] == [
        ("a", n, "all") for n in (10_000, 12_000, 20_000)
    ]
    assert [row(actual, "a", n, "beginning")[0] for n in (10_000, 12_000, 20_000)] == [1.0, 1.0, 0.0]
    assert row(actual, "a", 10_000, "all")[7] == 2, "both books"
    # What was asked about lies in the first third of what was read, and in no other.
    assert row(accuracy_frame(items, {"tokens": (), "third read": THIRDS}), "a", 20_000, "beginning")[0] == 0.0
    assert row(accuracy_frame(items, {"tokens": (), "third read": THIRDS}), "a", 20_000, "end")[0] is None
    # A book of fourteen parts and one of two are read to sixteen lengths, of which the nearest are put together.
    read = {("d", n): 700 * n for n in range(1, 15)} | {("e", 1): 1000, ("e", 2): 20_000}
    lengths = group_by_length(read)
    assert len(set(lengths.values())) == 13
    assert lengths["e", 2] == 20_000
    # 700 and 1,000 are 300 apart; then it is 700 everywhere, so that 1,400 comes to them, and 2,100 to 2,800.
    assert sorted(set(lengths.values()))[:4] == [1033, 2450, 3500, 4200]


def test_differences_pair_equal_questions_and_steps() -> None:
    questions = [question(n, "extractive", 0) for n in range(1, 7)]
    first = [item(typed, "it", right=True) for typed in questions]
    second = [item(typed, "it", right=n >= 2, model="b") for n, typed in enumerate(questions)]
    first += [item(questions[0], "it", right=True, end=450), item(questions[5], "it", right=False, end=450)]
    second += [item(questions[0], "it", right=True, end=450, model="b"), item(questions[5], "it", end=450, model="b")]
    # The first question 1 and 0 at its two steps, the second 1; of the last one step has no verdict of b.
    # So of six questions five differ by 0, 0, 0, 0 and 1, and the first by 0.5.
    actual = row(difference_frame([*first, *second]), "a", "b", "extractive")
    assert (actual[0], actual[3]) == (0.25, 6)
    # Of 1,000 draws of six of these 2.5 % have a mean of 0, and 2.5 % one of more than 7/12.
    assert actual[1] == 0.0
    assert actual[2] == pytest.approx(7 / 12, abs=0.05)
    assert row(difference_frame([*first[:4], *second[:4]]), "a", "b", "extractive")[1:] == (None, None, 4)


def test_intervals_belong_to_their_accuracy() -> None:
    """One question that ten steps have read, always done right by, and four that one has read, all wrong: 10 of 14.

    Five are drawn. Without the first, a third of the draws, nothing is right: 0. With it three times 30 of 32 are; it
    comes three times or more in 5.8 % of the draws, and four times in 0.7 %, so that 97.5 % have no more than 30 / 32.
    """
    often = [replace(item(EXTRACTIVE, "the blue wheel", right=True), step=n, tokens=100 * n) for n in range(1, 11)]
    single = [item(question(n, "extractive", 100 * n), "the red cart", right=False) for n in (2, 3, 4, 5)]
    accuracy, low, high, right, judged_count, *_ = row(accuracy_frame([*often, *single], BY_TYPE), "a", "all")
    assert (accuracy, right, judged_count) == (pytest.approx(10 / 14), 10, 14)
    assert (low, high) == (0, 30 / 32)


def builder(
    store: Store, document: Document, replies: Callable[[Request[Any, Any]], BaseModel], each: int = 1
) -> TypedQuestionBuilder:
    prepared = prepare(document, DraftConfig(strategy="given"))
    judge = Judge(FunctionModel(replies), PromptBook("standard"), store.verdicts, document=document.id)
    return TypedQuestionBuilder(
        judge, prepared.reader([prepared.settings], prepared.tokenizer), len(document.text), each, ignore_event
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
    for _, name, tried in actual:
        assert all(name.endswith(third_of(paragraph, end)) and paragraph.end <= end for paragraph in tried)
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
