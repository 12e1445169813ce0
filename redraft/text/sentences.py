"""Where paragraphs and sentences begin and end, as exact offsets.

The boundaries come from `sentencex` (Wikimedia's splitter). `benchmarks/sentences.py` compares it with others on
quoted dialogue, abbreviations, initials, ellipses and headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sentencex import segment

from redraft.domain import Span

# A blank line, the start of a list item or heading, and the end of a heading line all end a paragraph.
_BREAK = re.compile(
    r"^[^\S\n]*\#{1,6}[^\S\n][^\n]*\n\s*"
    r"|\n[^\S\n]*\n\s*"
    r"|\n(?=[^\S\n]*(?:[-*+•]|\d{1,3}[.)]|\#{1,6})[^\S\n])",
    re.MULTILINE,
)

# The splitter takes time quadratic in a paragraph's quotation marks, so a long paragraph is fed to it in blocks.
_BLOCK = 4_000

_ENDS = re.compile(r"[.!?…。！？][\"'”’»)\]*_]*$")


def paragraph_seams(text: str) -> Iterator[int]:
    """The offsets at which a new paragraph begins (the line end before it belongs to the one above)."""
    for found in _BREAK.finditer(text):
        yield found.start() + found.group().rfind("\n") + 1


def paragraphs(text: str) -> Iterator[Span]:
    """The paragraphs of `text`, in order; together they cover it exactly."""
    start = 0
    for seam in paragraph_seams(text):
        if seam > start:
            yield Span(start, seam)
            start = seam
    if start < len(text):
        yield Span(start, len(text))


def sentences(text: str, within: Span | None = None) -> list[Span]:
    """The sentences of `text` (or of the part `within`), without the whitespace around them."""
    start, end = within or Span(0, len(text))
    body = text[start:end]
    found: list[Span] = []
    for paragraph in paragraphs(body):
        found.extend(_split(body, paragraph, start))
    return found


def ends_sentence(text: str) -> bool:
    """Whether `text` stops where a sentence stops, and not in the middle of one."""
    return bool(_ENDS.search(text.rstrip()))


def _split(body: str, paragraph: Span, offset: int) -> Iterator[Span]:
    """The sentences of one paragraph.

    A block may end within its last sentence, so the next block begins with that one; a sentence longer than a block is
    put together from its parts.
    """
    at, begun = paragraph.start, -1
    while at < paragraph.end:
        stop = _block_end(body, at, paragraph.end)
        parts = segment("en", body[at:stop])
        whole = stop == paragraph.end
        unfinished = not whole and len(parts) == 1
        for part in parts if whole or unfinished else parts[:-1]:
            core = part.strip()
            begin = at + part.index(core)
            at += len(part)
            if core and unfinished:
                begun = begin if begun < 0 else begun
            elif core:
                yield Span(offset + (begin if begun < 0 else begun), offset + begin + len(core))
                begun = -1


def _block_end(body: str, at: int, end: int) -> int:
    """A block ends before a space where there is one, so that no word is cut."""
    if end - at <= _BLOCK:
        return end
    space = body.rfind(" ", at + 1, at + _BLOCK)
    return space if space > at + _BLOCK // 2 else at + _BLOCK
