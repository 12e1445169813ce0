"""RTF: text, headings and footnotes. `striprtf` extracts the text, after a repair of what would hide text from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from striprtf.striprtf import destinations, rtf_to_text

from redraft.errors import DocumentError
from redraft.readers.builder import ReadCoverage, ReadText, TextBuilder
from redraft.readers.recovery import size
from redraft.text.words import count_words

_TITLE = re.compile(rb"\{\\title ([^{}\\]{1,200})\}")
_SIGN = re.compile(r"\\bin(-?\d{0,10}) ?|\\'[0-9a-fA-F]{2}|\\([a-z]{1,32})(?:-?\d{1,10})? ?|\\[^a-z]|[{}]", re.DOTALL)
_BEHIND_BINARY = re.compile(r"\s*\}")
_PROSE = re.compile(r"[\x20-\x7e\r\n\t]*+\Z")
_HEADING_STYLE = re.compile(r"\{[^{}]{0,20}?\\s(\d{1,5})\b[^{}]{0,1000}?(?i:heading) ?([1-9]);\}")
_NOTE, _BOX, _HEADER, _FOOTER, _COMMENT, _UNKNOWN, _END = "\ue000\ue001\ue003\ue004\ue005\ue006\ue007"
_HEADING = "\ue002"
"""Followed by the level. Private characters mark in the source what `striprtf` does not report."""
_MARKERS = re.compile(f"{_HEADING}[0-9]?|[\ue000-\ue007]")
_PIECES = re.compile("([\n\ue000\ue001\ue003-\ue007])")
_KINDS = {
    "footnote": _NOTE,
    "shptxt": _BOX,
    "dptxbxtext": _BOX,
    **{f"header{page}": _HEADER for page in ("", "l", "r", "f")},
    **{f"footer{page}": _FOOTER for page in ("", "l", "r", "f")},
    "annotation": _COMMENT,
}
_STARTS = frozenset({*_KINDS.values(), _UNKNOWN})
_LEFT_OUT = {_HEADER: "headers", _FOOTER: "footers", _COMMENT: "comments", _UNKNOWN: "parts of an unknown kind"}
_AROUND_TEXT = frozenset({"shp", "shpgrp", "shpinst", "do", "object", "result", "upr"})
"""Destinations that `striprtf` ignores with the text in them."""
_PAGE_STYLES = "pgdsctbl"
"""LibreOffice's table of page styles."""
_FEW_WORDS = 5
"""A part of an unknown kind with fewer words is not text."""
_FEW = 64
"""Up to this many bytes may look like prose by chance."""
_DEEPEST = 1_000


def read(data: bytes, name: str) -> ReadText:
    """Return the text of a document with its headings and footnotes, without its pages."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentError("this is not an RTF document", place=name, hint="save it again as .rtf, or as .docx")
    repair = _Repair(data.decode("latin-1"))
    repair.run()
    text = rtf_to_text("".join(repair.parts), encoding="cp1252", errors="replace")
    builder = TextBuilder()
    _build(builder, text)
    builder.oddities.extend(repair.notes)
    read = size("".join(builder.parts))
    builder.extents.append(ReadCoverage(name, read + repair.lost, read))
    match = _TITLE.search(data)
    return builder.reading(match[1].decode("cp1252", "replace") if match else "")


def _build(builder: TextBuilder, text: str) -> None:
    """Add each line as a paragraph, a heading or a note, and record the parts that are left out."""
    for line, kind in _lines(text):
        level = max((int(marker[1:] or 0) for marker in _MARKERS.findall(line) if marker[0] == _HEADING), default=0)
        paragraph = _MARKERS.sub("", line)
        if kind == _UNKNOWN and count_words(paragraph) < _FEW_WORDS:
            continue
        if kind in _LEFT_OUT:
            builder.leave_out(_LEFT_OUT[kind], text=paragraph)
        elif kind == _NOTE:
            builder.mark("note", builder.add([paragraph]))
        elif level:
            builder.heading(level, [paragraph])
        else:
            builder.add([paragraph.replace("|", " | ") if paragraph.rstrip().endswith("|") else paragraph])


@dataclass(slots=True)
class _Flow:
    """The text of the document, a note, a box or a part that is left out: its lines, each with the kind of its flow,
    and the open line with the lines of the flows in it, which follow it."""

    kind: str = ""
    lines: list[tuple[str, str]] = field(default_factory=list)
    line: str = ""
    following: list[tuple[str, str]] = field(default_factory=list)

    def end_line(self) -> None:
        self.lines += [(self.line, self.kind), *self.following]
        self.line, self.following = "", []


def _lines(text: str) -> list[tuple[str, str]]:
    """Return the lines with their kinds; notes and boxes follow their paragraph, and a part to leave out is a line."""
    flows = [_Flow()]
    for piece in [*_PIECES.split(text), *(_END * sum(map(text.count, _STARTS)))]:
        if piece in _STARTS and len(flows) < _DEEPEST:
            flows.append(_Flow(piece))
        elif piece == "\n":
            flows[-1].end_line()
        elif piece != _END:
            flows[-1].line += piece
        elif len(flows) > 1:
            inner = flows.pop()
            inner.end_line()
            if inner.kind in _LEFT_OUT:
                inner.lines = [(" ".join(line for line, _ in inner.lines), inner.kind)]
            flows[-1].following += inner.lines
    flows[0].end_line()
    return flows[0].lines


@dataclass(slots=True)
class _Group:
    """An open group: whether its text is not part of the document's, whether `striprtf` ignores it, the length of its
    text, and the sign of the flow that it begins."""

    is_apart: bool
    is_ignored: bool
    size: int = 0
    flow: str = ""


@dataclass(slots=True)
class _Repair:
    """Repairs a source: removes binary data, joins documents that close too early or follow each other, and marks
    headings and notes."""

    source: str
    parts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lost: int = 0
    """The number of characters in a non-text group that is not closed where it should end."""
    _open: list[_Group] = field(default_factory=list)
    _styles: dict[str, str] = field(default_factory=dict)
    """The levels of the heading styles, by style number."""

    def run(self) -> None:
        """Scan all groups once."""
        source, at = self.source, 0
        self._styles = dict(_HEADING_STYLE.findall(source))
        end = len(source.rstrip("\0\r\n\t }"))
        while (sign := _SIGN.search(source, at)) is not None:
            if self._open:
                self._open[-1].size += size(source[at : sign.start()])
            self.parts.append(source[at : sign.start()])
            at = sign.end()
            if sign[1] is not None:
                at = self._behind_binary(sign[1], at)
            elif sign[0] == "{":
                self._begin()
            elif sign[0] == "}":
                self._end(is_last=at >= end)
            elif not self._begins_flow(sign[2]):
                self._mark(sign[2] or sign[0][1])
                self.parts.append(sign[0] + self._heading(sign[2], sign[0]))
        self.parts.append(source[at:])
        if not self._open:
            self.lost = 0
            return
        self.notes.append("it breaks off, or a group of it is not closed")
        self.lost += sum(group.size for group in self._open if group.is_apart)

    def _begin(self) -> None:
        if len(self._open) >= _DEEPEST:
            raise DocumentError(f"its groups are more than {_DEEPEST:,} deep", hint="save it again, or as .docx")
        outer = self._open[-1] if self._open else _Group(is_apart=False, is_ignored=False)
        self._open.append(_Group(outer.is_apart, outer.is_ignored))
        self.parts.append("{")

    def _end(self, *, is_last: bool) -> None:
        """Close a group; the outermost one is only closed at the end of the source, so that text after it is kept."""
        if len(self._open) > 1 or is_last:
            if self._open:
                ended = self._open.pop()
                if self._open:
                    self._open[-1].size += ended.size
                if is_last and ended.is_apart:
                    self.lost = ended.size
                if ended.flow:
                    self.parts.append(f"}}{{{_END}")
            self.parts.append("}")
        elif not self.notes:
            self.notes.append("it continues after its end, or contains several documents: all of it was read")

    def _begins_flow(self, word: str | None) -> bool:
        """Let the text of the open group be read, and mark where it begins, if the word makes it a part of its own."""
        if word is None or len(self._open) < 2 or self._open[-2].is_ignored:
            return False
        is_starred = self.parts[-2:-1] == ["\\*"] and not self.parts[-1].strip()
        is_unknown = is_starred and word not in destinations and word != _PAGE_STYLES
        flow = _KINDS.get(word, _UNKNOWN if is_unknown else "")
        if not flow and word not in _AROUND_TEXT:
            return False
        if is_starred:
            del self.parts[-2:]
        self._open[-1] = _Group(self._open[-2].is_apart or flow in _LEFT_OUT, is_ignored=False, flow=flow)
        self.parts.append(f"{{{flow}}}" if flow else "")
        return True

    def _heading(self, word: str, sign: str) -> str:
        """Return the marker of a heading, if the word makes the paragraph one."""
        if word not in ("s", "outlinelevel") or not self._open or self._open[-1].is_apart:
            return ""
        number = sign.strip()[len(word) + 1 :]
        level = self._styles.get(number, "") if word == "s" else str(int(number or 9) + 1)
        return f"{{{_HEADING}{level}}}" if len(level) == 1 and level > "0" else ""

    def _mark(self, word: str) -> None:
        if self._open and (word == "*" or word in destinations or word in ("fonttbl", "colortbl")):
            self._open[-1].is_apart = self._open[-1].is_ignored = True

    def _behind_binary(self, length: str, at: int) -> int:
        """Return the offset after binary data, or its start if the length is false.

        The length is right if the group ends there, and the data are not prose.
        """
        count = int(length) if length.isdigit() else 0
        data = self.source[at : at + count]
        is_prose = len(data) > _FEW and _PROSE.match(data) is not None
        if len(data) == count and not is_prose and (not count or _BEHIND_BINARY.match(self.source, at + count)):
            return at + count
        self.notes.append(f"the stated length of its binary data, {count:,} bytes, is wrong and was ignored")
        return at
