"""Turns the lines of PDF pages into paragraphs: text, headings, list items, notes, tables and captions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Literal

from redraft.readers.pdf.columns import PdfLine
from redraft.readers.pdf.heads import NOTE
from redraft.readers.pdf.lines import LOWERED, RAISED, SOFT_HYPHEN
from redraft.text.sentences import ends_sentence
from redraft.text.words import UNSPACED

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

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.parts)


class PageMetrics:
    """The usual letter size and line spacing of a file, and its words."""

    def __init__(self, pages: Sequence[Sequence[PdfLine]]) -> None:
        sizes: Counter[float] = Counter()
        leadings: Counter[float] = Counter()
        indented = followed = 0
        self.words: set[str] = set()
        for lines in pages:
            for before, line in zip([None, *lines], lines, strict=False):
                sizes[round(line.size, 1)] += len(line.text)
                self.words.update(word.casefold() for word in _WORD.findall(line.text)[:-1])
                if before is not None and before.column == line.column and before.bottom > line.bottom:
                    leadings[round((before.bottom - line.bottom) / max(line.size, 0.1), 1)] += 1
                    followed += 1
                    indented += 0.5 < (line.left - line.column[0]) / max(line.size, 0.1) < 4
        lengths = [(line.bold, len(line.text)) for lines in pages for line in lines]
        self.bold_is_rare = sum(size for bold, size in lengths if bold) < _RARE * sum(size for _, size in lengths)
        self.body = sizes.most_common(1)[0][0] if sizes else 1.0
        self.leading = leadings.most_common(1)[0][0] if leadings else 1.0
        self.indents = followed > 0 and indented > 0.05 * followed


def paragraphs(pages: Sequence[Sequence[PdfLine]]) -> Iterator[Paragraph]:
    """Yield the paragraphs of a file; notes follow the paragraph that continues over the end of their page."""
    measures = PageMetrics(pages)
    open_one: Paragraph | None = None
    last: PdfLine | None = None
    notes: list[Paragraph] = []
    parts = [_without_notes(lines, measures) for lines in pages]
    numbers = [{match[1] for line in below if (match := NOTE.match(line.text))} for _, below in parts]
    for page, (body, below) in enumerate(parts):
        # A note may be on the page after its reference.
        note_numbers = numbers[page].union(*numbers[page + 1 : page + 2])
        for line, is_table in zip(body, _tables(body), strict=True):
            kind = _kind(line, measures, is_table)
            if open_one is not None and last is not None and _continues(open_one, last, line, kind, page, measures):
                _extend(open_one, line, page, note_numbers, measures)
            else:
                if open_one is not None:
                    yield open_one
                    yield from notes
                    notes = []
                open_one = Paragraph(kind, line.size)
                _extend(open_one, line, page, note_numbers, measures)
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
    while at < len(lines) and not NOTE.match(lines[at].text):
        at += 1
    return lines[:at], lines[at:]


def _notes(lines: Sequence[PdfLine], page: int, measures: PageMetrics) -> list[Paragraph]:
    notes: list[Paragraph] = []
    for line in lines:
        if (match := NOTE.match(line.text)) or not notes:
            notes.append(Paragraph("note", line.size, label=match[1] if match else ""))
        _extend(notes[-1], line, page, set(), measures)
    return notes


def _tables(lines: Sequence[PdfLine]) -> list[bool]:
    """Return which lines are table rows: consecutive lines with several cells that are not justified prose."""
    several = [len(line.cells) > 1 and not _LONE_MARK.fullmatch(line.cells[0].text) for line in lines]
    rows = [False] * len(lines)
    for at, (pdf_line, following) in enumerate(pairwise(lines)):
        if several[at] and several[at + 1]:
            is_prose = _is_justified(pdf_line) or _is_justified(following)
            rows[at] = rows[at] or not is_prose or _aligned(pdf_line, following)
            rows[at + 1] = not is_prose or _aligned(pdf_line, following)
    return rows


def _is_justified(line: PdfLine) -> bool:
    """Return whether a line fills its column, with gaps no wider than justification causes."""
    left, right = line.column
    gaps = (after.left - before.right for before, after in pairwise(line.cells))
    return abs(line.left - left) < 2 and abs(line.right - right) < 2 and max(gaps) < _WIDEST_GAP * line.size


def _aligned(line: PdfLine, following: PdfLine) -> bool:
    """Return whether two lines have the same number of gaps, and each gap begins or ends at the same place in both."""
    gaps, following_gaps = (
        [(a.right, b.left) for a, b in pairwise(each_line.cells)] for each_line in (line, following)
    )
    return len(gaps) == len(following_gaps) and all(
        abs(a[0] - b[0]) < 1.5 or abs(a[1] - b[1]) < 1.5 for a, b in zip(gaps, following_gaps, strict=True)
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


def _continues(
    paragraph: Paragraph, last: PdfLine, line: PdfLine, kind: Kind, page: int, measures: PageMetrics
) -> bool:
    """Return whether a line continues the paragraph of the line before it."""
    if "table" in (kind, paragraph.kind):
        return kind == paragraph.kind
    if kind == "item" and _is_no_item(paragraph, last, line) and _follows(last, line, page, paragraph, measures):
        return True
    if kind in ("item", "caption") or abs(last.size - line.size) > _SAME_SIZE * max(last.size, line.size):
        return kind in ("item", "caption") and bool(_HYPHEN_END.search(last.text)) and kind == paragraph.kind
    if "heading" in (kind, paragraph.kind):
        return (
            kind == paragraph.kind
            and _follows(last, line, page, paragraph, measures)
            and len(paragraph.text) < _LONGEST_HEADING
        )
    if _HYPHEN_END.search(last.text):
        return True
    if last.column != line.column or paragraph.parts[-1][0] != page or last.bottom <= line.bottom:
        return _continues_over_break(paragraph, last, line, measures)
    return _follows(last, line, page, paragraph, measures) and not _ended(paragraph, last, line)


def _is_no_item(paragraph: Paragraph, last: PdfLine, line: PdfLine) -> bool:
    """Return whether a leading number is the last word of a sentence: "it was Pan House No. / 3. He left"."""
    is_running = paragraph.kind == "text" and not last.text.endswith(":") and not _forced(last, line)
    return is_running and line.text[:1].isdigit() and not _is_indented(line)


def _follows(last: PdfLine, line: PdfLine, page: int, paragraph: Paragraph, measures: PageMetrics) -> bool:
    """Return whether a line is directly below another."""
    distance = (last.bottom - line.bottom) / max(line.size, 0.1)
    return paragraph.parts[-1][0] == page and 0 < distance <= _LEADING * max(measures.leading, 0.8)


def _continues_over_break(paragraph: Paragraph, last: PdfLine, line: PdfLine, measures: PageMetrics) -> bool:
    """Return whether the first line of a column or page continues the paragraph of the last line before it."""
    if not ends_sentence(last.text):
        return True
    if paragraph.kind == "item" or _forced(last, line) or line.text[:1] in _QUOTES:
        return False
    # A sentence seldom ends a paragraph exactly at the end of a full line, as paragraphs vary in length.
    return not (measures.indents and _is_indented(line))


def _ended(paragraph: Paragraph, last: PdfLine, line: PdfLine) -> bool:
    """Return whether the line before ended its paragraph: the next one is indented, or would have had room there."""
    if paragraph.kind == "item":
        return line.left < last.left - 1 and line.left <= line.column[0] + 1 and ends_sentence(last.text)
    if _is_indented(line) and not _is_indented(last):
        return True
    if _is_indented(line) and len(paragraph.parts) > 1 and abs(line.left - last.left) > 1:
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


def _extend(paragraph: Paragraph, line: PdfLine, page: int, note_numbers: set[str], measures: PageMetrics) -> None:
    """Add a line to a paragraph."""
    cells = (_MARKED.sub(lambda match: "" if match[1] in note_numbers else match[1], cell.text) for cell in line.cells)
    text = _LEADERS.sub(" ... ", (" | " if paragraph.kind == "table" else " ").join(cells))
    if paragraph.kind == "item" and not paragraph.parts:
        text = _BULLET.sub("- ", text)
    if not paragraph.parts:
        paragraph.parts.append((page, text))
        return
    at, before = paragraph.parts[-1]
    before, joint = _seam(before, text, measures.words) if paragraph.kind != "table" else (before, "\n")
    if at == page:
        paragraph.parts[-1] = (page, before + joint + text)
    else:
        paragraph.parts[-1] = (at, before + joint)
        paragraph.parts.append((page, text))


def _seam(before: str, after: str, words: set[str]) -> tuple[str, str]:
    """Return a line with any hyphenation removed, and what separates it from the next one."""
    if not _HYPHEN_END.search(before):
        return before, "" if _CJK.match(after) and _CJK.match(before[-1:]) else " "
    bare = before[:-1]
    if not after[:1].islower():
        return f"{bare}-", ""
    first, second = re.search(r"[^\W\d_]+\Z", bare), re.match(r"[^\W\d_]+", after)
    first_word, second_word = (first[0] if first else "").casefold(), (second[0] if second else "").casefold()
    if first_word in _TENS or (f"{first_word}-{second_word}" in words and first_word + second_word not in words):
        return f"{bare}-", ""
    return bare, ""
