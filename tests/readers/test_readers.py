"""Files that an installed package has a reader for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.domain import content_id
from redraft.errors import DocumentError, RunError, UsageError
from redraft.readers.documents import load, read_text
from tests.plugged import installed, package

READERS = """
from redraft import Document, RunError

def wild(data, name):
    return Document.from_text(data.decode("latin-1"), title=f"Of {name} \\x1b[31m")

def plain(data, name):
    return Document.from_text("# A talk\\r\\n\\r\\nHello.\\x07\\n\\n## More\\n\\nIt ends.")

def broken(data, name):
    raise ValueError("byte 7 is odd")

def asking(data, name):
    raise RunError("it is locked", hint="unlock it")

def silent(data, name):
    return data.decode()

def numbered(data, name):
    return Document("an id", 7, "text")
"""
NAMES = ("wild", "plain", "broken", "asking", "silent", "numbered", "txt")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    offered = {name: f"talks:{'wild' if name == 'txt' else name}" for name in NAMES} | {"lost": "talks:lost"}
    with installed(package(tmp_path / "site", {"redraft.readers": offered}, "talks", {"talks": READERS})):
        yield tmp_path


def put(folder: Path, name: str, data: bytes = b"Some words.") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


def test_what_it_reads_is_a_document_like_any_other(folder: Path) -> None:
    document = load(put(folder, "Talk.PLAIN"))
    assert document.text == "# A talk\n\nHello. \n\n## More\n\nIt ends."
    assert [section.title for section in document.sections] == ["A talk", "More"]
    assert (document.title, document.source) == ("A talk", "Talk.PLAIN")
    assert document.id == content_id(document.text)
    assert read_text(put(folder, "talk.plain")) == (document.text, document.notes)


def test_its_title_goes_first_and_is_cleaned(folder: Path) -> None:
    assert load(put(folder, "a.wild")).title == "Of a.wild"


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"A\x00B", "the text holds NUL characters"), (b" \n", "the document is empty"), (b"%PDF-1.4", "this is a PDF")],
)
def test_no_text_is_none_from_a_reader_either(folder: Path, data: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        load(put(folder, "a.wild", data))
    assert caught.value.place == "a.wild"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("broken", "the reader for .broken files, of the package talks, failed: ValueError: byte 7 is odd"),
        ("silent", "the reader for .silent files, of the package talks, returned no document, but str"),
        ("numbered", "the reader for .numbered files, of the package talks, returned no document, but Document"),
    ],
)
def test_a_reader_that_fails_is_named(folder: Path, kind: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(put(folder, f"a.{kind}"))
    assert (caught.value.message, caught.value.place) == (message, f"a.{kind}")
    assert caught.value.hint


def test_a_reader_may_say_itself_what_is_wrong(folder: Path) -> None:
    with pytest.raises(RunError) as caught:
        load(put(folder, "a.asking"))
    assert (caught.value.message, caught.value.hint) == ("it is locked", "unlock it")


def test_a_reader_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(UsageError, match="lost, of the package talks, cannot be loaded"):
        load(put(folder, "a.lost"))


def test_a_file_that_is_not_there(folder: Path) -> None:
    with pytest.raises(DocumentError, match="no such file"):
        load(str(folder / "none.plain"))


def test_other_files_are_refused_with_what_there_is(folder: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        load(str(folder / "a.mobi"))
    assert caught.value.message == ".mobi files cannot be read"
    assert caught.value.hint == (
        "convert it to .txt or .md first; redraft reads .txt, .md, .docm, .docx, .dotx, .epub, .htm, .html, .odt, .pdf,"
        " .rtf, .srt, .vtt, .xhtml; installed packages read .asking, .broken, .lost, .numbered, .plain, .silent,"
        " .wild"
    )


def test_text_is_read_as_ever(folder: Path) -> None:
    assert load(put(folder, "talk.txt", b"A night at sea\n\nIt was long.")).title == "A night at sea"
