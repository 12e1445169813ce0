"""The lines of PDF pages in reading order: pieces of lines, the columns that they are in, and rows of tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import median

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
