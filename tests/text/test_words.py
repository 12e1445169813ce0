from __future__ import annotations

import pytest
from hypothesis import given

from redraft.text.words import count_words, dollars, same_words, words_key
from tests.text.hostile import raw_texts


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("… — !", 0),
        ("the ship's 3.5-ton anchor", 4),
        ("It’s one-and-twenty", 2),
        ("U.S.A. and e.g. 1,804", 4),
        ("here—there", 2),
        ("end.\nBegin", 2),
        ("“Who?” she asked.", 3),
        ("今日は雨", 4),
        ("灯塔 keeper", 3),
        ("Привет, мир", 2),
        ("한국어 문장", 2),
        ("ไทย", 3),
        ("'quoted'", 1),
        ("a - b", 2),
    ],
)
def test_counts(text: str, count: int) -> None:
    assert count_words(text) == count


@given(raw_texts, raw_texts)
def test_words_of_two_paragraphs_add_up(first: str, second: str) -> None:
    assert count_words(f"{first}\n\n{second}") == count_words(first) + count_words(second)


@given(raw_texts)
def test_blanks_do_not_count(text: str) -> None:
    assert count_words(f" \n{text}\t ") == count_words(text)
    assert 0 <= count_words(text) <= len(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The lamp went out.", " the LAMP “went” out! "),
        ("It's one-and-twenty", "IT'S one-and-twenty;"),
        ("船長失去", "船長，失去。"),
        ("", "… — !"),
    ],
)
def test_texts_with_the_same_words(one: str, other: str) -> None:
    assert same_words(one, other)
    assert words_key(one) == words_key(other)


@pytest.mark.parametrize(("one", "other"), [("ab c", "a bc"), ("1.5", "1 5"), ("lamp", "lamps"), ("a", "")])
def test_texts_with_other_words(one: str, other: str) -> None:
    assert not same_words(one, other)
    assert words_key(one) != words_key(other)


def test_counting_takes_linear_time() -> None:
    assert count_words("a'" * 300_000) == 1
    assert count_words("a" * 1_000_000) == 1


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (None, "unknown"),
        (0, "free"),
        (1.5, "$1.50"),
        (1234.567, "$1,234.57"),
        (0.25, "$0.25"),
        (0.0375, "$0.0375"),
        (0.01237, "$0.0124"),
        (0.000034, "$0.000034"),
    ],
)
def test_money_has_two_decimals_or_more_if_it_is_little(cost: float | None, shown: str) -> None:
    assert dollars(cost) == shown
