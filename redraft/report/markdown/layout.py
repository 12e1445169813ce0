"""The parts of a Markdown text: escaped words, list items with items below them, tables and sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from redraft.report.tables import aligned_rows, unmarked, without_marks
from redraft.text.sanitizer import bare_quote, one_line

QUOTE = 240
_FENCED = re.compile(r"^((?:`{3,})\n.*?\n`{3,}\n)", re.MULTILINE | re.DOTALL)


def line(text: str, width: int = 0) -> str:
    """Return untrusted text as one escaped line, shortened to `width` if that is not 0."""
    return unmarked(one_line(text, width))


def quoted(text: str, width: int = QUOTE) -> str:
    """Return untrusted text in quotation marks, on one line."""
    return f"“{line(bare_quote(text), width)}”"


def shortened(text: str, width: int) -> str:
    """Return a text shortened to `width` characters in one line, at a space; if there is none nearby, as in Chinese,
    within a word."""
    text = one_line(text)
    space = text.rfind(" ", width // 2, width)
    return one_line(text, width) if len(text) <= width or space < 0 else f"{text[:space]}…"


def item(head: str, below: Iterable[str] = (), mark: str = "-") -> Iterator[str]:
    """Yield a list item with the lines below it, which may be items themselves."""
    yield f"{mark} {head}"
    indent = " " * (len(mark.partition(" ")[0]) + 1)
    yield from (indent + part for part in below)


def named(parts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield an item for each name with a text, without those that have none."""
    return (f"- {name}: {text}" for name, text in parts if text)


def section(title: str, lines: Iterable[str], level: int = 2) -> str:
    """Return lines under a heading; empty without lines."""
    body = "\n".join(lines)
    return f"{'#' * level} {title}\n\n{body}" if body else ""


def table(rows: Sequence[Sequence[str]], *, right: bool = False) -> str:
    """Return rows under the first of them as a table whose columns also align as plain text; empty without rows. With
    `right`, all but the first column are aligned to the right."""
    if len(rows) < 2:
        return ""
    numeric = [right and at > 0 for at in range(len(rows[0]))]
    return aligned_rows(rows, numeric)


def joined(blocks: Iterable[str]) -> str:
    """Return the blocks that are not empty, with an empty line between them."""
    return "\n\n".join(block for block in blocks if block) + "\n"


def plain(markdown: str) -> str:
    """Return Markdown for readers of its source: without the escapes, which hide words from a search. What is in a
    fence stays as it is."""
    parts = _FENCED.split(markdown)
    return "".join(part if part.startswith("```") else without_marks(part) for part in parts if part)
