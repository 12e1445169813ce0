from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.text.sanitizer import clean, clean_with_notes, one_line
from tests.text.hostile import raw_texts


@pytest.mark.slow
@given(raw_texts)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(raw_texts)
def test_clean_text_is_harmless(text: str) -> None:
    found = clean(text)
    assert found.encode("utf-8").decode("utf-8") == found
    assert all(character in "\n\t" or character.isprintable() or ord(character) > 0x9F for character in found)
    assert not set(found) & set("\x1b\r\x00\x85\u2028\u2029\u202e\u2066\ufeff")


@given(raw_texts, st.integers(1, 40))
def test_one_line_is_one_line_and_stays_it(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line
    assert one_line(line, width) == line
    assert one_line(one_line(text)) == one_line(text)


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_what_becomes_of_it(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize("introducer", "PX^_]")
@pytest.mark.parametrize(
    "end", ["", "\nThe end.\x07", "\nThe end.\x1b\\", "\x1b", "\x85\x07", "." * 2_001 + "\x1b\\"], ids=ascii
)
def test_an_escape_without_an_end_takes_nothing_with_it(introducer: str, end: str) -> None:
    story = "Ines kept the light. " * 3
    kept = clean(f"Before. \x1b{introducer}{story}{end}")
    assert f"Before.  {introducer}{story}" in kept
    assert ("The end." in kept) == ("The end." in end)
    assert clean_with_notes(f"\x1b{introducer}{story}").notes == ("1 control character became a space",)


@pytest.mark.parametrize("introducer", "PX^_")
def test_only_a_title_may_end_with_a_bell(introducer: str) -> None:
    assert clean(f"\x1b{introducer}the story\x07") == f" {introducer}the story "
    assert clean("\x1b]0;a title\x07the story") == "the story"


def test_what_was_taken_out_is_counted() -> None:
    assert clean_with_notes("\x1b[1;31mred\x1b[0m\x1b]0;title\x07 and\x00 \u202eblue\x9b").notes == (
        "3 terminal escapes were removed from the text, 21 characters in all",
        "3 control characters became spaces",
    )
    assert clean_with_notes("a\r\nb\x85c\fd").notes == ()


@pytest.mark.slow
def test_a_long_text_is_cleaned_as_a_short_one_is() -> None:
    found = clean_with_notes("ab\x00é\x1b[1m" * 700_000)
    assert found.text == "ab é" * 700_000
    assert found.notes[1] == "700,000 control characters became spaces"


def test_an_escape_without_an_end_takes_linear_time() -> None:
    assert "".join(clean("\x1b]" * 200_000).split()) == "]" * 200_000
    assert clean("\x1b]" + "a" * 500_000) == " ]" + "a" * 500_000
    assert "".join(clean("\x1b[" * 200_000).split()) == "[" * 200_000


def test_a_long_line_is_cut() -> None:
    assert one_line("one  two\nthree", 8) == "one two…"
    assert one_line("one two", 7) == "one two"
