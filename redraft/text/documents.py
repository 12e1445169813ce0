"""Reading a source: its encoding, its title and its sections."""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from redraft.domain import Document, Section, Span, content_id
from redraft.errors import DocumentError
from redraft.text.cleaning import clean, one_line

STDIN = "-"
_TITLE_WIDTH = 120
_SUFFIXES = {".txt", ".text", ".md", ".markdown", ".mkd", ""}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The first bytes of files that people hand over by mistake.
_FOREIGN = {
    b"%PDF": "a PDF file",
    b"PK\x03\x04": "a zip archive (an EPUB or DOCX file is one)",
    b"\x1f\x8b": "a gzip archive",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"{\\rtf": "an RTF file",
    b"\xd0\xcf\x11\xe0": "an old Office file",
}
_DETECTION_BYTES = 200_000

_MARKDOWN_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S[^\n]*?)[ \t#]*$|^(\S[^\n]*)\n(=+|-+)[ \t]*$", re.MULTILINE)
_PLAIN_HEADING = re.compile(
    r"(?:^|(?<=\n\n))[ \t]*"
    r"((?:chapter|book|part|volume|act|scene|section|letter|canto|prologue|epilogue|introduction|preface|foreword"
    r"|afterword|appendix|interlude)\b(?:[ \t]+(?:[ivxlcdm]+|\d+|[a-z]+(?:-[a-z]+)?)\b)?"
    r"(?:[ \t]*[.:—–-][^\n]{0,80}|[ \t]*(?=\n))?|[ivxlcdm]{1,7}\.?|\d{1,3}\.?)[ \t]*(?=\n[ \t]*\n)",
    re.IGNORECASE,
)
_FENCED = re.compile(r"^(```|~~~)[^\n]*\n.*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)


def load(source: str) -> Document:
    """Read the document at `source`, a path, or `-` for standard input."""
    if source == STDIN:
        return parse(sys.stdin.buffer.read(), name="stdin")
    path = Path(source).expanduser()
    if path.suffix.lower() not in _SUFFIXES:
        raise DocumentError(f"{path.suffix} files cannot be read", place=source, hint="convert it to .txt or .md first")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DocumentError("no such file", place=source, hint="check the path, or use - for stdin") from None
    except OSError as error:
        raise DocumentError(error.strerror or str(error), place=source, hint="check the path") from error
    return parse(data, name=path.name, markdown=path.suffix.lower() not in {".txt", ".text"})


def parse(data: bytes, *, name: str, markdown: bool = True) -> Document:
    """Make a document of the bytes of a text file. `name` stands in for a title when the text has none."""
    raw, encoding = _decode(data, name)
    text = clean(raw)
    if not text.strip():
        raise DocumentError("the document is empty", place=name, hint="give a file that holds text")
    sections = tuple(_sections(text, markdown))
    title = _title(text, sections, name, markdown)
    return Document(content_id(text), title, text, sections, name, encoding)


def _decode(data: bytes, name: str) -> tuple[str, str]:
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise DocumentError(f"this is {what}, not text", place=name, hint="convert it to .txt or .md first")
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return _without_nul(data.decode(encoding), name), encoding
            except UnicodeDecodeError:
                break
    if b"\x00" in data:
        raise DocumentError(
            "the file holds NUL bytes and is not a text file", place=name, hint="save it as UTF-8 text first"
        )
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return _guess(data, name)


def _without_nul(text: str, name: str) -> str:
    if "\x00" in text:
        raise DocumentError("the text holds NUL characters", place=name, hint="save it as UTF-8 text first")
    return text


def _guess(data: bytes, name: str) -> tuple[str, str]:
    """A legacy encoding. What no encoding turns into prose is a binary file."""
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_DETECTION_BYTES]).best()
    if best is None or _share_of_controls(data) > 0.02:
        raise DocumentError(
            "the file is binary, or in an unknown encoding", place=name, hint="save it as UTF-8 text first"
        )
    return data.decode(best.encoding, "replace"), best.encoding


def _share_of_controls(data: bytes) -> float:
    head = data[:_DETECTION_BYTES]
    return sum(1 for byte in head if byte < 0x20 and byte not in b"\t\n\r\f\x1b") / max(1, len(head))


class _Heading(NamedTuple):
    at: int
    level: int
    title: str


def _sections(text: str, markdown: bool) -> Iterator[Section]:
    """Each heading opens a section that ends where the next of the same or a higher rank begins."""
    headings = [h for h in (_markdown_headings(text) if markdown else _plain_headings(text)) if h.title]
    ends = [len(text)] * len(headings)
    open_at: list[int] = []
    for index, heading in enumerate(headings):
        while open_at and headings[open_at[-1]].level >= heading.level:
            ends[open_at.pop()] = heading.at
        open_at.append(index)
    for heading, end in zip(headings, ends, strict=True):
        yield Section(heading.title, heading.level, Span(heading.at, end))


def _markdown_headings(text: str) -> Iterator[_Heading]:
    code = [found.span() for found in _FENCED.finditer(text)]
    current = 0
    for found in _MARKDOWN_HEADING.finditer(text):
        while current < len(code) and code[current][1] <= found.start():
            current += 1
        if current < len(code) and code[current][0] <= found.start():
            continue
        marks, atx, setext, rule = found.groups()
        level = len(marks) if marks else (1 if rule.startswith("=") else 2)
        yield _Heading(found.start(), level, one_line(atx or setext, _TITLE_WIDTH))


def _plain_headings(text: str) -> Iterator[_Heading]:
    for found in _PLAIN_HEADING.finditer(text):
        title = one_line(found.group(1), _TITLE_WIDTH)
        level = 1 if re.match(r"(?i)book|part|volume|act\b", title) else 2
        yield _Heading(found.start(1), level, title)


def _title(text: str, sections: tuple[Section, ...], name: str, markdown: bool) -> str:
    """The first top-level heading of Markdown, else a short first line, else the file's name."""
    if markdown and sections and sections[0].level == 1:
        return sections[0].title
    first = one_line(text[:2_000].strip().partition("\n")[0])
    if not markdown and 0 < len(first) <= 80 and first[-1] not in ".!?,;:":
        return first
    return one_line(Path(name).stem, _TITLE_WIDTH) or name
