"""Reading JSON out of replies, whatever stands around it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, JsonValue

from redraft.llm.reply_reader import NoValueError, read_value, without_thoughts


class Box(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: JsonValue


class Lenient(BaseModel):
    items: list[str] = []


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    pair: tuple[int, int]


scalars = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(st.characters(codec="utf-8"))
values = st.recursive(
    scalars | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)
prose = st.text(st.characters(codec="utf-8", exclude_characters='{["<'), max_size=40).filter(lambda s: "```" not in s)


@settings(deadline=None)
@given(
    values,
    prose,
    prose,
    st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```", "<think>{{x</think>{}"]),
    st.booleans(),
)
def test_any_value_is_found_in_prose_and_fences(content: Any, before: str, after: str, wrap: str, ascii_: bool) -> None:
    text = json.dumps({"content": content}, ensure_ascii=ascii_, indent=1)
    wrapped = wrap.replace("{}", text).replace("{{", "{")
    if wrap.startswith("<think>"):
        before = ""
    assert read_value(f"{before}{wrapped}\n{after}", Box).content == content


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('{}[]",:0189.eE-+ \n`ntrfals\\u\ud800é<think>/'), max_size=60) | st.text())
def test_garbage_is_a_complaint_and_never_a_crash(text: str) -> None:
    with suppress(NoValueError):
        read_value(text, Box)
    without_thoughts(text)


@pytest.mark.slow
@settings(deadline=None)
@given(values, st.data())
def test_a_reply_that_breaks_off_is_none(content: Any, data: st.DataObject) -> None:
    text = json.dumps({"items": ["a", "b"], "more": [content, {"items": ["part"]}]})
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(NoValueError):
        read_value(text[:cut], Lenient)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        "[" * 1_000_000,
        '{"a":' * 200_000,
        "[1," * 300_000,
        "[" + "1," * 500_000,
        "```" + "\n" * 1_000_000 + "x",
        "```json\n" * 100_000,
        "<think>" * 140_000,
        "x {y} " * 160_000,
        "[1] " * 250_000,
        '"' * 1_000_000,
        '{"a" ' * 200_000,
        "1" * 1_000_000,
    ],
    ids=lambda text: text[:8].encode("unicode_escape").decode(),
)
def test_a_megabyte_of_nonsense_takes_no_time(text: str) -> None:
    began = time.process_time()
    with pytest.raises(NoValueError):
        read_value(text, Box)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
def test_what_is_no_number_is_no_number(number: str) -> None:
    with pytest.raises(NoValueError):
        read_value(f'{{"content": {number}}}', Box)


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(NoValueError):
        read_value('{"items": ["\\ud800"]}', Lenient)
    assert read_value('{"items": ["\\ud83d\\ude00"]}', Lenient).items == ["\U0001f600"]


def test_a_value_that_does_not_fit_is_passed_over_and_complained_of() -> None:
    assert read_value('Not {"items": 3}, but {"items": ["a"]}', Lenient).items == ["a"]
    with pytest.raises(NoValueError, match=r"items\.0: Input should be a valid string"):
        read_value('{"items": [3]}', Lenient)
    with pytest.raises(NoValueError, match="no JSON object"):
        read_value("none here", Lenient)


def test_json_is_read_as_json_even_by_a_strict_model() -> None:
    assert read_value('{"pair": [1, 2]}', Strict).pair == (1, 2)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("plain", "plain"),
        ("<think>a</think>b", "b"),
        (" <THINKING>\na\n</THINKING>\n\nb ", "b"),
        ("<think>a</think><think>b</think>c", "c"),
        ("a</think>b", "b"),
        ("<think>never ends", ""),
        ("<think></think>", ""),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
        ("The tag <think> ends with </think>.", "The tag <think> ends with </think>."),
    ],
)
def test_thoughts_are_no_part_of_a_reply(text: str, rest: str) -> None:
    assert without_thoughts(text) == rest
