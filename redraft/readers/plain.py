"""Text files: their encoding and what could not be decoded, and the headings and title of plain text and Markdown."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace

from charset_normalizer import from_bytes

from redraft.document import Document
from redraft.errors import DocumentError
from redraft.readers.builder import Heading, ReadText
from redraft.readers.matter import CREDIT
from redraft.readers.parts import names_document
from redraft.text.sanitizer import clean_with_notes

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The first bytes of files that are not text.
_FOREIGN = {
    b"%PDF": "a PDF file",
    b"PK\x03\x04": "a zip archive (an EPUB or DOCX file is one)",
    b"\x1f\x8b": "a gzip archive",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"{\\rtf": "an RTF file",
    b"\xd0\xcf\x11\xe0": "an old Office file",
}
# Begins other letters in the 7-bit encodings of old Asian e-mails, which are not read. No terminal escape begins so.
_ISO_2022 = re.compile(rb"\x1b\$(?:[@AB]|[()][A-Q])")
_DETECTION_BYTES = 200_000
_WESTERN = "cp1252"
_UNREADABLE = "\ufffd"
_HAS_NUL, _AS_UTF8 = "the text contains NUL characters", "save it as UTF-8 text first"


def decode(data: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the text in the bytes of the file of this name, its original encoding, and notes on decoding it; raise if
    it is not a text file."""
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise DocumentError(f"this is {what}, not text", place=name, hint="convert it to .txt or .md first")
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                break
            if "\x00" in text:
                raise DocumentError(_HAS_NUL, place=name, hint=_AS_UTF8)
            return text, encoding, ()
    if b"\x00" in data:
        raise DocumentError("the file contains NUL bytes and is not a text file", place=name, hint=_AS_UTF8)
    if data.isascii() and _ISO_2022.search(data):
        raise DocumentError("the file is in an unknown encoding", place=name, hint=_AS_UTF8)
    return _decode_unmarked(data, name)


def _decode_unmarked(data: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the text if it is UTF-8, possibly with a few damaged bytes, or else in a legacy encoding; raise for a
    binary file, which no encoding turns into prose."""
    try:
        return data.decode("utf-8"), "utf-8", ()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    text = data.decode("utf-8", "replace")
    damaged = text.count(_UNREADABLE)
    intact = len(text) - len(text.encode("ascii", "ignore")) - damaged
    if damaged * 20 <= intact:
        lost = damaged - data.count(_UNREADABLE.encode())
        places = "1 place is" if lost == 1 else f"{lost:,} places are"
        return text, "utf-8", (f"the encoding changes: {places} not UTF-8, the first of them in line {line:,}",)

    head = data[:_DETECTION_BYTES]
    encoding = _detect(head)
    if encoding is None and len(data) > _DETECTION_BYTES:
        # The cut may have split a character; a line end is never part of one.
        encoding = _detect(data[: data.rfind(b"\n", 0, _DETECTION_BYTES) + 1])
    controls = sum(1 for byte in head if byte < 0x20 and byte not in b"\t\n\r\f\x1b")
    if encoding is None or controls > 0.02 * len(head):
        raise DocumentError("the file is binary, or in an unknown encoding", place=name, hint=_AS_UTF8)
    text = data.decode(encoding, "replace")
    lost = text.count(_UNREADABLE)
    places = "1 place is" if lost == 1 else f"{lost:,} places are"
    return text, encoding, (f"the text was read as {encoding}, but {places} not",) if lost else ()


def _detect(data: bytes) -> str | None:
    """Return the likeliest encoding; among equally good ones cp1252, which is by far the most common."""
    matches = from_bytes(data)
    best = matches.best()
    if best is None:
        return None
    western = [match for match in matches if _WESTERN in match.could_be_from_charset]
    equal = any(match.chaos <= best.chaos and match.coherence >= best.coherence for match in western)
    return _WESTERN if equal else best.encoding


_NUMBER = (
    r"(?:the[ \t]+)?(?:\d{1,4}|[ivxlcdm]{1,9}|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|first|second|third|fourth"
    r"|fifth|sixth|seventh|eighth|ninth|tenth|last)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)\b"
)
_NUMBERED = r"(?:chapter|book|part|volume|act|scene|section|letter|canto|stave|interlude|appendix)"
_UNNUMBERED = r"(?:prologue|epilogue|introduction|preface|foreword|afterword|appendix|interlude|conclusion)"
# A title may follow on the same line after a punctuation mark, or in capitals, or alone on the next line.
_PLAIN_HEADING = re.compile(
    rf"(?:\A|^[ \t]*\n)[ \t]*((?:\#{{1,6}}[ \t]+)?"
    rf"(?:(?:(?i:{_NUMBERED}[ \t]+{_NUMBER})(?:[ \t]*[.:—–-][^\n]{{0,80}}|[ \t]+[^a-z\n]{{1,80}})?"
    rf"|(?i:{_UNNUMBERED})(?:[ \t]*[:—–-][^\n]{{0,80}}|\.)?)(?:[ \t]*\n[ \t]*[^\W_][^\n]{{0,58}}[^\s.,;:!?\"'”’])?"
    r"|[IVXLCDM]{1,7}\.?|\d{1,3}\.?))[ \t]*(?=\n[ \t]*\n)",
    re.MULTILINE,
)
_OUTER_HEADING = re.compile(r"(?i)(?:book|part|volume|act)\b")

_TITLE_LINE = re.compile(
    r"([^\s\"'“”„‘’«»‹›「『][^\n]{0,78}(?<![.!?,;:。！？\s]))[ \t]*(?:\n[ \t]*by\b[^\n]*)?(?=\n[ \t]*\n|\s*\Z)",
    re.IGNORECASE,
)
"""A line before a blank one, or before its author: no sentence, and no speech."""

_WRAPPED, _FEW = 160, 3
"""Wrapped lines are shorter than this; a text with a few longer lines is not wrapped."""
_HEADER = 5_000
_GUTENBERG_TITLE = re.compile(r"^Title:[ \t]*([^\n]+(?:\n[ \t]+[^\n]+){0,3})", re.MULTILINE)
_ATX_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+([^\n]+)$", re.MULTILINE)
# An underline below a list item, a quotation, a table row or a paragraph of several lines is a rule, not a heading.
_SETEXT_HEADING = re.compile(
    r"(?:\A|(?<=\n\n)) {0,3}(?![-*+>|#] |\d+[.)] )(\S[^\n]{0,200})\n {0,3}(={2,}|-{2,})[ \t]*$", re.MULTILINE
)
# Front matter, and fenced code, which lasts to the end of the text if it is not closed.
_NO_PROSE = re.compile(
    r"\A---\n.*?\n(?:---|\.\.\.)$|^ {0,3}(```+|~~~+)[^\n]*(?:\n(?:.*?^ {0,3}\1[`~]*[ \t]*$)|.*\Z)",
    re.MULTILINE | re.DOTALL,
)


def read_plain(data: bytes, name: str, markdown: bool = True) -> ReadText:
    """Return the content of the text file of this name; headings are those of Markdown, or lines of plain text.

    The title is the first top-level Markdown heading, else that in a Project Gutenberg header, else a short first line
    of its own; empty if there is none. A chapter's heading, or a line that credits the file's makers, is not a title.
    """
    raw, encoding, raw_notes = decode(data, name)
    text, notes = clean_with_notes(raw)
    lines = [] if markdown else text.strip().split("\n")
    # Each line may be a paragraph, as word processors export them.
    has_few_blanks = sum(not line.strip() for line in lines) * 10 <= len(lines)
    if has_few_blanks and sum(len(line) > _WRAPPED for line in lines) >= _FEW:
        text = "\n\n".join(line for line in lines if line.strip())
    headings = tuple(heading for heading in _headings(text, markdown) if heading.title)

    title, header, begin = "", text[:_HEADER], len(text) - len(text.lstrip())
    outer = [heading for heading in headings if heading.level == 1]
    is_headed = bool(headings) and headings[0].at <= begin
    line = None if markdown or is_headed else _TITLE_LINE.match(text, begin)
    if markdown and outer and outer[0] == headings[0] and names_document(outer[0].title, len(outer) - 1):
        title = outer[0].title
    elif "Project Gutenberg" in header and (match := _GUTENBERG_TITLE.search(header)):
        title = match[1]
    elif line and not CREDIT.match(line[1]):
        title = line[1]
    return ReadText("", title, text, headings=headings, notes=(*raw_notes, *notes), encoding=encoding)


def _headings(text: str, markdown: bool) -> Iterator[Heading]:
    """Yield the headings of Markdown that are not in code, or those of plain text."""
    if not markdown:
        for match in _PLAIN_HEADING.finditer(text):
            title = match.group(1).lstrip("# \t").strip()
            yield Heading(match.start(1), 1 if _OUTER_HEADING.match(title) else 2, title)
        return
    headings = [
        Heading(match.start(), 1 if match[2].startswith("=") else 2, match[1].strip())
        for match in _SETEXT_HEADING.finditer(text)
    ]
    for match in _ATX_HEADING.finditer(text):
        title = match[2].rstrip(" \t")
        bare = title.rstrip("#")
        headings.append(Heading(match.start(), len(match[1]), (title if bare[-1:].strip() else bare).strip()))
    code = [match.span() for match in _NO_PROSE.finditer(text)]
    current = 0
    for heading in sorted(headings):
        while current < len(code) and code[current][1] <= heading.at:
            current += 1
        if current == len(code) or heading.at < code[current][0]:
            yield heading


def read_given(document: Document, name: str) -> ReadText:
    """Return the content of a document that was made elsewhere, with its text sanitized.

    The sections are those of the Markdown headings, unless it has sections or marks and its text is as it was.
    """
    if "\x00" in document.text:
        raise DocumentError(_HAS_NUL, place=name, hint=_AS_UTF8)
    read_text = read_plain(document.text.encode("utf-8", "replace"), name)
    notes = (*document.notes, *read_text.notes)
    read_text = replace(
        read_text, title=document.title.strip() or read_text.title, language=document.language, notes=notes
    )
    is_structured = (document.sections or document.marks) and read_text.text == document.text
    return replace(read_text, sections=document.sections, marks=document.marks) if is_structured else read_text
