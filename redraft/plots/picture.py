"""What comes of plotting: a picture, what it shows in words, and the table behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from redraft.plots.labels import plain
from redraft.plots.numbers import finite
from redraft.plots.styles import FILE_STYLES

Cell = str | int | float | None
"""None is what was not measured."""

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_NARROWEST, _WIDEST = 60, 4000
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


class Data(NamedTuple):
    """The table behind a picture. Its texts are one line each, and foreign: whoever shows them must escape them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def data(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Data:
    """A table of harmless lines, and of numbers that are known."""
    return Data(tuple(map(plain, columns)), tuple(tuple(map(_cell, row)) for row in rows))


def _cell(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return plain(cell)
    return cell if isinstance(cell, int) else finite(cell)


@dataclass(frozen=True, slots=True)
class Look:
    """How a picture is to be drawn: for a column of which width, and with which ids.

    Ids begin with the prefix. Without one they come from what is shown, so that the same picture is the same to the
    byte; the same picture twice on one page needs two prefixes.
    """

    width: int = 640
    prefix: str = ""

    def __post_init__(self) -> None:
        if not _NARROWEST <= self.width <= _WIDEST:
            raise ValueError(f"the width is {self.width}, and not from {_NARROWEST} to {_WIDEST}")
        if self.prefix and not _PREFIX.fullmatch(self.prefix):
            raise ValueError(f"{self.prefix!r} cannot begin an id: use a letter, then letters, digits, - and _")


WIDE, NARROW = Look(640), Look(360)
"""For a column of a page, and for a telephone."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture for a page that has `STYLES` in its stylesheet."""

    title: str
    caption: str
    """How to read it."""
    alt: str
    """What it shows, for those who do not see it."""
    svg: str
    data: Data

    def file(self) -> str:
        """The picture as a file of its own, which needs no page, and is light or dark as the reader has it."""
        size = _SIZE.search(self.svg)
        assert size is not None
        paper = f'<rect class="plot-paper" fill="#fff" width="{size[1]}" height="{size[2]}"/>'
        opened = self.svg.index(">") + 1
        head, rest = self.svg[:opened], self.svg[opened:]
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}<style>{FILE_STYLES}</style>{paper}{rest}\n'


class Plot(Protocol):
    """Whatever can be drawn."""

    def picture(self, look: Look = WIDE) -> Picture:
        """Draw it."""
        ...
