"""Files that are broken, cut off, locked, or made to do harm: each gives a document or a sentence."""

from __future__ import annotations

import random
import re
import zipfile
from functools import cache
from io import BytesIO

import pytest

from redraft.domain import Document
from redraft.errors import DocumentError
from redraft.readers import documents, formats, markup
from redraft.readers.builder import check
from redraft.readers.documents import load_bytes, read_in_subprocess
from redraft.readers.parts import Selection
from redraft.readers.pdf.file import damaged_streams
from tests.readers import makers

CHAPTERS = [(f"Chapter {at}", [f"The salt of year {at} was white.", "It was sold. " * 20]) for at in range(1, 5)]
_WORSE = (b"", b"\xff\x00<", b"<a ", b">")
FORMS = ("html", "epub", "docx", "odt", "pdf", "rtf")


@cache
def sound(form: str) -> bytes:
    """A file that can be read."""
    if form == "rtf":
        return makers.rtf([text for _, texts in CHAPTERS for text in texts])
    return bytes(getattr(makers, form)("Salt", CHAPTERS))


def refusal(form: str, data: bytes) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_in_subprocess(form, data, f"a.{form}")  # type: ignore[arg-type]
    assert caught.value.place == f"a.{form}"
    assert caught.value.hint
    assert "Traceback" not in str(caught.value)
    return caught.value


def spoiled(form: str, seed: int) -> bytes:
    """A file that was cut off, or has some bytes that are others, inside its archive where it is one."""
    chance = random.Random(f"{form} {seed}")
    data = bytearray(sound(form))
    if form in ("epub", "docx", "odt") and seed % 3:
        archive = zipfile.ZipFile(BytesIO(data))
        name = chance.choice(archive.namelist())
        parts = {member: archive.read(member) for member in archive.namelist()}
        part = bytearray(parts[name])
        _spoil(part, chance)
        return makers.zipped(parts | {name: bytes(part)})
    _spoil(data, chance)
    return bytes(data)


def _spoil(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 3, 30))):
        if data:
            at = chance.randrange(len(data))
            data[at : at + chance.choice((1, 1, 4))] = chance.choice((*_WORSE, bytes([chance.randrange(256)])))
    if chance.random() < 0.4:
        del data[chance.randrange(len(data) + 1) :]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_broken_files_give_a_document_or_error(form: str) -> None:
    read = 0
    for seed in range(60):
        try:
            document = formats.read(form, spoiled(form, seed), f"a.{form}").as_document("a")  # type: ignore[arg-type]
            assert isinstance(document, Document)
            assert all(0 <= mark.start < mark.end <= len(document.text) for mark in document.marks)
            assert all(
                0 <= section.span.start < section.span.end <= len(document.text) for section in document.sections
            )
            read += 1
        except DocumentError:
            continue
    assert read, "not all of them are beyond reading"


def test_parser_failure_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def fails(data: bytes, name: str) -> None:
        raise KeyError("odd")

    monkeypatch.setattr(formats.resource, "setrlimit", lambda limit, maximum: None)
    monkeypatch.setattr("redraft.readers.pdf.file.read", fails)
    monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": BytesIO(b"x")}))
    formats.main("pdf", "a.pdf")
    assert b'"error": "the file is broken (KeyError)"' in capsysbinary.readouterr().out


@pytest.mark.slow
def test_a_process_that_dies_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_START", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert refusal("pdf", b"x").message == "the file is broken, and crashed the program that reads it"
    monkeypatch.setattr(documents, "_START", "raise MemoryError")
    assert refusal("pdf", b"x").message == formats.too_large("pdf")["error"]
    monkeypatch.setattr(documents, "_START", "import time; time.sleep(60)")
    monkeypatch.setattr(documents, "_WAIT", 0.5)
    assert "60 seconds" in refusal("pdf", b"x").message


def test_readers_have_no_secrets_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    say = "import json, os; print(json.dumps({'error': ' '.join(os.environ), 'hint': 'x'}))"
    monkeypatch.setattr(documents, "_START", say)
    assert "OPENAI" not in refusal("pdf", b"x").message
    bomb = makers.zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": b"<a>" + b" " * 3_000_000})
    monkeypatch.setattr(markup, "_MAX_PART_BYTES", 2_000_000)
    with pytest.raises(DocumentError, match="larger than 200 MB"):
        formats.read("docx", bomb, "a.docx")


@pytest.mark.slow
def test_entities_are_neither_expanded_nor_fetched() -> None:
    entities = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'
    data = makers.zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": entities})
    assert "entities of its own" in refusal("docx", data).message
    page = b'<!DOCTYPE html [<!ENTITY b SYSTEM "file:///etc/passwd">]><html><body><p>One &b; two.</p></body></html>'
    assert "root" not in load_bytes(page, "a.html").text


@pytest.mark.slow
def test_what_is_locked_says_so() -> None:
    locked = makers.new_pdf()
    locked.add_page()
    locked.text(10, 20, "Secret.")
    locked.set_encryption(owner_password="a", user_password="b")
    assert refusal("pdf", bytes(locked.output())).message == "it needs a password"
    drm = '<encryption><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></encryption>'
    book = makers.epub("A", CHAPTERS, extra={"META-INF/encryption.xml": drm})
    assert "is encrypted" in refusal("epub", book).message


@pytest.mark.nightly
def test_scanned_pages_are_named_books_refused() -> None:
    from PIL import Image

    picture = Image.new("L", (60, 80), 200)
    book = makers.new_pdf()
    for _ in range(3):
        book.add_page()
        book.image(picture, x=0, y=0, w=148)
    error = refusal("pdf", bytes(book.output()))
    assert "pages are pictures (pages 1-3)" in error.message
    assert "ocrmypdf" in error.hint
    book = makers.new_pdf()
    book.add_page()
    book.text(10, 20, "A page of words.")
    book.add_page()
    book.image(picture, x=0, y=0, w=148)
    document = load_bytes(bytes(book.output()), "a.pdf")
    assert document.text == "A page of words."
    assert any("page 2 is a picture without text" in note for note in document.notes)


@pytest.mark.parametrize(
    ("form", "data"), [("pdf", b"%PDF-1.7\n"), ("epub", b"PK\x03\x04"), ("docx", b"no zip"), ("rtf", b"x")]
)
def test_what_is_no_such_file_says_so(form: str, data: bytes) -> None:
    assert refusal(form, data).message


@pytest.mark.nightly
def test_deep_pages_are_read_or_refused() -> None:
    assert "deep" in load_bytes(b"<html><body>" + b"<div>" * 150 + b"<p>deep</p> and wide", "a.html").text
    assert refusal("epub", makers.epub("A", [("B", [])], extra={"OEBPS/book.opf": "<a>" * 100_000})).message
    assert read_in_subprocess("html", b"<html><body><p>wide" + b"<div>" * 50_000, "a.html").text == "wide"
    assert "2,000 deep" in refusal("html", b"<html><body><p>wide" + b"<dl>" * 50_000).message


def damaged_book(damaged: int) -> bytes:
    """A book of which so many chapters of four are stored with another checksum."""
    data = bytearray(sound("epub"))
    for at in range(damaged):
        for match in re.finditer(f"OEBPS/c{at}.xhtml".encode(), bytes(data)):
            header = bytes(data[: match.start()]).rfind(b"PK")
            offset = 14 if data[header : header + 4] == b"PK\x03\x04" else 16
            data[header + offset] ^= 0xFF
    return bytes(data)


@pytest.mark.nightly
def test_mostly_unreadable_file_is_refused_unless_partial() -> None:
    assert load_bytes(damaged_book(0), "a.epub").notes == ()
    with pytest.raises(DocumentError, match=r"OEBPS/c0.xhtml, 0 were read \(0%\); in all \d\d% of the file") as caught:
        load_bytes(damaged_book(1), "a.epub")
    assert caught.value.place == "a.epub"
    assert "partial=" in caught.value.hint
    document = load_bytes(damaged_book(1), "a.epub", selection=Selection(partial=True))
    assert "The salt of year 2" in document.text
    assert any("characters in OEBPS/c0.xhtml, 0 were read" in note for note in document.notes)


def test_damaged_stream_of_a_pdf_is_noted() -> None:
    assert not any("damaged" in note for note in formats.read("pdf", sound("pdf"), "a.pdf").notes)
    data = bytearray(sound("pdf"))
    at = data.index(b"stream\n") + 60
    data[at : at + 20] = bytes(20)
    assert damaged_streams(bytes(data))[0] == 1
    reading = formats.read("pdf", bytes(data), "a.pdf")
    assert any("streams are damaged" in note for note in reading.notes)
    with pytest.raises(DocumentError, match="it is damaged"):
        check(reading.extents, "a.pdf")
