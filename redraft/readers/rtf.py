"""RTF: text, headings and footnotes. `striprtf` extracts the text; private characters mark what it does not report."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from striprtf.striprtf import destinations, rtf_to_text

from redraft.errors import DocumentError
from redraft.readers.builder import ReadCoverage, ReadText, TextBuilder
from redraft.readers.markup import size
from redraft.text.words import count_words

_SIGN = re.compile(
    r"\\bin(-?\d{0,10}) ?|\\'[0-9a-fA-F]{2}|(\\\*\s*)?\\([a-z]{1,32})(-?\d{1,10})? ?|\\[^a-z]|[{}]", re.DOTALL
)
_STYLE = re.compile(r"\{[^{}]{0,20}?\\s(\d{1,5})\b[^{}]{0,1000}?(?i:heading) ?([1-9]);\}")
_TITLE = re.compile(rb"\{\\title ([^{}\\]{1,200})\}")
_OPEN, _CLOSE, _HEADING = "\ue000\ue001\ue002"
_PIECES = re.compile(f"({_OPEN}.|{_CLOSE}|\n)")
_NOTE, _BOX, _UNKNOWN = "nbu"
_LEFT_OUT = {"h": "headers", "f": "footers", "c": "comments", _UNKNOWN: "parts of an unknown kind"}
_FLOWS = {"footnote": _NOTE, "shptxt": _BOX, "dptxbxtext": _BOX, "annotation": "c"} | {
    f"{kind}{page}": kind[0] for kind in ("header", "footer") for page in ("", "l", "r", "f")
}
_AROUND_TEXT = frozenset({"shp", "shpgrp", "shpinst", "do", "object", "result", "upr"})
"""Destinations that `striprtf` ignores with the text in them."""
_NO_TEXT = frozenset({*destinations, "fonttbl", "colortbl", "pgdsctbl"})
_FEW_WORDS, _DEEPEST = 5, 1_000
"""A part of an unknown kind with fewer words is not text."""


def read(data: bytes, name: str) -> ReadText:
    """Return the text of a document with its headings and footnotes, without its pages."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentError("this is not an RTF document", place=name, hint="save it again as .rtf, or as .docx")
    source, lost = _marked(data.decode("latin-1"), name)
    text = rtf_to_text(source, encoding="cp1252", errors="replace")
    builder = TextBuilder()
    for line, kind, is_closed in _lines(text):
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
    styles, parts, at = dict(_STYLE.findall(source)), list[str](), 0
    flows, starts, hidden, is_ended = list[str](), list[int](), 0, False
    while (sign := _SIGN.search(source, at)) is not None:
        parts.append(source[at : sign.start()])
        at, star, word = sign.end(), sign[2], sign[3] or ""
        if sign[1] is not None:
            length = int(sign[1]) if sign[1].isdigit() else 0
            # A length that does not lead to the end of the group is wrong.
            at += length if source[at + length : at + length + 4].lstrip().startswith("}") else 0
        elif sign[0] == "{":
            flows.append("")
            starts.append(len(source))
            parts.append("{")
        elif sign[0] == "}":
            # The outermost group is closed at the end, so that what follows it is read.
            is_ended = is_ended or len(flows) <= 1
            if len(flows) > 1:
                hidden = max(0, at - starts.pop())
                parts.append(f"{_CLOSE}}}" if flows.pop() else "}")
        elif flows and (flow := _FLOWS.get(word, _UNKNOWN if star and word not in _NO_TEXT | _AROUND_TEXT else "")):
            flows[-1] = flow
            parts.append(f"{_OPEN}{flow}")
        elif word not in _AROUND_TEXT:
            if starts and (star or word in _NO_TEXT):
                starts[-1] = at
            level = styles.get(sign[4] or "") if word == "s" else str(int(sign[4] or 9) + 1)
            is_heading = word in ("s", "outlinelevel") and level and len(level) == 1
            parts.append(sign[0] + (f"{_HEADING}{level}" if is_heading else ""))
        if len(flows) > _DEEPEST:
            raise DocumentError(f"its groups are more than {_DEEPEST:,} deep", place=name, hint="save it again")
    hidden = 0 if is_ended else max(hidden, *(len(source) - start for start in starts), 0)
    return "".join([*parts, source[at:], "}" * len(flows)]), hidden


@dataclass(slots=True)
class _Flow:
    """The document, or a note, box or other part of it: its lines, the open one, and what follows that one."""

    kind: str = ""
    lines: list[tuple[str, str, bool]] = field(default_factory=list)
    line: str = ""
    following: list[tuple[str, str, bool]] = field(default_factory=list)

    def end_line(self, *, is_closed: bool = True) -> None:
        self.lines += [(self.line, self.kind, is_closed), *self.following]
        self.line, self.following = "", []


def _lines(text: str) -> list[tuple[str, str, bool]]:
    """Return each line with its kind, and whether its part is closed; notes and boxes follow their paragraph."""
    flows = [_Flow()]
    for piece in _PIECES.split(text):
        if piece.startswith(_OPEN):
            flows.append(_Flow(piece[1:]))
        elif piece == _CLOSE and len(flows) > 1:
            flow = flows.pop()
            flow.end_line()
            flows[-1].following += flow.lines
        elif piece == "\n" and flows[-1].kind not in _LEFT_OUT:
            flows[-1].end_line()
        else:
            flows[-1].line += " " if piece == "\n" else piece.replace(_CLOSE, "")
    for flow in reversed(flows[1:]):
        flow.end_line(is_closed=False)
        flows[0].following += flow.lines
    flows[0].end_line()
    return flows[0].lines
