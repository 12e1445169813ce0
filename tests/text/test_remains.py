"""Texts that were cut off while they said the same over and over are told from those that were not."""

from __future__ import annotations

import json

import pytest

from redraft.text.reply_cleanup import ends_in_loop, unlooped

ENTRY = {"question": "Who keeps the lamp?", "kind": "who", "answer": "Hester", "quote": "Hester keeps the lamp."}


@pytest.mark.parametrize(
    "text",
    [
        '{"roots": [{"fact": "The Long Bank is a bank, ' + "and is owned by the Sarn Saltworks, " * 9 + "and is own",
        '{"question": "What is the most recent ' + "version of the [insert name of the most recent " * 6 + "ver",
        '{"questions": ["' + "The sentence is in the form of a request to revise your response to fit it. " * 5,
        '{"questions": ["' + "The sentence is in the form of a request to revise your response to fit it. " * 5 + "The",
        '{"questions": [' + f"{json.dumps(ENTRY)}, " * 5 + '{"question": "Who',
        "The father's " + "father's " * 9,
        "これは同じことです。" * 9 + "これは",
    ],
)
def test_what_was_said_over_and_over_up_to_the_end_is_a_loop(text: str) -> None:
    assert ends_in_loop(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The father's father's father's father",
        json.dumps({"questions": [ENTRY | {"question": f"Who keeps lamp {n}?"} for n in range(20)]})[:-9],
        json.dumps({"comparisons": [{"id": f"b{n}cd", "reason": "The same.", "verdict": "agrees"} for n in range(20)]}),
        '{"marks": [' + "0, " * 40,
        "| - | - |\n" * 20,
        "and so on " * 12 + "until the lamp goes out",
    ],
)
def test_what_goes_on_or_has_no_words_is_none(text: str) -> None:
    assert not ends_in_loop(text)


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("He saw the man, the man, the man, the man, and left. It rained.", "He saw the man, and left. It rained."),
        ("She is of the house of the house of the house of the house.", "She is of the house."),
        ("The lamp " * 12 + "was all.", "The lamp was all."),
        (f"To the sea and back{', to the sea and back' * 2}. End.", "To the sea and back. End."),
        ("It was very, very, very cold.",) * 2,
        ("The years 0 0 0 0 0 0 0 are zeros.",) * 2,
    ],
)
def test_a_loop_within_a_reply_is_cut_to_one_turn(text: str, once: str) -> None:
    assert unlooped(text) == once
