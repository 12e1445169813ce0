"""From lines to paragraphs: what belongs together across lines, columns and pages, and which words were divided."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from redraft.readers.pdf.columns import Line
from redraft.readers.pdf.lines import LOWERED, RAISED, SOFT_HYPHEN
from redraft.text.sentences import ends_sentence
from redraft.text.words import UNSPACED

Kind = Literal["text", "heading", "note", "table", "item", "caption"]
_ITEM = re.compile(r"(?:[•‣◦▪●○–*-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
_LONE_MARK = re.compile(r"[•‣◦▪●○–*-]|\(?\w{1,3}[.)]")
_BULLET = re.compile(r"[•‣◦▪●○]\s*")
_NOTE = re.compile(rf"{RAISED}?(\d{{1,3}}|[*†‡§]){LOWERED}?[.)]?\s+\S")
_CAPTION = re.compile(
    r"(?:figure|fig\.|table|tab\.|abbildung|abb\.|tabelle|figura|tableau|таблица|рис\.|图|圖|図|表)\s*\d", re.I
)
_HYPHEN_END = re.compile(rf"[^\W\d_][-\u2010{SOFT_HYPHEN}]\Z")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_CJK = re.compile(f"[{UNSPACED}\u3000-\u303f\uff00-\uffef]")
_MARKED = re.compile(f"{RAISED}(\\d+){LOWERED}")
_LEADERS = re.compile(r"(?:\s?[.·…_]){5,}\s?")
_QUOTES = frozenset("\"'“‘«„「『")
"""With which somebody begins to speak, most often in a paragraph of their own."""
_SAME_SIZE = 0.12
_HEADING_SIZE, _NOTE_SIZE = 1.12, 0.93
_LONGEST_HEADING = 200
_LEADING = 1.3
_INDENTED = 0.7


@dataclass(slots=True)
class Paragraph:
    """A paragraph: the parts of its text, each with the number of the page that it is on, counted from nought."""

    kind: Kind
    size: float
    parts: list[tuple[int, str]] = field(default_factory=list)
    label: str = ""

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(text for _, text in self.parts)


class Measures:
    """What is usual in a file: how high its letters are, how far apart its lines, and which words it has."""

    def __init__(self, pages: Sequence[Sequence[Line]]) -> None:
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
        self.body = sizes.most_common(1)[0][0] if sizes else 1.0
        self.leading = leadings.most_common(1)[0][0] if leadings else 1.0
        self.indents = begun > 0 and indented > 0.05 * begun


def paragraphs(pages: Sequence[Sequence[Line]]) -> Iterator[Paragraph]:
    """The paragraphs of a file. Notes come behind the paragraph that goes on over the end of their page."""
    measures = Measures(pages)
    open_one: Paragraph | None = None
    last: Line | None = None
    notes: list[Paragraph] = []
    for page, lines in enumerate(pages):
        body, below = _parted(lines, measures)
        known = {found[1] for line in below if (found := _NOTE.match(line.text))}
        for line, is_table in zip(body, _tables(body), strict=True):
            kind = _kind(line, measures, is_table)
            if open_one is not None and last is not None and _goes_on(open_one, last, line, kind, page, measures):
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


def _parted(lines: Sequence[Line], measures: Measures) -> tuple[Sequence[Line], Sequence[Line]]:
    """The body of a page, and the notes at its foot, which are in smaller letters and begin with a number."""
    at = len(lines)
    while at and lines[at - 1].size < _NOTE_SIZE * measures.body:
        at -= 1
    while at < len(lines) and not _NOTE.match(lines[at].text):
        at += 1
    return lines[:at], lines[at:]


def _notes(lines: Sequence[Line], page: int, measures: Measures) -> list[Paragraph]:
    made: list[Paragraph] = []
    for line in lines:
        if (found := _NOTE.match(line.text)) or not made:
            made.append(Paragraph("note", line.size, label=found[1] if found else ""))
        _extend(made[-1], line, page, set(), measures)
    return made


def _tables(lines: Sequence[Line]) -> list[bool]:
    """Which lines are rows of a table: those with several cells that follow each other."""
    several = [len(line.cells) > 1 and not _LONE_MARK.fullmatch(line.cells[0].text) for line in lines]
    return [
        here and ((at > 0 and several[at - 1]) or (at + 1 < len(several) and several[at + 1]))
        for at, here in enumerate(several)
    ]


def _kind(line: Line, measures: Measures, is_table: bool) -> Kind:
    if is_table:
        return "table"
    if line.size > _HEADING_SIZE * measures.body and any(letter.isalpha() for letter in line.text):
        return "heading"
    if _ITEM.match(line.text):
        return "item"
    return "caption" if _CAPTION.match(line.text) else "text"


def _goes_on(one: Paragraph, last: Line, line: Line, kind: Kind, page: int, measures: Measures) -> bool:
    """Whether a line belongs to the paragraph that the line before it is in."""
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
        return _goes_over(one, last, line, measures)
    return _follows(last, line, page, one, measures) and not _ended(one, last, line)


def _is_no_item(one: Paragraph, last: Line, line: Line) -> bool:
    """Whether a line begins with a number that is the last word of a sentence: "it was Pan House No. / 3. He left"."""
    is_running = one.kind == "text" and not last.text.endswith(":") and not _forced(last, line)
    return is_running and line.text[:1].isdigit() and not _is_indented(line)


def _follows(last: Line, line: Line, page: int, one: Paragraph, measures: Measures) -> bool:
    """Whether a line stands right under another."""
    distance = (last.bottom - line.bottom) / max(line.size, 0.1)
    return one.parts[-1][0] == page and 0 < distance <= _LEADING * max(measures.leading, 0.8)


def _goes_over(one: Paragraph, last: Line, line: Line, measures: Measures) -> bool:
    """The same of the last line of a column or a page, and the first of the next."""
    if not ends_sentence(last.text):
        return True
    if one.kind == "item" or _forced(last, line) or line.text[:1] in _QUOTES:
        return False
    # A sentence that ends with a full line ends a paragraph seldom, as lines of many lengths do.
    return not (measures.indents and _is_indented(line))


def _ended(one: Paragraph, last: Line, line: Line) -> bool:
    """Whether a paragraph ended with the line before: the next begins further in, or would have had room there."""
    if one.kind == "item":
        return line.left < last.left - 1 and line.left <= line.column[0] + 1 and ends_sentence(last.text)
    if _is_indented(line) and not _is_indented(last):
        return True
    if _is_indented(line) and len(one.parts) > 1 and abs(line.left - last.left) > 1:
        return True
    return _forced(last, line)


def _is_indented(line: Line) -> bool:
    return _INDENTED * line.size < line.left - line.column[0] < 5 * line.size


def _forced(last: Line, line: Line) -> bool:
    """Whether a line was ended although the first word of the next would have fitted."""
    room = last.column[1] - last.right
    if room < line.cells[0].first_width + 0.5 * line.size:
        return False
    return ends_sentence(last.text) or last.text.endswith((":", ";")) or room > 0.3 * (last.column[1] - last.column[0])


def _extend(one: Paragraph, line: Line, page: int, known: set[str], measures: Measures) -> None:
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
    """What a line becomes before the next, and what goes between: a divided word is made whole."""
    if not _HYPHEN_END.search(before):
        return before, "" if _CJK.match(after) and _CJK.match(before[-1:]) else " "
    bare = before[:-1]
    if not after[:1].islower():
        return f"{bare}-", ""
    first, second = re.search(r"[^\W\d_]+\Z", bare), re.match(r"[^\W\d_]+", after)
    one, other = (first[0] if first else "").casefold(), (second[0] if second else "").casefold()
    if f"{one}-{other}" in words and one + other not in words:
        return f"{bare}-", ""
    return bare, ""
