"""Finds the running heads, feet and page numbers of a PDF file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from redraft.readers.pdf.lines import LOWERED, RAISED, PdfLine

NOTE = re.compile(rf"{RAISED}?(\d{{1,3}}|[*†‡§]){LOWERED}?[.)]?\s+\S")
"""The beginning of a footnote, with its number or sign."""
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(
    r"\W*(?:(?:page|seite|p\.|página|pagina|стр\.?)\s*)?(\d{1,5}|[ivxlcdm]{1,8})\W*(?:(?:of|/|von|de|di|из)\s*\d{1,5}\W*)?",
    re.IGNORECASE,
)
_AT_AN_EDGE = re.compile(r"\A(\d{1,5})\b|\b(\d{1,5})\Z")
_EDGE = 2
"""The number of lines at the top and bottom of a page that may be heads or feet."""
_MARGIN, _LONGEST = 0.15, 120
_GAP, _OTHER_SIZE, _LARGER = 1.35, 0.1, 1.2
_NEAR = 4
"""The number of pages before and after one in which the same head must recur."""
_TWICE, _NEARLY_ALL = 2, 0.8
_MIN_PAGES, _MIN_AGAIN = 0.3, 1 / 3
"""The least share of the pages on which a place of heads has a line, and of these lines that recur."""


class EdgeLine(NamedTuple):
    """A line that may be a head or foot: it is at the top or bottom of its page, and apart from the text."""

    line: PdfLine
    is_head: bool

    @property
    def place(self) -> tuple[int, int, bool]:
        """Where heads like this one are, on any page."""
        return round(self.line.bottom / 3), round(self.line.size), self.is_head

    @property
    def key(self) -> tuple[str, bool]:
        """What it shares with the same head of another page."""
        return _key(self.line), self.is_head

    @property
    def may_be_note(self) -> bool:
        """Whether it looks like a footnote."""
        return not self.is_head and NOTE.match(self.line.text) is not None

    @property
    def numbers(self) -> set[int]:
        """The numbers that may be that of its page."""
        text = self.line.text.strip()
        match = _NUMBER.fullmatch(text)
        numbers = [match[1]] if match else [number for pair in _AT_AN_EDGE.findall(text) for number in pair]
        return {int(number) for number in numbers if number.isdigit()}


class RunningHeads:
    """The heads and feet of the pages of one file, which `without` removes and counts."""

    def __init__(self, pages: Sequence[Sequence[PdfLine]]) -> None:
        self._pages = pages
        every = [line for lines in pages for line in lines]
        low, high = min((line.bottom for line in every), default=0.0), max((line.top for line in every), default=1.0)
        margin = _MARGIN * (high - low)
        self._edges = [[*_at_edges(lines, low + margin, high - margin)] for lines in pages]
        self._by_key = [{edge.key: edge for edge in edges} for edges in self._edges]
        self._usual = median([line.size for line in every] or [1.0])
        self._titles: dict[str, float] = defaultdict(float)
        """The largest letters in which a line occurs, by its key."""
        for line in every:
            self._titles[_key(line)] = max(line.size, self._titles[_key(line)])
        self._places = self._places_of_heads()
        self._offset = self._printed_offset()
        self.heads = 0
        self.numbers = 0

    def without(self, page: int) -> list[PdfLine]:
        """Return the lines of a page without heads, feet and page numbers."""
        removed: set[int] = set()
        for edge in self._edges[page]:
            match = _NUMBER.fullmatch(edge.line.text.strip())
            number = match[1] if match else ""
            # "Chapter 2" and "II" in larger letters are titles.
            is_title = edge.line.size > _LARGER * self._usual
            is_page_number = bool(number) and not is_title and (number.isdigit() or len(self._pages) > _TWICE)
            if self._offset is not None and number.isdigit():
                is_page_number = int(number) - page == self._offset
            if is_page_number:
                self.numbers += 1
            elif not is_title and self._is_head(page, edge):
                self.heads += 1
            else:
                continue
            removed.add(id(edge.line))
        return [line for line in self._pages[page] if id(line) not in removed]

    def printed(self, page: int) -> str:
        """Return the printed number of a page, as confirmed by its neighbours; empty if there is none."""
        return str(page + self._offset) if self._offset is not None and page + self._offset > 0 else ""

    def _is_head(self, page: int, edge: EdgeLine) -> bool:
        """Return whether a line is a head or foot: it repeats a title in smaller letters, recurs on nearby pages, ends
        with its page's number, or is where most pages have a head."""
        return (
            edge.line.size * _LARGER < self._titles[edge.key[0]]
            or self._is_repeated(page, edge)
            or self._is_numbered(page, edge)
            or (edge.place in self._places and not edge.may_be_note)
        )

    def _is_repeated(self, page: int, edge: EdgeLine) -> bool:
        """Return whether a line recurs on nearby pages in letters not much smaller, unlike a title in the heads."""
        near = range(max(0, page - _NEAR), min(len(self._pages), page + _NEAR + 1))
        same = [
            self._by_key[neighbour][edge.key]
            for neighbour in near
            if neighbour != page and edge.key in self._by_key[neighbour]
        ]
        if edge.may_be_note:
            # "3 Ibid." and "4 Ibid." are two notes.
            same = [neighbour_edge for neighbour_edge in same if neighbour_edge.line.text == edge.line.text]
        count = sum(edge.line.size <= _LARGER * neighbour_edge.line.size for neighbour_edge in same)
        if len(self._pages) <= _TWICE:
            return count > 0 and edge.line.size < self._usual / _LARGER
        return count >= min(_TWICE, len(self._pages) - 2)

    def _is_numbered(self, page: int, edge: EdgeLine) -> bool:
        """Return whether a line ends with its page's number, like a head that only a few pages have.

        A line that begins with it may be a chapter's title, unless it recurs on another page.
        """
        if self._offset is None or page + self._offset not in edge.numbers:
            return False
        neighbours = (neighbour for neighbour in (page - 2, page + 2) if 0 <= neighbour < len(self._pages))
        is_last = re.search(rf"\D{page + self._offset}\Z", edge.line.text.strip()) is not None
        return is_last or any(edge.key in self._by_key[neighbour] for neighbour in neighbours)

    def _places_of_heads(self) -> set[tuple[int, int, bool]]:
        """Return the places of heads and feet: many pages have a line there, it is always apart from the text, as the
        first line of the text seldom is, and some of these lines recur, as the title of a book does beside those of its
        chapters."""
        heads: dict[tuple[int, int, bool], list[str]] = defaultdict(list)
        for edge in (edge for edges in self._edges[1:] for edge in edges if not edge.may_be_note):
            heads[edge.place].append(edge.key[0])
        every = [line for lines in self._pages[1:] for line in lines]
        lines = Counter(EdgeLine(line, is_head).place for is_head in (True, False) for line in every)
        fewest = max(_TWICE, _MIN_PAGES * len(self._pages))
        places = set()
        for place, keys in heads.items():
            repeated = sum(count for count in Counter(keys).values() if count > 1)
            if len(keys) >= max(fewest, _NEARLY_ALL * lines[place]) and repeated >= _MIN_AGAIN * len(keys):
                places.add(place)
        return places

    def _printed_offset(self) -> int | None:
        """Return the printed page number minus the page's position; None if most pages have no number."""
        votes: Counter[int] = Counter()
        with_notes: Counter[int] = Counter()
        for page, edges in enumerate(self._edges):
            votes.update({number - page for edge in edges if not edge.may_be_note for number in edge.numbers})
            with_notes.update({number - page for edge in edges for number in edge.numbers})
        # Note numbers increase like page numbers, but rarely by one per page.
        votes |= Counter({at: count for at, count in with_notes.items() if count >= _NEARLY_ALL * len(self._pages)})
        offset, count = votes.most_common(1)[0] if votes else (0, 0)
        return offset if count >= max(_TWICE, len(self._pages) // 3) else None


def _key(line: PdfLine) -> str:
    return _DIGITS.sub("0", line.text.casefold()).strip()


def _at_edges(lines: Sequence[PdfLine], low: float, high: float) -> Iterator[EdgeLine]:
    """Yield the lines of a page that may be heads or feet."""
    rows: list[list[PdfLine]] = []
    for line in sorted(lines, key=lambda line: -line.top):
        if rows and abs(rows[-1][0].bottom - line.bottom) < 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    upper = [line for row in _apart(rows) for line in row if line.bottom > high]
    lower = [line for row in _apart(rows[::-1]) for line in row if line.top < low and line not in upper]
    for edges, is_head in ((upper, True), (lower, False)):
        yield from (EdgeLine(line, is_head) for line in edges if len(line.text) <= _LONGEST)


def _apart(rows: Sequence[list[PdfLine]]) -> Sequence[list[PdfLine]]:
    """Return the first rows, if a gap or another size separates them from those after them."""
    for at in range(min(_EDGE, len(rows))):
        if at + 1 == len(rows):
            return rows[: at + 1]
        row, next_row = rows[at][0], rows[at + 1][0]
        distance = abs(row.bottom - next_row.bottom) / max(row.size, next_row.size, 0.1)
        if distance > _GAP or abs(row.size - next_row.size) > _OTHER_SIZE * next_row.size:
            return rows[: at + 1]
    return []
