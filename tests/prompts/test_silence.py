"""Answers that say that there is none, told from answers by their form."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.prompts.silence import is_answer
from tests.replies.refusals import IN_OTHER_WORDS, OF_THE_STORY, REAL, SILENT

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
