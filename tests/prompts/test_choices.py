"""Choices and numbers in replies as judges write them, silence in place of an answer, and prompts in their sandbox."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from redraft.errors import PromptError
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.book import PromptBook
from redraft.prompts.qa import Comparison, Comparisons, DocumentQuestion, SummaryQuestion
from redraft.prompts.silence import is_answer
from tests.prompts.samples import rendered
from tests.replies.refusals import IN_OTHER_WORDS, OF_THE_STORY, REAL, SILENT


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("full", "full"),
        ("Contradicts.", "contradicts"),
        ("CONTRADICTS", "contradicts"),
        (" **full** ", "full"),
        ("`Full`", "full"),
        ('"contradicts":', "contradicts"),
        ("Agreement", "full"),
        ("Partially.", "part"),
        ("None.", "none"),
        ("not answered", "none"),
        ("Contradiction.", "contradicts"),
    ],
)
def test_a_verdict_is_read_in_any_dress(said: str, verdict: str) -> None:
    assert Comparison(id=1, reason="", verdict=said).verdict == verdict


NO_VERDICTS = [
    "does not contradict",
    "partially agrees",
    "full or part",
    "full?",
    "full (partly)",
    "yes",
]


@pytest.mark.parametrize("said", ["banana", "", *NO_VERDICTS, None, 5, True, [], ["full"], {"full": 1}])
def test_what_is_no_verdict_is_refused(said: Any) -> None:
    with pytest.raises(ValidationError):
        Comparison(id=1, reason="", verdict=said)


@pytest.mark.parametrize("said", ['"banana"', "null", "5", '["full"]', '{"full": 1}'])
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


_WORDS = sorted({word for many in (*SILENT.values(), *IN_OTHER_WORDS.values()) for one in many for word in one.split()})


@pytest.mark.parametrize("language", SILENT)
def test_what_says_that_there_is_no_answer_is_none(language: str) -> None:
    assert [said for said in SILENT[language] if is_answer(said)] == []


def test_most_of_what_is_put_otherwise_is_read_as_well() -> None:
    """What is not is left to the field of the reply, and to what an answer rests on."""
    every = [said for many in IN_OTHER_WORDS.values() for said in many]
    assert sum(not is_answer(said) for said in every) >= 0.72 * len(every)


def test_in_capitals_in_quotes_and_between_blanks_it_is_the_same() -> None:
    for said in (one for many in SILENT.values() for one in many):
        assert not is_answer(said.upper()), said
        assert not is_answer(f' "{said}"\n'), said


def test_a_real_answer_with_such_words_stays_one() -> None:
    assert [said for said in REAL if not is_answer(said)] == []
    # The passage may be one of a house.
    assert [said for said in OF_THE_STORY if not is_answer(said)] == ["Not in the passage, but in the hall"]


@pytest.mark.parametrize("said", ["", " ", "...", "—", "?"])
def test_nothing_is_no_answer(said: str) -> None:
    assert not is_answer(said)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(_WORDS), max_size=60), st.sampled_from(_WORDS), st.integers(0, 120))
def test_no_answer_takes_long_to_read(words: list[str], word: str, times: int) -> None:
    is_answer("Not mentioned")
    began = time.process_time()
    is_answer(" ".join([*words, *[word] * times]))
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    "source",
    [
        "{{ '" + "x" * 300_000 + "' }}",
        "{{ lipsum(99999) }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{% if 1 %}" * 150 + "{% endif %}" * 150,
    ],
)
def test_a_template_that_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, source: str) -> None:
    (tmp_path / "merge.md").write_text(source, "utf-8")
    with pytest.raises(PromptError, match="merge"):
        PromptBook(str(tmp_path))


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(90000) %}{{ summary }}{% endfor %}",
        "{{ summary }}{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}{{ summary }}",
        "{{ 'x' * 10 ** 10 }}{{ summary }}",
        "{{ summary * 1000000 }}",
        "{{ 9 ** 99 ** 9 }}{{ summary }}",
        "{{ [summary] * 999999999 }}",
    ],
)
def test_a_template_that_makes_a_text_without_end_is_refused(
    tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redraft.prompts.book._LONGEST_TEXT", 1_000_000)
    (tmp_path / "tidy.md").write_text(source, "utf-8")
    with pytest.raises(PromptError, match=r"more than 1,000,000 characters|only multiply numbers|recursion"):
        rendered(PromptBook(str(tmp_path)), "tidy", summary="x" * 5000)
