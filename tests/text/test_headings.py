"""Headings are told from sentences, list items and names in lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.text.sentences import is_heading


@pytest.mark.parametrize(
    "line",
    [
        "# A storm",
        "### What became of the keepers.",
        "**The second winter**",
        "__Part two__:",
        "Chapter One",
        "The Keepers of the Light",
        "PART II",
        "The Storm: A Beginning",
        "Der Sturm",
        "  Epilogue  ",
    ],
)
def test_titles_are_headings(line: str) -> None:
    assert is_heading(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Hester leaves.",
        "HESTER LEAVES THE ISLAND AT NIGHT.",
        "Hester leaves the island",
        "- Hester Crane",
        "2) Hester Crane",
        "• The Storm",
        "“The Storm!”",
        "Hester Crane, Ada Quill, Tobias Wren, Matthias Crane and Isaac Thorne",
        "12. 3",
        "* * *",
        "他离开了灯塔。",
        "#hester",
        "**Hester** leaves with **Ada**",
    ],
)
def test_sentences_items_and_ornaments_are_none(line: str) -> None:
    assert not is_heading(line)


@given(st.text(max_size=60))
def test_what_ends_as_a_sentence_ends_is_no_heading(line: str) -> None:
    assert not is_heading(f"x{line}.".replace("*", "").replace("_", ""))
