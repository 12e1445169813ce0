"""The formats that redraft reads besides text, how their files are called, and how much reading one may take."""

from __future__ import annotations

from typing import Literal, get_args

Format = Literal["html", "epub", "docx", "odt", "rtf", "pdf"]
BY_SUFFIX: dict[str, Format] = {f".{name}": name for name in get_args(Format)} | {
    ".htm": "html",
    ".xhtml": "html",
    ".docm": "docx",
    ".dotx": "docx",
}
MOST_MEMORY = 2_000_000_000
_OF_PDF = 900_000_000
"""Forms that hold one another make a page of a PDF file as large as anybody lets it become."""
MOST_SECONDS = 60
"""Of a processor's time."""
MOST_ENTRIES = 30_000
"""So many entries the outline of a PDF file, or the contents of a book, may have."""
TOO_SLOW: dict[str, object] = {
    "error": f"reading it takes more than {MOST_SECONDS} seconds",
    "hint": "split it, or convert it to .txt",
}


def most_memory(form: Format) -> int:
    """How many bytes a process may have that reads a file of this format."""
    return _OF_PDF if form == "pdf" else MOST_MEMORY


def too_large(form: Format) -> dict[str, object]:
    """What is said of a file that takes more."""
    return {
        "error": f"reading it takes more than {most_memory(form) / 10**9:g} GB of memory",
        "hint": "split it, or convert it to .txt",
    }


_ARCHIVE = b"PK\x03\x04"
_HEAD = 4096


def format_of(data: bytes) -> Format | None:
    """The format of a file without a name, as its first bytes tell; None for text."""
    head = data[:_HEAD]
    if head.startswith(b"%PDF"):
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(_ARCHIVE):
        kinds: dict[bytes, Format] = {
            b"application/epub+zip": "epub",
            b"application/vnd.oasis.opendocument.text": "odt",
            b"[Content_Types].xml": "docx",
        }
        return next((form for mark, form in kinds.items() if mark in head), None)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    is_page = start.startswith((b"<!doctype html", b"<html")) or (start.startswith(b"<?xml") and b"<html" in start)
    return "html" if is_page else None
