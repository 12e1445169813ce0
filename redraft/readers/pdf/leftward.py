"""PDF text of scripts that are written from right to left: its letters by position, in reading order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redraft.readers.pdf.lines import LinePiece

_GAP, _SPACE, _SAME_ROW = 1.0, 0.1, 0.4
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
        if not pieces or gap >= _GAP * height:
            pieces.append(glyph)
        else:
            is_apart = last.word != letter.word or not _SIGNS.isdisjoint((last.text, letter.text))
            pieces[-1].append(glyph, " " if is_apart and gap > _SPACE * height else "")
        if " " not in pieces[-1].text:
            pieces[-1].first_width = pieces[-1].right - pieces[-1].left
        last = letter
    return pieces
