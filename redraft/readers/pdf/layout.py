"""Turns the lines of PDF pages into paragraphs: text, headings, list items, notes, tables and captions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import median
from typing import Literal, NamedTuple

from redraft.readers.pdf.lines import LOWERED, RAISED, SOFT_HYPHEN, PdfLine
from redraft.text.sentences import ends_sentence
from redraft.text.words import UNSPACED

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
    place: tuple[int, int, bool]
    """Where heads like this one are, on any page."""
    key: tuple[str, bool]
    """What it shares with the same head of another page."""
    may_be_note: bool
    """Whether it looks like a footnote."""
    numbers: set[int]
    """The numbers that may be that of its page."""


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
        lines_at = Counter(_place(line, is_head) for is_head in (True, False) for line in rest)
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
            same = [self._by_key[at][edge.key].line for at in near if edge.key in self._by_key[at]]
            # "Chapter 2" and "II" in larger letters are titles, unless other pages have the very same.
            times = sum(line.text == edge.line.text for line in same)
            is_title = edge.line.size > _LARGER * self._usual and times < _TWICE
            is_page_number = bool(number) and not is_title and (number.isdigit() or count > _TWICE)
            if printed is not None and number.isdigit():
                is_page_number = int(number) == printed

            is_at_place = edge.place in self._places and not edge.may_be_note
            is_smaller = edge.line.size * _LARGER < self._titles[edge.key[0]]
            # On nearby pages it must recur in letters not much smaller, unlike a title in the heads. "3 Ibid." and
            # "4 Ibid." are two notes.
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


def _place(line: PdfLine, is_head: bool) -> tuple[int, int, bool]:
    return round(line.bottom / 3), round(line.size), is_head


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
                text = line.text.strip()
                match = _NUMBER.fullmatch(text)
                numbers = [match[1]] if match else [number for pair in _AT_AN_EDGE.findall(text) for number in pair]
                may_be_note = not is_head and NOTE.match(line.text) is not None
                page_numbers = {int(number) for number in numbers if number.isdigit()}
                yield EdgeLine(line, _place(line, is_head), (_key(line), is_head), may_be_note, page_numbers)


Kind = Literal["text", "heading", "note", "table", "item", "caption"]
_ITEM = re.compile(r"(?:[•‣◦▪●○–*-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
_LONE_MARK = re.compile(r"[•‣◦▪●○–*-]|\(?\w{1,3}[.)]")
_BULLET = re.compile(r"[•‣◦▪●○]\s*")
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
    level: int = 0
    """The level of a heading."""

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.parts)


class Layout:
    """The usual letter size and line spacing of a file, and its words, by which lines are joined to paragraphs."""

    def __init__(self, pages: Sequence[Sequence[PdfLine]]) -> None:
        sizes: Counter[float] = Counter()
        leadings: Counter[float] = Counter()
        indented = followed = 0
        self._words: set[str] = set()
        for lines in pages:
            for before, line in zip([None, *lines], lines, strict=False):
                sizes[round(line.size, 1)] += len(line.text)
                self._words.update(word.casefold() for word in _WORD.findall(line.text)[:-1])
                if before is not None and before.column == line.column and before.bottom > line.bottom:
                    leadings[round((before.bottom - line.bottom) / max(line.size, 0.1), 1)] += 1
                    followed += 1
                    indented += 0.5 < (line.left - line.column[0]) / max(line.size, 0.1) < 4
        lengths = [(line.bold, len(line.text)) for lines in pages for line in lines]
        self._bold_is_rare = sum(size for bold, size in lengths if bold) < _RARE * sum(size for _, size in lengths)
        self._body = sizes.most_common(1)[0][0] if sizes else 1.0
        self._leading = leadings.most_common(1)[0][0] if leadings else 1.0
        self._indents = followed > 0 and indented > 0.05 * followed
        self._parts: list[tuple[list[PdfLine], list[PdfLine]]] = []
        """The body of each page, and the notes below its columns, which are smaller and begin with a number."""
        for lines in pages:
            self._parts.append(([], []))
            for column in (list(column) for _, column in groupby(lines, key=lambda line: line.column)):
                at = len(column)
                while at and column[at - 1].size < _NOTE_SIZE * self._body:
                    at -= 1
                while at < len(column) and not NOTE.match(column[at].text):
                    at += 1
                self._parts[-1][0].extend(column[:at])
                self._parts[-1][1].extend(column[at:])

    def paragraphs(self) -> Iterator[Paragraph]:
        """Yield the paragraphs of the file; notes follow the paragraph that continues over the end of their page."""
        paragraph: Paragraph | None = None
        last: PdfLine | None = None
        notes: list[Paragraph] = []

        numbers = [{match[1] for line in below if (match := NOTE.match(line.text))} for _, below in self._parts]
        for page, (body, below) in enumerate(self._parts):
            # A note may be on the page after its reference.
            note_numbers = numbers[page].union(*numbers[page + 1 : page + 2])
            for line, is_table in zip(body, _tables(body), strict=True):
                kind = self._kind(line, is_table)
                if paragraph is None or last is None or not self._continues(paragraph, last, line, kind, page):
                    if paragraph is not None:
                        yield paragraph
                        yield from notes
                        notes = []
                    paragraph = Paragraph(kind, line.size)
                self._extend(paragraph, line, page, note_numbers)
                last = line
            for line in below:
                if (match := NOTE.match(line.text)) or line is below[0]:
                    notes.append(Paragraph("note", line.size, label=match[1] if match else ""))
                self._extend(notes[-1], line, page, set())
        if paragraph is not None:
            yield paragraph
        yield from notes

    def _kind(self, line: PdfLine, is_table: bool) -> Kind:
        if is_table:
            return "table"
        is_title = line.size > _HEADING_SIZE * self._body
        if self._bold_is_rare and line.bold and line.size > _NOTE_SIZE * self._body and len(line.text) <= _LONGEST_BOLD:
            # All of it is bold, and it is not a sentence.
            is_title = is_title or not (line.text.endswith((",", ":", ";")) or ends_sentence(line.text))
        if is_title and any(letter.isalpha() for letter in line.text):
            return "heading"
        if _ITEM.match(line.text):
            return "item"
        return "caption" if _CAPTION.match(line.text) else "text"

    def _continues(self, paragraph: Paragraph, last: PdfLine, line: PdfLine, kind: Kind, page: int) -> bool:
        """Return whether a line continues the paragraph of the line before it."""
        if "table" in (kind, paragraph.kind):
            return kind == paragraph.kind
        is_on_page, is_hyphenated = paragraph.parts[-1][0] == page, bool(_HYPHEN_END.search(last.text))
        distance = (last.bottom - line.bottom) / max(line.size, 0.1)
        is_below = is_on_page and 0 < distance <= _LEADING * max(self._leading, 0.8)
        is_indented, room = _is_indented(line), last.column[1] - last.right
        # A line is forced to end if the first word of the next one would have fitted.
        is_forced = room >= line.first_width + 0.5 * line.size and (
            ends_sentence(last.text) or last.text.endswith((":", ";")) or room > 0.3 * (last.column[1] - last.column[0])
        )
        # A number may be the last word of a sentence: "it was Pan House No. / 3. He left"
        is_running = paragraph.kind == "text" and not last.text.endswith(":") and not is_forced
        if kind == "item" and is_below and is_running and line.text[:1].isdigit() and not is_indented:
            return True
        if kind in ("item", "caption") or abs(last.size - line.size) > _SAME_SIZE * max(last.size, line.size):
            return kind in ("item", "caption") and is_hyphenated and kind == paragraph.kind
        if "heading" in (kind, paragraph.kind):
            return kind == paragraph.kind and is_below and len(paragraph.text) < _LONGEST_HEADING
        if is_hyphenated:
            return True

        if is_on_page and last.column == line.column and last.bottom > line.bottom:
            # The line before ended its paragraph if this one is indented, or would have had room there.
            if paragraph.kind == "item":
                is_outdented = line.left < last.left - 1 and line.left <= line.column[0] + 1
                return is_below and not (is_outdented and ends_sentence(last.text))
            is_alike = _is_indented(last) and (len(paragraph.parts) <= 1 or abs(line.left - last.left) <= 1)
            return is_below and not is_forced and (is_alike or not is_indented)
        if not ends_sentence(last.text):
            return True
        if paragraph.kind == "item" or is_forced or line.text[:1] in _QUOTES:
            return False
        # A sentence seldom ends a paragraph exactly at the end of a full line, as paragraphs vary in length.
        return not (self._indents and is_indented)

    def _extend(self, paragraph: Paragraph, line: PdfLine, page: int, note_numbers: set[str]) -> None:
        """Add a line to a paragraph, and remove the hyphen that divides a word between them."""
        is_table = paragraph.kind == "table"
        cells = (
            _MARKED.sub(lambda match: "" if match[1] in note_numbers else match[1], cell.text) for cell in line.cells
        )
        text = _LEADERS.sub(" ... ", (" | " if is_table else " ").join(cells))
        if not paragraph.parts:
            paragraph.parts.append((page, _BULLET.sub("- ", text) if paragraph.kind == "item" else text))
            return

        at, before = paragraph.parts[-1]
        joint = ""
        if is_table:
            joint = "\n"
        elif not _HYPHEN_END.search(before):
            joint = "" if _CJK.match(text) and _CJK.match(before[-1:]) else " "
        elif not text[:1].islower():
            before = f"{before[:-1]}-"
        else:
            bare = before[:-1]
            first, second = re.search(r"[^\W\d_]+\Z", bare), re.match(r"[^\W\d_]+", text)
            first_word, second_word = (first[0] if first else "").casefold(), (second[0] if second else "").casefold()
            is_compound = f"{first_word}-{second_word}" in self._words and first_word + second_word not in self._words
            before = f"{bare}-" if first_word in _TENS or is_compound else bare
        paragraph.parts[-1:] = [(at, before + joint + text)] if at == page else [(at, before + joint), (page, text)]


def _tables(lines: Sequence[PdfLine]) -> list[bool]:
    """Return which lines are table rows: consecutive lines with several cells that are not justified prose, or that
    have the same number of gaps, each of which begins or ends at the same place in both lines."""
    several = [len(line.cells) > 1 and not _LONE_MARK.fullmatch(line.cells[0].text) for line in lines]
    gaps = [[(before.right, after.left) for before, after in pairwise(line.cells)] for line in lines]
    # A justified line fills its column, with gaps no wider than justification causes.
    justified = [
        abs(line.left - line.column[0]) < 2
        and abs(line.right - line.column[1]) < 2
        and max((right - left for left, right in line_gaps), default=0.0) < _WIDEST_GAP * line.size
        for line, line_gaps in zip(lines, gaps, strict=True)
    ]
    rows = [False] * len(lines)
    for at in range(len(lines) - 1):
        if several[at] and several[at + 1]:
            is_aligned = len(gaps[at]) == len(gaps[at + 1]) and all(
                abs(left - next_left) < 1.5 or abs(right - next_right) < 1.5
                for (left, right), (next_left, next_right) in zip(gaps[at], gaps[at + 1], strict=True)
            )
            is_table = is_aligned or not (justified[at] or justified[at + 1])
            rows[at] = rows[at] or is_table
            rows[at + 1] = is_table
    return rows


def _is_indented(line: PdfLine) -> bool:
    return _INDENTED * line.size < line.left - line.column[0] < 5 * line.size
