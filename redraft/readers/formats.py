"""The formats that redraft reads besides text, and their limits."""

from __future__ import annotations

from typing import Literal, get_args

Format = Literal["html", "epub", "docx", "odt", "rtf", "pdf", "srt", "vtt"]
BY_SUFFIX: dict[str, Format] = {f".{name}": name for name in get_args(Format)} | {
    ".htm": "html",
    ".xhtml": "html",
    ".docm": "docx",
    ".dotx": "docx",
}
MOST_MEMORY = 2_000_000_000
_OF_PDF = 900_000_000
"""The memory limit for PDF files in bytes: with nested forms, a page grows as large as the limit allows."""
MOST_SECONDS = 60
"""The limit of processor time in seconds."""
MOST_ENTRIES = 30_000
"""The most entries in the outline of a PDF file, or the table of contents of a book."""
TOO_SLOW: dict[str, object] = {
    "error": f"reading it takes more than {MOST_SECONDS} seconds",
    "hint": "split it, or convert it to .txt",
}


def most_memory(form: Format) -> int:
    """Return the memory limit in bytes of a process that reads this format."""
    return _OF_PDF if form == "pdf" else MOST_MEMORY


def too_large(form: Format) -> dict[str, object]:
    """Return the error for a file that exceeds the memory limit."""
    return {
        "error": f"reading it takes more than {most_memory(form) / 10**9:g} GB of memory",
        "hint": "split it, or convert it to .txt",
    }


_ARCHIVE = b"PK\x03\x04"
_HEAD = 4096


def format_of(data: bytes) -> Format | None:
    """Return the format of a file without a name by its first bytes; None for text."""
    head = data[:_HEAD]
    if head.startswith(b"%PDF"):
        return "pdf"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.removeprefix(b"\xef\xbb\xbf").startswith(b"WEBVTT"):
        return "vtt"
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
