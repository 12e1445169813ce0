"""RTF: text, headings and footnotes. `striprtf` extracts the text, after a repair of what would hide text from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from striprtf.striprtf import destinations, rtf_to_text

from redraft.errors import DocumentError
from redraft.readers.builder import ReadCoverage, ReadText, TextBuilder
from redraft.readers.recovery import size

_TITLE = re.compile(rb"\{\\title ([^{}\\]{1,200})\}")
_SIGN = re.compile(r"\\bin(-?\d{0,10}) ?|\\'[0-9a-fA-F]{2}|\\([a-z]{1,32})(?:-?\d{1,10})? ?|\\[^a-z]|[{}]", re.DOTALL)
_BEHIND_BINARY = re.compile(r"\s*\}")
_PROSE = re.compile(r"[\x20-\x7e\r\n\t]*+\Z")
_HEADING_STYLE = re.compile(r"\{[^{}]{0,20}?\\s(\d{1,5})\b[^{}]{0,1000}?(?i:heading) ?([1-9]);\}")
_NOTE_START, _NOTE_END = "\ue000", "\ue001"
_HEADING = "\ue002"
"""Followed by the level. Private characters mark in the source what `striprtf` does not report."""
_MARKERS = re.compile(f"{_HEADING}[0-9]?|[{_NOTE_START}{_NOTE_END}]")
_NOTES = re.compile(f"{_NOTE_START}([^{_NOTE_START}{_NOTE_END}]*){_NOTE_END}")
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
    """Add each line as a paragraph or a heading, and the notes of a paragraph after it."""
    notes = [_MARKERS.sub("", one) for one in _NOTES.findall(text)]
    following = iter(notes)
    for line in _NOTES.sub(_NOTE_END, text).split("\n"):
        level = max((int(one[1:] or 0) for one in _MARKERS.findall(line) if one[0] == _HEADING), default=0)
        paragraph = _MARKERS.sub("", line)
        if level:
            builder.heading(level, [paragraph])
        else:
            builder.add([paragraph.replace("|", " | ") if paragraph.rstrip().endswith("|") else paragraph])
        for _ in range(line.count(_NOTE_END)):
            builder.mark("note", builder.add([" ".join(next(following, "").split())]))


@dataclass(slots=True)
class _Group:
    """An open group: whether its text is not part of the document's, the length of that text, and if it is a note."""

    is_apart: bool
    size: int = 0
    is_note: bool = False


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
            elif not self._begins_note(sign[2]):
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
        self._open.append(_Group(bool(self._open) and self._open[-1].is_apart))
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
                if ended.is_note:
                    self.parts.append(f"}}{{{_NOTE_END}")
            self.parts.append("}")
        elif not self.notes:
            self.notes.append("it continues after its end, or contains several documents: all of it was read")

    def _begins_note(self, word: str) -> bool:
        """Mark the open group as a note and let its text be read, if that is what the word says."""
        if word != "footnote" or len(self._open) < 2 or self._open[-2].is_apart or self._open[-2].is_note:
            return False
        while self.parts[-1] in ("", "\\*"):
            self.parts.pop()
        self._open[-1] = _Group(is_apart=False, is_note=True)
        self.parts.append(f"{{{_NOTE_START}}}")
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
            self._open[-1].is_apart = True

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
