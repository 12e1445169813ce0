"""The words of a PDF page as pieces of lines with their positions, right-to-left text in reading order."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

RAISED, LOWERED = "\ue0f0", "\ue0f1"
"""Enclose small raised digits next to a word, which may be a note number."""
SOFT_HYPHEN = "\u00ad"
# PDFium's codes for a hyphen at the end of a line.
_HYPHENS = "\x02\ufffe"
_AS_HYPHEN = dict.fromkeys(map(ord, _HYPHENS), SOFT_HYPHEN)
_WORD = re.compile(rf"[^\s\x00{_HYPHENS}]+[{_HYPHENS}]?")
_NUMBER_OF_NOTE = re.compile(r"(?<=[^\W\d]|[.,;:!?”’\"')\]])\d{1,3}\Z")
_NOTE_BEFORE = re.compile(r"\d{1,3}(?=[^\W\d])")
_BOLD, _LONGEST_NAME = 600, 120
_BOLD_NAME = re.compile(rb"bold|black|heavy|demi|medi\b|bx\d", re.IGNORECASE)
_UPRIGHT = 0.3
_GAP, _SPACE = 1.0, 0.1
"""The narrowest gaps that split a line and, in right-to-left text, a word, relative to the height of the letters."""
_SAME_LINE, _SAME_ROW = 0.5, 0.4
_SMALL = 0.85


@dataclass(slots=True)
class LinePiece:
    """A part of a line without a wide gap. `left` is where reading begins; for right-to-left text, x is mirrored."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    first_width: float
    """The width of its first word."""
    bold: bool = False
    """Whether it begins and ends in bold letters."""

    @property
    def size(self) -> float:
        """The height of its letters, including ascenders and descenders."""
        return self.top - self.bottom

    @property
    def middle(self) -> float:
        """The vertical middle."""
        return (self.top + self.bottom) / 2

    def append(self, word: LinePiece, separator: str) -> None:
        """Add a word at the end."""
        self.text += separator + word.text
        self.left, self.right = min(self.left, word.left), max(self.right, word.right)
        if word.size > self.size:
            self.bottom, self.top = word.bottom, word.top


class Letter(NamedTuple):
    """A letter of right-to-left text and its box. A combining mark usually has the `origin` of its letter; `base` is
    the height of its word's line, and `word` the offset of its word, which may be one part of a word."""

    text: str
    left: float
    right: float
    bottom: float
    top: float
    origin: float
    base: float
    word: int


class PageText:
    """The text of one page as PDFium provides it."""

    def __init__(self, raw: Any, rotation: int) -> None:
        self._raw = raw
        self._rotation = rotation
        self._box = pdfium.FS_RECTF()
        self._reference = ctypes.byref(self._box)
        self._count = max(0, pdfium.FPDFText_CountChars(raw))
        self.text = self._characters()
        self.turned = 0
        """The number of rotated words next to the text."""

    def pieces(self) -> list[LinePiece]:
        """Return the pieces of lines in file order, or in reading order for right-to-left text."""
        if is_leftward(self.text):
            upright = (match for match in _WORD.finditer(self.text) if not self._is_turned(match.start()))
            return [*leftward_pieces([letter for match in upright for letter in self._letters(*match.span())])]
        line_pieces: list[LinePiece] = []
        end = 0
        for match in _WORD.finditer(self.text):
            last = line_pieces[-1] if line_pieces else None
            new_line, is_spaced, before = "\n" in self.text[end : match.start()], match.start() > end, end
            end = match.end()
            if (new_line or last is None) and self._is_turned(match.start()):
                continue
            piece = self._word(match)
            if last is not None and _continues(last, piece, new_line=new_line):
                last.append(piece, " " if is_spaced else "")
                continue
            if last is not None:
                last.bold = last.bold and self._is_bold(before - 1)
            piece.bold = self._is_bold(match.start())
            line_pieces.append(piece)
        if line_pieces:
            line_pieces[-1].bold = line_pieces[-1].bold and self._is_bold(end - 1)
        return line_pieces

    def _characters(self) -> str:
        """Return the characters, one for each that PDFium counts."""
        buffer = ctypes.create_string_buffer(2 * self._count + 4)
        target = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
        units = pdfium.FPDFText_GetText(self._raw, 0, self._count, target)
        text = buffer.raw[: 2 * max(0, units - 1)].decode("utf-16-le", "replace")
        if len(text) == self._count:
            return text
        codes = (pdfium.FPDFText_GetUnicode(self._raw, at) for at in range(self._count))
        return "".join(chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd" for code in codes)

    def _word(self, match: re.Match[str]) -> LinePiece:
        """Return a word as a piece, with small raised digits at its beginning or end marked."""
        text, (left, right, bottom, top) = match[0], self._box_of(match.start())
        if len(text) > 1:
            _, last_right, last_bottom, last_top = last = self._box_of(match.end() - 1)
            left, right = min(left, last[0]), max(right, last_right)
            if note := _NOTE_BEFORE.match(text):
                _, _, below, above = self._box_of(match.start() + note.end())
                if top - bottom < _SMALL * (above - below) and bottom > below:
                    text = f"{RAISED}{note[0]}{LOWERED} {text[note.end() :]}"
                    bottom, top = below, above
            is_small = last_top - last_bottom < _SMALL * (top - bottom) and last_bottom > bottom
            if is_small and (note := _NUMBER_OF_NOTE.search(text)):
                text = f"{text[: note.start()]}{RAISED}{note[0]}{LOWERED}"
        return LinePiece(text.translate(_AS_HYPHEN), left, right, bottom, top, right - left)

    def _letters(self, start: int, end: int) -> Iterator[Letter]:
        across, up = ctypes.c_double(), ctypes.c_double()
        base: float | None = None
        for at in range(start, end):
            pdfium.FPDFText_GetCharOrigin(self._raw, at, ctypes.byref(across), ctypes.byref(up))
            x, y = across.value, up.value
            origin, height = {0: (x, y), 90: (y, -x), 180: (-x, -y)}.get(self._rotation, (-y, x))
            base = height if base is None else base
            yield Letter(self.text[at], *self._box_of(at), origin, base, start)

    def _is_bold(self, at: int) -> bool:
        if pdfium.FPDFText_GetFontWeight(self._raw, at) >= _BOLD:
            return True
        name, flags = ctypes.create_string_buffer(_LONGEST_NAME), ctypes.c_int()
        size = pdfium.FPDFText_GetFontInfo(self._raw, at, name, _LONGEST_NAME, ctypes.byref(flags))
        return 0 < size <= _LONGEST_NAME and _BOLD_NAME.search(name.value) is not None

    def _box_of(self, at: int) -> tuple[float, float, float, float]:
        """Return the left, right, bottom and top of a character on the page as it is shown."""
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
        """Return whether a word is rotated, and count it."""
        angle = pdfium.FPDFText_GetCharAngle(self._raw, at)
        is_turned = bool(angle > _UPRIGHT and abs(angle - 2 * 3.1416) > _UPRIGHT) and self._rotation == 0
        self.turned += is_turned
        return is_turned


def _continues(last: LinePiece, word: LinePiece, *, new_line: bool) -> bool:
    """Return whether a word continues a piece: it is on the same line, without a wide gap."""
    height = max(last.size, 0.1)
    overlap = min(last.top, word.top) - max(last.bottom, word.bottom)
    if overlap < _SAME_LINE * min(height, max(word.size, 0.1)):
        return False
    gap = max(word.left - last.right, last.left - word.right)
    return -height < gap < _GAP * height and not (new_line and gap < 0 and word.left < last.left)


# Scripts that are written from right to left.
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
# A number or word of another script, which is read from left to right. In Hebrew a sign to the right of a number is its
# last character.
_TOKEN = rf"%?[^\W_{_LEFTWARD}](?:[^\s_{_LEFTWARD}()\[\]{{}}«»\"“”]*[^\W_{_LEFTWARD}])?"
_NAME = rf"(?=\S*[^\W\d_{_LEFTWARD}]){_TOKEN}"
_RIGHTWARD = re.compile(rf"{_NAME}(?:(?:\s{_TOKEN})*\s{_NAME})*|{_TOKEN}")
# Files use either bracket of a pair for the same sign; its position in the word shows which one is meant.
_OPENED, _CLOSED = str.maketrans(")]}»", "([{«"), str.maketrans("([{«", ")]}»")
# PDFium may omit the space before such a sign.
_SIGNS = frozenset("()[]«»\"'“”‘’")
_OPENING = re.compile(r"(?<!\S)[()\[\]{}«»]+(?=\S)")
_CLOSING = re.compile(r"(?<=\S)[()\[\]{}«»]+(?=[^\w\s()\[\]{}«»]*(?:\s|\Z))")


def is_leftward(text: str) -> bool:
    """Return whether most letters of a text are from right-to-left scripts."""
    if text.isascii():
        return False
    classes = [unicodedata.bidirectional(letter) for letter in text if letter.isalpha()]
    return 2 * sum(name in ("R", "AL") for name in classes) > len(classes)


def leftward_pieces(letters: Sequence[Letter]) -> Iterator[LinePiece]:
    """Yield the pieces of right-to-left lines from the top down, whatever the order of their letters."""
    line: list[Letter] = []
    height = 0.0
    for letter in sorted(letters, key=lambda letter: -letter.base):
        if line and line[-1].base - letter.base > _SAME_ROW * height:
            yield from _pieces_of_line(line, height)
            line, height = [], 0.0
        line.append(letter)
        height = max(height, letter.top - letter.bottom, 0.1)
    if line:
        yield from _pieces_of_line(line, height)


def _pieces_of_line(line: Sequence[Letter], height: float) -> Iterator[LinePiece]:
    """Yield the pieces of one line: its letters by position, with spaces where there is room for one."""
    bases = [letter for letter in line if not unicodedata.combining(letter.text)]
    marks: dict[Letter, str] = {}
    for letter in line:
        if bases and unicodedata.combining(letter.text):
            nearest = min(bases, key=lambda base: abs(base.origin - letter.origin))
            marks[nearest] = marks.get(nearest, "") + letter.text
    piece, last = None, line[0]
    bottom, top = min(letter.bottom for letter in line), max(letter.top for letter in line)
    # Letters at the same position, such as the two of a ligature, are already in order.
    for letter in sorted(bases, key=lambda letter: -(letter.left + letter.right)):
        glyph = LinePiece(letter.text + marks.get(letter, ""), -letter.right, -letter.left, bottom, top, 0.0)
        gap = glyph.left - piece.right if piece else 0.0
        if piece is None or gap >= _GAP * height:
            if piece is not None:
                yield _as_read(piece)
            piece = glyph
        else:
            is_apart = last.word != letter.word or not _SIGNS.isdisjoint((last.text, letter.text))
            piece.append(glyph, " " if is_apart and gap > _SPACE * height else "")
        piece.first_width = piece.first_width if " " in piece.text else piece.right - piece.left
        last = letter
    if piece is not None:
        yield _as_read(piece)


def _as_read(piece: LinePiece) -> LinePiece:
    """Return a piece, of which the text is from right to left, with its names and numbers from left to right."""
    text = _RIGHTWARD.sub(lambda match: match[0][::-1], piece.text)
    text = _OPENING.sub(lambda match: match[0].translate(_OPENED), text)
    piece.text = _CLOSING.sub(lambda match: match[0].translate(_CLOSED), text).translate(_AS_HYPHEN)
    return piece


def by_place(pieces: Sequence[LinePiece]) -> Iterator[list[LinePiece]]:
    """Yield the pieces in rows from the top down, each row in reading order."""
    row: list[LinePiece] = []
    for piece in sorted(pieces, key=lambda piece: -piece.middle):
        if row and not _is_in_row(row, piece):
            yield sorted(row, key=lambda piece: piece.left)
            row = []
        row.append(piece)
    if row:
        yield sorted(row, key=lambda piece: piece.left)


def _is_in_row(row: Sequence[LinePiece], piece: LinePiece) -> bool:
    overlap = min(row[0].top, piece.top) - max(row[0].bottom, piece.bottom)
    return overlap >= _SAME_LINE * min(row[0].size, piece.size) and all(
        piece.left >= neighbour.right - 1 or piece.right <= neighbour.left + 1 for neighbour in row
    )
