"""However a model of whatever family writes a structured reply: what it says of an item is read, or nothing is."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from redraft.agents.accounts import _settled
from redraft.llm.reply_reader import NoValueError, read_value
from redraft.prompts.book import PROMPTS
from redraft.prompts.coherence import Confusion
from tests.replies.prompts import CASES, NAMES, Case
from tests.replies.styles import LOSSY, LOST, READ

PROMPT = pytest.mark.parametrize("name", CASES)
# What an entry says beside its verdict, which may be missing.
_ASIDES = {"reason", "quote"}


def read(case: Case, text: str) -> BaseModel | None:
    try:
        value: BaseModel = read_value(text, case.prompt.returns, case.given)
    except NoValueError:
        return None
    return value


def clean(case: Case) -> BaseModel:
    value = read(case, json.dumps(case.clean))
    assert value is not None
    return value


def says_nothing(entry: Any) -> bool:
    """Whether an entry holds no verdict, as those who ask for it see it."""
    if isinstance(entry, Confusion):
        return entry.is_confusing is None
    return not getattr(entry, "answer", "something")


def said_by(entry: Any) -> dict[str, Any]:
    """The verdict of an entry."""
    if isinstance(entry, Confusion):
        return {"confusing": entry.is_confusing, "questions": entry.asked}
    said: dict[str, Any] = entry.model_dump(exclude=_ASIDES | {"id"})
    return said


def settled(case: Case, value: BaseModel) -> dict[int, dict[str, Any]]:
    """The verdicts as they are counted, without their asides."""
    found = [(one.id - 1, None if says_nothing(one) else said_by(one)) for one in getattr(value, case.entries)]
    return _settled(found, range(len(NAMES)))[0]


def expect_no_other(case: Case, value: BaseModel | None) -> int:
    """No verdict is another one than that of the clean reply; how many there are."""
    right = clean(case)
    if value is None:
        return 0
    if case.entries:
        verdicts, known = settled(case, value), settled(case, right)
        assert {n: known[n] for n in verdicts} == verdicts
        return len(verdicts)
    for name, said in right:
        ours = getattr(value, name)
        assert ours == said or (isinstance(said, list) and [one for one in said if one in ours] == ours)
    return 1


def test_there_is_a_case_of_every_structured_prompt() -> None:
    assert set(CASES) == {name for name, prompt in PROMPTS.items() if prompt.returns is not str}
    assert len(READ) + len(LOSSY) + len(LOST) >= 60


@PROMPT
def test_a_reply_is_read_in_every_style(name: str) -> None:
    case = CASES[name]
    right = clean(case).model_dump()
    for style, write in READ.items():
        text = write(case, random.Random(style))
        value = read(case, text)
        assert value is not None, (style, text)
        if case.entries:
            expect_no_other(case, value)
            assert len(settled(case, value)) == len(NAMES), (style, text)
        else:
            assert value.model_dump() == right, (style, text)


@PROMPT
def test_a_bad_entry_costs_itself_alone(name: str) -> None:
    case = CASES[name]
    for style, write in LOSSY.items():
        for seed in range(3):
            text = write(case, random.Random(seed))
            judged = expect_no_other(case, read(case, text))
            least = {"half of them": 3, "one alone": 1}.get(style, len(NAMES) - 1)
            if (name, style) == ("ask_summary", "one with odd marks"):
                # Objects within the entry that cannot be read: it is not certain where that ends.
                least = 0
            # Dots within a list that stands beside other fields: it is one object, and is asked for again.
            whole = 0 if style == "three dots" and name in ("outline", "write_answer") else 1
            assert judged >= (least if case.entries else whole), (style, text)


@PROMPT
def test_a_reply_that_says_nothing_gives_no_verdict(name: str) -> None:
    case = CASES[name]
    for style, write in LOST.items():
        text = write(case, random.Random(0))
        assert expect_no_other(case, read(case, text)) == 0, (style, text)


CUT = ("bare", "indented", "fence", "Python", "lines", "thought", "bare list", "by ids")


@PROMPT
def test_a_reply_that_is_cut_at_a_token_is_none_or_says_no_other(name: str) -> None:
    """At every eighth token, at other ones for each prompt and style, and at the last four."""
    case = CASES[name]
    for style in CUT:
        text = READ[style](case, random.Random(1))
        cuts = sorted({found.start() for found in re.finditer(r"\b|\W", text)} - {0, len(text)})
        for cut in (*cuts[random.Random(name + style).randrange(8) : -4 : 8], *cuts[-4:]):
            value = read(case, text[:cut])
            judged = expect_no_other(case, value)
            if style != "lines" and value is not None:
                # Only the marks around it are missing.
                assert judged == (len(NAMES) if case.entries else 1), text[:cut]


_LISTED = sorted(name for name, case in CASES.items() if case.entries)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(_LISTED),
    st.sampled_from(
        [*(style for style in READ if style != "by ids"), "half of them", "one with odd marks", "one that hedges"]
    ),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10),
    st.randoms(use_true_random=False),
)
def test_ids_that_are_permuted_dropped_and_doubled_misplace_nothing(
    name: str, style: str, said: list[tuple[int, int]], rng: random.Random
) -> None:
    """Each entry says what is right of one item, under the id of the same or of another."""
    whole = CASES[name]
    entries, field = whole.clean[whole.entries], whole.entries
    ids = [one["id"] for one in entries]
    case = Case(whole.prompt, whole.given, {field: [entries[what] | {"id": ids[which]} for what, which in said]})
    if not said or len(said) < 2:
        return
    value = read(case, (READ | LOSSY)[style](case, rng))
    if value is None:
        return
    right = settled(whole, clean(whole))
    verdicts = settled(whole, value)
    for n, verdict in verdicts.items():
        # It is what this reply says of the item, and it says nothing else of it.
        theirs = [right[what] for what, which in said if which == n]
        assert verdict in theirs
        assert all(one == other for one, other in pairwise(theirs)) or style in LOSSY
