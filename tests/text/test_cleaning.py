from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.text.cleaning import clean, one_line
from tests.text.hostile import raw_texts


@given(raw_texts)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(raw_texts)
def test_clean_text_is_harmless(text: str) -> None:
    cleaned = clean(text)
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert all(character in "\n\t" or character.isprintable() or ord(character) > 0x9F for character in cleaned)
    assert not set(cleaned) & set("\x1b\r\x00\x85\u2028\u2029\u202e\u2066\ufeff")


@given(raw_texts, st.integers(1, 40))
def test_one_line_is_one_line_and_stays_it(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line
    assert one_line(line, width) == line
    assert one_line(one_line(text)) == one_line(text)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\r\nb\rc\x85d\u2028e\u2029f\vg\fh", "a\nb\nc\nd\ne\nf\ng\nh"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("a\x1b", "a "),
        ("a\x00b\x08c", "a b c"),
        ("a\ud800b", "a?b"),
        ("“naïve” 👩‍👩‍👧 雨", "“naïve” 👩‍👩‍👧 雨"),
    ],
)
def test_what_becomes_of_it(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_an_escape_without_an_end_takes_linear_time() -> None:
    assert clean("\x1b]" * 200_000).strip() == ""
    assert clean("\x1b]" + "a" * 500_000) == ""
    assert "".join(clean("\x1b[" * 200_000).split()) == "[" * 200_000


def test_a_long_line_is_cut() -> None:
    assert one_line("one  two\nthree", 8) == "one two…"
    assert one_line("one two", 7) == "one two"
