"""The basics of plots: styles, labels, numbers, the look of series, and pictures with their tables."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Literal, NamedTuple, Protocol

from redraft.text.sanitizer import clean, one_line


class Colour(NamedTuple):
    """A colour on a light and on a dark background."""

    light: str
    dark: str


COLOURS: dict[str, Colour] = {
    "paper": Colour("#ffffff", "#15161a"),
    "ink": Colour("#1a1b1f", "#ececef"),
    "muted": Colour("#565960", "#b4b7bf"),
    "axis": Colour("#767982", "#8b8e97"),
    "grid": Colour("#e3e4e8", "#34373e"),
    # Blue, vermilion, green, purple, ochre and grey, after Okabe and Ito, each with a contrast of at least 3:1. No two
    # series differ by colour alone.
    "1": Colour("#0072b2", "#56b4e9"),
    "2": Colour("#c85200", "#ff8a3d"),
    "3": Colour("#00795a", "#2fc094"),
    "4": Colour("#a8407f", "#e08fbf"),
    "5": Colour("#876200", "#e6c229"),
    "6": Colour("#5a5d66", "#a9adb8"),
}
SERIES = 6
"""The number of series colours."""


def _colours(which: Literal["light", "dark", "both"]) -> str:
    """Return declarations of custom properties, each of which a page can override."""
    return "".join(f"--p-{name}:var(--plot-{name},{_value(colour, which)});" for name, colour in COLOURS.items())


def _value(colour: Colour, which: Literal["light", "dark", "both"]) -> str:
    if which == "both":
        return f"light-dark({colour.light},{colour.dark})"
    return colour.light if which == "light" else colour.dark


_BY_READER = (
    f".plot-svg{{{_colours('light')}}}\n@media (prefers-color-scheme:dark){{.plot-svg{{{_colours('dark')}}}}}\n"
)
# Where browsers support it, colours follow the page's colour scheme instead of the system's.
_BY_PAGE = f"@supports (color:light-dark(#000,#fff)){{.plot-svg{{{_colours('both')}}}}}\n"
_CLASSES = """\
.plot-svg{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.plot-ink{fill:var(--p-ink)}
.plot-muted{fill:var(--p-muted)}
.plot-paper{fill:var(--p-paper)}
.plot-halo{paint-order:stroke;stroke:var(--p-paper);stroke-width:3px;stroke-linejoin:round}
.plot-under{stroke:var(--p-paper)}
.plot-axis{stroke:var(--p-axis)}
.plot-grid{stroke:var(--p-grid)}
.plot-rule{stroke:var(--p-ink)}
""" + "".join(
    f".plot-f{at}{{fill:var(--p-{at})}}\n.plot-s{at}{{stroke:var(--p-{at})}}\n" for at in range(1, SERIES + 1)
)
_FIGURE = """\
.plot{container-type:inline-size;margin:0}
.plot svg{display:block;width:100%;height:auto;max-width:45rem}
.plot .plot-narrow{display:none}
@container (max-width:32rem){.plot .plot-wide{display:none}.plot .plot-narrow{display:block}}
.plot-numbers{overflow-x:auto}
.plot-numbers table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.plot-numbers th,.plot-numbers td{padding:.2em .7em;text-align:start}
.plot-numbers .plot-number{text-align:end}
"""

STYLES = _BY_READER + _BY_PAGE + _CLASSES + _FIGURE
"""The styles for the stylesheet of a page with pictures."""
FILE_STYLES = ":root{color-scheme:light dark}\n" + _BY_READER + _CLASSES
"""The styles in a picture that is a file of its own. A server with a strict policy allows them by their hash."""


LONGEST = 300
"""The maximum length of a name, in characters."""

_LONGEST_SENTENCE = 4000
# Not allowed in XML; other harmful characters are removed from any text.
_NO_TEXT = re.compile("[\ufffe\uffff\U0001fffe\U0001ffff]")
_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[]{}/ -·"), frozenset("mwMW@%—…")
_FIRST_STRONG, _END = "\u2068", "\u2069"
_NO_WIDTH = frozenset((_FIRST_STRONG, _END))
_ISOLATES = re.compile(f"([{_FIRST_STRONG}{_END}])")
_SPACES = re.compile(r"\s+")
# The shares of the room for the beginning of a name, preferred first.
_STARTS = (0.5, 0.65, 0.35, 0.8, 0.2, 1, 0)
_NAME_PARTS = re.compile(r"[^ :/_-]*[ :/_-]+|[^ :/_-]+")


def plain(text: str) -> str:
    """Return untrusted text as one sanitized line. Markup is escaped later, when the text is written."""
    return one_line(_NO_TEXT.sub(" ", text), LONGEST)


def isolated(text: str) -> str:
    """Return untrusted text isolated for a sentence, so that its direction does not affect the words around it."""
    return f"{_FIRST_STRONG}{plain(text)}{_END}"


def composed(text: str) -> str:
    """Sanitize a sentence that contains isolated names, and keep their isolation."""
    kept, open_ = [], 0
    for part in _ISOLATES.split(text[:_LONGEST_SENTENCE]):
        if part == _END and not open_:
            continue
        open_ += (part == _FIRST_STRONG) - (part == _END)
        kept.append(part if _ISOLATES.fullmatch(part) else clean(_NO_TEXT.sub(" ", part)))
    return _SPACES.sub(" ", "".join(kept)).strip() + _END * open_


def width(text: str, size: float) -> float:
    """Return the approximate width of a line of text at a font size."""
    return size * sum(map(_width, text))


def fit_text(text: str, room: float, size: float, start: float = 1) -> str:
    """Return as much of a line as fits. If it is cut, its beginning has the share `start` of the room, its end the
    rest, and an ellipsis is between them."""
    if width(text, size) <= room:
        return text
    room -= width("…", size)
    begins = _first(text, start * room, size)
    ends = _first(text[::-1], room - width(begins, size), size)[::-1] if start < 1 else ""
    return f"{begins.rstrip()}…{ends.lstrip()}"


def _first(text: str, room: float, size: float) -> str:
    """Return the characters at the start that fit."""
    reached = accumulate(_width(character) * size for character in text)
    return text[: sum(1 for _ in takewhile(lambda used: used <= room, reached))]


def fit_names(names: Iterable[str], room: float, size: float) -> dict[str, str]:
    """Return each name as it fits. If one is too long, all lose the beginning that they share, and are cut in their
    middle; names that this makes alike also lose the beginning that only they share.
    """
    whole = list(dict.fromkeys(names))
    if all(width(composed(name), size) <= room for name in whole):
        return {name: composed(name) for name in whole}
    # A beginning ends at a space, or at a separator in the name of a model.
    words = [_NAME_PARTS.findall(name) for name in whole]
    columns = zip(*(word[:-1] for word in words), strict=False)
    shared = sum(1 for _ in takewhile(lambda column: len({*column}) == 1, columns)) if len(words) > 1 else 0
    short = [composed("…" * bool(shared) + "".join(word[shared:])) for word in words]
    cuts = [dict(zip(whole, (fit_text(one, room, size, start) for one in short), strict=True)) for start in _STARTS]
    found = max(cuts, key=lambda cut: len({*cut.values()}))
    for alike in [[name for name in whole if found[name] == cut] for cut in dict.fromkeys(found.values())]:
        if 1 < len(alike) < len(whole):
            found |= fit_names(alike, room, size)
    return found


def wrap_text(text: str, room: float, size: float, lines: int) -> list[str]:
    """Wrap text into at most this number of lines; the last one is cut if necessary."""
    found: list[str] = []
    words = text.split(" ")
    while words and len(found) < lines - 1:
        taken = 1
        while taken < len(words) and width(" ".join(words[: taken + 1]), size) <= room:
            taken += 1
        found.append(fit_text(" ".join(words[:taken]), room, size))
        words = words[taken:]
    return [*found, fit_text(" ".join(words), room, size)] if words else found


def _width(character: str) -> float:
    if character in _NARROW:
        return 0.37
    if character in _WIDE or unicodedata.east_asian_width(character) in "WF":
        return 1.02
    if character in _NO_WIDTH:
        return 0.0
    if unicodedata.combining(character):
        # It has no width, but a name of a thousand of them must not fit anywhere.
        return 0.1
    return 0.72 if character.isupper() else 0.6


Number = float | None
"""None if it was not measured: drawn as a gap, never as zero."""

_MINUS = "−"
# Numbers beyond these are shown with a power of ten.
_LARGEST, _SMALLEST = 1e15, 1e-4
_GROUPED = 1000
_FINEST = 0.005


def finite(value: Number) -> Number:
    """Return the value if it can be drawn; None, NaN and infinities count as not measured."""
    return float(value) if value is not None and math.isfinite(value) else None


def ends(low: Number, high: Number) -> tuple[float, float] | None:
    """Return both ends of an interval; None unless both are known."""
    least, most = finite(low), finite(high)
    return None if least is None or most is None else (least, most)


def written(value: float) -> str:
    """Format a coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def shown(value: Number) -> str:
    """Format a value for readers with two decimals at most; a dash for None."""
    value = finite(value)
    if value is None:
        return "–"
    size = abs(value)
    if size >= _LARGEST or 0 < size < _SMALLEST:
        text = f"{value:.3g}"
    elif size >= _GROUPED:
        text = f"{value:,.0f}"
    elif 0 < size < _FINEST:
        text = f"{value:.1g}"
    else:
        text = f"{value or 0.0:.2f}" if size < 1 else f"{value:.3g}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", _MINUS)


def signed(value: Number) -> str:
    """Format a difference for readers, with its sign."""
    value = finite(value)
    if value is None or not _FINEST <= abs(value) < _GROUPED:
        text = shown(value)
        return f"+{text}" if value is not None and value > 0 else text
    return f"{value:+.2f}".replace("-", _MINUS)


def percent(share: Number) -> str:
    """Format a share for readers in whole percent; a small share is "< 1%", never "0%"."""
    share = finite(share)
    if share is None:
        return "–"
    if abs(share) >= _GROUPED:
        return f"{shown(share * 100)}%"
    return "< 1%" if 0 < share < 0.005 else f"{round(share * 100)}%".replace("-", _MINUS)


def interval(value: Number, low: Number, high: Number) -> str:
    """Format a value with its interval, if both ends are known."""
    known = ends(low, high)
    return shown(value) if known is None else f"{shown(value)} [{shown(known[0])}, {shown(known[1])}]"


Marker = Literal["circle", "square", "triangle", "diamond", "wedge", "hexagon"]
Hatch = Literal["plain", "rising", "dots", "crossed", "falling", "level"]

_MARKERS: tuple[Marker, ...] = ("circle", "square", "triangle", "diamond", "wedge", "hexagon")
_DASHES = ("", "7 3", "2 2.5", "9 3 2 3", "12 4", "5 2 1.5 2 1.5 2")
_HATCHES: tuple[Hatch, ...] = ("plain", "rising", "dots", "crossed", "falling", "level")
GOAL = "5 4"
"""The dash pattern of lines that are not series, such as a goal or an even spread."""
# The angles of corners, as fractions of a turn from the top, and their distance in radii.
_CORNERS: dict[Marker, tuple[tuple[float, ...], float]] = {
    "square": ((0.125, 0.375, 0.625, 0.875), 1.25),
    "triangle": ((0, 1 / 3, 2 / 3), 1.4),
    "diamond": ((0, 0.25, 0.5, 0.75), 1.35),
    "wedge": ((0.5, 5 / 6, 1 / 6), 1.4),
    "hexagon": ((0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6), 1.15),
}


class SeriesStyle(NamedTuple):
    """The look of one series."""

    colour: int
    dash: str
    marker: Marker
    hatch: Hatch


def series(at: int) -> SeriesStyle:
    """Return the look of a series by its index. Colours repeat after six, with another dash and marker."""
    turn = at // SERIES
    dash, marker = _DASHES[(at + turn) % len(_DASHES)], _MARKERS[(at + 2 * turn) % len(_MARKERS)]
    return SeriesStyle(at % SERIES + 1, dash, marker, _HATCHES[(at + turn) % len(_HATCHES)])


def corners(marker: Marker, x: float, y: float, radius: float) -> list[tuple[float, float]]:
    """Return the corners of a marker; a circle has none."""
    if marker == "circle":
        return []
    angles, far = _CORNERS[marker]
    return [
        (x + radius * far * math.sin(math.tau * turn), y - radius * far * math.cos(math.tau * turn)) for turn in angles
    ]


Cell = str | int | float | None
"""None if it was not measured."""

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_NARROWEST, _WIDEST = 60, 4000
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


class PlotData(NamedTuple):
    """The table behind a picture. Its texts are single lines of untrusted text: escape them when showing them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def data(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> PlotData:
    """Return a table of sanitized lines and finite numbers."""
    return PlotData(tuple(map(plain, columns)), tuple(tuple(map(_cell, row)) for row in rows))


def _cell(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return plain(cell)
    return cell if isinstance(cell, int) else finite(cell)


@dataclass(frozen=True, slots=True)
class PictureStyle:
    """How a picture is drawn: its width in pixels, and the prefix of its ids.

    Without a prefix, ids are derived from the content, so that the same picture is byte-for-byte the same. The same
    picture twice on a page needs two prefixes.
    """

    width: int = 640
    prefix: str = ""

    def __post_init__(self) -> None:
        if not _NARROWEST <= self.width <= _WIDEST:
            raise ValueError(f"the width is {self.width}, and not from {_NARROWEST} to {_WIDEST}")
        if self.prefix and not _PREFIX.fullmatch(self.prefix):
            raise ValueError(f"{self.prefix!r} cannot begin an id: use a letter, then letters, digits, - and _")


WIDE, NARROW = PictureStyle(640), PictureStyle(360)
"""For a column of a page, and for a phone."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture for a page whose stylesheet includes `STYLES`."""

    title: str
    caption: str
    """How to read it."""
    alt: str
    """A text alternative."""
    svg: str
    data: PlotData

    def file(self) -> str:
        """Return the picture as a standalone SVG file, light or dark as the reader prefers."""
        size = _SIZE.search(self.svg)
        assert size is not None
        paper = f'<rect class="plot-paper" fill="#fff" width="{size[1]}" height="{size[2]}"/>'
        opened = self.svg.index(">") + 1
        head, rest = self.svg[:opened], self.svg[opened:]
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}<style>{FILE_STYLES}</style>{paper}{rest}\n'


class Plot(Protocol):
    """Anything that can be drawn."""

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw it."""
        ...
