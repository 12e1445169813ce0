"""The process that reads an untrusted file, with limited memory and time, and without secrets."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict

from redraft.errors import DocumentError
from redraft.readers import docx, epub, html, odt, rtf, subtitles
from redraft.readers.builder import ReadText
from redraft.readers.formats import MOST_SECONDS, Format, most_memory, too_large
from redraft.readers.pdf import file as pdf

READERS: dict[Format, Callable[[bytes, str], ReadText]] = {
    "html": html.read,
    "epub": epub.read,
    "docx": docx.read,
    "odt": odt.read,
    "rtf": rtf.read,
    "pdf": pdf.read,
    "srt": subtitles.read,
    "vtt": subtitles.read,
}
"""The readers by format, which run in the calling process."""


def main(form: Format, name: str) -> None:
    """Read the file on standard input, and write its content or the error as JSON to standard output."""
    _limit(form)
    try:
        answer: dict[str, object] = asdict(READERS[form](sys.stdin.buffer.read(), name))
    except DocumentError as error:
        answer = {"error": error.message, "hint": error.hint}
    except MemoryError:
        answer = too_large(form)
    except Exception as error:  # noqa: BLE001 - a file that breaks its parser is broken, however that looks
        answer = {"error": f"the file is broken ({type(error).__name__})", "hint": _HINT}
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))


_HINT = "open it with the program that made it and save it again, or convert it to .txt"


def _limit(form: Format) -> None:
    memory = most_memory(form)
    seconds = (MOST_SECONDS, MOST_SECONDS + 1)
    limits = {resource.RLIMIT_AS: (memory, memory), resource.RLIMIT_CPU: seconds, resource.RLIMIT_CORE: (0, 0)}
    for limit, most in limits.items():
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, most)
