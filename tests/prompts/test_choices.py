"""Choices and numbers in a reply, as judges really write them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from redraft.llm.reply_reader import NoValueError, read_value
from redraft.prompts.qa import Comparison, Comparisons, DocumentQuestion, SummaryQuestion


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("agrees", "agrees"),
        ("Contradicts.", "contradicts"),
        ("CONTRADICTS", "contradicts"),
        (" **agrees** ", "agrees"),
        ("`Agrees`", "agrees"),
        ('"contradicts":', "contradicts"),
        ("Agreement", "agrees"),
        ("does not contradict", "agrees"),
        ("Contradiction.", "contradicts"),
    ],
)
def test_a_verdict_is_read_in_any_dress(said: str, verdict: str) -> None:
    assert Comparison(id=1, reason="", verdict=said).verdict == verdict


NO_VERDICTS = [
    "partially agrees",
    "does not agree",
    "agrees or contradicts",
    "agrees?",
    "agrees (partly)",
    "none",
    "yes",
]


@pytest.mark.parametrize("said", ["banana", "", *NO_VERDICTS, None, 5, True, [], ["agrees"], {"agrees": 1}])
def test_what_is_no_verdict_is_refused(said: Any) -> None:
    with pytest.raises(ValidationError):
        Comparison(id=1, reason="", verdict=said)


@pytest.mark.parametrize("said", ['"banana"', "null", "5", '["agrees"]', '{"agrees": 1}'])
def test_a_reply_with_such_a_verdict_can_be_complained_of(said: str) -> None:
    with pytest.raises(NoValueError, match="verdict"):
        read_value(f'{{"comparisons": [{{"id": 1, "reason": "", "verdict": {said}}}]}}', Comparisons)


@pytest.mark.parametrize(
    ("said", "kind"),
    [("who", "who"), ("WHO", "who"), ("Why?", "what"), ("when.", "when"), *((odd, "what") for odd in (
        "banana", "", None, 5, True, [], ["who"], {"who": 1},
    ))],
)  # fmt: skip
def test_a_question_is_of_some_kind_whatever_is_said(said: Any, kind: str) -> None:
    assert DocumentQuestion(question="", kind=said, answer="", quote="").kind == kind


def importance(said: Any) -> int:
    return SummaryQuestion(question="Who?", answer="Ann", importance=said).importance


@pytest.mark.parametrize(
    ("said", "number"), [(1, 1), (5, 5), (0, 1), (-9, 1), (6, 5), (10**30, 5), ("3", 3), ("9", 5), (4.0, 4), (7.0, 5)]
)
def test_importance_is_between_one_and_five(said: Any, number: int) -> None:
    assert importance(said) == number


@pytest.mark.parametrize("said", ["high", None, 2.5, [], {}])
def test_what_is_no_importance_is_refused(said: Any) -> None:
    with pytest.raises(ValidationError):
        importance(said)
