"""The tags of items: drawn anew for every request, told from numbers and from each other, and checked in one place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from redraft.llm.replies import NoValueError, read_value
from redraft.prompts import qa, revision
from redraft.prompts.book import PROMPTS
from redraft.prompts.qa import Comparison, Comparisons, Pair, Ranking, SummaryAnswers
from redraft.prompts.tags import NO_ITEM, ItemRef, TaggedItem, Tags, has_tag
from tests.prompts.samples import EVERY, GIVEN, named_in

TEMPLATES = Path(__file__).parents[2] / "redraft" / "prompts" / "templates"
PAIRS = qa.CompareInput(
    pairs=[Pair(id=n, question=f"Who lit lamp {n}?", document="Ann", summary="Bob") for n in range(1, 41)]
)
TAGS = Tags(PAIRS)
OWN = [TAGS.tag("pairs", n) for n in range(1, 41)]


def entry(name: object) -> dict[str, object]:
    return {"id": name, "reason": "r", "verdict": "full"}


def read(*names: object) -> list[int]:
    """The numbers of the items that the entries of a reply are about."""
    reply = json.dumps({"comparisons": [entry(name) for name in (OWN[0], *names)]})
    return [comparison.id for comparison in read_value(reply, Comparisons, PAIRS).comparisons[1:]]


def test_tags_are_distinct_and_stable() -> None:
    assert len(set(OWN)) == 40
    assert [Tags(PAIRS.model_copy()).tag("pairs", n) for n in range(1, 41)] == OWN
    fewer = Tags(PAIRS.model_copy(update={"pairs": PAIRS.pairs[1:]}))
    assert not {fewer.tag("pairs", n) for n in range(2, 41)} & set(OWN[1:])
    renumbered = [pair.model_copy(update={"id": pair.id + 100}) for pair in PAIRS.pairs]
    assert [Tags(PAIRS.model_copy(update={"pairs": renumbered})).tag("pairs", n) for n in range(101, 141)] == OWN
    for first, second in combinations(OWN, 2):
        assert sum(a != b for a, b in zip(first, second, strict=True)) >= 2
    for tag in OWN:
        swapped = [tag[:at] + tag[at + 1] + tag[at] + tag[at + 2 :] for at in range(len(tag) - 1)]
        assert not [name for name in swapped if name != tag and name in OWN]


@pytest.mark.parametrize(
    "name", [0, 1, 2, 39, True, False, None, 1.0, "1", "1_0", "１", "01", "", "one", [1], {"id": 1}, "a", "zzzz", "#1"]
)
def test_other_words_name_no_item(name: object) -> None:
    assert read(name) == [NO_ITEM]


def test_tags_are_read_in_any_wording() -> None:
    first, second = OWN[4], OWN[7]
    assert read(first.upper(), f' "{first}" ', f"[{first}]", f'id="{first}"', f"pair {first}.") == [5] * 5
    assert read(f"{first} {second}", f"{first}{second}") == [NO_ITEM] * 2
    texts = [path.read_text("utf-8") for path in TEMPLATES.rglob("*.md")]
    shown_tags = {tag for text in texts for tag in re.findall(r'\[([a-z]{4,})\]|"id": "([a-z]{4,})"', text)}
    shown_tags = {tag_text for both in shown_tags for tag_text in both if tag_text}
    assert len(shown_tags) > 50
    assert all(map(has_tag, [*OWN, *shown_tags, f"[{OWN[0].upper()}]"]))
    assert not any(map(has_tag, ["1", 1, None, "", "the sentence", "sentence 3", "s1", "zzzz", OWN[0][::-1] + "b"]))
    for names in (range(40), range(1, 41), [str(n) for n in range(40)]):
        with pytest.raises(NoValueError, match="names none of the items"):
            read_value(json.dumps({"comparisons": [entry(name) for name in names]}), Comparisons, PAIRS)


def test_replies_name_items_by_tags() -> None:
    inputs = GIVEN["answer_from_summary"]
    places, questions = named_in(inputs, "sentences"), named_in(inputs, "questions")
    answers = [
        {"id": questions[0], "answer": "Hester.", "sentences": [places[1], questions[1], 1, "2", "zzzz"]},
        {"id": places[0], "answer": "Ann.", "sentences": []},
    ]
    entries = read_value(json.dumps({"answers": answers}), SummaryAnswers, inputs).answers
    assert [(entry.id, entry.sentences) for entry in entries] == [(7, [2]), (NO_ITEM, [])]
    order = named_in(GIVEN["rank_questions"], "candidates")
    reply = {"essential": order[1:], "important": [], "minor": f"{order[0]}."}
    assert read_value(json.dumps(reply), Ranking, GIVEN["rank_questions"]).weights == {3: 3, 7: 1}
    first, second = named_in(GIVEN["decide"], "findings")
    for mend in ([first, second], f"{first} and {second}", [f"finding {first}", f"#{second}"], [first, 3, "7", second]):
        reply = json.dumps({"why": "w", "mend": mend})
        assert read_value(reply, revision.Decision, GIVEN["decide"]).fix == [7, 3]


@pytest.mark.parametrize("number", [True, "1", "1_0", 1.0, None])
def test_item_numbers_are_whole(number: Any) -> None:
    with pytest.raises(ValidationError):
        Comparison(id=number, reason="", verdict="full")


def names_in(shape: Any) -> Iterator[str]:
    """The fields whose items a reply names."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        for info in shape.model_fields.values():
            yield from (mark.field for mark in info.metadata if isinstance(mark, ItemRef))
            yield from names_in(info.annotation)
    for part in get_args(shape):
        if isinstance(part, ItemRef):
            yield part.field
        yield from names_in(part)


@EVERY
def test_only_named_items_have_tags(name: str) -> None:
    inputs = GIVEN[name]
    tagged = {
        field
        for field in type(inputs).model_fields
        if isinstance(value := getattr(inputs, field), list) and any(isinstance(item, TaggedItem) for item in value)
    }
    in_prose = {"points"} if name in ("revise", "edit") else set[str]()
    assert tagged == set(names_in(PROMPTS[name].returns)) | in_prose
