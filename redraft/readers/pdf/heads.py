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
        self.heads = 0
        self.numbers = 0

        # Many pages have a line where heads are, it is always apart from the text, as the first line of the text seldom
        # is, and some of these lines recur, as the title of a book does beside those of its chapters.
        heads: dict[tuple[int, int, bool], list[str]] = defaultdict(list)
        for edge in (edge for edges in self._edges[1:] for edge in edges if not edge.may_be_note):
            heads[edge.place].append(edge.key[0])
        rest = [line for lines in pages[1:] for line in lines]
        lines_at = Counter(EdgeLine(line, is_head).place for is_head in (True, False) for line in rest)
        fewest = max(_TWICE, _MIN_PAGES * len(pages))
        self._places: set[tuple[int, int, bool]] = set()
        for place, keys in heads.items():
            repeated = sum(count for count in Counter(keys).values() if count > 1)
            if len(keys) >= max(fewest, _NEARLY_ALL * lines_at[place]) and repeated >= _MIN_AGAIN * len(keys):
                self._places.add(place)

        votes: Counter[int] = Counter()
        with_notes: Counter[int] = Counter()
        for page, edges in enumerate(self._edges):
            votes.update({number - page for edge in edges if not edge.may_be_note for number in edge.numbers})
            with_notes.update({number - page for edge in edges for number in edge.numbers})
        # Note numbers increase like page numbers, but rarely by one per page.
        votes |= Counter({at: count for at, count in with_notes.items() if count >= _NEARLY_ALL * len(pages)})
        offset, count = votes.most_common(1)[0] if votes else (0, 0)
        self._offset = offset if count >= max(_TWICE, len(pages) // 3) else None
        """The printed page number minus the page's position; None if most pages have no number."""

    def without(self, page: int) -> list[PdfLine]:
        """Return the lines of a page without heads, feet and page numbers.

        A line is a head or foot if it repeats a title in smaller letters, is where most pages have a head, recurs on
        nearby pages, or ends with its page's number.
        """
        removed: set[int] = set()
        count, printed = len(self._pages), None if self._offset is None else page + self._offset
        near = [at for at in range(max(0, page - _NEAR), min(count, page + _NEAR + 1)) if at != page]
        for edge in self._edges[page]:
            text = edge.line.text.strip()
            match = _NUMBER.fullmatch(text)
            number = match[1] if match else ""
            # "Chapter 2" and "II" in larger letters are titles.
            is_title = edge.line.size > _LARGER * self._usual
            is_page_number = bool(number) and not is_title and (number.isdigit() or count > _TWICE)
            if printed is not None and number.isdigit():
                is_page_number = int(number) == printed

            is_at_place = edge.place in self._places and not edge.may_be_note
            is_smaller = edge.line.size * _LARGER < self._titles[edge.key[0]]
            # On nearby pages it must recur in letters not much smaller, unlike a title in the heads. "3 Ibid." and
            # "4 Ibid." are two notes.
            same = [self._by_key[at][edge.key].line for at in near if edge.key in self._by_key[at]]
            same = [line for line in same if line.text == edge.line.text or not edge.may_be_note]
            times = sum(edge.line.size <= _LARGER * line.size for line in same)
            is_repeated = times >= min(_TWICE, count - 2)
            if count <= _TWICE:
                is_repeated = times > 0 and edge.line.size < self._usual / _LARGER
            # A line that begins with its page's number may be a chapter's title, unless it recurs on another page.
            recurs = any(edge.key in self._by_key[at] for at in (page - 2, page + 2) if 0 <= at < count)
            is_numbered = printed in edge.numbers and (recurs or re.search(rf"\D{printed}\Z", text) is not None)

            if is_page_number:
                self.numbers += 1
            elif not is_title and (is_at_place or is_smaller or is_repeated or is_numbered):
                self.heads += 1
            else:
                continue
            removed.add(id(edge.line))
        return [line for line in self._pages[page] if id(line) not in removed]

    def printed(self, page: int) -> str:
        """Return the printed number of a page, as confirmed by its neighbours; empty if there is none."""
        return str(page + self._offset) if self._offset is not None and page + self._offset > 0 else ""


def _key(line: PdfLine) -> str:
    return _DIGITS.sub("0", line.text.casefold()).strip()


def _at_edges(lines: Sequence[PdfLine], low: float, high: float) -> Iterator[EdgeLine]:
    """Yield the lines of a page that may be heads or feet: those of its first and last rows, if a gap or another size
    separates these from the rows next to them."""
    rows: list[list[PdfLine]] = []
    for line in sorted(lines, key=lambda line: -line.top):
        if rows and abs(rows[-1][0].bottom - line.bottom) < 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    upper: list[PdfLine] = []
    for is_head, inwards in ((True, rows), (False, rows[::-1])):
        count = 0
        for at in range(min(_EDGE, len(inwards))):
            is_apart = at + 1 == len(inwards)
            if not is_apart:
                row, next_row = inwards[at][0], inwards[at + 1][0]
                distance = abs(row.bottom - next_row.bottom) / max(row.size, next_row.size, 0.1)
                is_apart = distance > _GAP or abs(row.size - next_row.size) > _OTHER_SIZE * next_row.size
            if is_apart:
                count = at + 1
                break
        for line in (line for row in inwards[:count] for line in row):
            is_at_edge = line.bottom > high if is_head else line.top < low and line not in upper
            if is_at_edge and is_head:
                upper.append(line)
            if is_at_edge and len(line.text) <= _LONGEST:
                yield EdgeLine(line, is_head)
