"""However a model writes a structured reply: what it says of an item is read, or nothing is."""

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
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.book import PROMPTS
from redraft.prompts.coherence import Confusion
from redraft.prompts.tags import TaggedItem, Tags
from tests.replies.prompts import CASES, NAMES, Case, Json
from tests.replies.styles import FAULTS, LOSSY, LOST, READ

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
            assert judged >= (least if case.entries else 1), (style, text)


@PROMPT
def test_a_reply_that_says_nothing_gives_no_verdict(name: str) -> None:
    case = CASES[name]
    for style, write in LOST.items():
        text = write(case, random.Random(0))
        assert expect_no_other(case, read(case, text)) == 0, (style, text)


@PROMPT
def test_no_fault_of_ids_or_wrapping_misplaces_a_verdict(name: str) -> None:
    case = CASES[name]
    for write in FAULTS.values():
        for seed in range(4):
            text = write(case, random.Random(f"{name} {seed}"))
            expect_no_other(case, read(case, text))


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


LISTED = pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.entries))
OWN_NAMES = ["1", "0", 1, None, "", "s1", "Q1", "the sentence", "id", "first", "zzzz"]
# As the worked examples of the prompts have them.
OF_EXAMPLES = ["jcpg", '[id="bdvr"]', "ccnt."]


def alone(whole: Case) -> tuple[Case, str]:
    """The same case with the first of its items alone, and the tag of that."""
    first = whole.clean[whole.entries][0]
    fields = {
        field: some
        for field in type(whole.given).model_fields
        if isinstance(some := getattr(whole.given, field), list) and any(isinstance(one, TaggedItem) for one in some)
    }
    (field,) = [field for field in fields if first["id"] in Tags(whole.given).all(field)]
    given = whole.given.model_copy(update={field: fields[field][:1]})
    (tag,) = Tags(given).asked(field)
    return Case(whole.prompt, given, {whole.entries: [first | {"id": tag}]}), tag


def read_one(case: Case, said: Json | str) -> BaseModel:
    value: BaseModel = read_value(said if isinstance(said, str) else json.dumps(said), case.prompt.returns, case.given)
    return value


def called(case: Case, name: Any) -> Json:
    (entry,) = case.clean[case.entries]
    return {case.entries: [{**entry, "id": name}]}


@LISTED
def test_the_one_entry_is_about_the_one_item(name: str) -> None:
    case, _ = alone(CASES[name])
    right = read_one(case, case.clean)
    assert getattr(right, case.entries)[0].id == 1
    for own in OWN_NAMES:
        assert read_one(case, called(case, own)) == right, own
    (entry,) = case.clean[case.entries]
    assert read_one(case, {case.entries: [{key: said for key, said in entry.items() if key != "id"}]}) == right


@LISTED
def test_it_is_in_every_style(name: str) -> None:
    case, _ = alone(CASES[name])
    right = read_one(case, case.clean)
    for style, write in READ.items():
        if style not in ("by ids", "ids in capitals", "ids among words", "thought", "corrected"):
            text = write(Case(case.prompt, case.given, called(case, "1")), random.Random(style))
            assert read_one(case, text) == right, (style, text)


@LISTED
@pytest.mark.parametrize("theirs", OF_EXAMPLES)
def test_an_entry_that_was_copied_from_an_example_is_about_that(name: str, theirs: str) -> None:
    case, _ = alone(CASES[name])
    with pytest.raises(NoValueError, match="names none of the items"):
        read_one(case, called(case, theirs))


@LISTED
def test_of_two_entries_neither_is_certain(name: str) -> None:
    case, tag = alone(CASES[name])
    two = [*called(case, "1")[case.entries], *called(case, "2")[case.entries]]
    with pytest.raises(NoValueError, match="names none of the items"):
        read_one(case, {case.entries: two})
    right = read_one(case, case.clean)
    found = getattr(read_one(case, {case.entries: [*two, *called(case, tag)[case.entries]]}), case.entries)
    assert [one for one in found if one.id == 1] == getattr(right, case.entries)


@LISTED
def test_of_several_items_none_is_certain(name: str) -> None:
    case = CASES[name]
    (entry, *_) = case.clean[case.entries]
    with pytest.raises(NoValueError, match="names none of the items"):
        read_one(case, {case.entries: [entry | {"id": "1"}]})


def test_one_sentence_of_several_is_asked_about_alone() -> None:
    case = CASES["ask_summary"]
    some = case.given.model_copy(update={"only": [2]})
    first, second = (Tags(some).tag("sentences", n) for n in (1, 2))
    entry = case.clean["sentences"][0]

    def about(name: str) -> int:
        found: int = read_one(Case(case.prompt, some, {}), {"sentences": [entry | {"id": name}]}).sentences[0].id  # type: ignore[attr-defined]
        return found

    assert about("1") == about(second) == 2
    # It speaks of another one, of which nobody has asked.
    assert about(first) == 1
