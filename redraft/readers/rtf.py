"""RTF: text, headings and footnotes. `striprtf` extracts the text; private characters mark what it does not report."""

from __future__ import annotations

import re
from collections.abc import Iterator

from striprtf.striprtf import destinations, rtf_to_text

from redraft.errors import DocumentError
from redraft.readers.builder import ReadCoverage, ReadText, TextBuilder
from redraft.readers.markup import size
from redraft.text.words import count_words

_BINARY = re.compile(r"\\bin(\d{1,10}) ?")
_ESCAPED = re.compile(r"\\([\\{}])")
_GROUP = re.compile(r"\{([^{}]*)(\}|\Z)")
_DESTINATION = re.compile(r"\s*\\\*\s*\\([a-z]{1,32})(?:-?\d{1,10})? ?")
_AROUND_TEXT = re.compile(r"(?:\\\*\s*)?\\(?:shp|shpgrp|shpinst|do|object|result|upr)(?![a-z])(?:-?\d{1,10} ?| ?)")
"""Destinations that `striprtf` ignores with the text in them."""
_FLOW = re.compile(
    r"(?:\\\*\s*)?\\(footnote|shptxt|dptxbxtext|annotation|header[lrf]?|footer[lrf]?)(?![a-z])(?:-?\d{1,10} ?| ?)"
)
_RANK = re.compile(r"\\(s|outlinelevel)(\d{1,5}) ?")
_STYLE = re.compile(r"\{[^{}]{0,20}?\\s(\d{1,5})\b[^{}]{0,1000}?(?i:heading) ?([1-9]);\}")
_TITLE = re.compile(rb"\{\\title ([^{}\\]{1,200})\}")
_OPEN, _CLOSE, _HEADING = "\ue000\ue001\ue002"
_INNERMOST = re.compile(f"{_OPEN}(.)([^{_OPEN}{_CLOSE}]*)({_CLOSE}|\\Z)", re.DOTALL)
_PLACE = re.compile("\ue003(\\d+)\ue004")
_BRACES = str.maketrans("{}\x02\x03", "  {}")
_NOTE, _UNKNOWN = "f", "u"
_LEFT_OUT = {"h": "headers", "g": "footers", "a": "comments", _UNKNOWN: "parts of an unknown kind"}
_NO_TEXT = frozenset({*destinations, "fonttbl", "colortbl", "pgdsctbl"})
_FEW_WORDS, _DEEPEST = 5, 1_000
"""A part of an unknown kind with fewer words is not text."""


def read(data: bytes, name: str) -> ReadText:
    """Return the text of a document with its headings and footnotes, without its pages."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentError("this is not an RTF document", place=name, hint="save it again as .rtf, or as .docx")
    source, lost = _marked(data.decode("latin-1").lstrip(), name)
    builder = TextBuilder()
    for line, kind, is_closed in _lines(rtf_to_text(source, encoding="cp1252", errors="replace")):
        level = max((int(digit) for digit in re.findall(f"{_HEADING}([1-9])", line)), default=0)
        line = re.sub(f"{_HEADING}[0-9]?", "", line)
        if kind in _LEFT_OUT:
            lost += 0 if is_closed else size(line)
            if kind != _UNKNOWN or count_words(line) >= _FEW_WORDS:
                builder.leave_out(_LEFT_OUT[kind], text=line)
        elif kind == _NOTE:
            builder.mark("note", builder.add([line]))
        elif level:
            builder.heading(level, [line])
        else:
            builder.add([line.replace("|", " | ") if line.rstrip().endswith("|") else line])
    length = size("".join(builder.parts))
    builder.extents.append(ReadCoverage(name, length + lost, length))
    match = _TITLE.search(data)
    return builder.reading(match[1].decode("cp1252", "replace") if match else "")


def _marked(source: str, name: str) -> tuple[str, int]:
    """Return the source without binary data, with marks around notes and the like, and all its groups closed.

    Also the length of the part that is hidden because a group without text is not closed.
    """
    styles, hidden = dict(_STYLE.findall(source)), 0

    def rank(match: re.Match[str]) -> str:
        level = styles.get(match[2], "") if match[1] == "s" else str(int(match[2]) + 1)
        return f"{match[0]}{_HEADING}{level}" if len(level) == 1 else match[0]

    def mark(match: re.Match[str]) -> str:
        nonlocal hidden
        content, start, flow = match[1], _DESTINATION.match(match[1]), _FLOW.search(match[1])
        if flow:
            kind = "g" if flow[1].startswith("footer") else flow[1][0]
            content = content[: flow.start()] + _OPEN + kind + content[flow.end() :] + _CLOSE * bool(match[2])
        elif start and start[1] not in _NO_TEXT:
            content = f"{_OPEN}{_UNKNOWN}{content[start.end() :]}{_CLOSE * bool(match[2])}"
        elif not match[2] and (start or content.lstrip()[1:].startswith(tuple(_NO_TEXT))):
            hidden += len(content)
        return f"\x02{content}\x03"

    at = 0
    while (binary := _BINARY.search(source, at)) is not None:
        at, end = binary.start(), binary.end() + int(binary[1])
        # A length that does not lead to the end of the group is wrong.
        end = end if source[end : end + 4].lstrip().startswith("}") else binary.end()
        source = source[:at] + source[end:]
    # The outermost group is closed at the end, so that what follows it is read.
    source = _ESCAPED.sub(lambda match: f"\\'{ord(match[1]):02x}", source.translate({2: " ", 3: " "}))[1:]
    source = _RANK.sub(rank, _AROUND_TEXT.sub("", source))
    for _ in range(_DEEPEST):
        source, count = _GROUP.subn(mark, source)
        if not count:
            break
    else:
        raise DocumentError(f"its groups are more than {_DEEPEST:,} deep", place=name, hint="save it again")
    return f"{{{source.translate(_BRACES)}}}", hidden


def _lines(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield each line with its kind, and whether its part is closed; notes and boxes follow their paragraph."""
    parts: list[tuple[str, str, bool]] = []

    def cut(match: re.Match[str]) -> str:
        parts.append((match[2], match[1], bool(match[3])))
        return f"\ue003{len(parts) - 1}\ue004"

    def lines_of(text: str, kind: str, is_closed: bool) -> Iterator[tuple[str, str, bool]]:
        for line in [text.replace("\n", " ")] if kind in _LEFT_OUT else text.split("\n"):
            yield _PLACE.sub("", line).replace(_CLOSE, ""), kind, is_closed
            for place in _PLACE.findall(line):
                yield from lines_of(*parts[int(place)])

    text, count = _PLACE.sub("", text), 1
    while count:
        text, count = _INNERMOST.subn(cut, text)
    yield from lines_of(text, "", True)
