"""The text of PDF pages as PDFium gives it: words with their positions, joined to pieces of lines; for scripts that are
written from right to left, letters in reading order."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2.raw as pdfium

from redraft.readers.pdf.lines import LOWERED, RAISED, SAME_LINE, SOFT_HYPHEN, LinePiece

_WORD_GAP, _SPACE, _SAME_ROW = 1.0, 0.1, 0.4
"""The narrowest gaps that split a line and a word, and the height of a row, relative to the height of the letters."""
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


@dataclass(slots=True)
class Letter(LinePiece):
    """A letter of right-to-left text and its box. A combining mark usually has the `origin` of its letter; `base` is
    the height of its word's line, and `word` the offset of its word, which may be one part of a word."""

    origin: float = 0.0
    base: float = 0.0
    word: int = 0


def is_leftward(text: str) -> bool:
    """Return whether most letters of a text are from right-to-left scripts."""
    if text.isascii():
        return False
    classes = [unicodedata.bidirectional(letter) for letter in text if letter.isalpha()]
    return 2 * sum(name in ("R", "AL") for name in classes) > len(classes)


def leftward_pieces(letters: Sequence[Letter]) -> Iterator[LinePiece]:
    """Yield the pieces of right-to-left lines from the top down, whatever the order of their letters."""
    rows: list[list[Letter]] = []
    height = 0.0
    for letter in sorted(letters, key=lambda letter: -letter.base):
        if not rows or rows[-1][-1].base - letter.base > _SAME_ROW * height:
            rows.append([])
            height = 0.1
        rows[-1].append(letter)
        height = max(height, letter.size)
    for row in rows:
        for piece in _pieces(row):
            # Names and numbers are from left to right.
            text = _RIGHTWARD.sub(lambda match: match[0][::-1], piece.text)
            text = _OPENING.sub(lambda match: match[0].translate(_OPENED), text)
            piece.text = _CLOSING.sub(lambda match: match[0].translate(_CLOSED), text)
            yield piece


def _pieces(row: Sequence[Letter]) -> list[LinePiece]:
    """Return the pieces of one line: its letters by position, with spaces where there is room for one."""
    bases = [letter for letter in row if not unicodedata.combining(letter.text)]
    for mark in row:
        if bases and unicodedata.combining(mark.text):
            min(bases, key=lambda base: abs(base.origin - mark.origin)).text += mark.text
    pieces: list[LinePiece] = []
    bottom, top = min(letter.bottom for letter in row), max(letter.top for letter in row)
    height, last = max(0.1, *(letter.size for letter in row)), row[0]
    # Letters at the same position, such as the two of a ligature, are already in order.
    for letter in sorted(bases, key=lambda letter: -(letter.left + letter.right)):
        glyph = LinePiece(letter.text, -letter.right, -letter.left, bottom, top, 0.0)
        gap = glyph.left - pieces[-1].right if pieces else 0.0
        if not pieces or gap >= _WORD_GAP * height:
            pieces.append(glyph)
        else:
            is_apart = last.word != letter.word or not _SIGNS.isdisjoint((last.text, letter.text))
            pieces[-1].append(glyph, " " if is_apart and gap > _SPACE * height else "")
        if " " not in pieces[-1].text:
            pieces[-1].first_width = pieces[-1].right - pieces[-1].left
        last = letter
    return pieces


# PDFium's codes for a hyphen at the end of a line.
_HYPHENS = "\x02\ufffe"
_AS_HYPHEN = dict.fromkeys(map(ord, _HYPHENS), SOFT_HYPHEN)
_WORD = re.compile(rf"[^\s\x00{_HYPHENS}]+[{_HYPHENS}]?")
_NUMBER_OF_NOTE = re.compile(r"(?<=[^\W\d]|[.,;:!?”’\"')\]])\d{1,3}\Z")
_NOTE_BEFORE = re.compile(r"\d{1,3}(?=[^\W\d])")
_BOLD, _LONGEST_NAME = 600, 120
_BOLD_NAME = re.compile(rb"bold|black|heavy|demi|medi\b|bx\d", re.IGNORECASE)
_UPRIGHT, _GAP, _SMALL = 0.3, 1.0, 0.85


class PageText:
    """The text of one page as PDFium provides it."""

    def __init__(self, raw: Any, rotation: int) -> None:
        self._raw = raw
        self._rotation = rotation
        self._box = pdfium.FS_RECTF()
        self._reference = ctypes.byref(self._box)
        self._count = max(0, pdfium.FPDFText_CountChars(raw))
        buffer = ctypes.create_string_buffer(2 * self._count + 4)
        target = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
        units = pdfium.FPDFText_GetText(raw, 0, self._count, target)
        self.text = buffer.raw[: 2 * max(0, units - 1)].decode("utf-16-le", "replace")
        """The characters, one for each that PDFium counts."""
        if len(self.text) != self._count:
            codes = (pdfium.FPDFText_GetUnicode(raw, at) for at in range(self._count))
            valid = (code if code < 0x110000 and not 0xD800 <= code < 0xE000 else 0xFFFD for code in codes)
            self.text = "".join(map(chr, valid))
        self.turned = 0
        """The number of rotated words next to the text."""

    def pieces(self) -> list[LinePiece]:
        """Return the pieces of lines in file order, or in reading order for right-to-left text."""
        if is_leftward(self.text):
            letters: list[Letter] = []
            across, up = ctypes.c_double(), ctypes.c_double()
            for match in (match for match in _WORD.finditer(self.text) if not self._is_turned(match.start())):
                base: float | None = None
                for at in range(*match.span()):
                    pdfium.FPDFText_GetCharOrigin(self._raw, at, ctypes.byref(across), ctypes.byref(up))
                    origin, height = self._turned_back(across.value, up.value)
                    base = height if base is None else base
                    letters.append(Letter(self.text[at], *self._box_of(at), 0.0, False, origin, base, match.start()))
            pieces = leftward_pieces(letters)
            return [replace(piece, text=piece.text.translate(_AS_HYPHEN)) for piece in pieces]
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
        (x, y), (other_x, other_y) = self._turned_back(box.left, box.bottom), self._turned_back(box.right, box.top)
        return min(x, other_x), max(x, other_x), min(y, other_y), max(y, other_y)

    def _turned_back(self, x: float, y: float) -> tuple[float, float]:
        """Return a point of the page as it is shown."""
        return {0: (x, y), 90: (y, -x), 180: (-x, -y)}.get(self._rotation, (-y, x))

    def _is_turned(self, at: int) -> bool:
        """Return whether a word is rotated, and count it."""
        angle = pdfium.FPDFText_GetCharAngle(self._raw, at)
        is_turned = self._rotation == 0 and angle > _UPRIGHT and abs(angle - 2 * 3.1416) > _UPRIGHT
        self.turned += is_turned
        return is_turned


def _continues(last: LinePiece, word: LinePiece, *, new_line: bool) -> bool:
    """Return whether a word continues a piece: it is on the same line, without a wide gap."""
    height = max(last.size, 0.1)
    overlap = min(last.top, word.top) - max(last.bottom, word.bottom)
    if overlap < SAME_LINE * min(height, max(word.size, 0.1)):
        return False
    gap = max(word.left - last.right, last.left - word.right)
    return -height < gap < _GAP * height and not (new_line and gap < 0 and word.left < last.left)
