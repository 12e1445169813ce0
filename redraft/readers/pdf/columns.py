"""The order in which people read a page: one column after the other, between what goes across them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from redraft.readers.pdf.lines import Piece, by_place

_MOST_ACROSS = 0.15
"""Which share of the lines may go across the gap between two columns: titles, and pictures' captions."""
_LEAST_GAP = 7.0
_LEAST_LINES = 6
_LEAST_WIDTH = 0.6
_LEAST_OF_PAGE = 0.18
_BINS = 400


@dataclass(slots=True)
class Line:
    """A line of a column, with the edges of the column. A line of a table has several cells."""

    cells: list[Piece]
    column: tuple[float, float]

    @property
    def text(self) -> str:
        """Its words."""
        return " ".join(cell.text for cell in self.cells)

    @property
    def left(self) -> float:
        """Where it begins."""
        return self.cells[0].left

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.cells[-1].right

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.cells[0].bottom

    @property
    def top(self) -> float:
        """Its upper edge."""
        return self.cells[0].top

    @property
    def size(self) -> float:
        """How high its letters are."""
        return max(cell.size for cell in self.cells)


def in_order(pieces: list[Piece]) -> list[Line]:
    """The lines of a page in the order in which they are read."""
    if not pieces:
        return []
    gaps = _gaps(pieces)
    edges = [min(one.left for one in pieces), *gaps, max(one.right for one in pieces)]
    made: list[Line] = []
    waiting: list[list[Piece]] = [[] for _ in range(len(gaps) + 1)]
    for one in sorted(pieces, key=lambda each: -each.middle):
        at = _column(one, gaps)
        if at is None:
            made += _columns(waiting)
            waiting = [[] for _ in range(len(gaps) + 1)]
            made.append(Line([one], (edges[0], edges[-1])))
        else:
            waiting[at].append(one)
    return made + _columns(waiting) if gaps else _columns([pieces])


def _columns(waiting: Sequence[list[Piece]]) -> list[Line]:
    made: list[Line] = []
    for pieces in waiting:
        if pieces:
            edges = _edges(pieces)
            made += [Line(row, edges) for row in by_place(pieces)]
    return made


def _edges(pieces: Sequence[Piece]) -> tuple[float, float]:
    """Where most lines of a column begin, and where the longest of them end."""
    lefts = Counter(round(one.left) for one in pieces if len(one.text) > 1)
    rights = sorted(one.right for one in pieces)
    left = max(lefts, key=lambda at: (lefts[at], -at)) if lefts else min(one.left for one in pieces)
    return float(left), rights[min(len(rights) - 1, int(0.97 * len(rights)))]


def _column(one: Piece, gaps: Sequence[float]) -> int | None:
    """Which column a piece is in; None where it goes across the gap between two."""
    slack = 2.0
    if any(one.left < gap - slack and one.right > gap + slack for gap in gaps):
        return None
    return sum(1 for gap in gaps if (one.left + one.right) / 2 > gap)


def _gaps(pieces: Sequence[Piece]) -> list[float]:
    """The middles of the gaps between the columns of a page, if it has several."""
    if len(pieces) < 2 * _LEAST_LINES:
        return []
    low, high = min(one.left for one in pieces), max(one.right for one in pieces)
    width = max(high - low, 1.0)
    covered = [0] * (_BINS + 2)
    for one in pieces:
        covered[int(_BINS * (one.left - low) / width)] += 1
        covered[min(_BINS, int(_BINS * (one.right - low) / width)) + 1] -= 1
    most = _MOST_ACROSS * len(pieces) / 2
    found: list[float] = []
    depth, begun = 0, -1
    for at in range(_BINS + 1):
        depth += covered[at]
        is_open = depth <= most
        if is_open and begun < 0:
            begun = at
        elif not is_open and begun >= 0:
            if begun > 0 and (at - begun) * width / _BINS >= _LEAST_GAP:
                found.append(low + width * (begun + at) / 2 / _BINS)
            begun = -1
    return found if found and _are_columns(pieces, [low, *found, high]) else []


def _are_columns(pieces: Sequence[Piece], edges: Sequence[float]) -> bool:
    """Whether what stands between gaps is running text, and not the cells of a table."""
    gaps = edges[1:-1]
    whole = edges[-1] - edges[0]
    for at, (left, right) in enumerate(pairwise(edges)):
        mine = [one for one in pieces if _column(one, gaps) == at]
        if len(mine) < _LEAST_LINES or right - left < _LEAST_OF_PAGE * whole:
            return False
        if median(one.right - one.left for one in mine) < _LEAST_WIDTH * (right - left):
            return False
    return True
