"""However a model writes a structured reply: its verdict on an item is read, or none is."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from pydantic import BaseModel

from redraft.agents.judge import _settled
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.book import PROMPTS
from redraft.prompts.coherence import Confusion
from redraft.prompts.tags import TaggedItem, Tags
from tests.replies.prompts import CASES, NAMES, Case, Json
from tests.replies.styles import FAULTS, LOSSY, LOST, READ

PROMPT = pytest.mark.parametrize("name", CASES)
LISTED = pytest.mark.parametrize("name", sorted(name for name, case in CASES.items() if case.entries))
Verdicts = dict[int, dict[str, Any]]


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


def verdict(entry: Any) -> dict[str, Any] | None:
    """The verdict of an entry; None if it has none, as for the agents that ask for it."""
    if isinstance(entry, Confusion):
        confusion = {"confusing": entry.is_confusing, "questions": entry.asked}
        return None if entry.is_confusing is None else confusion
    fields: dict[str, Any] = entry.model_dump(exclude={"id", "reason", "quote"})
    return fields if getattr(entry, "answer", "something") else None


def settled(case: Case, value: BaseModel) -> Verdicts:
    verdicts: Verdicts = _settled(
        [(entry.id - 1, verdict(entry)) for entry in getattr(value, case.entries)], range(len(NAMES))
    )[0]
    return verdicts


def count_right(case: Case, value: BaseModel | None) -> int:
    """How many verdicts there are. None may differ from the clean reply's."""
    right = clean(case)
    if value is None:
        return 0
    if case.entries:
        verdicts, right_verdicts = settled(case, value), settled(case, right)
        assert {n: right_verdicts[n] for n in verdicts} == verdicts
        return len(verdicts)
    for name, part in right:
        own = getattr(value, name)
        assert own == part or (isinstance(part, list) and [entry for entry in part if entry in own] == own)
    return 1


def test_every_structured_prompt_has_a_case() -> None:
    assert set(CASES) == {name for name, prompt in PROMPTS.items() if prompt.returns is not str}


def test_invalid_entry_of_a_list_in_capitals_is_left_out() -> None:
    case = CASES["outline"]
    cast = [*case.clean["cast"], 5]
    value = read(case, json.dumps({name: part for name, part in case.clean.items() if name != "cast"} | {"CAST": cast}))
    assert value == clean(case)


@PROMPT
def test_every_style_is_read(name: str) -> None:
    case = CASES[name]
    for style, write in READ.items():
        text = write(case, random.Random(style))
        value = read(case, text)
        if case.entries:
            assert count_right(case, value) == len(NAMES), (style, text)
        else:
            assert value == clean(case), (style, text)


@PROMPT
def test_bad_entry_costs_only_itself(name: str) -> None:
    case = CASES[name]
    for style, write in LOSSY.items():
        least = {"half of them": 3, "one alone": 1}.get(style, len(NAMES) - 1) if case.entries else 1
        for seed in range(3):
            text = write(case, random.Random(seed))
            assert count_right(case, read(case, text)) >= least, (style, text)


@PROMPT
def test_empty_reply_gives_no_verdict(name: str) -> None:
    case = CASES[name]
    for style, write in LOST.items():
        text = write(case, random.Random(0))
        assert count_right(case, read(case, text)) == 0, (style, text)


@PROMPT
def test_faulty_ids_misplace_no_verdict(name: str) -> None:
    case = CASES[name]
    for write in FAULTS.values():
        for seed in range(4):
            count_right(case, read(case, write(case, random.Random(f"{name} {seed}"))))


@PROMPT
def test_cut_reply_gives_no_other_verdict(name: str) -> None:
    """At every eighth token, at other ones for each prompt and style, and at the last four."""
    case = CASES[name]
    for style in ("bare", "indented", "fence", "Python", "lines", "thought", "bare list"):
        text = READ[style](case, random.Random(1))
        cuts = sorted({match.start() for match in re.finditer(r"\b|\W", text)} - {0, len(text)})
        for cut in (*cuts[random.Random(name + style).randrange(8) : -4 : 8], *cuts[-4:]):
            value = read(case, text[:cut])
            count = count_right(case, value)
            if style != "lines" and value is not None:
                # Only the marks around it are missing.
                assert count == (len(NAMES) if case.entries else 1), text[:cut]


def alone(whole: Case) -> tuple[Case, str]:
    """The same case with only the first of its items, and the tag of that."""
    first = whole.clean[whole.entries][0]
    lists = {name: getattr(whole.given, name) for name in type(whole.given).model_fields}
    (field,) = [
        name
        for name, items in lists.items()
        if isinstance(items, list)
        and any(isinstance(item, TaggedItem) for item in items)
        and first["id"] in Tags(whole.given).all(name)
    ]
    inputs = whole.given.model_copy(update={field: lists[field][:1]})
    (tag,) = Tags(inputs).asked(field)
    return Case(whole.prompt, inputs, {whole.entries: [first | {"id": tag}]}), tag


def read_one(case: Case, reply: Json | str) -> BaseModel:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    value: BaseModel = read_value(text, case.prompt.returns, case.given)
    return value


def with_id(case: Case, name: Any) -> Json:
    (entry,) = case.clean[case.entries]
    return {case.entries: [{**entry, "id": name}]}


@LISTED
def test_only_entry_is_about_the_only_item(name: str) -> None:
    case, _ = alone(CASES[name])
    right = read_one(case, case.clean)
    assert getattr(right, case.entries)[0].id == 1
    for own in ("1", "0", 1, None, "", "s1", "Q1", "the sentence", "id", "first", "zzzz"):
        assert read_one(case, with_id(case, own)) == right, own
    (entry,) = case.clean[case.entries]
    assert read_one(case, {case.entries: [{key: part for key, part in entry.items() if key != "id"}]}) == right
    numbered = Case(case.prompt, case.given, with_id(case, "1"))
    for style in READ.keys() - {"ids in capitals", "ids among words", "thought"}:
        assert read_one(case, READ[style](numbered, random.Random(style))) == right, style


@LISTED
@pytest.mark.parametrize("example", ["jcpg", '[id="bdvr"]', "ccnt."])
def test_tag_of_an_example_names_no_item(name: str, example: str) -> None:
    case, _ = alone(CASES[name])
    with pytest.raises(NoValueError, match="names none of the items"):
        read_one(case, with_id(case, example))


@LISTED
def test_unnamed_entry_among_several_is_dropped(name: str) -> None:
    case, tag = alone(CASES[name])
    two = [*with_id(case, "1")[case.entries], *with_id(case, "2")[case.entries]]
    with pytest.raises(NoValueError, match="names none of the items"):
        read_one(case, {case.entries: two})
    reply = read_one(case, {case.entries: [*two, *with_id(case, tag)[case.entries]]})
    named = [entry for entry in getattr(reply, case.entries) if entry.id == 1]
    assert named == getattr(read_one(case, case.clean), case.entries)
    several = CASES[name]
    with pytest.raises(NoValueError, match="names none of the items"):
        read_one(several, {several.entries: [several.clean[several.entries][0] | {"id": "1"}]})


def test_unnamed_entry_is_about_the_sentence_asked() -> None:
    case = CASES["ask_summary"]
    inputs = case.given.model_copy(update={"only": [2]})
    first, second = (Tags(inputs).tag("sentences", n) for n in (1, 2))
    entry = case.clean["sentences"][0]

    def about(name: str) -> int:
        reply: Any = read_one(Case(case.prompt, inputs, {}), {"sentences": [entry | {"id": name}]})
        number: int = reply.sentences[0].id
        return number

    # The first sentence is not asked about, and still another one.
    assert (about("1"), about(second), about(first)) == (2, 2, 1)
