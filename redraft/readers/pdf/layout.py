"""Turns the lines of PDF pages into paragraphs in reading order, without running heads and page numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import median
from typing import Literal

from redraft.readers.pdf.lines import LOWERED, RAISED, SOFT_HYPHEN, LinePiece, by_place
from redraft.text.sentences import ends_sentence
from redraft.text.words import UNSPACED

_MAX_CROSSING_SHARE = 0.15
"""The largest share of lines that may cross the gap between two columns, such as titles and captions."""
_MIN_GAP = 7.0
_MIN_LINES = 6
_MIN_WIDTH = 0.6
_MIN_PAGE_SHARE = 0.18
_BINS = 400


@dataclass(slots=True)
class PdfLine:
    """A line of a column, with the edges of the column; a table row has several cells."""

    cells: list[LinePiece]
    column: tuple[float, float]

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def left(self) -> float:
        return self.cells[0].left

    @property
    def right(self) -> float:
        return self.cells[-1].right

    @property
    def bottom(self) -> float:
        return self.cells[0].bottom

    @property
    def top(self) -> float:
        return self.cells[0].top

    @property
    def size(self) -> float:
        """The height of its letters."""
        return max(cell.size for cell in self.cells)

    @property
    def bold(self) -> bool:
        """Whether all of it is bold."""
        return all(cell.bold for cell in self.cells)


def in_order(pieces: list[LinePiece]) -> list[PdfLine]:
    """Return the lines of a page in reading order."""
    if not pieces:
        return []
    gaps = _gaps(pieces)
    edges = [min(line_piece.left for line_piece in pieces), *gaps, max(line_piece.right for line_piece in pieces)]
    lines: list[PdfLine] = []
    waiting: list[list[LinePiece]] = [[] for _ in range(len(gaps) + 1)]
    for piece in sorted(pieces, key=lambda each: -each.middle):
        at = _column(piece, gaps)
        if at is None:
            lines += _columns(waiting)
            waiting = [[] for _ in range(len(gaps) + 1)]
            lines.append(PdfLine([piece], (edges[0], edges[-1])))
        else:
            waiting[at].append(piece)
    return lines + _columns(waiting) if gaps else _columns([pieces])


def _columns(waiting: Sequence[list[LinePiece]]) -> list[PdfLine]:
    lines: list[PdfLine] = []
    for pieces in waiting:
        if pieces:
            rows = list(by_place(pieces))
            edges = _edges(rows)
            lines += [PdfLine(row, edges) for row in rows]
    return lines


def _edges(rows: Sequence[Sequence[LinePiece]]) -> tuple[float, float]:
    """Return the left edge at which most text of a column begins, and the right edge of its longest lines."""
    lefts: Counter[int] = Counter()
    for row in rows:
        lefts[round(row[0].left)] += sum(len(piece.text) for piece in row)
    rights = sorted(row[-1].right for row in rows)
    left = max(lefts, key=lambda at: (lefts[at], -at))
    return float(left), rights[min(len(rights) - 1, int(0.97 * len(rights)))]


def _column(one: LinePiece, gaps: Sequence[float]) -> int | None:
    """Return the column of a piece; None if it crosses a gap."""
    slack = 2.0
    if any(one.left < gap - slack and one.right > gap + slack for gap in gaps):
        return None
    return sum(1 for gap in gaps if (one.left + one.right) / 2 > gap)


def _gaps(pieces: Sequence[LinePiece]) -> list[float]:
    """Return the middles of the gaps between columns; empty for a page with one column."""
    if len(pieces) < 2 * _MIN_LINES:
        return []
    low, high = min(piece.left for piece in pieces), max(piece.right for piece in pieces)
    width = max(high - low, 1.0)
    covered = [0] * (_BINS + 2)
    for line_piece in pieces:
        covered[int(_BINS * (line_piece.left - low) / width)] += 1
        covered[min(_BINS, int(_BINS * (line_piece.right - low) / width)) + 1] -= 1
    most = _MAX_CROSSING_SHARE * len(pieces) / 2
    found: list[float] = []
    depth, begun = 0, -1
    for at in range(_BINS + 1):
        depth += covered[at]
        is_open = depth <= most
        if is_open and begun < 0:
            begun = at
        elif not is_open and begun >= 0:
            if begun > 0 and (at - begun) * width / _BINS >= _MIN_GAP:
                found.append(low + width * (begun + at) / 2 / _BINS)
            begun = -1
    if not found or _least_filled(pieces, [low, *found, high]) >= _MIN_WIDTH:
        return found
    # A few lines with wide gaps may cause a false gap within a column.
    tried = [[*found[:at], *found[at + 1 :]] for at in range(len(found))] if len(found) > 1 else []
    share, best = max(((_least_filled(pieces, [low, *one, high]), one) for one in tried), default=(0.0, []))
    return best if share >= _MIN_WIDTH else []


def _least_filled(pieces: Sequence[LinePiece], edges: Sequence[float]) -> float:
    """Return the median line length relative to the column, for the emptiest column; 0 if one is not running text."""
    gaps = edges[1:-1]
    whole = edges[-1] - edges[0]
    least = 1.0
    for at, (left, right) in enumerate(pairwise(edges)):
        mine = [piece for piece in pieces if _column(piece, gaps) == at]
        if len(mine) < _MIN_LINES or right - left < _MIN_PAGE_SHARE * whole:
            return 0.0
        # A justified line with few words may have wide gaps of its own.
        lengths = [row[-1].right - row[0].left for row in by_place(mine)]
        least = min(least, median(lengths) / (right - left))
    return least


_EDGE = 2
"""The number of lines at the top and bottom of a page that may be heads or feet."""
_NEAR = 4
"""The number of pages before and after one in which the same head must recur."""
_TWICE = 2
_NEARLY_ALL, _MOST = 0.8, 0.6
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(
    r"\W*(?:(?:page|seite|p\.|página|pagina|стр\.?)\s*)?(\d{1,5}|[ivxlcdm]{1,8})\W*(?:(?:of|/|von|de|di|из)\s*\d{1,5}\W*)?",
    re.IGNORECASE,
)
_AT_AN_EDGE = re.compile(r"\A(\d{1,5})\b|\b(\d{1,5})\Z")
_LONGEST = 120
_GAP, _OTHER_SIZE, _OTHER_TEXT = 1.35, 0.1, 0.04
_LARGER = 1.2
_MARGIN = 0.15


class RunningHeads:
    """Finds the heads and feet of the pages of one file."""

    def __init__(self, pages: Sequence[Sequence[PdfLine]]) -> None:
        self._pages = pages
        low = min((line.bottom for lines in pages for line in lines), default=0.0)
        high = max((line.top for lines in pages for line in lines), default=1.0)
        margin = _MARGIN * (high - low)
        self._edges = [_at_edges(lines, low + margin, high - margin) for lines in pages]
        self._keys = [{key: line for line, key in edge} for edge in self._edges]
        self._usual = median([line.size for lines in pages for line in lines] or [1.0])
        self._titles: dict[str, float] = {}
        """The largest letters in which a line occurs, by its text."""
        for line in (line for lines in pages for line in lines):
            self._titles[_key(line, True)[0]] = max(line.size, self._titles.get(_key(line, True)[0], 0.0))
        self._places = self._places_of_heads()
        self.heads = 0
        self.numbers = 0
        self._offset = self._printed_offset()

    def without(self, page: int) -> list[PdfLine]:
        """Return the lines of a page without heads and feet."""
        drop: set[int] = set()
        for line, key in self._edges[page]:
            number = _NUMBER.fullmatch(line.text.strip())
            if number and self._is_number(page, number[1]):
                self.numbers += 1
            elif (
                line.size * _LARGER < self._titles[key[0]]
                or self._is_repeated(page, line, key)
                or self._is_numbered(page, line.text, key)
                or (_place(line, key) in self._places and not _may_be_note(line, key))
            ):
                self.heads += 1
            else:
                continue
            drop.add(id(line))
        return [line for line in self._pages[page] if id(line) not in drop]

    def printed(self, page: int) -> str:
        """Return the printed number of a page, as confirmed by its neighbours; empty if there is none."""
        return str(page + self._offset) if self._offset is not None and page + self._offset > 0 else ""

    def _is_number(self, page: int, said: str) -> bool:
        if not said.isdigit():
            return len(self._pages) > _TWICE
        return self._offset is None or int(said) - page == self._offset

    def _is_numbered(self, page: int, text: str, key: tuple[str, bool]) -> bool:
        """Return whether a line ends with its page's number, like a head that only a few pages have.

        A line that begins with it may be a chapter's title, unless it recurs on another page.
        """
        if self._offset is None or page + self._offset not in _numbers(text):
            return False
        again = any(key in self._keys[other] for other in (page - 2, page + 2) if 0 <= other < len(self._keys))
        return again or bool(re.search(rf"\D{page + self._offset}\Z", text.strip()))

    def _is_repeated(self, page: int, line: PdfLine, key: tuple[str, bool]) -> bool:
        """Return whether a line recurs on nearby pages in letters not much smaller, unlike a title in the heads."""
        near = range(max(0, page - _NEAR), min(len(self._pages), page + _NEAR + 1))
        same = [self._keys[other][key] for other in near if other != page and key in self._keys[other]]
        if _may_be_note(line, key):
            # "3 Ibid." and "4 Ibid." are two notes; a foot that begins with a date is the same on each page.
            same = [pdf_line for pdf_line in same if pdf_line.text == line.text]
        found = sum(1 for pdf_line in same if line.size <= _LARGER * pdf_line.size)
        if abs(line.size - self._usual) > _OTHER_TEXT * self._usual and key[1]:
            found += sum(1 for pdf_line in same if _place(pdf_line, key) == _place(line, key))
        return found >= min(_TWICE, max(1, len(self._pages) - 2)) and len(self._pages) > _TWICE

    def _places_of_heads(self) -> set[tuple[int, int, bool]]:
        """Return the places of heads and feet: occupied on most pages, and mostly by recurring text."""
        found: dict[tuple[int, int, bool], list[tuple[str, bool]]] = {}
        for edge in self._edges[1:]:
            for line, key in (one for one in edge if not _may_be_note(*one)):
                found.setdefault(_place(line, key), []).append(key)
        on_most = {place: keys for place, keys in found.items() if len(keys) >= max(_TWICE, _MOST * len(self._edges))}
        on_all = {place: keys for place, keys in on_most.items() if len(keys) >= len(self._edges) - 1}
        again = {place for place, keys in on_most.items() if 2 * sum(keys.count(key) > 1 for key in keys) > len(keys)}
        larger = {
            _place(line, key)
            for edge in self._edges[1:]
            for line, key in edge
            if line.bold or line.size > 1.05 * self._usual or ends_sentence(line.text) or len(line.text) > _LONGEST / 2
        }
        # In a file of few pages, the heads of left and right pages may occur only once.
        return again | {place for place in on_all if place[2] and place not in larger}

    def _printed_offset(self) -> int | None:
        """Return the printed page number minus the page's position; None if most pages have no number."""
        votes: Counter[int] = Counter()
        by_notes: Counter[int] = Counter()
        for page, edge in enumerate(self._edges):
            sure = {number for line, key in edge if not _may_be_note(line, key) for number in _numbers(line.text)}
            votes.update(number - page for number in sure)
            by_notes.update({number - page for line, _ in edge for number in _numbers(line.text)})
        # Note numbers increase like page numbers, but rarely by one per page.
        votes |= Counter({at: count for at, count in by_notes.items() if count >= _NEARLY_ALL * len(self._pages)})
        if not votes:
            return None
        offset, count = votes.most_common(1)[0]
        return offset if count >= max(_TWICE, len(self._pages) // 3) else None


def _numbers(text: str) -> set[int]:
    text = text.strip()
    whole = _NUMBER.fullmatch(text)
    found = [whole[1]] if whole else [one for pair in _AT_AN_EDGE.findall(text) for one in pair]
    return {int(one) for one in found if one.isdigit()}


def _at_edges(lines: Sequence[PdfLine], low: float, high: float) -> list[tuple[PdfLine, tuple[str, bool]]]:
    """Return the lines that may be heads or feet, each with the key that it would share with other pages."""
    by_height = sorted(lines, key=lambda line: -line.top)
    rows: list[list[PdfLine]] = []
    for line in by_height:
        if rows and abs(rows[-1][0].bottom - line.bottom) < 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    upper = [line for row in _apart(rows) for line in row if line.bottom > high]
    lower = [line for row in _apart(rows[::-1]) for line in row if line.top < low and line not in upper]
    return [(line, _key(line, top)) for lot, top in ((upper, True), (lower, False)) for line in lot if _is_short(line)]


def _apart(rows: Sequence[list[PdfLine]]) -> Sequence[list[PdfLine]]:
    """Return the first rows, if a gap or another size separates them from those after them."""
    for at in range(min(_EDGE, len(rows))):
        row = rows[at][0]
        if at + 1 == len(rows):
            return rows[: at + 1]
        other = rows[at + 1][0]
        distance = abs(row.bottom - other.bottom) / max(row.size, other.size, 0.1)
        if distance > _GAP or abs(row.size - other.size) > _OTHER_SIZE * other.size:
            return rows[: at + 1]
    return []


def _is_short(line: PdfLine) -> bool:
    return len(line.text) <= _LONGEST


def _may_be_note(line: PdfLine, key: tuple[str, bool]) -> bool:
    return not key[1] and _NOTE.match(line.text) is not None


def _place(line: PdfLine, key: tuple[str, bool]) -> tuple[int, int, bool]:
    return round(line.bottom / 3), round(line.size), key[1]


def _key(line: PdfLine, top: bool) -> tuple[str, bool]:
    return _DIGITS.sub("0", line.text.casefold()).strip(), top


Kind = Literal["text", "heading", "note", "table", "item", "caption"]
_ITEM = re.compile(r"(?:[•‣◦▪●○–*-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
_LONE_MARK = re.compile(r"[•‣◦▪●○–*-]|\(?\w{1,3}[.)]")
_BULLET = re.compile(r"[•‣◦▪●○]\s*")
_NOTE = re.compile(rf"{RAISED}?(\d{{1,3}}|[*†‡§]){LOWERED}?[.)]?\s+\S")
_TENS = frozenset(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"])
_CAPTION = re.compile(
    r"(?:figure|fig\.|table|tab\.|abbildung|abb\.|tabelle|figura|tableau|таблица|рис\.|图|圖|図|表)\s*\d", re.I
)
_HYPHEN_END = re.compile(rf"[^\W\d_][-\u2010{SOFT_HYPHEN}]\Z")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_CJK = re.compile(f"[{UNSPACED}\u3000-\u303f\uff00-\uffef]")
_MARKED = re.compile(f"{RAISED}(\\d+){LOWERED}")
_LEADERS = re.compile(r"(?:\s?[.·…_]){5,}\s?")
_QUOTES = frozenset("\"'“‘«„「『")
"""Marks that open direct speech, which usually begins a new paragraph."""
_SAME_SIZE = 0.12
_HEADING_SIZE, _NOTE_SIZE = 1.12, 0.93
_LONGEST_HEADING, _LONGEST_BOLD = 200, 110
_RARE = 0.15
"""Up to this share of bold text, a bold line is a heading."""
_LEADING = 1.3
_WIDEST_GAP = 5.0
_INDENTED = 0.7


@dataclass(slots=True)
class Paragraph:
    """A paragraph: the parts of its text, each with its page number, counted from 0."""

    kind: Kind
    size: float
    parts: list[tuple[int, str]] = field(default_factory=list)
    label: str = ""

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.parts)


class PageMetrics:
    """The usual letter size and line spacing of a file, and its words."""

    def __init__(self, pages: Sequence[Sequence[PdfLine]]) -> None:
        sizes: Counter[float] = Counter()
        leadings: Counter[float] = Counter()
        indented = begun = 0
        self.words: set[str] = set()
        for lines in pages:
            for before, line in zip([None, *lines], lines, strict=False):
                sizes[round(line.size, 1)] += len(line.text)
                self.words.update(word.casefold() for word in _WORD.findall(line.text)[:-1])
                if before is not None and before.column == line.column and before.bottom > line.bottom:
                    leadings[round((before.bottom - line.bottom) / max(line.size, 0.1), 1)] += 1
                    begun += 1
                    indented += 0.5 < (line.left - line.column[0]) / max(line.size, 0.1) < 4
        lengths = [(line.bold, len(line.text)) for lines in pages for line in lines]
        self.bold_is_rare = sum(size for bold, size in lengths if bold) < _RARE * sum(size for _, size in lengths)
        self.body = sizes.most_common(1)[0][0] if sizes else 1.0
        self.leading = leadings.most_common(1)[0][0] if leadings else 1.0
        self.indents = begun > 0 and indented > 0.05 * begun


def paragraphs(pages: Sequence[Sequence[PdfLine]]) -> Iterator[Paragraph]:
    """Yield the paragraphs of a file; notes follow the paragraph that continues over the end of their page."""
    measures = PageMetrics(pages)
    open_one: Paragraph | None = None
    last: PdfLine | None = None
    notes: list[Paragraph] = []
    apart = [_without_notes(lines, measures) for lines in pages]
    numbers = [{found[1] for line in below if (found := _NOTE.match(line.text))} for _, below in apart]
    for page, (body, below) in enumerate(apart):
        # A note may be on the page after its reference.
        known = numbers[page].union(*numbers[page + 1 : page + 2])
        for line, is_table in zip(body, _tables(body), strict=True):
            kind = _kind(line, measures, is_table)
            if open_one is not None and last is not None and _continues(open_one, last, line, kind, page, measures):
                _extend(open_one, line, page, known, measures)
            else:
                if open_one is not None:
                    yield open_one
                    yield from notes
                    notes = []
                open_one = Paragraph(kind, line.size)
                _extend(open_one, line, page, known, measures)
            last = line
        notes += _notes(below, page, measures)
    if open_one is not None:
        yield open_one
    yield from notes


def _without_notes(lines: Sequence[PdfLine], measures: PageMetrics) -> tuple[list[PdfLine], list[PdfLine]]:
    """Return the body of a page, and the notes at the foot of each of its columns."""
    columns = [_parted([*column], measures) for _, column in groupby(lines, key=lambda line: line.column)]
    return [line for body, _ in columns for line in body], [line for _, notes in columns for line in notes]


def _parted(lines: Sequence[PdfLine], measures: PageMetrics) -> tuple[Sequence[PdfLine], Sequence[PdfLine]]:
    """Return the body of a column, and the notes at its foot, which are smaller and begin with a number."""
    at = len(lines)
    while at and lines[at - 1].size < _NOTE_SIZE * measures.body:
        at -= 1
    while at < len(lines) and not _NOTE.match(lines[at].text):
        at += 1
    return lines[:at], lines[at:]


def _notes(lines: Sequence[PdfLine], page: int, measures: PageMetrics) -> list[Paragraph]:
    made: list[Paragraph] = []
    for line in lines:
        if (match := _NOTE.match(line.text)) or not made:
            made.append(Paragraph("note", line.size, label=match[1] if match else ""))
        _extend(made[-1], line, page, set(), measures)
    return made


def _tables(lines: Sequence[PdfLine]) -> list[bool]:
    """Return which lines are table rows: consecutive lines with several cells that are not justified prose."""
    several = [len(line.cells) > 1 and not _LONE_MARK.fullmatch(line.cells[0].text) for line in lines]
    rows = [False] * len(lines)
    for at, (pdf_line, other) in enumerate(pairwise(lines)):
        if several[at] and several[at + 1]:
            is_prose = _is_justified(pdf_line) or _is_justified(other)
            rows[at] = rows[at] or not is_prose or _aligned(pdf_line, other)
            rows[at + 1] = not is_prose or _aligned(pdf_line, other)
    return rows


def _is_justified(line: PdfLine) -> bool:
    """Return whether a line fills its column, with gaps no wider than justification causes."""
    left, right = line.column
    gaps = (after.left - before.right for before, after in pairwise(line.cells))
    return abs(line.left - left) < 2 and abs(line.right - right) < 2 and max(gaps) < _WIDEST_GAP * line.size


def _aligned(one: PdfLine, other: PdfLine) -> bool:
    """Return whether two lines have the same number of gaps, and each gap begins or ends at the same place in both."""
    gaps, others = ([(a.right, b.left) for a, b in pairwise(line.cells)] for line in (one, other))
    return len(gaps) == len(others) and all(
        abs(a[0] - b[0]) < 1.5 or abs(a[1] - b[1]) < 1.5 for a, b in zip(gaps, others, strict=True)
    )


def _kind(line: PdfLine, measures: PageMetrics, is_table: bool) -> Kind:
    if is_table:
        return "table"
    if any(letter.isalpha() for letter in line.text) and (
        line.size > _HEADING_SIZE * measures.body or _is_bold_heading(line, measures)
    ):
        return "heading"
    if _ITEM.match(line.text):
        return "item"
    return "caption" if _CAPTION.match(line.text) else "text"


def _is_bold_heading(line: PdfLine, measures: PageMetrics) -> bool:
    """Return whether a line of normal size is a heading: all of it is bold, and it is not a sentence."""
    is_short = (
        len(line.text) <= _LONGEST_BOLD and not ends_sentence(line.text) and not line.text.endswith((",", ":", ";"))
    )
    return measures.bold_is_rare and line.bold and is_short and line.size > _NOTE_SIZE * measures.body


def _continues(one: Paragraph, last: PdfLine, line: PdfLine, kind: Kind, page: int, measures: PageMetrics) -> bool:
    """Return whether a line continues the paragraph of the line before it."""
    if "table" in (kind, one.kind):
        return kind == one.kind
    if kind == "item" and _is_no_item(one, last, line) and _follows(last, line, page, one, measures):
        return True
    if kind in ("item", "caption") or abs(last.size - line.size) > _SAME_SIZE * max(last.size, line.size):
        return kind in ("item", "caption") and bool(_HYPHEN_END.search(last.text)) and kind == one.kind
    if "heading" in (kind, one.kind):
        return kind == one.kind and _follows(last, line, page, one, measures) and len(one.text) < _LONGEST_HEADING
    if _HYPHEN_END.search(last.text):
        return True
    if last.column != line.column or one.parts[-1][0] != page or last.bottom <= line.bottom:
        return _continues_over_break(one, last, line, measures)
    return _follows(last, line, page, one, measures) and not _ended(one, last, line)


def _is_no_item(one: Paragraph, last: PdfLine, line: PdfLine) -> bool:
    """Return whether a leading number is the last word of a sentence: "it was Pan House No. / 3. He left"."""
    is_running = one.kind == "text" and not last.text.endswith(":") and not _forced(last, line)
    return is_running and line.text[:1].isdigit() and not _is_indented(line)


def _follows(last: PdfLine, line: PdfLine, page: int, one: Paragraph, measures: PageMetrics) -> bool:
    """Return whether a line is directly below another."""
    distance = (last.bottom - line.bottom) / max(line.size, 0.1)
    return one.parts[-1][0] == page and 0 < distance <= _LEADING * max(measures.leading, 0.8)


def _continues_over_break(one: Paragraph, last: PdfLine, line: PdfLine, measures: PageMetrics) -> bool:
    """Return whether the first line of a column or page continues the paragraph of the last line before it."""
    if not ends_sentence(last.text):
        return True
    if one.kind == "item" or _forced(last, line) or line.text[:1] in _QUOTES:
        return False
    # A sentence seldom ends a paragraph exactly at the end of a full line, as paragraphs vary in length.
    return not (measures.indents and _is_indented(line))


def _ended(one: Paragraph, last: PdfLine, line: PdfLine) -> bool:
    """Return whether the line before ended its paragraph: the next one is indented, or would have had room there."""
    if one.kind == "item":
        return line.left < last.left - 1 and line.left <= line.column[0] + 1 and ends_sentence(last.text)
    if _is_indented(line) and not _is_indented(last):
        return True
    if _is_indented(line) and len(one.parts) > 1 and abs(line.left - last.left) > 1:
        return True
    return _forced(last, line)


def _is_indented(line: PdfLine) -> bool:
    return _INDENTED * line.size < line.left - line.column[0] < 5 * line.size


def _forced(last: PdfLine, line: PdfLine) -> bool:
    """Return whether a line was ended although the first word of the next one would have fitted."""
    room = last.column[1] - last.right
    if room < line.cells[0].first_width + 0.5 * line.size:
        return False
    return ends_sentence(last.text) or last.text.endswith((":", ";")) or room > 0.3 * (last.column[1] - last.column[0])


def _extend(one: Paragraph, line: PdfLine, page: int, known: set[str], measures: PageMetrics) -> None:
    """Add a line to a paragraph."""
    cells = (_MARKED.sub(lambda found: "" if found[1] in known else found[1], cell.text) for cell in line.cells)
    text = _LEADERS.sub(" ... ", (" | " if one.kind == "table" else " ").join(cells))
    if one.kind == "item" and not one.parts:
        text = _BULLET.sub("- ", text)
    if not one.parts:
        one.parts.append((page, text))
        return
    at, before = one.parts[-1]
    before, joint = _seam(before, text, measures.words) if one.kind != "table" else (before, "\n")
    if at == page:
        one.parts[-1] = (page, before + joint + text)
    else:
        one.parts[-1] = (at, before + joint)
        one.parts.append((page, text))


def _seam(before: str, after: str, words: set[str]) -> tuple[str, str]:
    """Return a line with any hyphenation removed, and what separates it from the next one."""
    if not _HYPHEN_END.search(before):
        return before, "" if _CJK.match(after) and _CJK.match(before[-1:]) else " "
    bare = before[:-1]
    if not after[:1].islower():
        return f"{bare}-", ""
    first, second = re.search(r"[^\W\d_]+\Z", bare), re.match(r"[^\W\d_]+", after)
    one, other = (first[0] if first else "").casefold(), (second[0] if second else "").casefold()
    if one in _TENS or (f"{one}-{other}" in words and one + other not in words):
        return f"{bare}-", ""
    return bare, ""
