"""The words of a PDF page as pieces of lines with their positions, right-to-left text in reading order."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

_RIGHT_TO_LEFT = ("R", "AL")
# Numbers and words of other scripts within right-to-left text, which are read from left to right. A sign to the right
# of a number is its last character in Hebrew; in Arabic that sign is to its left.
_RIGHTWARD = re.compile(r"%?[^\W_](?:[\w.,:/%'’+-]*[^\W_])?")
# PDFium may omit the space before a bracket or a quotation mark.
_OPENING = frozenset("()[]«»\"'“”‘’")
_SPACE = 0.15
# Files use either bracket of a pair for the same sign; its position in the word shows which one is meant.
_OPENED, _CLOSED = str.maketrans(")]}»", "([{«"), str.maketrans("([{«", ")]}»")
_AROUND = re.compile(r"([()\[\]{}«»]*)(.*?)([()\[\]{}«»]*)([^\w()\[\]{}«»]*)", re.DOTALL)
_SAME_ROW = 0.4
_JOINED = 0.1
"""The widest gap between two parts of a word, relative to its height."""


class Letter(NamedTuple):
    """A letter and its position. A combining mark usually has the `origin` of its letter."""

    text: str
    left: float
    right: float
    origin: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


class LetterRun(NamedTuple):
    """Adjacent letters as stored in the file, and their position.

    `base` is the height of the baseline: the boxes of letters may have very different heights.
    """

    letters: Sequence[Letter]
    left: float
    right: float
    bottom: float
    top: float
    base: float

    @property
    def height(self) -> float:
        """The height of the run, at least 0.1."""
        return max(self.top - self.bottom, 0.1)


def is_leftward(text: str) -> bool:
    """Return whether most letters of a text are from right-to-left scripts."""
    if text.isascii():
        return False
    classes = [unicodedata.bidirectional(letter) for letter in text if letter.isalpha()]
    return 2 * sum(1 for one in classes if one in _RIGHT_TO_LEFT) > len(classes)


def word(letters: Sequence[Letter]) -> str:
    """Return a word with its letters ordered by position; a combining mark follows its letter."""
    own = [letter for letter in letters if not unicodedata.combining(letter.text)]
    if not own:
        return "".join(letter.text for letter in letters)
    marks: dict[int, str] = {}
    for one in letters:
        if unicodedata.combining(one.text):
            at = min(range(len(own)), key=lambda at: abs(one.origin - own[at].origin))
            marks[at] = marks.get(at, "") + one.text
    # Letters at the same position, such as the two of a ligature, are already in order.
    order = sorted(range(len(own)), key=lambda at: -own[at].middle)
    said = "".join(own[at].text + marks.get(at, "") for at in order)
    return _rightward(_bracketed(said) if _is_leftward(own) else said)


def parted(letters: Sequence[Letter], height: float) -> list[list[Letter]]:
    """Return the parts of a word, split where there is room for a space next to a bracket."""
    parts: list[list[Letter]] = []
    for letter in sorted(letters, key=lambda each: -each.middle):
        last = parts[-1][-1] if parts else None
        gap = last.left - letter.right if last else 0.0
        if last is None or (gap > _SPACE * height and not _OPENING.isdisjoint((letter.text, last.text))):
            parts.append([])
        parts[-1].append(letter)
    return parts


def rows(stretches: Sequence[LetterRun]) -> Iterator[list[LetterRun]]:
    """Yield the runs of each line from the top down, in reading order."""
    row: list[LetterRun] = []
    for run in sorted(stretches, key=lambda each: -each.base):
        if row and row[-1].base - run.base > _SAME_ROW * max(each.height for each in row):
            yield _as_read(row)
            row = []
        row.append(run)
    if row:
        yield _as_read(row)


def joined(row: Sequence[LetterRun]) -> list[LetterRun]:
    """Return the words of a line, with parts that the file separates joined."""
    words: list[LetterRun] = []
    for run in row:
        last = words[-1] if words else None
        if last is None or max(last.left - run.right, run.left - last.right) >= _JOINED * last.height:
            words.append(run)
        else:
            left, right = min(last.left, run.left), max(last.right, run.right)
            words[-1] = last._replace(letters=[*last.letters, *run.letters], left=left, right=right)
    return words


def _as_read(row: Sequence[LetterRun]) -> list[LetterRun]:
    """Return runs from right to left, but words of other scripts and the numbers between them from left to right."""
    letter_runs: list[LetterRun] = []
    bottom, top = min(run.bottom for run in row), max(run.top for run in row)
    row = [run._replace(bottom=bottom, top=top) for run in row]
    found = sorted(row, key=lambda one: -(one.left + one.right))
    for rightward, group in groupby(_with_numbers(found), key=lambda number: number[1]):
        part = [run for run, _ in group]
        letter_runs += reversed(part) if rightward else part
    return letter_runs


def _with_numbers(found: Sequence[LetterRun]) -> Iterator[tuple[LetterRun, bool]]:
    """Yield each run with whether it is read from left to right together with its neighbours."""
    kinds = [_kind("".join(letter.text for letter in run.letters)) for run in found]
    for at, (one, kind) in enumerate(zip(found, kinds, strict=True)):
        before = next((each for each in reversed(kinds[:at]) if each), "")
        after = next((each for each in kinds[at + 1 :] if each), "")
        yield one, kind == "L" or (kind == "" and before == after == "L")


def _kind(text: str) -> str:
    """Return `R` or `L` by the direction of its letters; empty for numbers and marks."""
    classes = {unicodedata.bidirectional(letter) for letter in text}
    return "R" if classes.intersection(_RIGHT_TO_LEFT) else "L" if "L" in classes else ""


def _rightward(said: str) -> str:
    """Return a text with its left-to-right parts restored to their order."""

    def turned(found: re.Match[str]) -> str:
        return found[0] if _kind(found[0]) == "R" else found[0][::-1]

    return "".join(
        _RIGHTWARD.sub(turned, "".join(part)) if not leftward else "".join(part)
        for leftward, part in groupby(said, key=lambda one: _kind(one) == "R" or bool(unicodedata.combining(one)))
    )


def _bracketed(said: str) -> str:
    """Return a word with opening brackets at its beginning and closing ones at its end."""
    match = _AROUND.fullmatch(said)
    if match is None:
        return said
    return match[1].translate(_OPENED) + match[2] + match[3].translate(_CLOSED) + match[4]


def _is_leftward(letters: Sequence[Letter]) -> bool:
    return any(unicodedata.bidirectional(letter.text) in _RIGHT_TO_LEFT for letter in letters)


RAISED, LOWERED = "\ue0f0", "\ue0f1"
"""Enclose small raised digits next to a word, which may be a note number."""
SOFT_HYPHEN = "\u00ad"
# PDFium's codes for a hyphen at the end of a line.
_HYPHENS = "\x02\ufffe"
_WORD = re.compile(rf"[^\s\x00{_HYPHENS}]+[{_HYPHENS}]?")
_NUMBER_OF_NOTE = re.compile(r"(?<=[^\W\d]|[.,;:!?”’\"')\]])\d{1,3}\Z")
_NOTE_BEFORE = re.compile(r"\d{1,3}(?=[^\W\d])")
_BOLD, _LONGEST_NAME = 600, 120
_BOLD_NAME = re.compile(rb"bold|black|heavy|demi|medi\b|bx\d", re.IGNORECASE)
_GAP = 1.0
"""The narrowest gap that splits a line, relative to its height."""
_SAME_LINE = 0.5
_SMALL = 0.85
_UPRIGHT = 0.3


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


def _piece(text: str, left: float, right: float, bottom: float, top: float) -> LinePiece:
    return LinePiece(text.translate(_AS_HYPHEN), left, right, bottom, top, right - left)


class PageText:
    """The text of one page as PDFium provides it."""

    def __init__(self, raw: Any, rotation: int) -> None:
        self._raw = raw
        self._rotation = rotation
        self._box = pdfium.FS_RECTF()
        self._reference = ctypes.byref(self._box)
        self.count = max(0, pdfium.FPDFText_CountChars(raw))
        self.text = self._characters()
        self.turned = 0
        """The number of rotated words next to the text."""

    def pieces(self) -> list[LinePiece]:
        """Return the pieces of lines in file order, or in reading order for right-to-left text."""
        if is_leftward(self.text):
            return [*self._leftward()]
        line_pieces: list[LinePiece] = []
        ends: list[int] = []
        end = 0
        last: LinePiece | None = None
        for match in _WORD.finditer(self.text):
            new_line = "\n" in self.text[end : match.start()]
            spaced = match.start() > end
            end = match.end()
            if (new_line or last is None) and self._is_turned(match.start()):
                self.turned += 1
                continue
            piece = self._word(match)
            if last is not None and (joint := _joint(last, piece, spaced=spaced, new_line=new_line)) is not None:
                _append(last, piece, joint)
                ends[-1] = end
                continue
            last = piece
            last.bold = self._is_bold(match.start())
            line_pieces.append(last)
            ends.append(end)
        for piece, at in zip(line_pieces, ends, strict=True):
            piece.bold = piece.bold and self._is_bold(at - 1)
        return line_pieces

    def _leftward(self) -> Iterator[LinePiece]:
        """Yield the pieces of right-to-left lines from the top down."""
        for row in rows([*self._stretches()]):
            piece: LinePiece | None = None
            for run in joined(row):
                line_piece = _piece(word(run.letters), -run.right, -run.left, run.bottom, run.top)
                if piece is not None and line_piece.left - piece.right < _GAP * run.height:
                    _append(piece, line_piece, " ")
                else:
                    if piece is not None:
                        yield piece
                    piece = line_piece
            if piece is not None:
                yield piece

    def _stretches(self) -> Iterator[LetterRun]:
        for match in _WORD.finditer(self.text):
            if self._is_turned(match.start()):
                self.turned += 1
                continue
            boxes = [self._box_of(at) for at in range(*match.span())]
            bottom, top = min(box[2] for box in boxes), max(box[3] for box in boxes)
            origins = [self._origin_of(at) for at in range(*match.span())]
            letters = [Letter(text, *box[:2], at[0]) for text, box, at in zip(match[0], boxes, origins, strict=True)]
            for part in parted(letters, top - bottom):
                left, right = min(letter.left for letter in part), max(letter.right for letter in part)
                yield LetterRun(part, left, right, bottom, top, origins[0][1])

    def _characters(self) -> str:
        """Return the characters, one for each that PDFium counts."""
        buffer = ctypes.create_string_buffer(2 * self.count + 4)
        units = pdfium.FPDFText_GetText(self._raw, 0, self.count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
        text = buffer.raw[: 2 * max(0, units - 1)].decode("utf-16-le", "replace")
        if len(text) == self.count:
            return text
        codes = (pdfium.FPDFText_GetUnicode(self._raw, at) for at in range(self.count))
        return "".join(chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd" for code in codes)

    def _word(self, match: re.Match[str]) -> LinePiece:
        text = match[0]
        left, right, bottom, top = self._box_of(match.start())
        if match.end() - match.start() == 1:
            return _piece(text, left, right, bottom, top)
        if (note := _NOTE_BEFORE.match(text)) and (found := self._raised_before(match.start(), note.end())):
            text = f"{RAISED}{note[0]}{LOWERED} {text[note.end() :]}"
            bottom, top = found
        of_last = self._box_of(match.end() - 1)
        if (
            of_last[3] - of_last[2] < _SMALL * (top - bottom)
            and of_last[2] > bottom
            and (note := _NUMBER_OF_NOTE.search(text))
        ):
            text = f"{text[: note.start()]}{RAISED}{note[0]}{LOWERED}"
        return _piece(text, min(left, of_last[0]), max(right, of_last[1]), bottom, top)

    def _raised_before(self, at: int, count: int) -> tuple[float, float] | None:
        """Return the bottom and top of a word after `count` small raised digits; None if they are not raised."""
        _, _, bottom, top = self._box_of(at)
        _, _, below, above = self._box_of(at + count)
        return (below, above) if top - bottom < _SMALL * (above - below) and bottom > below else None

    def _is_bold(self, at: int) -> bool:
        if pdfium.FPDFText_GetFontWeight(self._raw, at) >= _BOLD:
            return True
        name, flags = ctypes.create_string_buffer(_LONGEST_NAME), ctypes.c_int()
        size = pdfium.FPDFText_GetFontInfo(self._raw, at, name, _LONGEST_NAME, ctypes.byref(flags))
        return 0 < size <= _LONGEST_NAME and _BOLD_NAME.search(name.value) is not None

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
        """Return the origin of a letter on its line, and the height of that line."""
        across, up = ctypes.c_double(), ctypes.c_double()
        pdfium.FPDFText_GetCharOrigin(self._raw, at, ctypes.byref(across), ctypes.byref(up))
        x, y = across.value, up.value
        return {0: (x, y), 90: (y, -x), 180: (-x, -y)}.get(self._rotation, (-y, x))

    def _is_turned(self, at: int) -> bool:
        angle = pdfium.FPDFText_GetCharAngle(self._raw, at)
        return bool(angle > _UPRIGHT and abs(angle - 2 * 3.1416) > _UPRIGHT) and self._rotation == 0


_AS_HYPHEN = {ord(sign): SOFT_HYPHEN for sign in _HYPHENS}


def _joint(last: LinePiece, word: LinePiece, *, spaced: bool, new_line: bool) -> str | None:
    """Return the separator between a piece and the next word; None if the word begins another piece."""
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


def _append(piece: LinePiece, word: LinePiece, joint: str) -> None:
    piece.text += joint + word.text
    piece.left = min(piece.left, word.left)
    piece.right = max(piece.right, word.right)
    if word.top - word.bottom > piece.top - piece.bottom:
        piece.bottom, piece.top = word.bottom, word.top


def by_place(pieces: list[LinePiece]) -> Iterator[list[LinePiece]]:
    """Yield the pieces in rows from the top down, each row in reading order."""
    row: list[LinePiece] = []
    for piece in sorted(pieces, key=lambda each: -each.middle):
        if row and _in_row(row, piece):
            row.append(piece)
        else:
            if row:
                yield sorted(row, key=lambda each: each.left)
            row = [piece]
    if row:
        yield sorted(row, key=lambda each: each.left)


def _in_row(row: list[LinePiece], one: LinePiece) -> bool:
    first = row[0]
    overlap = min(first.top, one.top) - max(first.bottom, one.bottom)
    if overlap < _SAME_LINE * min(first.size, one.size):
        return False
    return all(one.left >= other.right - 1 or one.right <= other.left + 1 for other in row)
