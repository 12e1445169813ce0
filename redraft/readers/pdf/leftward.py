"""Text that is written from right to left: its letters and words in the order in which they are read.

A file may have them in the order in which they stand, from left to right, or word by word in either; PDFium tells some
of it. Where they stand on the page is the same in all of them, so that is what counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

_RIGHT_TO_LEFT = ("R", "AL")
# Numbers and words of other scripts within a text, which are read from left to right as ever. What stands to the right
# of a number is the last of it in Hebrew; in Arabic it stands to its left.
_RIGHTWARD = re.compile(r"%?[^\W_](?:[\w.,:/%'’+-]*[^\W_])?")
# Before a bracket or a quotation mark PDFium may leave out the space.
_OPENING = frozenset("()[]«»\"'“”‘’")
_SPACE = 0.15
# Files have the one or the other of a pair for the same sign; where in a word it stands tells which it is.
_OPENED, _CLOSED = str.maketrans(")]}»", "([{«"), str.maketrans("([{«", ")]}»")
_AROUND = re.compile(r"([()\[\]{}«»]*)(.*?)([()\[\]{}«»]*)([^\w()\[\]{}«»]*)", re.DOTALL)
_SAME_ROW = 0.4
_JOINED = 0.1
"""How many times its height a gap between two parts of a word has at most."""


class Letter(NamedTuple):
    """A letter, and where it stands. A mark mostly has the `origin` of its letter, from which both were drawn."""

    text: str
    left: float
    right: float
    origin: float

    @property
    def middle(self) -> float:
        """Where its middle is."""
        return (self.left + self.right) / 2


class Stretch(NamedTuple):
    """Letters that stand together, as a file has them, and where on the page. `base` is the height of their line: what
    boxes there are of letters may be of very different heights."""

    letters: Sequence[Letter]
    left: float
    right: float
    bottom: float
    top: float
    base: float

    @property
    def height(self) -> float:
        """How high it is; a stretch without any height has a little."""
        return max(self.top - self.bottom, 0.1)


def is_leftward(text: str) -> bool:
    """Whether most letters of a text are those of a script that is written from right to left."""
    if text.isascii():
        return False
    classes = [unicodedata.bidirectional(letter) for letter in text if letter.isalpha()]
    return 2 * sum(1 for one in classes if one in _RIGHT_TO_LEFT) > len(classes)


def word(letters: Sequence[Letter]) -> str:
    """A word by where its letters stand. A mark above or below one belongs behind it."""
    own = [one for one in letters if not unicodedata.combining(one.text)]
    if not own:
        return "".join(one.text for one in letters)
    marks: dict[int, str] = {}
    for one in letters:
        if unicodedata.combining(one.text):
            at = min(range(len(own)), key=lambda at: abs(one.origin - own[at].origin))
            marks[at] = marks.get(at, "") + one.text
    # What stands in one place, as the two letters of a ligature, is in its order already.
    order = sorted(range(len(own)), key=lambda at: -own[at].middle)
    said = "".join(own[at].text + marks.get(at, "") for at in order)
    return _rightward(_bracketed(said) if _is_leftward(own) else said)


def parted(letters: Sequence[Letter], height: float) -> list[list[Letter]]:
    """A word, or its parts where there is room for a space beside a bracket."""
    parts: list[list[Letter]] = []
    for one in sorted(letters, key=lambda each: -each.middle):
        last = parts[-1][-1] if parts else None
        gap = last.left - one.right if last else 0.0
        if last is None or (gap > _SPACE * height and not _OPENING.isdisjoint((one.text, last.text))):
            parts.append([])
        parts[-1].append(one)
    return parts


def rows(stretches: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """The stretches that stand in one line, from the top down, each line as it is read."""
    row: list[Stretch] = []
    for one in sorted(stretches, key=lambda each: -each.base):
        if row and row[-1].base - one.base > _SAME_ROW * max(each.height for each in row):
            yield _as_read(row)
            row = []
        row.append(one)
    if row:
        yield _as_read(row)


def joined(row: Sequence[Stretch]) -> list[Stretch]:
    """The words of a line: the parts of one that a file has apart are one again."""
    words: list[Stretch] = []
    for one in row:
        last = words[-1] if words else None
        if last is None or max(last.left - one.right, one.left - last.right) >= _JOINED * last.height:
            words.append(one)
        else:
            left, right = min(last.left, one.left), max(last.right, one.right)
            words[-1] = last._replace(letters=[*last.letters, *one.letters], left=left, right=right)
    return words


def _as_read(row: Sequence[Stretch]) -> list[Stretch]:
    """From right to left; but words of another script, and the numbers between two of them, from left to right."""
    told: list[Stretch] = []
    bottom, top = min(one.bottom for one in row), max(one.top for one in row)
    row = [one._replace(bottom=bottom, top=top) for one in row]
    found = sorted(row, key=lambda one: -(one.left + one.right))
    for rightward, group in groupby(_with_numbers(found), key=lambda one: one[1]):
        part = [one for one, _ in group]
        told += reversed(part) if rightward else part
    return told


def _with_numbers(found: Sequence[Stretch]) -> Iterator[tuple[Stretch, bool]]:
    """Each with whether it is read from left to right with its neighbours."""
    kinds = [_kind("".join(letter.text for letter in one.letters)) for one in found]
    for at, (one, kind) in enumerate(zip(found, kinds, strict=True)):
        before = next((each for each in reversed(kinds[:at]) if each), "")
        after = next((each for each in kinds[at + 1 :] if each), "")
        yield one, kind == "L" or (kind == "" and before == after == "L")


def _kind(text: str) -> str:
    """`R` or `L` by the direction of its letters; empty for numbers and marks."""
    classes = {unicodedata.bidirectional(letter) for letter in text}
    return "R" if classes.intersection(_RIGHT_TO_LEFT) else "L" if "L" in classes else ""


def _rightward(said: str) -> str:
    """What is read from left to right, put so again."""

    def turned(found: re.Match[str]) -> str:
        return found[0] if _kind(found[0]) == "R" else found[0][::-1]

    return "".join(
        _RIGHTWARD.sub(turned, "".join(part)) if not leftward else "".join(part)
        for leftward, part in groupby(said, key=lambda one: _kind(one) == "R" or bool(unicodedata.combining(one)))
    )


def _bracketed(said: str) -> str:
    """A word with brackets that open at its beginning, and close at its end."""
    found = _AROUND.fullmatch(said)
    if found is None:
        return said
    return found[1].translate(_OPENED) + found[2] + found[3].translate(_CLOSED) + found[4]


def _is_leftward(letters: Sequence[Letter]) -> bool:
    return any(unicodedata.bidirectional(one.text) in _RIGHT_TO_LEFT for one in letters)
