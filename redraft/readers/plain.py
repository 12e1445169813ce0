"""Finds the headings and titles of plain text and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from redraft.readers.builder import TITLE_WIDTH, Heading
from redraft.readers.matter import CREDIT
from redraft.readers.parts import names_document
from redraft.text.sanitizer import one_line

_NUMBER = (
    r"(?:the[ \t]+)?(?:\d{1,4}|[ivxlcdm]{1,9}|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|first|second|third|fourth"
    r"|fifth|sixth|seventh|eighth|ninth|tenth|last)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)\b"
)
_NUMBERED = r"(?:chapter|book|part|volume|act|scene|section|letter|canto|stave|interlude|appendix)"
_UNNUMBERED = r"(?:prologue|epilogue|introduction|preface|foreword|afterword|appendix|interlude|conclusion)"
# A title may follow on the same line after a punctuation mark, or in capitals, or alone on the next line.
_PLAIN_HEADING = re.compile(
    rf"(?:\A|^[ \t]*\n)[ \t]*((?:\#{{1,6}}[ \t]+)?"
    rf"(?:(?:(?i:{_NUMBERED}[ \t]+{_NUMBER})(?:[ \t]*[.:—–-][^\n]{{0,80}}|[ \t]+[^a-z\n]{{1,80}})?"
    rf"|(?i:{_UNNUMBERED})(?:[ \t]*[:—–-][^\n]{{0,80}}|\.)?)(?:[ \t]*\n[ \t]*[^\W_][^\n]{{0,58}}[^\s.,;:!?\"'”’])?"
    r"|[IVXLCDM]{1,7}\.?|\d{1,3}\.?))[ \t]*(?=\n[ \t]*\n)",
    re.MULTILINE,
)
_OUTER_HEADING = re.compile(r"(?i)(?:book|part|volume|act)\b")

_WRAPPED, _FEW = 160, 3
"""Wrapped lines are shorter than this; a text with a few longer lines is not wrapped."""
_HEADER = 5_000
_GUTENBERG_TITLE = re.compile(r"^Title:[ \t]*([^\n]+(?:\n[ \t]+[^\n]+){0,3})", re.MULTILINE)
_ATX_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+([^\n]+)$", re.MULTILINE)
# An underline below a list item, a quotation, a table row or a paragraph of several lines is a rule, not a heading.
_SETEXT_HEADING = re.compile(
    r"(?:\A|(?<=\n\n)) {0,3}(?![-*+>|#] |\d+[.)] )(\S[^\n]{0,200})\n {0,3}(={2,}|-{2,})[ \t]*$", re.MULTILINE
)
# Front matter, and fenced code, which lasts to the end of the text if it is not closed.
_NO_PROSE = re.compile(
    r"\A---\n.*?\n(?:---|\.\.\.)$|^ {0,3}(```+|~~~+)[^\n]*(?:\n(?:.*?^ {0,3}\1[`~]*[ \t]*$)|.*\Z)",
    re.MULTILINE | re.DOTALL,
)


def separated(text: str) -> str:
    """Return a text in which each line is a paragraph, as word processors export it, with blank lines between them.

    Other texts are returned as they are.
    """
    lines = text.strip().split("\n")
    blank = sum(not line.strip() for line in lines)
    unwrapped = sum(len(line) > _WRAPPED for line in lines)
    if unwrapped < _FEW or blank * 10 > len(lines):
        return text
    return "\n\n".join(line for line in lines if line.strip())


def headings(text: str, markdown: bool) -> list[Heading]:
    """Return the headings of a text: those of Markdown, or separate lines of plain text."""
    return [one for one in (_markdown_headings(text) if markdown else _plain_headings(text)) if one.title]


def _markdown_headings(text: str) -> Iterator[Heading]:
    code = [found.span() for found in _NO_PROSE.finditer(text)]
    current = 0
    for heading in sorted([*_atx_headings(text), *_setext_headings(text)]):
        while current < len(code) and code[current][1] <= heading.at:
            current += 1
        if current == len(code) or heading.at < code[current][0]:
            yield heading


def _atx_headings(text: str) -> Iterator[Heading]:
    for found in _ATX_HEADING.finditer(text):
        title = found.group(2).rstrip(" \t")
        bare = title.rstrip("#")
        if not bare or bare[-1] in " \t":
            title = bare
        yield Heading(found.start(), len(found.group(1)), one_line(title, TITLE_WIDTH))


def _setext_headings(text: str) -> Iterator[Heading]:
    for found in _SETEXT_HEADING.finditer(text):
        level = 1 if found.group(2).startswith("=") else 2
        yield Heading(found.start(), level, one_line(found.group(1), TITLE_WIDTH))


def _plain_headings(text: str) -> Iterator[Heading]:
    for found in _PLAIN_HEADING.finditer(text):
        title = one_line(found.group(1).lstrip("# \t"), TITLE_WIDTH)
        yield Heading(found.start(1), 1 if _OUTER_HEADING.match(title) else 2, title)


def title_of(text: str, found: Sequence[Heading], name: str, markdown: bool) -> str:
    """Return the first top-level Markdown heading, else the title in a Project Gutenberg header, else a short first
    line.

    The last resort is the file's name; a chapter's heading, or a line that credits the makers of the file, is not a
    title.
    """
    outer = [one for one in found if one.level == 1]
    if markdown and outer and outer[0] == found[0] and names_document(outer[0].title, len(outer) - 1):
        return outer[0].title
    if "Project Gutenberg" in text[:_HEADER] and (said := _GUTENBERG_TITLE.search(text[:_HEADER])):
        return one_line(said[1], TITLE_WIDTH)
    begin = len(text) - len(text.lstrip())
    first = one_line(text[begin : begin + 200].partition("\n")[0])
    is_heading = bool(found) and found[0].at <= begin
    is_title = 0 < len(first) <= 80 and first[-1] not in ".!?,;:" and not CREDIT.match(first)
    if not markdown and is_title and not is_heading:
        return first
    return one_line(Path(name).stem, TITLE_WIDTH) or name
