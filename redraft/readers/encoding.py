"""Decodes text files: detects their encoding, and reports what could not be decoded."""

from __future__ import annotations

import codecs
import io
import re
from typing import NamedTuple

from charset_normalizer import from_bytes

from redraft.errors import DocumentError

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
_DETECTION_BYTES = 200_000
_WESTERN = "cp1252"
_UNREADABLE = "\ufffd"
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
# The fewest non-ASCII bytes in a line of a legacy encoding that are hardly ever UTF-8 by chance; fewer are
# enough for Western text.
_BY_CHANCE, _BY_CHANCE_IN_WESTERN = 8, 2


class DecodedText(NamedTuple):
    """A text, its original encoding, and notes on decoding it."""

    text: str
    encoding: str
    notes: tuple[str, ...] = ()


def decode(data: bytes, name: str) -> DecodedText:
    """Return the text in the bytes of the file of this name; raise if it is not a text file."""
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise DocumentError(f"this is {what}, not text", place=name, hint="convert it to .txt or .md first")
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return DecodedText(without_nul(data.decode(encoding), name), encoding)
            except UnicodeDecodeError:
                break
    if b"\x00" in data:
        raise DocumentError(
            "the file holds NUL bytes and is not a text file", place=name, hint="save it as UTF-8 text first"
        )
    return _utf8(data) or _guess(data, name)


def without_nul(text: str, name: str) -> str:
    """Return the text; raise if it has a NUL character."""
    if "\x00" in text:
        raise DocumentError("the text holds NUL characters", place=name, hint="save it as UTF-8 text first")
    return text


def _utf8(data: bytes) -> DecodedText | None:
    """Return the text if it is UTF-8, possibly with a few damaged bytes; else None."""
    try:
        return DecodedText(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    text = data.decode("utf-8", "replace")
    damaged = text.count(_UNREADABLE)
    intact = len(text) - len(text.encode("ascii", "ignore")) - damaged
    if damaged * 20 > intact:
        return None
    lost = damaged - data.count(_UNREADABLE.encode())
    return DecodedText(
        text, "utf-8", (f"the encoding changes: {_places(lost)} not UTF-8, the first of them in line {line:,}",)
    )


def _guess(data: bytes, name: str) -> DecodedText:
    """Return the text in a legacy encoding; raise for a binary file, which no encoding turns into prose."""
    encoding = _detect(data[:_DETECTION_BYTES])
    if encoding is None and len(data) > _DETECTION_BYTES:
        # The cut may have split a character; a line end is never part of one.
        encoding = _detect(data[: data.rfind(b"\n", 0, _DETECTION_BYTES) + 1])
    if encoding is None or _share_of_controls(data) > 0.02:
        raise DocumentError(
            "the file is binary, or in an unknown encoding", place=name, hint="save it as UTF-8 text first"
        )
    text = data.decode(encoding, "replace")
    notes = []
    if lost := text.count(_UNREADABLE):
        notes.append(f"the text was read as {encoding}, but {_places(lost)} not")
    in_utf8, first = _lines_in_utf8(data, _BY_CHANCE_IN_WESTERN if encoding == _WESTERN else _BY_CHANCE)
    if in_utf8:
        lines = "1 line is" if in_utf8 == 1 else f"{in_utf8:,} lines are"
        notes.append(f"the encoding changes: the text was read as {encoding}, and {lines} UTF-8, first line {first:,}")
    return DecodedText(text, encoding, tuple(notes))


def _places(count: int) -> str:
    return "1 place is" if count == 1 else f"{count:,} places are"


def _lines_in_utf8(data: bytes, least: int) -> tuple[int, int]:
    """Return how many lines with at least `least` non-ASCII bytes are UTF-8, and the number of the first."""
    found, first = 0, 0
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.isascii() or len(_BEYOND_ASCII.findall(line)) < least:
            continue
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            continue
        found, first = found + 1, first or number
    return found, first


def _detect(data: bytes) -> str | None:
    """Return the likeliest encoding; among equally good ones cp1252, which is by far the most common."""
    matches = from_bytes(data)
    best = matches.best()
    if best is None:
        return None
    western = [match for match in matches if _WESTERN in match.could_be_from_charset]
    equal = any(match.chaos <= best.chaos and match.coherence >= best.coherence for match in western)
    return _WESTERN if equal else best.encoding


def _share_of_controls(data: bytes) -> float:
    head = data[:_DETECTION_BYTES]
    return sum(1 for byte in head if byte < 0x20 and byte not in b"\t\n\r\f\x1b") / max(1, len(head))
