"""Where one item alone is asked about, the one entry of a reply is about that, whatever it calls it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from pydantic import BaseModel

from redraft.llm.reply_reader import NoValueError, read_value
from redraft.prompts.tags import TaggedItem, Tags
from tests.replies.prompts import CASES, Case, Json
from tests.replies.styles import READ

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


def read(case: Case, said: Json | str) -> BaseModel:
    value: BaseModel = read_value(said if isinstance(said, str) else json.dumps(said), case.prompt.returns, case.given)
    return value


def called(case: Case, name: Any) -> Json:
    (entry,) = case.clean[case.entries]
    return {case.entries: [{**entry, "id": name}]}


@LISTED
def test_the_one_entry_is_about_the_one_item(name: str) -> None:
    case, _ = alone(CASES[name])
    right = read(case, case.clean)
    assert getattr(right, case.entries)[0].id == 1
    for own in OWN_NAMES:
        assert read(case, called(case, own)) == right, own
    (entry,) = case.clean[case.entries]
    assert read(case, {case.entries: [{key: said for key, said in entry.items() if key != "id"}]}) == right


@LISTED
def test_it_is_in_every_style(name: str) -> None:
    case, _ = alone(CASES[name])
    right = read(case, case.clean)
    for style, write in READ.items():
        if style not in ("by ids", "ids in capitals", "ids among words", "thought", "corrected"):
            text = write(Case(case.prompt, case.given, called(case, "1")), random.Random(style))
            assert read(case, text) == right, (style, text)


@LISTED
@pytest.mark.parametrize("theirs", OF_EXAMPLES)
def test_an_entry_that_was_copied_from_an_example_is_about_that(name: str, theirs: str) -> None:
    case, _ = alone(CASES[name])
    with pytest.raises(NoValueError, match="names none of the items"):
        read(case, called(case, theirs))


@LISTED
def test_of_two_entries_neither_is_certain(name: str) -> None:
    case, tag = alone(CASES[name])
    two = [*called(case, "1")[case.entries], *called(case, "2")[case.entries]]
    with pytest.raises(NoValueError, match="names none of the items"):
        read(case, {case.entries: two})
    right = read(case, case.clean)
    found = getattr(read(case, {case.entries: [*two, *called(case, tag)[case.entries]]}), case.entries)
    assert [one for one in found if one.id == 1] == getattr(right, case.entries)


@LISTED
def test_of_several_items_none_is_certain(name: str) -> None:
    case = CASES[name]
    (entry, *_) = case.clean[case.entries]
    with pytest.raises(NoValueError, match="names none of the items"):
        read(case, {case.entries: [entry | {"id": "1"}]})


def test_one_sentence_of_several_is_asked_about_alone() -> None:
    case = CASES["ask_summary"]
    some = case.given.model_copy(update={"only": [2]})
    first, second = (Tags(some).tag("sentences", n) for n in (1, 2))
    entry = case.clean["sentences"][0]

    def about(name: str) -> int:
        found: int = read(Case(case.prompt, some, {}), {"sentences": [entry | {"id": name}]}).sentences[0].id  # type: ignore[attr-defined]
        return found

    assert about("1") == about(second) == 2
    # It speaks of another one, of which nobody has asked.
    assert about(first) == 1
