"""Documents from files: bytes in whichever encoding, the sections and titles of a text, and what is refused."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.domain import Document, content_id
from redraft.errors import DocumentError
from redraft.readers.documents import load, parse
from redraft.readers.parts import chapters
from redraft.readers.plain import decode

ENGLISH = "He said “no” — and it was the naïve captain’s café.\n"
GERMAN = "Die alte Wärterin stieg jeden Abend die Treppe hinauf; das Fenster der großen Kammer war zerbrochen.\n"
RUSSIAN = "Старый смотритель маяка каждый вечер поднимался по крутой лестнице, чтобы зажечь огонь.\n"
JAPANESE = "灯台守の老人は毎晩、急な螺旋階段を上って灯をともした。村の誰も、彼がいつから住んでいるのか覚えていない。\n"
CHINESE = "看守灯塔的老人每天傍晚都要爬上陡峭的旋梯去点灯。村里没有人记得他在那里住了多久。\n"


def markdown(text: str) -> Document:
    return parse(text.encode(), name="notes.md")


def plain(text: str) -> Document:
    return parse(text.encode(), name="the-tide.txt", markdown=False)


def titles(document: Document) -> list[str]:
    return [section.title for section in document.sections]


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_encodings(codec: str) -> None:
    text = ENGLISH + RUSSIAN + JAPANESE
    document = parse(text.encode(codec), name="x.txt")
    assert (document.text, document.encoding, document.notes) == (text, codec, ())


@pytest.mark.parametrize("times", [3, 50, 4_000], ids=["short", "long", "longer than what is looked at"])
@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (ENGLISH, "cp1252"),
        (GERMAN, "latin-1"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (CHINESE, "gb18030"),
    ],
)
def test_legacy_encodings(text: str, codec: str, times: int) -> None:
    document = parse((text * times).encode(codec), name="x.txt")
    assert (document.text, document.notes) == (text * times, ())
    assert document.encoding != "utf-8"


@pytest.mark.parametrize("text", ['(format t "~{~a~^, ~}~%" x) ~{ab~}', "a+bcd-e, f+ghi-j", "\x1b(Bred\x1b[0m"])
def test_ascii_that_looks_like_another_encoding_stays(text: str) -> None:
    assert decode(text.encode(), "x.txt")[0] == text


@pytest.mark.parametrize(
    ("data", "lost", "note"),
    [
        (
            RUSSIAN.encode() * 40 + GERMAN.encode("latin-1") * 5 + RUSSIAN.encode() * 40,
            10,
            "the encoding changes: 10 places are not UTF-8, the first of them in line 41",
        ),
        (
            RUSSIAN.encode() * 6 + b"\xff" + RUSSIAN.encode() * 40,
            1,
            "the encoding changes: 1 place is not UTF-8, the first of them in line 7",
        ),
        (GERMAN.encode("cp1252") * 4_000 + b"\x81\x8d\n", 2, "the text was read as cp1252, but 2 places are not"),
    ],
)
def test_undecodable_bytes_are_counted(data: bytes, lost: int, note: str) -> None:
    document = parse(data, name="x.txt")
    assert (document.text.count("\ufffd"), document.notes) == (lost, (note,))


BINARY = bytes(byte for at in range(40) for byte in range(1, 256) if (byte * at) % 7)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ((b"", b"\n\n\t \r\n", b"\xef\xbb\xbf", "\u3000\u00a0".encode(), b"\xff\xfe"), "empty"),
        ((b"text\x00text", "text\x00".encode("utf-16"), b"\x00" * 10, "text".encode("utf-16-le")), "NUL"),
        ((b"\x1b$)A\x0e1D\x0f", JAPANESE.encode("iso2022_jp"), BINARY), "in an unknown encoding"),
        ((b"%PDF-1.7 ...",), "a PDF file"),
        ((b"PK\x03\x04....",), "zip archive"),
        ((b"\x89PNG\r\n\x1a\n",), "PNG"),
        ((b"{\\rtf1 hello}",), "RTF"),
        ((b"\xd0\xcf\x11\xe0",), "Office"),
    ],
)
def test_what_is_no_text_is_refused(files: tuple[bytes, ...], message: str) -> None:
    for data in files:
        with pytest.raises(DocumentError, match=message) as caught:
            parse(data, name="x.txt")
        assert caught.value.place == "x.txt"
        assert caught.value.hint


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_give_a_document_or_reason(data: bytes) -> None:
    with suppress(DocumentError):
        document = parse(data, name="x")
        assert document.text.strip()
        assert document.id == content_id(document.text)
        assert document.text.encode()


def test_files_are_read_by_their_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, expected in (("a.md", ["Heading"]), ("a.txt", []), ("a.MD", ["Heading"]), ("a", ["Heading"])):
        (tmp_path / name).write_text("# Heading\n\nText.\n", "utf-8")
        document = load(str(tmp_path / name))
        assert (titles(document), document.source) == (expected, name)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"# Tide\n\nText.")))
    document = load("-")
    assert (document.title, document.source) == ("Tide", "stdin")


MARKDOWN = """---
title: x
# comment
---

# The Tide ##

Preamble with a #hashtag.

## One

Text.

### Within `one`

#hashtag

```python
# code is no heading
```

## Two

~~~
## nor is this
~~~

Setext
------

Three lines
of prose
---

- an item
---

   ### Indented a little

    # indented code

Another Part
============

```
# never closed
"""


def test_markdown_sections() -> None:
    document = markdown(MARKDOWN)
    assert [(section.level, section.title) for section in document.sections] == [
        (1, "The Tide"),
        (2, "One"),
        (3, "Within `one`"),
        (2, "Two"),
        (2, "Setext"),
        (3, "Indented a little"),
        (1, "Another Part"),
    ]
    for section in document.sections:
        assert section.title in document.text[section.span.start : section.span.end]
    assert document.title == "The Tide"


@pytest.mark.parametrize("gap", ["\n\n", "\n \n\n"])
@pytest.mark.parametrize(
    ("heading", "level"),
    [
        ("CHAPTER I", 2),
        ("Chapter 1: The Tide", 2),
        ("CHAPTER IV THE TIDE", 2),
        ("Chapter Twenty-One", 2),
        ("Chapter Five\nThe Storm", 2),
        ("    CHAPTER II", 2),
        ("PART TWO", 1),
        ("EPILOGUE: After", 2),
        ("XIV.", 2),
    ],
)
def test_plain_headings(heading: str, level: int, gap: str) -> None:
    document = plain(f"The Tide{gap}{heading}{gap}It rose.{gap}It fell.\n")
    assert [(section.title, section.level) for section in document.sections] == [(" ".join(heading.split()), level)]
    assert document.text[document.sections[0].span.start :].startswith(heading.strip())
    assert document.title == "The Tide"


@pytest.mark.parametrize(
    "prose",
    [
        "Book lovers. They came in droves.",
        "Chapter one was dull, she thought, and long.",
        "12 men came.",
        "Chapter 1\nruns on into a line of prose, and another\nand another",
    ],
)
def test_prose_is_no_heading(prose: str) -> None:
    assert titles(plain(f"It rose.\n\n{prose}\n\nIt fell.\n")) == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n  The Salt Ledger  \n\nText.", "The Salt Ledger"),
        ("The Salt Ledger\nby Hester Lamb\n\nText.", "The Salt Ledger"),
        ("It was a dark night, and the lamp\nburned in the tower of Sarn.\n\nText.", "the-tide"),
        ("“The shock must have busted it\n\nHe looked at the dial.", "the-tide"),
        ("CHAPTER I\n\nIt was dark.\n", "the-tide"),
        (f"{'word ' * 30}\n\nText.", "the-tide"),
    ],
)
def test_titles_of_plain_text(text: str, title: str) -> None:
    assert plain(text).title == title


@pytest.mark.parametrize("first", ["Chapter 1", "Chapter One: The Light", "1. The Light", "Preface"])
def test_first_chapter_is_no_title(first: str) -> None:
    document = markdown(f"# {first}\n\nIt rose.\n\n# The Flood\n\nIt fell.\n")
    assert (document.title, titles(document)) == ("notes", [first, "The Flood"])
    assert chapters(document)[0][0] == 1 or not first.startswith("Chapter")


@pytest.mark.parametrize(
    "text",
    [
        "# a" + " #" * 150_000 + "x",
        "CHAPTER " * 50_000,
        "\n\n" + " " * 300_000 + "x",
        "a\n===" * 50_000,
        "~~~a\n```b\n" * 30_000,
        "---\n" * 100_000,
        "Chapter 1" + "-" * 300_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_headings_are_looked_for_in_linear_time(text: str) -> None:
    assert markdown(text).text == text
    assert plain(text).text == text


def test_unwrapped_lines_are_paragraphs() -> None:
    long = ("The keeper of the light wrote down what he saw. " * 5).strip()
    document = plain("\n".join([long] * 3 + ["Chapter 2", long]))
    assert document.text.count("\n\n") == 4
    assert titles(document) == ["Chapter 2"]
    wrapped = "\n".join(["The keeper of the light wrote down what he saw."] * 30)
    assert plain(wrapped).text == wrapped
