"""The lines of PDF pages in reading order: words as PDFium gives them, joined to pieces of lines; the columns that they
are in, and rows of tables; for scripts written from right to left, letters in reading order."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium

RAISED, LOWERED = "\ue0f0", "\ue0f1"
"""Enclose small raised digits next to a word, which may be a note number."""
SOFT_HYPHEN = "\u00ad"
"""A hyphen at the end of a line that is not part of the word."""
SAME_LINE = 0.5
"""The least overlap of the heights of pieces of the same line."""
_MAX_CROSSING_SHARE = 0.15
"""The largest share of lines that may cross the gap between two columns, such as titles and captions."""
_MIN_GAP, _MIN_LINES = 7.0, 6
_MIN_FILLED, _MIN_PAGE_SHARE = 0.6, 0.18
"""The least share of a column that its usual line fills, and of the page that a column takes."""
_BINS, _SLACK = 400, 2.0


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


@dataclass(slots=True)
class PdfLine(LinePiece):
    """A line of a column, with the edges of the column; a table row has several cells."""

    cells: list[LinePiece] = field(default_factory=list)
    column: tuple[float, float] = (0.0, 0.0)

    @property
    def size(self) -> float:
        """The height of its largest letters."""
        return max(cell.top - cell.bottom for cell in self.cells)


def by_place(pieces: Sequence[LinePiece]) -> Iterator[list[LinePiece]]:
    """Yield the pieces in rows from the top down, each row in reading order."""
    row: list[LinePiece] = []
    for piece in sorted(pieces, key=lambda piece: -piece.middle):
        overlap = min(row[0].top, piece.top) - max(row[0].bottom, piece.bottom) if row else 0.0
        is_in_row = bool(row) and overlap >= SAME_LINE * min(row[0].size, piece.size)
        if row and not (
            is_in_row and all(piece.left >= other.right - 1 or piece.right <= other.left + 1 for other in row)
        ):
            yield sorted(row, key=lambda piece: piece.left)
            row = []
        row.append(piece)
    if row:
        yield sorted(row, key=lambda piece: piece.left)


def in_order(pieces: Sequence[LinePiece]) -> list[PdfLine]:
    """Return the lines of a page in reading order: column by column, between the lines that cross the columns."""
    gaps = _gaps(pieces)
    if not gaps:
        return _lines([pieces])
    edges = (min(piece.left for piece in pieces), max(piece.right for piece in pieces))
    lines: list[PdfLine] = []
    columns: list[list[LinePiece]] = [[] for _ in range(len(gaps) + 1)]
    for piece in sorted(pieces, key=lambda piece: -piece.middle):
        at = _column(piece, gaps)
        if at is None:
            lines += [*_lines(columns), _line([piece], edges)]
            columns = [[] for _ in columns]
        else:
            columns[at].append(piece)
    return lines + _lines(columns)


def _lines(columns: Sequence[Sequence[LinePiece]]) -> list[PdfLine]:
    """Return the lines of columns. A column begins where most of its text does, and ends where its longest lines do."""
    lines: list[PdfLine] = []
    for rows in (list(by_place(pieces)) for pieces in columns if pieces):
        lefts: Counter[int] = Counter()
        for row in rows:
            lefts[round(row[0].left)] += sum(len(piece.text) for piece in row)
        rights = sorted(row[-1].right for row in rows)
        left = max(lefts, key=lambda at: (lefts[at], -at))
        right = rights[min(len(rights) - 1, int(0.97 * len(rights)))]
        lines += [_line(row, (float(left), right)) for row in rows]
    return lines


def _line(cells: list[LinePiece], column: tuple[float, float]) -> PdfLine:
    first, text, is_bold = cells[0], " ".join(cell.text for cell in cells), all(cell.bold for cell in cells)
    places = first.left, cells[-1].right, first.bottom, first.top
    return PdfLine(text, *places, first.first_width, is_bold, cells, column)


def _column(piece: LinePiece, gaps: Sequence[float]) -> int | None:
    """Return the column of a piece; None if it crosses a gap."""
    if any(piece.left < gap - _SLACK and piece.right > gap + _SLACK for gap in gaps):
        return None
    return sum((piece.left + piece.right) / 2 > gap for gap in gaps)


def _gaps(pieces: Sequence[LinePiece]) -> list[float]:
    """Return the middles of the gaps between columns; empty for a page with one column."""
    if len(pieces) < 2 * _MIN_LINES:
        return []
    low, high = min(piece.left for piece in pieces), max(piece.right for piece in pieces)
    width = max(high - low, 1.0)
    changes = [0] * (_BINS + 2)
    for piece in pieces:
        changes[int(_BINS * (piece.left - low) / width)] += 1
        changes[min(_BINS, int(_BINS * (piece.right - low) / width)) + 1] -= 1
    gaps: list[float] = []
    start = -1
    for at, depth in enumerate(accumulate(changes[: _BINS + 1])):
        is_open = depth <= _MAX_CROSSING_SHARE * len(pieces) / 2
        if is_open and start < 0:
            start = at
        elif not is_open and start >= 0:
            if start > 0 and (at - start) * width / _BINS >= _MIN_GAP:
                gaps.append(low + width * (start + at) / 2 / _BINS)
            start = -1

    # A few lines with wide gaps may cause a false gap within a column.
    fewer = [[*gaps[:at], *gaps[at + 1 :]] for at in range(len(gaps))] if len(gaps) > 1 else []
    for candidates in ([gaps], fewer):
        filled = [(_share_filled(pieces, [low, *edges, high]), edges) for edges in candidates]
        if filled and max(filled)[0] >= _MIN_FILLED:
            return max(filled)[1]
    return []


def _share_filled(pieces: Sequence[LinePiece], edges: Sequence[float]) -> float:
    """Return the median line length relative to the column, for the emptiest column; 0 if one is not running text."""
    shares = [1.0]
    for at, (left, right) in enumerate(pairwise(edges)):
        column = [piece for piece in pieces if _column(piece, edges[1:-1]) == at]
        if len(column) < _MIN_LINES or right - left < _MIN_PAGE_SHARE * (edges[-1] - edges[0]):
            return 0.0
        # A justified line with few words may have wide gaps of its own.
        shares.append(median(row[-1].right - row[0].left for row in by_place(column)) / (right - left))
    return min(shares)


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
        alphabetic = [] if self.text.isascii() else filter(str.isalpha, self.text)
        classes = [unicodedata.bidirectional(letter) for letter in alphabetic]
        if 2 * sum(name in ("R", "AL") for name in classes) > len(classes):
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
