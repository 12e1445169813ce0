"""The words of a PDF page, put together to pieces of lines, with where on the page these stand."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

RAISED, LOWERED = "\ue0f0", "\ue0f1"
"""Around digits that stand small and high behind a word, and may be the number of a note."""
SOFT_HYPHEN = "\u00ad"
# So PDFium writes a hyphen at the end of a line.
_HYPHENS = "\x02\ufffe"
_WORD = re.compile(rf"[^\s\x00{_HYPHENS}]+[{_HYPHENS}]?")
_NUMBER_OF_NOTE = re.compile(r"(?<=[^\W\d]|[.,;:!?”’\"')\]])\d{1,3}\Z")
_GAP = 1.0
"""How many times its height a gap within a line has at least that parts it in two."""
_SAME_LINE = 0.5
_SMALL = 0.85
_UPRIGHT = 0.3


@dataclass(slots=True)
class Piece:
    """A stretch of a line without a wide gap. `left` is where reading it begins; of Arabic, x is mirrored."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    first_width: float
    """The width of its first word."""

    @property
    def size(self) -> float:
        """How high its letters are, with what they have above and below."""
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        """The height at which it stands."""
        return (self.top + self.bottom) / 2


@dataclass(slots=True)
class _Word:
    text: str
    left: float
    right: float
    bottom: float
    top: float


class PageText:
    """The text of one page as PDFium has it."""

    def __init__(self, raw: Any, rotation: int) -> None:
        self._raw = raw
        self._rotation = rotation
        self._box = pdfium.FS_RECTF()
        self._reference = ctypes.byref(self._box)
        self.count = max(0, pdfium.FPDFText_CountChars(raw))
        self.text = self._characters()
        self.turned = 0
        """How many words stand upright beside the text."""

    def pieces(self) -> list[Piece]:
        """The pieces of lines, in the order in which the file has them."""
        found: list[Piece] = []
        end = 0
        last: Piece | None = None
        for match in _WORD.finditer(self.text):
            new_line = "\n" in self.text[end : match.start()]
            spaced = match.start() > end
            end = match.end()
            if (new_line or last is None) and self._is_turned(match.start()):
                self.turned += 1
                continue
            word = self._word(match)
            if last is not None and (joint := _joint(last, word, spaced=spaced, new_line=new_line)) is not None:
                _append(last, word, joint)
                continue
            last = Piece(word.text, word.left, word.right, word.bottom, word.top, word.right - word.left)
            found.append(last)
        return _mirrored(found) if _is_rtl(self.text) else found

    def _characters(self) -> str:
        """The characters, one for each that PDFium counts."""
        buffer = ctypes.create_string_buffer(2 * self.count + 4)
        units = pdfium.FPDFText_GetText(self._raw, 0, self.count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
        text = buffer.raw[: 2 * max(0, units - 1)].decode("utf-16-le", "replace")
        if len(text) == self.count:
            return text
        codes = (pdfium.FPDFText_GetUnicode(self._raw, at) for at in range(self.count))
        return "".join(chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd" for code in codes)

    def _word(self, match: re.Match[str]) -> _Word:
        text = match[0]
        left, right, bottom, top = self._box_of(match.start())
        if match.end() - match.start() == 1:
            return _Word(text.translate(_AS_HYPHEN), left, right, bottom, top)
        of_last = self._box_of(match.end() - 1)
        if (
            of_last[3] - of_last[2] < _SMALL * (top - bottom)
            and of_last[2] > bottom
            and (note := _NUMBER_OF_NOTE.search(text))
        ):
            text = f"{text[: note.start()]}{RAISED}{note[0]}{LOWERED}"
        return _Word(text.translate(_AS_HYPHEN), min(left, of_last[0]), max(right, of_last[1]), bottom, top)

    def _box_of(self, at: int) -> tuple[float, float, float, float]:
        pdfium.FPDFText_GetLooseCharBox(self._raw, at, self._reference)
        box = self._box
        if self._rotation == 0:
            return box.left, box.right, box.bottom, box.top
        if self._rotation == 90:
            return box.bottom, box.top, -box.right, -box.left
        if self._rotation == 180:
            return -box.right, -box.left, -box.top, -box.bottom
        return -box.top, -box.bottom, box.left, box.right

    def _is_turned(self, at: int) -> bool:
        angle = pdfium.FPDFText_GetCharAngle(self._raw, at)
        return bool(angle > _UPRIGHT and abs(angle - 2 * 3.1416) > _UPRIGHT) and self._rotation == 0


_AS_HYPHEN = {ord(sign): SOFT_HYPHEN for sign in _HYPHENS}


def _joint(last: Piece, word: _Word, *, spaced: bool, new_line: bool) -> str | None:
    """What goes between a piece and the word after it; None where that begins another piece."""
    height = max(last.top - last.bottom, 0.1)
    overlap = min(last.top, word.top) - max(last.bottom, word.bottom)
    if overlap < _SAME_LINE * min(height, max(word.top - word.bottom, 0.1)):
        return None
    gap = max(word.left - last.right, last.left - word.right)
    if not -height < gap < _GAP * height:
        return None
    if new_line and gap < 0 and word.left < last.left:
        return None
    return " " if spaced else ""


def _append(piece: Piece, word: _Word, joint: str) -> None:
    piece.text += joint + word.text
    piece.left = min(piece.left, word.left)
    piece.right = max(piece.right, word.right)
    if word.top - word.bottom > piece.top - piece.bottom:
        piece.bottom, piece.top = word.bottom, word.top


def _is_rtl(text: str) -> bool:
    """Whether most letters of a page are those of a script that is written from right to left."""
    if text.isascii():
        return False
    classes = [unicodedata.bidirectional(letter) for letter in text if letter.isalpha()]
    return 2 * sum(1 for one in classes if one in ("R", "AL")) > len(classes)


def _mirrored(pieces: list[Piece]) -> list[Piece]:
    for one in pieces:
        one.left, one.right = -one.right, -one.left
    return pieces


def by_place(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """The pieces in rows from the top down, each row in the order in which it is read."""
    row: list[Piece] = []
    for one in sorted(pieces, key=lambda each: -each.middle):
        if row and _in_row(row, one):
            row.append(one)
        else:
            if row:
                yield sorted(row, key=lambda each: each.left)
            row = [one]
    if row:
        yield sorted(row, key=lambda each: each.left)


def _in_row(row: list[Piece], one: Piece) -> bool:
    first = row[0]
    overlap = min(first.top, one.top) - max(first.bottom, one.bottom)
    if overlap < _SAME_LINE * min(first.size, one.size):
        return False
    return all(one.left >= other.right - 1 or one.right <= other.left + 1 for other in row)
