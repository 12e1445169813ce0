"""RTF: the text alone, as `striprtf` has it."""

from __future__ import annotations

import re

from striprtf.striprtf import rtf_to_text

from redraft.errors import DocumentError
from redraft.readers.reading import Builder, Reading

_TITLE = re.compile(rb"\{\\title ([^{}\\]{1,200})\}")


def read(data: bytes, name: str) -> Reading:
    """What a document says. Its pages and its headings are not told apart from its text."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentError("this is no RTF document", place=name, hint="save it again as .rtf, or as .docx")
    text = rtf_to_text(data.decode("latin-1"), encoding="cp1252", errors="replace")
    builder = Builder()
    for paragraph in text.split("\n"):
        builder.add([paragraph.replace("|", " | ") if paragraph.rstrip().endswith("|") else paragraph])
    found = _TITLE.search(data)
    return builder.reading(found[1].decode("cp1252", "replace") if found else "")
