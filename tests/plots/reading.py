"""Reads a picture back: its marks with their coordinates, its words, and whether all of it is within its bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from redraft.report.plots.picture import Picture, width

SVG = "{http://www.w3.org/2000/svg}"
_COMMAND = re.compile(r"([MLHVZ])([^MLHVZ]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d{1,2})?")
# Estimated widths of words, and strokes, are no matter of a hundredth.
SLACK = 2.0


@dataclass(frozen=True)
class Mark:
    """One element: its tag, its class, what is said of it, and the box around it."""

    tag: str
    look: str
    tip: str
    left: float
    top: float
    right: float
    bottom: float
    attributes: dict[str, str]

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    @property
    def wide(self) -> float:
        return self.right - self.left


class Read:
    """A picture, parsed."""

    def __init__(self, picture: Picture | str) -> None:
        self.svg = picture if isinstance(picture, str) else picture.svg
        self.root = ElementTree.fromstring(self.svg)
        _, _, self.width, self.height = (float(part) for part in self.root.attrib["viewBox"].split())
        self.marks = list(self._marks(self.root))

    def _marks(self, parent: ElementTree.Element) -> Iterator[Mark]:
        for element in parent:
            tag = element.tag.removeprefix(SVG)
            if tag in ("defs", "title", "desc", "style"):
                continue
            if tag == "g":
                yield from self._marks(element)
                continue
            tip = element.find(f"{SVG}title")
            box = _box(tag, element)
            yield Mark(tag, element.get("class", ""), tip.text or "" if tip is not None else "", *box, element.attrib)

    def of(self, tag: str, look: str = "") -> list[Mark]:
        return [mark for mark in self.marks if mark.tag == tag and look in [*mark.look.split(), ""]]

    def tipped(self, start: str) -> Mark:
        """The one mark of which something that begins so is said."""
        found = [mark for mark in self.marks if mark.tip.replace("\u2068", "").replace("\u2069", "").startswith(start)]
        assert len(found) == 1, [mark.tip for mark in self.marks if mark.tip]
        return found[0]

    @property
    def words(self) -> list[str]:
        return [said(element) for element in self.root.iter(f"{SVG}text")]

    def tick(self, label: str) -> tuple[float, float]:
        """Where axes have a label: how far to the right on the level axis, and at which height on the upright one."""
        found = [element for element in self.root.iter(f"{SVG}text") if said(element) == label]
        level = [float(element.attrib["x"]) for element in found if element.get("text-anchor") == "middle"]
        upright = [float(element.attrib["y"]) - 4 for element in found if element.get("text-anchor") == "end"]
        return level[-1] if level else -1.0, upright[0] if upright else -1.0

    def outside(self) -> list[Mark]:
        return [
            mark
            for mark in self.marks
            if mark.left < -SLACK
            or mark.top < -SLACK
            or mark.right > self.width + SLACK
            or mark.bottom > self.height + SLACK
        ]

    def collisions(self) -> list[tuple[str, str]]:
        """Words that lie upon each other."""
        texts = [(said(element), _box("text", element)) for element in self.root.iter(f"{SVG}text")]
        return [
            (one, other)
            for at, (one, a) in enumerate(texts)
            for other, b in texts[at + 1 :]
            if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1
        ]


def said(element: ElementTree.Element) -> str:
    """The words of a text that are seen."""
    title = element.find(f"{SVG}title")
    return (element.text or "") if title is None else (title.tail or "")


def _box(tag: str, element: ElementTree.Element) -> tuple[float, float, float, float]:
    def number(name: str) -> float:
        text = element.get(name, "0")
        assert _NUMBER.fullmatch(text), f"{name} is {text}"
        return float(text)

    if tag == "rect":
        assert number("width") >= 0
        assert number("height") >= 0
        return number("x"), number("y"), number("x") + number("width"), number("y") + number("height")
    if tag == "circle":
        x, y, r = number("cx"), number("cy"), number("r")
        return x - r, y - r, x + r, y + r
    if tag == "line":
        xs, ys = sorted((number("x1"), number("x2"))), sorted((number("y1"), number("y2")))
        return xs[0], ys[0], xs[1], ys[1]
    if tag == "text":
        size = number("font-size")
        long = width(said(element), size) * (1.08 if element.get("font-weight") else 1)
        left = number("x") - {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor", "start")] * long
        return left, number("y") - 0.75 * size, left + long, number("y") + 0.2 * size
    assert tag == "path", tag
    return _path(element.attrib["d"])


def _path(d: str) -> tuple[float, float, float, float]:
    assert "".join(command + rest for command, rest in _COMMAND.findall(d)) == d, d[:80]
    xs, ys = [], []
    for command, rest in _COMMAND.findall(d):
        numbers = rest.split()
        assert all(_NUMBER.fullmatch(text) for text in numbers), rest
        assert len(numbers) == {"M": 2, "L": 2, "H": 1, "V": 1, "Z": 0}[command]
        if command in "MLH":
            xs.append(float(numbers[0]))
        if command in "MLV":
            ys.append(float(numbers[-1]))
    return min(xs), min(ys), max(xs), max(ys)
