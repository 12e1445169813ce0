"""Which part of a document is read, and files that an installed package has a reader for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.domain import Document, Span, content_id
from redraft.errors import DocumentError, RedraftError, UsageError
from redraft.readers.documents import is_readable, load, load_bytes, parse, read_text, register_reader
from redraft.readers.parts import Selection, number_of, read_selection, select
from redraft.readers.plain import recognised
from redraft.text.places import chapter_of, pages_of
from tests.plugged import installed, package
from tests.readers import makers

GUTENBERG = """The Project Gutenberg EBook of A Night at Sea

Title: A Night
  at Sea

*** START OF THIS PROJECT GUTENBERG EBOOK A NIGHT AT SEA ***

Produced by Somebody and the Proofreaders

A NIGHT AT SEA

CONTENTS

CHAPTER I. The Harbour
CHAPTER II. The Storm
CHAPTER III. The Shore


CHAPTER I. The Harbour

The boat went out at night, and nobody on the quay saw it go.

CHAPTER II. The Storm

The wind rose before they were past the point and the sails were torn.

CHAPTER III. The Shore

They were found in the morning by a boy who was looking for his goat.

INDEX

Boat, 1
Boy, the, 3
Goat, 3
Point, the, 2
Quay, 1
Sails, 2
Storm, 2, 3
Wind, 2

End of the Project Gutenberg EBook of A Night at Sea

*** END OF THIS PROJECT GUTENBERG EBOOK A NIGHT AT SEA ***

You may copy it.
"""


def read(text: str, selection: Selection | None = None, name: str = "night.txt") -> Document:
    return load_bytes(text.encode(), name, selection=selection)


def test_prose_is_kept_and_notes_on_request() -> None:
    tale = "The keeper went up the stairs and lit the lamp, as she did every night. " * 600
    with_start = f"{tale}\n\n*** START OF THE PROJECT GUTENBERG EBOOK OTHER ***\n\n{tale}"
    with_end = f"{tale}\n\n*** END OF THE PROJECT GUTENBERG EBOOK ONE ***\n\n{tale}"
    for text in (with_start, with_end):
        assert read(text).text.count("The keeper") == 1200
    text = "# A\n\n## Contents\n\nThe contents of the box were three letters and a watch.\n\nNobody came.\n"
    document = read(text, name="a.md")
    assert document.text == text
    assert document.notes == ()
    page = b"<html><body><h1>A</h1><p>Some words.</p><aside role=doc-footnote>1. A note.</aside></body></html>"
    document = load_bytes(page, "a.html")
    assert "A note." in document.text
    assert "A note." not in select(document, read_selection(skip=["notes"])).text


def test_non_text_parts_are_noted() -> None:
    document = read(GUTENBERG)
    assert document.title == "A Night at Sea"
    assert document.text.startswith("A NIGHT AT SEA\n\nCHAPTER I. The Harbour\n\nThe boat went out")
    assert document.text.endswith("looking for his goat.")
    notes = " ".join(document.notes)
    for note in ("the notices of Project Gutenberg", "its table of contents (13 words)", "its index"):
        assert note in notes
    titles = [f"CHAPTER {title}" for title in ("I. The Harbour", "II. The Storm", "III. The Shore")]
    assert [section.title for section in document.sections] == titles
    assert read(GUTENBERG, read_selection(skip=["none"])).text == GUTENBERG
    only_index = read(GUTENBERG, read_selection(skip=["none,index"]))
    assert "Goat, 3" not in only_index.text
    assert "Produced by" in only_index.text


def test_chapters_are_taken_by_their_printed_numbers() -> None:
    document = read(GUTENBERG, read_selection(chapters="2-"))
    assert document.text.startswith("CHAPTER II")
    assert "goat" in document.text
    assert "boat went out" not in document.text
    at = document.text.index("goat")
    assert chapter_of(document, document.sections[-1].span) == "CHAPTER III. The Shore"
    assert document.sections[-1].span.start < at < document.sections[-1].span.end


@pytest.mark.slow
def test_pages_are_chosen_by_printed_number() -> None:
    book = makers.new_pdf("A head", first_number=21)
    for at in range(4):
        book.add_page()
        book.text(10, 60, f"On page {21 + at} there is this sentence.")
    data = bytes(book.output())
    document = load_bytes(data, "a.pdf", selection=read_selection(pages="22-23"))
    assert re.findall(r"On page (\d+)", document.text) == ["22", "23"]
    assert pages_of(document, Span(*document.marks[-1][:2])) == "23"
    with pytest.raises(UsageError, match="its pages are 21 to 24"):
        load_bytes(data, "a.pdf", selection=read_selection(pages="90"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chapters": "9"}, "its chapters are 1 to 3"),
        ({"chapters": "3-1"}, "is not a range"),
        ({"pages": "1"}, "the document has no pages"),
        ({"skip": ["prose"]}, "there is no 'prose'"),
    ],
)
def test_what_is_not_there_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(GUTENBERG, read_selection(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), ("xiv", 14), ("IX", 9), ("twenty-one", 21), ("third", 3), ("十二", 12), ("十", 10), ("dog", None)],
)
def test_numbers_as_they_are_printed(text: str, number: int | None) -> None:
    assert number_of(text) == number


CHAPTERS = "".join(
    f"{{{at}}}\n\nIt was a long day at the saltworks, and nobody came until night.\n\n" for at in range(3)
)
THREE = ["Chapter 1. The Light", "Chapter 2. The Storm", "Chapter 3. The Ledger"]
ROMAN = ["CHAPTER I.", "CHAPTER II.", "CHAPTER III."]
WIDE = "A long title of a section that goes on, and that goes on, and on, and on, and on"
LONG = "The author tells of himself and of his family. He is wrecked, and swims for his life to an island of small men."


@pytest.mark.parametrize(
    ("contents", "titles"),
    [
        ("\n".join(THREE), THREE),
        ("CONTENTS\n\n" + "\n".join(f"{title} ........ 7" for title in THREE), THREE),
        ("Table of Contents\n\nForeword\n\n" + "\n\n".join(THREE) + "\n\nForeword\n\n" + "It is a book. " * 9, THREE),
        ("CONTENTS\n\n" + "\n\n".join(f"{title} {LONG}" for title in ROMAN), ROMAN),
        ("CONTENTS\n\n      PAGE\n  I.   LIGHT   1\n II.   STORM  17\nIII.   LEDGER  40", ["I", "II", "III"]),
        (f"Contents\n\n1  {WIDE}\n   on ... 3\n2  Two ... 4\n3  Three ... 9", [f"1  {WIDE} on", "2  Two", "3  Three"]),
    ],
)
def test_contents_list_in_plain_text_is_dropped(contents: str, titles: list[str]) -> None:
    text = f"THE KEEPERS OF SARN\n\n{contents}\n\n{CHAPTERS.format(*titles)}"
    read = select(recognised(parse(text.encode(), name="a.txt", markdown=False)), Selection())
    front = "\n\nForeword\n\n" + "It is a book. " * 9 if "Foreword" in contents else ""
    assert read.text.strip() == f"THE KEEPERS OF SARN{front}\n\n{CHAPTERS.format(*titles)}".strip()
    assert any("its table of contents" in note for note in read.notes)


READERS = """
from redraft import Document
from redraft.errors import RunError

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


def test_read_text_is_an_ordinary_document(folder: Path) -> None:
    document = load(put(folder, "Talk.PLAIN"))
    assert document.text == "# A talk\n\nHello. \n\n## More\n\nIt ends."
    assert [section.title for section in document.sections] == ["A talk", "More"]
    assert (document.title, document.source) == ("A talk", "Talk.PLAIN")
    assert document.id == content_id(document.text)
    assert read_text(put(folder, "talk.plain")) == (document.text, document.notes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"A\x00B", "the text contains NUL characters"),
        (b" \n", "the document is empty"),
        (b"%PDF-1.4", "this is a PDF"),
    ],
)
def test_reader_may_give_no_empty_text(folder: Path, data: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        load(put(folder, "a.wild", data))
    assert caught.value.place == "a.wild"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("broken", "a.broken: the reader for .broken files, of the package talks, failed: ValueError: byte 7 is odd"),
        ("silent", "a.silent: the reader for .silent files, of the package talks, returned no document, but str"),
        ("numbered", "the reader for .numbered files, of the package talks, returned no document, but Document"),
        ("asking", "it is locked\nunlock it"),
        ("lost", "lost, of the package talks, cannot be loaded"),
    ],
)
def test_a_reader_that_fails_is_named(folder: Path, kind: str, message: str) -> None:
    with pytest.raises(RedraftError, match=message) as caught:
        load(put(folder, f"a.{kind}"))
    assert caught.value.hint


def test_a_reader_registers_in_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.readers.documents._registered", {})

    def read(data: bytes, name: str) -> Document:
        return Document.from_text(data.decode().replace(";", ". "), name)

    def fail(data: bytes, name: str) -> Document:
        raise ValueError("byte 7 is odd")

    assert not is_readable("a.log")
    register_reader(".log", read)
    register_reader(".silent", read)
    assert load(put(folder, "a.log", b"The pump starts;it stops.")).text == "The pump starts. it stops."
    assert load(put(folder, "a.silent", b"The pump;stops.")).text == "The pump. stops.", "before an installed one"
    register_reader(".log", fail)
    with pytest.raises(DocumentError, match=rf"^a\.log: the reader for .log files, of the module {__name__}, failed"):
        load(put(folder, "a.log"))


def test_other_files_are_refused_with_choices(folder: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        load(str(folder / "a.mobi"))
    assert caught.value.message == ".mobi files cannot be read"
    assert caught.value.hint == (
        "convert it to .txt or .md first; redraft reads .txt, .md, .docm, .docx, .dotx, .eml, .epub, .htm, .html, .odt,"
        " .pdf, .rtf, .srt, .vtt, .xhtml; other readers take .asking, .broken, .lost, .numbered, .plain, .silent,"
        " .wild"
    )
