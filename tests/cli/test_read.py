"""`redraft read`, documents with pages on their way through the other commands, and `redraft data`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.local_command import LocalCommand
from tests.readers import makers
from tests.readers.test_formats import book

SMALL = ("--words", "60", "--json", "--quiet")


@pytest.mark.slow
def test_reading_of_a_file_is_shown(tmp_path: Path) -> None:
    command = LocalCommand(tmp_path, COLUMNS="100")
    title, chapters = book()
    path = tmp_path / "book.pdf"
    path.write_bytes(makers.pdf(title, chapters[:2]))
    output = command.run("read", str(path)).out
    assert "The Salt Ledger" in output
    assert "left out: " in output
    assert "Chapter 2: The Counting House" in output
    as_json = command.run("read", str(path), "--chapters", "2", "--json").json
    assert [section["chapter"] for section in as_json["sections"] if section["chapter"]] == [2]
    assert as_json["sections"][-1]["pages"]
    assert "reading chapter 2 only" in as_json["notes"]
    text = command.run("read", str(path), "--chapters", "2", "--text", "-q").out
    assert text.startswith("## Chapter 2: The Counting House\n")
