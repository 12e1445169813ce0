"""A reader for `.srt` files: the subtitles become prose, without their numbers, times and tags."""

from __future__ import annotations

import re
from pathlib import Path

from redraft import Document

_TIMES = re.compile(r"\d+:\d\d:\d\d[,.]\d+\s*-->")
_TAG = re.compile(r"</?[a-z][^>]*>|\{\\[^}]*\}")


def read(data: bytes, name: str) -> Document:
    """A document of what is said. A reader is given the bytes of the file, and its name."""
    text = data.decode("utf-8-sig")
    said = []
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        lines = block.strip().splitlines()
        at = next((n for n, line in enumerate(lines) if _TIMES.match(line)), None)
        if at is not None:
            said.append(" ".join(_TAG.sub("", line).strip() for line in lines[at + 1 :]))
    if not said:
        raise ValueError("it has no subtitles")
    return Document.from_text(" ".join(said), title=Path(name).stem)
