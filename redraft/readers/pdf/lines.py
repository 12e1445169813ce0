"""The words of a PDF page, put together to pieces of lines, with where on the page these stand."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium

from redraft.readers.pdf.leftward import Letter, Stretch, is_leftward, joined, parted, rows, word

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
        """The pieces of lines, in the order in which the file has them, or in that in which they are read."""
        if is_leftward(self.text):
            return [*self._leftward()]
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
            one = self._word(match)
            if last is not None and (joint := _joint(last, one, spaced=spaced, new_line=new_line)) is not None:
                _append(last, one, joint)
                continue
            last = Piece(one.text, one.left, one.right, one.bottom, one.top, one.right - one.left)
            found.append(last)
        return found

    def _leftward(self) -> Iterator[Piece]:
        """The pieces of lines that are written from right to left, from the top down."""
        for row in rows([*self._stretches()]):
            piece: Piece | None = None
            for one in joined(row):
                said = _Word(word(one.letters).translate(_AS_HYPHEN), -one.right, -one.left, one.bottom, one.top)
                if piece is not None and said.left - piece.right < _GAP * one.height:
                    _append(piece, said, " ")
                else:
                    if piece is not None:
                        yield piece
                    piece = Piece(said.text, said.left, said.right, said.bottom, said.top, said.right - said.left)
            if piece is not None:
                yield piece

    def _stretches(self) -> Iterator[Stretch]:
        for match in _WORD.finditer(self.text):
            if self._is_turned(match.start()):
                self.turned += 1
                continue
            boxes = [self._box_of(at) for at in range(*match.span())]
            bottom, top = min(box[2] for box in boxes), max(box[3] for box in boxes)
            origins = [self._origin_of(at) for at in range(*match.span())]
            letters = [Letter(text, *box[:2], at[0]) for text, box, at in zip(match[0], boxes, origins, strict=True)]
            for part in parted(letters, top - bottom):
                left, right = min(one.left for one in part), max(one.right for one in part)
                yield Stretch(part, left, right, bottom, top, origins[0][1])

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

    def _origin_of(self, at: int) -> tuple[float, float]:
        """Where on its line a letter was drawn from, and the height of that line."""
        across, up = ctypes.c_double(), ctypes.c_double()
        pdfium.FPDFText_GetCharOrigin(self._raw, at, ctypes.byref(across), ctypes.byref(up))
        x, y = across.value, up.value
        return {0: (x, y), 90: (y, -x), 180: (-x, -y)}.get(self._rotation, (-y, x))

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
