"""What stands at the edges of pages and is no part of the text: running heads, and the numbers of the pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from redraft.readers.pdf.columns import Line

_EDGE = 2
"""How many lines at the top and at the bottom of a page may be heads, or feet."""
_NEAR = 4
"""Among so many pages before and after one, the same head is to be found again."""
_TWICE = 2
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(
    r"\W*(?:(?:page|seite|p\.|página|pagina|стр\.?)\s*)?(\d{1,5}|[ivxlcdm]{1,8})\W*(?:(?:of|/|von|de|di|из)\s*\d{1,5}\W*)?",
    re.IGNORECASE,
)
_AT_AN_EDGE = re.compile(r"\A(\d{1,5})\b|\b(\d{1,5})\Z")
_LONGEST = 120
_GAP, _OTHER_SIZE = 1.35, 0.1
_LARGER = 1.2
_MARGIN = 0.15


class Edges:
    """The heads and feet of the pages of one file."""

    def __init__(self, pages: Sequence[Sequence[Line]]) -> None:
        self._pages = pages
        low = min((line.bottom for lines in pages for line in lines), default=0.0)
        high = max((line.top for lines in pages for line in lines), default=1.0)
        margin = _MARGIN * (high - low)
        self._edges = [_at_edges(lines, low + margin, high - margin) for lines in pages]
        self._keys = [{key: line for line, key in edge} for edge in self._edges]
        self.heads = 0
        self.numbers = 0
        self._offset = self._printed_offset()

    def without(self, page: int) -> list[Line]:
        """The lines of a page that are neither."""
        drop: set[int] = set()
        for line, key in self._edges[page]:
            number = _NUMBER.fullmatch(line.text.strip())
            if number and self._is_number(page, number[1]):
                self.numbers += 1
            elif self._is_repeated(page, line, key) or self._is_numbered(page, line.text, key):
                self.heads += 1
            else:
                continue
            drop.add(id(line))
        return [line for line in self._pages[page] if id(line) not in drop]

    def printed(self, page: int) -> str:
        """The number that is printed on a page, as those on its neighbours confirm; empty where there is none."""
        return str(page + self._offset) if self._offset is not None and page + self._offset > 0 else ""

    def _is_number(self, page: int, said: str) -> bool:
        if not said.isdigit():
            return len(self._pages) > _TWICE
        return self._offset is None or int(said) - page == self._offset

    def _is_numbered(self, page: int, text: str, key: tuple[str, bool]) -> bool:
        """Whether a line ends with the number of its page, as a head does that only a few pages have.

        One that begins with it may be the title of a chapter, unless it stands on another page as well.
        """
        if self._offset is None or page + self._offset not in _numbers(text):
            return False
        again = any(key in self._keys[other] for other in (page - 2, page + 2) if 0 <= other < len(self._keys))
        return again or bool(re.search(rf"\D{page + self._offset}\Z", text.strip()))

    def _is_repeated(self, page: int, line: Line, key: tuple[str, bool]) -> bool:
        """Whether the same stands on the pages around, and not in smaller letters, as a title does in the heads."""
        near = range(max(0, page - _NEAR), min(len(self._pages), page + _NEAR + 1))
        same = [self._keys[other][key] for other in near if other != page and key in self._keys[other]]
        found = sum(1 for one in same if line.size <= _LARGER * one.size)
        return found >= min(_TWICE, max(1, len(self._pages) - 2)) and len(self._pages) > _TWICE

    def _printed_offset(self) -> int | None:
        """By how much the printed numbers differ from the places of the pages; None where most pages have no number."""
        votes: Counter[int] = Counter()
        for page, edge in enumerate(self._edges):
            numbers = {number for line, _ in edge for number in _numbers(line.text)}
            votes.update(number - page for number in numbers)
        if not votes:
            return None
        offset, count = votes.most_common(1)[0]
        return offset if count >= max(_TWICE, len(self._pages) // 3) else None


def _numbers(text: str) -> set[int]:
    text = text.strip()
    whole = _NUMBER.fullmatch(text)
    found = [whole[1]] if whole else [one for pair in _AT_AN_EDGE.findall(text) for one in pair]
    return {int(one) for one in found if one.isdigit()}


def _at_edges(lines: Sequence[Line], low: float, high: float) -> list[tuple[Line, tuple[str, bool]]]:
    """The lines that may be heads or feet, each with what they would have in common with those of other pages."""
    by_height = sorted(lines, key=lambda line: -line.top)
    rows: list[list[Line]] = []
    for line in by_height:
        if rows and abs(rows[-1][0].bottom - line.bottom) < 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    upper = [line for row in _apart(rows) for line in row if line.bottom > high]
    lower = [line for row in _apart(rows[::-1]) for line in row if line.top < low and line not in upper]
    return [(line, _key(line, top)) for lot, top in ((upper, True), (lower, False)) for line in lot if _is_short(line)]


def _apart(rows: Sequence[list[Line]]) -> Sequence[list[Line]]:
    """The first rows, if they stand apart from those after them, or are of another size."""
    for at in range(min(_EDGE, len(rows))):
        row = rows[at][0]
        if at + 1 == len(rows):
            return rows[: at + 1]
        other = rows[at + 1][0]
        distance = abs(row.bottom - other.bottom) / max(row.size, other.size, 0.1)
        if distance > _GAP or abs(row.size - other.size) > _OTHER_SIZE * other.size:
            return rows[: at + 1]
    return []


def _is_short(line: Line) -> bool:
    return len(line.text) <= _LONGEST


def _key(line: Line, top: bool) -> tuple[str, bool]:
    return _DIGITS.sub("0", line.text.casefold()).strip(), top
