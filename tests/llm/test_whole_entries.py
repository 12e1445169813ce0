"""Of a list that is cut off the entries before that are read, and nothing is made of what is no such list."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redraft.llm.base import BROKEN_OFF, Request, Sampling
from redraft.llm.reply_reader import whole_entries
from redraft.prompts.factual import FactTree, GrowGiven
from redraft.prompts.qa import (
    COMPARE_ANSWERS,
    AskDocumentGiven,
    CompareGiven,
    Comparisons,
    DocumentQuestions,
    Pair,
    Ranking,
)
from redraft.prompts.tags import Tags
from tests.chatserver import Answer, ChatServer
from tests.llm.support import Desk

GIVEN = CompareGiven(pairs=[Pair(id=n, question=f"Why {n}?", document="So.", summary="So.") for n in range(1, 5)])
TAGS = [Tags(GIVEN).tag("pairs", n) for n in range(1, 5)]
SAID = [{"id": tag, "reason": "It [is] {so}.", "verdict": "agrees"} for tag in TAGS]
WHOLE = json.dumps({"comparisons": SAID}, indent=1)


def numbers(text: str) -> list[int]:
    found = whole_entries(text, Comparisons, GIVEN)
    return [one.id for one in found.comparisons] if found else []


def test_wherever_it_is_cut_the_entries_before_that_count_as_they_are() -> None:
    ends = [WHOLE.index("}", WHOLE.index(tag)) for tag in TAGS]
    # The reason has a bracket of its own.
    ends = [WHOLE.index("}", end + 1) for end in ends]
    for length in range(len(WHOLE) - 3):
        assert numbers(WHOLE[:length]) == [n for n, end in enumerate(ends, 1) if end < length]


@pytest.mark.parametrize("before", ["", "```json\n", "Sure, here it is:\n", "<think>Hm {.</think>"])
def test_what_stands_before_it_is_passed_over(before: str) -> None:
    assert numbers(before + WHOLE[:-20]) == [1, 2, 3]
    assert numbers(before + json.dumps(SAID)[:-9]) == [1, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        f"{WHOLE}\nWait, correction: {WHOLE[:-20]}",
        f"<think>It may be {WHOLE[:-20]}",
        WHOLE[:30],
        json.dumps({"comparisons": [one | {"id": "1"} for one in SAID]})[:-9],
        json.dumps({"first": {"comparisons": SAID}, "then": {"comparisons": SAID}})[:-30],
        "They are all fine, [",
        "",
    ],
    ids=["thought better of", "a thought", "no question about the document", "strangers", "deeper", "prose", "empty"],
)
def test_what_is_no_list_of_entries_that_count_by_themselves_is_none(text: str) -> None:
    assert numbers(text) == []


def test_questions_count_by_themselves_and_a_tree_or_an_order_that_is_cut_is_none() -> None:
    asked = [{"question": f"Why {n}?", "kind": "why", "answer": "So.", "quote": "So."} for n in range(3)]
    found = whole_entries(
        json.dumps({"questions": asked})[:-9], DocumentQuestions, AskDocumentGiven(excerpt="So.", count=3)
    )
    assert found is not None
    assert [one.question for one in found.questions] == ["Why 0?", "Why 1?"]
    roots = [{"fact": f"It is so {n}.", "branches": [{"fact": "It was so.", "leaves": []}]} for n in range(3)]
    assert whole_entries(json.dumps({"roots": roots})[:-9], FactTree, GrowGiven(excerpt="So.")) is None
    assert whole_entries('{"order": ["bcdf", "', Ranking, GIVEN) is None


async def test_such_a_reply_is_told_from_one_that_came_to_its_end_from_memory_too(desk: Desk) -> None:
    request: Request[Any, Any] = Request(COMPARE_ANSWERS, GIVEN, Sampling(0.0, 100))
    with ChatServer([Answer(WHOLE[:-20], "length")]) as server:
        async with desk.at(server) as model:
            replies = [await model.ask(request), await model.ask(request)]
    assert [(one.finish_reason, one.broken_off, len(one.value.comparisons)) for one in replies] == [
        (BROKEN_OFF, True, 3)
    ] * 2
    assert len(server.seen) == 1
