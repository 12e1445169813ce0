"""A canvas of SVG elements, with all text escaped and all ids unique to the picture.

Colours come from classes, with `currentColor` as the fallback on pages without the stylesheet. Paths use absolute
coordinates only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from redraft.report.plots.picture import (
    Hatch,
    Picture,
    PictureStyle,
    PlotData,
    SeriesStyle,
    composed,
    corners,
    fit_names,
    fit_text,
    plain,
    width,
    wrap_text,
    written,
)

SMALL, NORMAL, LARGE = 12.0, 13.0, 15.0
"""Font sizes."""
MARGIN = 10.0
RADIUS = 4.0
_NARROW = 480
BOLD = 1.08
"""How much wider bold text is."""
_LONGEST_ALT = 1500
_TILE = 6

Point = tuple[float, float]
Ink = Literal["ink", "muted"]


class Canvas:
    """A picture being drawn. `y` grows downwards; the height is known at the end."""

    def __init__(self, kind: str, title: str, look: PictureStyle, shown: PlotData) -> None:
        self.width = float(look.width)
        self.narrow = look.width < _NARROW
        self.title = plain(title)
        self._data = shown
        told = repr((kind, self.title, look.width, shown)).encode("utf-8", "surrogatepass")
        self.prefix = look.prefix or f"plot-{hashlib.sha256(told).hexdigest()[:10]}"
        self._defs = Element("defs")
        self._body = Element("g")
        self._kind = kind

    def group(self, tip: str = "") -> Element:
        """Add a group of elements that share a tooltip."""
        return self.add("g", None, tip)

    def add(self, tag: str, into: Element | None = None, tip: str = "", /, **attributes: str | float) -> Element:
        """Add an element with a tooltip. Empty attributes are left out; `class_` becomes `class`, and other underscores
        in names become hyphens.
        """
        named = {
            name.rstrip("_").replace("_", "-"): value if isinstance(value, str) else written(value)
            for name, value in attributes.items()
            if value != ""
        }
        element = SubElement(self._body if into is None else into, tag, named)
        if tip:
            SubElement(element, "title").text = composed(tip)
        return element

    def heading(self) -> float:
        """Draw the title at the top, and return the y below it."""
        y = 20.0
        for line in wrap_text(self.title, self.width - 2 * MARGIN, LARGE * BOLD, 3 if self.narrow else 2):
            self.text(MARGIN, y, line, size=LARGE, bold=True)
            y += 19
        return y - 8

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = SMALL,
        anchor: str = "start",
        ink: Ink = "ink",
        room: float | None = None,
        bold: bool = False,
        halo: bool = False,
        brief: str = "",
        into: Element | None = None,
    ) -> None:
        """Draw what fits of a line of text, or of its short form `brief`, into `room`, with the full text as a tooltip
        if it is another one."""
        words = composed(words)
        short = (brief or words) if room is None else fit_text(brief or words, room, size * (BOLD if bold else 1))
        element = self.add(
            "text",
            into,
            class_=f"plot-{ink}{' plot-halo' if halo else ''}",
            x=x,
            y=y,
            font_size=size,
            text_anchor="" if anchor == "start" else anchor,
            font_weight="600" if bold else "",
        )
        if short != words:
            full = SubElement(element, "title")
            full.text, full.tail = words, short
        else:
            element.text = short

    def line(self, start: Point, end: Point, kind: str, *, dash: str = "", thick: float = 1) -> None:
        """Draw a straight line of an axis, the grid, a rule, or a series."""
        ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
        look = {"class_": f"plot-{kind}", "stroke": "currentColor"}
        self.add("line", **look, **ends, stroke_width=thick, stroke_dasharray=dash)

    def curve(self, points: Sequence[Point], kind: str, *, dash: str = "", thick: float = 2) -> None:
        """Draw a line through points."""
        look = {"class_": f"plot-{kind}", "fill": "none", "stroke": "currentColor"}
        self.add("path", **look, d=path(points), stroke_width=thick, stroke_linejoin="round", stroke_dasharray=dash)

    def marker(
        self, look: SeriesStyle, at: Point, *, hollow: bool = False, tip: str = "", radius: float = RADIUS
    ) -> None:
        """Draw a marker of a series; a hollow one is filled with the background."""
        fill = "plot-paper" if hollow else f"plot-f{look.colour}"
        style: dict[str, str | float] = {"class_": f"{fill} plot-s{look.colour}", "stroke": "currentColor"}
        style |= {"stroke_width": 1.6, "fill": "none" if hollow else ""}
        if look.marker == "circle":
            self.add("circle", None, tip, **style, cx=at[0], cy=at[1], r=radius)
        else:
            self.add("path", None, tip, **style, d=path(corners(look.marker, *at, radius), closed=True))

    def box(self, corner: Point, size: Point, *, look: SeriesStyle, hatch: Hatch | None = None, tip: str = "") -> None:
        """Draw a bar of a series, filled or hatched, with an outline."""
        style, fill = self.filled(look, look.hatch if hatch is None else hatch)
        place = {"x": corner[0], "y": corner[1], "width": size[0], "height": size[1]}
        self.add("rect", None, tip, class_=style, **place, fill=fill, stroke="currentColor")

    def filled(self, look: SeriesStyle, hatch: Hatch) -> tuple[str, str]:
        """Return the classes and the fill of a solid or hatched shape in the colour of a series."""
        if hatch == "plain":
            return f"plot-s{look.colour} plot-f{look.colour}", ""
        return f"plot-s{look.colour}", f"url(#{self._pattern(look.colour, hatch)})"

    def picture(self, height: float, caption: str, alt: str) -> Picture:
        """Return the finished picture."""
        named, told = f"{self.prefix}-title", f"{self.prefix}-desc"
        svg = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "class": f"plot-svg plot-{'narrow' if self.narrow else 'wide'} plot-{self._kind}",
                "viewBox": f"0 0 {written(self.width)} {written(height)}",
                "width": written(self.width),
                "height": written(height),
                "role": "img",
                "aria-labelledby": named,
                "aria-describedby": told,
                "fill": "currentColor",
                "stroke": "none",
            },
        )
        alt, caption = composed(alt), composed(caption)
        alt = alt if len(alt) <= _LONGEST_ALT else alt[: _LONGEST_ALT - 1].rstrip() + "…"
        SubElement(svg, "title", {"id": named}).text = self.title
        SubElement(svg, "desc", {"id": told}).text = alt
        svg.extend([self._defs, self._body] if len(self._defs) else [self._body])
        return Picture(self.title, caption, alt, tostring(svg, encoding="unicode"), self._data)

    def nothing(self, top: float, told: str, shown: str = "There is nothing to show yet.") -> Picture:
        """Return an empty picture with one line of text, which may differ from its caption."""
        self.text(self.width / 2, top + 40, shown, size=NORMAL, anchor="middle", ink="muted", room=self.width - 20)
        return self.picture(top + 70, told, told)

    def _pattern(self, colour: int, hatch: Hatch) -> str:
        name = f"{self.prefix}-{hatch}{colour}"
        if any(made.get("id") == name for made in self._defs):
            return name
        side = written(_TILE)
        tile = {"id": name, "width": side, "height": side, "patternUnits": "userSpaceOnUse"}
        element = SubElement(self._defs, "pattern", tile)
        self.add("rect", element, class_="plot-paper", width=_TILE, height=_TILE, fill="none")
        if hatch == "dots":
            for x, y in ((1.5, 1.5), (4.5, 4.5)):
                self.add("circle", element, class_=f"plot-f{colour}", cx=x, cy=y, r=1.25)
            return name
        style = {"class_": f"plot-s{colour}", "stroke": "currentColor"}
        self.add("path", element, **style, d=_HATCHING[hatch], stroke_width=1.7, fill="none")
        return name


# Drawn beyond the edges of the tile, so that lines continue in the next one.
_HATCHING: dict[Hatch, str] = {
    "rising": "M-1 1L1 -1M0 6L6 0M5 7L7 5",
    "falling": "M-1 5L1 7M0 0L6 6M5 -1L7 1",
    "crossed": "M0 6L6 0M0 0L6 6",
    "level": "M0 3H6",
}


def path(points: Sequence[Point], *, closed: bool = False) -> str:
    """Return the path through points, `closed` for the outline of a shape."""
    return "".join(f"{'L' if at else 'M'}{written(x)} {written(y)}" for at, (x, y) in enumerate(points)) + (
        "Z" if closed else ""
    )


def text_width(words: str, size: float = SMALL) -> float:
    """Return the approximate width of a line of text."""
    return width(composed(words), size)


_SWATCH, _GAP, _LINE = 26.0, 16.0, 19.0


class LegendEntry(NamedTuple):
    """A legend entry: its text, and a function that draws its symbol on a canvas at x and y with a width."""

    words: str
    draw: Callable[[Canvas, float, float, float], None]


def legend(canvas: Canvas, top: float, entries: Sequence[LegendEntry]) -> float:
    """Draw the entries in as many rows as they need, and return the y below them."""
    if not entries:
        return top
    x, y, most = MARGIN, top + SMALL + 3, canvas.width - 2 * MARGIN - _SWATCH - 6
    brief = fit_names((entry.words for entry in entries), most, SMALL)
    for entry in entries:
        room = min(text_width(entry.words), most)
        if x > MARGIN and x + _SWATCH + 6 + room > canvas.width - MARGIN:
            x, y = MARGIN, y + _LINE
        entry.draw(canvas, x, y - 4, _SWATCH)
        canvas.text(x + _SWATCH + 6, y, entry.words, room=room + 0.01, brief=brief[entry.words])
        x += _SWATCH + 6 + room + _GAP
    return y + 6


def line_entry(words: str, look: SeriesStyle) -> LegendEntry:
    """Return an entry for a line with its marker."""

    def draw(canvas: Canvas, x: float, y: float, width: float) -> None:
        canvas.line((x, y), (x + width, y), f"s{look.colour}", dash=look.dash, thick=2)
        canvas.marker(look, (x + width / 2, y))

    return LegendEntry(words, draw)


def marker_entry(words: str, look: SeriesStyle, *, hollow: bool = False) -> LegendEntry:
    """Return an entry for a marker without a line."""
    return LegendEntry(words, lambda canvas, x, y, width: canvas.marker(look, (x + width / 2, y), hollow=hollow))


def rule_entry(words: str, dash: str, kind: str = "rule") -> LegendEntry:
    """Return an entry for a line that is not a series, such as a goal or an even spread."""
    return LegendEntry(
        words, lambda canvas, x, y, width: canvas.line((x, y), (x + width, y), kind, dash=dash, thick=1.5)
    )


def box_entry(words: str, look: SeriesStyle, hatch: Hatch | None = None) -> LegendEntry:
    """Return an entry for a filled or hatched box."""
    return LegendEntry(
        words, lambda canvas, x, y, width: canvas.box((x + 3, y - 6), (width - 6, 12), look=look, hatch=hatch)
    )
