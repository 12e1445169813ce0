"""The formats that redraft reads besides text, and the process that reads one: with limits, and without secrets."""

from __future__ import annotations

import json
import resource
import sys
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Literal, cast, get_args

from redraft.errors import DocumentError

if TYPE_CHECKING:
    from redraft.readers.builder import ReadText

Format = Literal["html", "epub", "docx", "odt", "rtf", "pdf", "srt", "vtt", "eml"]
BY_SUFFIX: dict[str, Format] = {f".{name}": name for name in get_args(Format)} | {
    ".htm": "html",
    ".xhtml": "html",
    ".docm": "docx",
    ".dotx": "docx",
}
_MEMORY: dict[Format, int] = dict.fromkeys(get_args(Format), 2_000_000_000) | {"pdf": 900_000_000}
"""The memory limits in bytes: with nested forms, a page of a PDF file grows as large as the limit allows."""
MAX_SECONDS = 60
"""The limit of processor time in seconds."""
MAX_ENTRIES = 30_000
"""The most entries in the outline of a PDF file, or the table of contents of a book."""
_SMALLER = "split it, or convert it to .txt"
TOO_SLOW: dict[str, object] = {"error": f"reading it takes more than {MAX_SECONDS} seconds", "hint": _SMALLER}


def too_large(form: Format) -> dict[str, object]:
    """Return the error for a file that exceeds the memory limit."""
    return {"error": f"reading it takes more than {_MEMORY[form] / 10**9:g} GB of memory", "hint": _SMALLER}


_HEAD = 4096
_ARCHIVE = b"PK\x03\x04"
_SIGNS: dict[bytes, Format] = {b"%PDF": "pdf", b"{\\rtf": "rtf", b"WEBVTT": "vtt"}
_IN_ARCHIVES: dict[bytes, Format] = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"[Content_Types].xml": "docx",
}


def format_of(data: bytes) -> Format | None:
    """Return the format of a file without a name by its first bytes; None for text."""
    head = data[:_HEAD].removeprefix(b"\xef\xbb\xbf")
    if head.startswith(_ARCHIVE):
        return next((form for mark, form in _IN_ARCHIVES.items() if mark in head), None)
    page = head.lstrip().lower()
    is_page = page.startswith((b"<!doctype html", b"<html")) or (page.startswith(b"<?xml") and b"<html" in page)
    return "html" if is_page else next((form for sign, form in _SIGNS.items() if head.startswith(sign)), None)


_PLACES = {"pdf": "pdf.file", "srt": "subtitles", "vtt": "subtitles", "eml": "mail"}
_MODULES = {form: f"redraft.readers.{_PLACES.get(form, form)}" for form in get_args(Format)}
"""The readers by format. A process imports only the one that it needs."""


def read(form: Format, data: bytes, name: str) -> ReadText:
    """Read a file of this format in the calling process; raise `DocumentError` if it breaks its parser in any way."""
    module = import_module(_MODULES[form])
    try:
        return cast("ReadText", module.read(data, name))
    except (DocumentError, MemoryError):
        raise
    except Exception as error:
        hint = "open it with the program that made it and save it again, or convert it to .txt"
        raise DocumentError(f"the file is broken ({type(error).__name__})", place=name, hint=hint) from error


def main(form: Format, name: str) -> None:
    """Read the file on standard input, and write its content or the error as JSON to standard output."""
    import_module(_MODULES[form])
    memory, seconds = _MEMORY[form], (MAX_SECONDS, MAX_SECONDS + 1)
    limits = {resource.RLIMIT_AS: (memory, memory), resource.RLIMIT_CPU: seconds, resource.RLIMIT_CORE: (0, 0)}
    for limit, maximum in limits.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, maximum)
    try:
        answer: dict[str, object] = asdict(read(form, sys.stdin.buffer.read(), name))
    except DocumentError as error:
        answer = {"error": error.message, "hint": error.hint}
    except MemoryError:
        answer = too_large(form)
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
