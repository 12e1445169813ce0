"""One text is one document and one run, under whatever name and in whatever dress of bytes it comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chatserver import ChatServer
from tests.cli.inside import Inside

STORY = "# Light\n\nInes kept the light on the cape for years.\n\n## End\n\nOne night it went out and a ship sank.\n"


@pytest.mark.parametrize("name", ["link.md", "./book.md", "ABSOLUTE", "copy.md", "windows.md", "marked.md", "wide.md"])
def test_another_name_of_a_file_asks_nothing_again(tmp_path: Path, name: str) -> None:
    (tmp_path / "book.md").write_text(STORY)
    (tmp_path / "link.md").symlink_to("book.md")
    (tmp_path / "copy.md").write_text(STORY)
    (tmp_path / "windows.md").write_bytes(STORY.replace("\n", "\r\n").encode())
    (tmp_path / "marked.md").write_bytes(STORY.encode("utf-8-sig"))
    (tmp_path / "wide.md").write_bytes(STORY.encode("utf-16"))
    with ChatServer() as server:
        command = Inside(tmp_path, server.base_url, REDRAFT_MODEL="openai:m")
        first = command.run("summarize", "book.md", "--json").json
        asked = len(server.seen)
        again = command.run("summarize", str(tmp_path / "book.md") if name == "ABSOLUTE" else name, "--json").json
        assert asked == len(server.seen) > 0
    assert again["identity"] == first["identity"]
    assert again["source"] == first["source"]
    assert again["summary"] == first["summary"]
