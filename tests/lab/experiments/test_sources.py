"""What experiments are about: files, folders, patterns, and files with a document on each line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redraft.errors import RedraftError
from redraft.lab.experiments.sources import corpus


@pytest.fixture
def books(tmp_path: Path) -> Path:
    (tmp_path / "b.txt").write_text("The second book.", "utf-8")
    (tmp_path / "a.md").write_text("# First\n\nThe first book.", "utf-8")
    (tmp_path / ".hidden.txt").write_text("Nobody sees this.", "utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    lines = [{"id": 7, "title": "Third", "text": "The third\u2028book."}, {"id": "four", "text": "The fourth book."}]
    (tmp_path / "c.jsonl").write_text("\n\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "e.txt").write_text("The fifth book.", "utf-8")
    return tmp_path


def test_folders_give_files_and_lines_in_order(books: Path) -> None:
    actual = corpus([str(books)]).documents
    assert [document.title for document in actual] == ["First", "b", "Third", "four"]
    assert [document.source for document in actual] == ["a.md", "b.txt", "c.jsonl", "c.jsonl"]
    assert actual[2].text == "The third\nbook."


def test_patterns_match_files_without_repeats(books: Path) -> None:
    assert [document.title for document in corpus([str(books / "*.t?t"), str(books / "b.txt")]).documents] == ["b"]
    assert [document.title for document in corpus([str(books / "**" / "*.txt")]).documents] == ["b", "e"]
    (books / "what [really] happened.txt").write_text("It rained.", "utf-8")
    assert [document.text for document in corpus([str(books / "what [really] happened.txt")]).documents] == [
        "It rained."
    ]


@pytest.mark.parametrize(
    ("content", "message", "place"),
    [
        ('{"text": "x."}\n{"text": ', "this is not JSON", "line 2"),
        ('{"text": "x."}\n{"title": "y"}', "no `text` with a text", "line 2"),
        ('["x."]', "an object was expected", "entry 1"),
        ("\n \n", "the file is empty", "x.jsonl"),
    ],
)
def test_bad_documents_are_named_with_their_place(tmp_path: Path, content: str, message: str, place: str) -> None:
    (tmp_path / "x.jsonl").write_text(content, "utf-8")
    with pytest.raises(RedraftError) as error:
        corpus([str(tmp_path / "x.jsonl")])
    assert message in error.value.message
    assert error.value.place.endswith(place)


def test_what_is_not_there_is_said(books: Path) -> None:
    for source, message in (("*.doc", "no file fits"), ("none.txt", "no such file")):
        with pytest.raises(RedraftError, match=message):
            corpus([str(books / source)])
    (books / "empty").mkdir()
    with pytest.raises(RedraftError, match="no file in it can be read"):
        corpus([str(books / "empty")])
