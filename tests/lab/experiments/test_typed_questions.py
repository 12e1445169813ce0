"""Typed questions: made from paragraphs of every third, kept, and handed from one database to another."""

from __future__ import annotations

import json
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
from redraft.domain import (
    THIRDS,
    TYPES,
    Document,
    Evidence,
    Pack,
    PackQuestion,
    Span,
    TypedQuestion,
    TypedQuestions,
    third_of,
)
from redraft.errors import JudgingError, PackError
from redraft.evaluators.reference.exchange import flaw_of, import_pack
from redraft.evaluators.reference.pack_file import PackContents, choose, pack_id, pack_json, typed_id
from redraft.events import ignore_event
from redraft.lab.experiments.questioner import TypedQuestionBuilder, in_order, paragraphs, slots
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
from redraft.readers.documents import parse
from redraft.runs.job import reader_of
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig
from redraft.store.store import Store
from tests.packs.test_exchange import Json
from tests.valley import book
from tests.valley import replies as read


def builder(
    store: Store, document: Document, replies: Callable[[Request[Any, Any]], BaseModel], each: int = 1
) -> TypedQuestionBuilder:
    prepared = prepare(document, DraftConfig(strategy="given"))
    judge = Judge(FunctionModel(replies), PromptBook("standard"), store.judgments, document=document.id)
    return TypedQuestionBuilder(
        judge, reader_of(prepared, [prepared.settings], prepared.tokenizer), len(document.text), each, ignore_event
    )


@pytest.mark.slow
async def test_each_type_and_third_has_a_question(store: Store) -> None:
    document = book(12)
    found = await builder(store, document, read).build()
    assert Counter((question.type, found.third(question)) for question in found.questions) == dict.fromkeys(
        ((of, third) for of in TYPES for third in THIRDS), 1
    )
    assert [question.id for question in found.questions] == list(range(1, 13))
    assert [question.paragraph for question in found.questions] == sorted(
        question.paragraph for question in found.questions
    )
    assert found.missing == ()
    # Each is about its own paragraph: valley 7 has the question about miller 7.
    for question in found.questions:
        number = question.text.split("miller ")[1].split("?")[0].split()[0]
        assert f"miller {number} " in document.text[slice(*question.paragraph)]


async def test_impossible_questions_are_moved_then_named(store: Store) -> None:
    document, asked = book(12), Counter[str]()

    def replies(request: Request[Any, Any]) -> BaseModel:
        given = request.given
        if isinstance(given, AskTypedInput) and given.type == "binary":
            asked[given.excerpt] += 1
            return TypedReply(question="Is it so of the miller 1?", answer="perhaps", reason="It may be.")
        return read(request)

    found = await builder(store, document, replies).build()
    assert len(asked) == 9, "three paragraphs of each third"
    assert [question.type for question in found.questions].count("binary") == 0
    assert [question for question in found.missing if "binary" in question] == [
        f"no binary question 1 about the {third}: the model's question is answered with neither yes nor no"
        for third in THIRDS
    ]


@pytest.mark.slow
async def test_answerable_question_is_not_unanswerable(store: Store) -> None:
    def replies(request: Request[Any, Any]) -> BaseModel:
        given = request.given
        if isinstance(given, AnswerFromDocumentInput):
            quote = " ".join(given.texts[0].split()[-6:])
            return DocumentAnswers(
                answers=[
                    DocumentAnswer(id=question.id, answered=True, answer=f"{quote} {question.id}", quote=quote)
                    for question in given.questions
                ]
            )
        return read(request)

    found = await builder(store, book(12), replies).build()
    assert "unanswerable" not in {question.type for question in found.questions}
    assert "no unanswerable question 1 about the middle: the document has an answer to it" in found.missing


async def test_where_nothing_comes_it_is_said(store: Store) -> None:
    with pytest.raises(JudgingError, match="no typed question"):
        await builder(store, book(3), lambda _: TypedReply(question="", answer="", reason="")).build()


@pytest.mark.slow
@given(st.integers(1, 40), st.integers(1, 3), st.floats(0.2, 1))
def test_slots_keep_to_their_thirds(valleys: int, each: int, share: float) -> None:
    text = book(valleys).text
    end = max(1, int(len(text) * share))
    found = slots(text, end, each)
    assert len(found) == 12 * each
    for slot in found:
        assert all(third_of(one, end) == slot.third and one.end <= end for one in slot.paragraphs)
    known = paragraphs(text, end)
    assert all(one.end <= other.start for one, other in pairwise(known))


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
    one = TypedQuestion(1, "extractive", "Which wheel was it?", "the blue wheel", "", Span(0, 30))
    found = flaw_of(replace(one, **changes), "He sold The blue wheel, and left.")  # type: ignore[arg-type]
    assert flaw in found
    assert bool(found) == bool(flaw)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("Yes, he did.", "yes"),
        ("NO.", "no"),
        ("Ja", "yes"),
        ("“Non”", "no"),
        ("是的", "yes"),
        ("Nobody", None),
        ("", None),
    ],
)
def test_yes_and_no_are_read(answer: str, said: str | None) -> None:
    assert yes_or_no(answer) == said


DOCUMENT = parse(("The first paragraph. " * 20 + "\n\n" + "The last paragraph. " * 20).encode(), name="a.txt")


def questions() -> TypedQuestions:
    end = len(DOCUMENT.text)
    some = in_order(
        [
            TypedQuestion(0, "extractive", "Which paragraph?", "The last", "", Span(end - 100, end - 60)),
            TypedQuestion(0, "binary", "Is it the first?", "yes", "It stands first.", Span(0, 40)),
            TypedQuestion(0, "unanswerable", "Who wrote it?", "", "", Span(0, 40)),
        ]
    )
    return TypedQuestions(
        typed_id(DOCUMENT.id, end, some), DOCUMENT.id, "m", {"ask_typed": "1"}, end, some, ("no abstractive one",)
    )


def exported() -> Json:
    content: Json = json.loads(json.dumps(pack_json(DOCUMENT, None, None, questions())))
    return content


def bring(store: Store, content: object, document: Document | None = DOCUMENT) -> PackContents:
    return import_pack(store, json.dumps(content).encode(), document, "pack.json")


def test_typed_questions_survive_an_export(store: Store) -> None:
    content = exported()
    assert [question["third"] for question in content["typed"]["questions"]] == ["beginning", "beginning", "end"]
    brought = bring(store, content)
    assert brought.typed == replace(questions(), imported=True)
    assert store.typed.imported(DOCUMENT.id) == brought.typed
    assert pack_json(*choose(store, DOCUMENT)) == content
    assert bring(store, content, None) == brought
    assert len(store.typed.all()) == 1


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        ("id", "0" * 16, "the file was changed"),
        ("questions.0.question", "Is it the second?", "the file was changed"),
        ("questions.0.answer", "maybe", "neither yes nor no"),
        ("questions.2.answer", "Nothing of the kind", "is not in its paragraph"),
        ("questions.1.answer", "Ann", "has an answer"),
        ("questions.0.third", "end", "is not about the end"),
        ("questions.0.paragraph", [0, 100_000], "was not asked about"),
        ("questions.0.paragraph", [40, 40], "was not asked about"),
        ("questions.0.rank", 2, "has the rank 2"),
        ("questions.0.type", "rhetorical", "this is not a pack"),
        ("questions.1.question", "Is it the first?", "twice"),
        ("questions", [], "this is not a pack"),
        ("end", 100_000, "more than there is"),
        ("end", 0, "more than there is"),
    ],
)
def test_what_was_changed_is_refused_whole(store: Store, path: str, value: object, why: str) -> None:
    content = exported()
    at = content["typed"]
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in way:
        at = at[step]
    at[last] = value
    with pytest.raises(PackError, match=why):
        bring(store, content)
    assert store.typed.all() == []


def test_a_pack_may_have_no_typed_questions(store: Store) -> None:
    asked = PackQuestion(1, "Which paragraph?", "what", "The first", Evidence("The first paragraph.", Span(0, 20)), 0.0)
    old = Pack(pack_id(DOCUMENT.id, [asked]), DOCUMENT.id, "m", {"ask_document": "1"}, (asked,))
    content = pack_json(DOCUMENT, old, None)
    assert "typed" not in content
    brought = bring(store, content)
    assert (brought.questions, brought.typed) == (replace(old, imported=True), None)
    both = bring(store, pack_json(DOCUMENT, old, None, questions()))
    assert (both.questions, both.typed) == (replace(old, imported=True), replace(questions(), imported=True))
