from __future__ import annotations

import pytest

from redraft.report.pages.formatting import capitalized


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("left out: its contents", "Left out: its contents"),
        ("toc.txt: left out: its contents", "toc.txt: left out: its contents"),
        ("my notes.md: no such file", "my notes.md: no such file"),
        ("a.md has the same text as b.md", "a.md has the same text as b.md"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_large_letter_but_a_file_keeps_its_name(text: str, shown: str) -> None:
    assert capitalized(text) == shown
