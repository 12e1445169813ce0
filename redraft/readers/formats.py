"""The formats that redraft or an installed package can read besides text, and their limits."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from redraft import plugins
from redraft.document import Document
from redraft.errors import DocumentError, RedraftError

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


SUFFIXES = frozenset({".txt", ".text", ".md", ".markdown", ".mkd", ""})
"""The suffixes of text files. Other files may be read by an installed package, which precedes redraft's own readers."""

_KIND: plugins.Kind = "readers"


def installed_for(path: Path) -> str:
    """Return the name of the installed reader for a file, its suffix without the dot; empty if there is none."""
    suffix = path.suffix.lower()
    name = suffix.removeprefix(".")
    return name if suffix not in SUFFIXES and name in plugins.names(_KIND) else ""


def how_to_read() -> str:
    """Return the hint for a file of an unknown type."""
    plain = "convert it to .txt or .md first"
    own = f"redraft reads .txt, .md, {', '.join(sorted(BY_SUFFIX))}"
    others = [f".{name}" for name in plugins.names(_KIND) if f".{name}" not in SUFFIXES]
    return f"{plain}; {own}; installed packages read {', '.join(others)}" if others else f"{plain}; {own}"


def read_installed(name: str, data: bytes, file: str) -> Document:
    """Return the document of an installed reader; its failures are reported as those of its package."""
    reader, package = plugins.load(_KIND, name), plugins.package_of(_KIND, name)
    try:
        made = reader(data, file)
    except RedraftError:
        raise
    except Exception as error:
        raise DocumentError(
            f"the reader for .{name} files, of the package {package}, failed: {type(error).__name__}: {error}",
            place=file,
            hint=f"check the file; if it is valid, update {package}",
        ) from error
    if not isinstance(made, Document) or not isinstance(made.text, str) or not isinstance(made.title, str):
        raise DocumentError(
            f"the reader for .{name} files, of the package {package}, returned no document, but {type(made).__name__}",
            place=file,
            hint="a reader returns redraft.Document.from_text(text, title)",
        )
    return made
