"""Damaged and hostile files: whatever text a file holds is read, or it is said how much is not, or the file is refused.

Words are numbered, so each that is missing is seen.
"""

from __future__ import annotations

import io
import random
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from redraft.errors import DocumentError
from redraft.readers import formats
from redraft.readers.builder import check
from redraft.readers.formats import Format
from tests.readers import makers

_WORD = re.compile(r"w\d{6}")
_INLINE = ("font", "b", "i", "span", "a", "em", "u", "big", "tt")
_BLOCKS = ("div", "section", "blockquote", "ul", "center", "article", "table", "td", "li", "fieldset", "form")
# A comment, a script and a quotation mark that nothing closes hide what follows, as in a browser.
_STRAY = ("</div>", "</body>", "</html>", "</p>", "<b>", "</b>", "<li>", "</td>", "<a", "</")
_OF_ARCHIVES: dict[str, str] = {"epub": "OEBPS/c1.xhtml", "docx": "word/document.xml", "odt": "content.xml"}
_OUTER = {
    "epub": ("body", "p", "i"),
    "docx": ("w:p", "w:r", "w:body", "w:x"),
    "odt": ("text:p", "text:span", "office:text"),
}


class Case(NamedTuple):
    """A file, and how many numbered words it holds; None where it must be refused."""

    form: Format
    data: bytes
    words: int | None


class Outcome(NamedTuple):
    """How a try ended, and what is wrong with that; empty where nothing is."""

    ending: str
    wrong: str = ""


@cache
def _sound(form: Format) -> bytes:
    chapters = [(f"Chapter {at}", [_prose(400 * at + 40 * n, 40) for n in range(10)]) for at in range(1, 4)]
    if form == "rtf":
        return makers.rtf([text for _, texts in chapters for text in texts])
    return bytes(getattr(makers, form)("Words", chapters))


def _prose(first: int, count: int) -> str:
    return " ".join(f"w{number:06}" for number in range(first, first + count)) + "."


def _nested(chance: random.Random) -> Case:
    """Paragraphs in elements that nobody closes, in a page, a book, or a document of a word processor."""
    form: Format = chance.choice(("html", "html", "epub", "docx", "odt"))
    count = chance.choice((100, 300, 900))
    if form in ("html", "epub"):
        around = chance.choice(("<p>{}", "<p>{}</p>", "<div>{}</div>", "<h3>{}</h3>", "{}"))
        names = chance.sample((*_INLINE, *_BLOCKS), chance.choice((1, 2)))
        opening = "".join(f"<{name}>" for name in names)
        body = "".join(around.format(opening + _prose(5 * n, 5)) for n in range(count))
        page = f"<html><body>{body}</body></html>"
        return Case(form, page.encode() if form == "html" else _replaced("epub", makers.page(body).encode()), 5 * count)
    opened, content, ends = ("<w:sdt>", "<w:p><w:r><w:t>{}</w:t></w:r></w:p>", "</w:sdt>")
    if form == "odt":
        opened, content, ends = "<text:section>", "<text:p>{}</text:p>", "</text:section>"
    body = "".join(opened + content.format(_prose(5 * n, 5)) for n in range(count)) + ends * count
    data = makers.docx("W", [], body=body) if form == "docx" else makers.odt("W", [], body=body)
    return Case(form, data, 5 * count)


def _replaced(form: Format, part: bytes) -> bytes:
    archive = zipfile.ZipFile(io.BytesIO(_sound(form)))
    parts = {name: archive.read(name) for name in archive.namelist()} | {_OF_ARCHIVES[form]: part}
    if form == "epub":
        parts |= {name: b"<html><body/></html>" for name in parts if re.search(r"c[02]\.xhtml", name)}
    return makers.zipped(parts)


def _part(form: Format) -> bytes:
    return zipfile.ZipFile(io.BytesIO(_sound(form))).read(_OF_ARCHIVES[form])


def _cut(chance: random.Random) -> Case:
    """A file, or the part of an archive that has the text, broken off."""
    form: Format = chance.choice(("html", "epub", "docx", "odt", "rtf", "pdf"))
    part = _part(form) if form in _OF_ARCHIVES else _sound(form)
    part = part[: chance.randrange(len(part) // 4, len(part))]
    if form == "pdf":
        return Case(form, part, 1200)
    return Case(form, _replaced(form, part) if form in _OF_ARCHIVES else part, _counted(part))


def _stray(chance: random.Random) -> Case:
    """Tags in places where they have no business."""
    form: Format = chance.choice(("html", "html", "epub", "docx", "odt"))
    part = (_part(form) if form in _OF_ARCHIVES else _sound(form)).decode()
    ends = [match.end() for match in re.finditer(r"w\d{6}\.(?=<)", part)]
    for at in sorted(chance.sample(ends, chance.choice((1, 2, 5))), reverse=True):
        names = _OUTER.get(form, ())
        tag = chance.choice(_STRAY) if form == "html" else f"<{chance.choice(('', '/'))}{chance.choice(names)}>"
        part = part[:at] + tag + part[at:]
    return Case(form, part.encode() if form == "html" else _replaced(form, part.encode()), _counted(part.encode()))


def _counted(data: bytes) -> int:
    return len(set(_WORD.findall(data.decode("utf-8", "replace"))))


def _concatenated(chance: random.Random) -> Case:
    """Several pages in one file, or text behind the end of one."""
    count = chance.choice((2, 5, 20, 150))
    ends = chance.choice(("</body></html>", "</html>\n", "</HTML >"))
    head = chance.choice(("<!DOCTYPE html><html><head><title>A</title></head><body>", "<html><body><main>", ""))
    pages = [f"{head}<p>{_prose(10 * n, 10)}</p>{ends}" for n in range(count)]
    if chance.random() < 0.3:
        return Case("rtf", b"".join(makers.rtf([_prose(10 * n, 10)]) for n in range(count)), 10 * count)
    return Case("html", "\n".join(pages).encode(), 10 * count)


def _binary(chance: random.Random) -> Case:
    """Pictures in RTF that say another length than they have, and groups that end too early or not at all."""
    texts = [_prose(40 * n, 40) for n in range(20)]
    picture = bytes(chance.randrange(256) for _ in range(200)) if chance.random() < 0.5 else b"00ff" * 50
    picture = re.sub(rb"[{}\\]", b".", picture)
    length = chance.choice((len(picture), 0, 7, 900, 4_000, 10**6, 10**9))
    group = b"{\\pict\\pngblip\\bin%d %s}" % (length, picture)
    at = chance.randrange(20)
    stray = chance.choice((b"", b"", b"}", b"{", b"{\\fonttbl{\\f0 A;}"))
    body = [text.encode() + (group + stray if n == at else b"") for n, text in enumerate(texts)]
    return Case("rtf", b"{\\rtf1\\ansi " + b"\\par ".join(body) + b"}", 800)


def _flood(chance: random.Random) -> Case:
    """Tags with attributes by the hundred thousand, which are refused."""
    count = chance.choice((1_000, 20_000, 100_000))
    tag = chance.choice(('p a{}="1"', "p a{}", "p a{}=1", "p data-{}='x'")).split()
    values = " ".join(tag[1].format(at) for at in range(count))
    page = f"<html><body><{tag[0]} {values}>{_prose(0, 20)}</p></body></html>"
    form: Format = chance.choice(("html", "epub"))
    return Case(form, page.encode() if form == "html" else _replaced("epub", page.encode()), None)


def _outline(chance: random.Random) -> Case:
    """Books whose contents have entries without end, and PDF files whose outline does."""
    count = chance.choice((5, 500, 500, 40_000))
    if count < 1_000 or chance.random() < 0.5:
        nav = '<li><a href="c1.xhtml">A</a></li>' * count
        chapters = [(f"Chapter {at}", [_prose(40 * at, 40)]) for at in range(3)]
        return Case("epub", makers.epub("W", chapters, nav=nav), 120 if count < 1_000 else None)
    return Case("pdf", _with_outline(count), None)


def _with_outline(count: int) -> bytes:
    stream = b"BT /F 12 Tf 20 20 Td (w000001 w000002) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d>>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/Outlines/First 7 0 R/Last %d 0 R/Count %d>>" % (6 + count, count),
        *(b"<</Title(T)/Parent 6 0 R/Dest[3 0 R/Fit]/Next %d 0 R>>" % (8 + at) for at in range(count - 1)),
        b"<</Title(T)/Parent 6 0 R/Dest[3 0 R/Fit]>>",
    ]
    return written(objects)


def written(objects: list[bytes]) -> bytes:
    """A PDF file of these objects, the first of which is its catalogue."""
    data, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % at for at in places)
    end = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(data))
    return bytes(data) + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


KINDS: dict[str, tuple[Callable[[random.Random], Case], int]] = {
    "nested elements": (_nested, 20),
    "cut files": (_cut, 30),
    "stray tags": (_stray, 30),
    "several pages in one": (_concatenated, 10),
    "RTF groups and binary data": (_binary, 20),
    "floods of attributes": (_flood, 2),
    "long outlines": (_outline, 2),
}
"""What makes a case, and how often it is made beside the others."""


def tried(case: Case) -> Outcome:
    """Read a file, and compare the words that were read with those it holds."""
    began = time.process_time()
    try:
        reading = formats.read(case.form, case.data, f"a.{case.form}")
        document = reading.as_document("a")
        check(reading.extents, f"a.{case.form}")
    except DocumentError as error:
        return Outcome("refused", "" if error.hint else "a refusal without a next step")
    if (seconds := time.process_time() - began) > 10:
        return Outcome("slow", f"it took {seconds:.0f} s")
    if case.words is None:
        return Outcome("read", "it was not refused")
    missing = case.words - len(set(_WORD.findall(document.text)))
    if missing <= 0:
        return Outcome("read")
    is_reported = any(re.search(r"were read|breaks off|damaged|cannot be read", note) for note in document.notes)
    return Outcome(
        "noted",
        "" if is_reported else f"{missing} of {case.words} words are missing, and nothing is said: {document.notes}",
    )


def tries(count: int, seed: int) -> Iterator[tuple[str, int, Outcome]]:
    """So many tries, of each kind as many as it weighs."""
    names = list(KINDS)
    drawn = random.Random(seed).choices(names, [KINDS[name][1] for name in names], k=count)
    for number, name in enumerate(drawn):
        yield name, number, tried(KINDS[name][0](random.Random(f"{seed} {number}")))


def lost(count: int, seed: int) -> Iterator[str]:
    """What is wrong with how so many files were read."""
    return (f"{name} #{number}: {attempt.wrong}" for name, number, attempt in tries(count, seed) if attempt.wrong)
