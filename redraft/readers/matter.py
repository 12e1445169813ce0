"""Finds front and back matter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from redraft.document import Document, Mark
from redraft.readers.parts import chapters
from redraft.text.sentences import ends_sentence, times_in
from redraft.text.words import count_words

_START = re.compile(
    r"^[ \t]*\*{2,3}[ \t]*START OF (?:THE|THIS) PROJECT GUTENBERG[^\n]*(?:\n[^\n*]+)?\*{0,3}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_END = re.compile(
    r"^[ \t]*(?:\*{2,3}[ \t]*END OF (?:THE|THIS) PROJECT GUTENBERG|End of (?:the )?Project Gutenberg(?:['’]s)?)[^\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_SMALL_PRINT = re.compile(r"^\*END[ *]*THE SMALL PRINT[^\n]*$", re.IGNORECASE | re.MULTILINE)
CREDIT = re.compile(
    r"[\[(\s]*(?:produced|transcribed|prepared|scanned|proofread|digiti[sz]ed|e-?text(?: was)? (?:prepared|produced)"
    r"|html|this (?:e-?text|e-?book|file) was|credits?:|updated editions|distributed proofread)\b",
    re.IGNORECASE,
)
"""The beginnings of lines that credit the makers of a file."""
_CONTENTS = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+)?(?:(?:table of )?contents|list of (?:illustrations|figures|tables|maps|plates)"
    r"|brief contents|inhalt(?:sverzeichnis)?|table des mati[èe]res|sommaire|[íi]ndice(?: general)?|contenido"
    r"|sommario|indice|sum[áa]rio|оглавление|содержание|目次|目录|目錄)[ \t]*[.:]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_INDEX = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+)?(?:(?:[^\W\d]+ ){0,4}index|index of (?:names|subjects|authors|terms)"
    r"|(?:sach|namens|personen|stichwort)(?:register|verzeichnis)|register|[íi]ndice (?:alfab[ée]tico|anal[íi]tico)"
    r"|предметный указатель|索引)[ \t]*[.:]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NOTES = re.compile(
    r"(?:end ?notes|footnotes|notes|anmerkungen|fußnoten|notas|note|примечания|注释|註釋|注)[.:]?\Z", re.IGNORECASE
)
_REFERENCE = re.compile(r"[\s,.…]\(?(?:\d{1,4}|[ivxlcdm]{1,7})[-–\d,;.\s nf*]*\)?\Z", re.IGNORECASE)
_PARAGRAPH = re.compile(r"(?<=\n)[ \t]*\S[^\n]*(?:\n[ \t]*\S[^\n]*)*")
_NOTE_NUMBER = re.compile(r"\[(?:\d{1,4}|[*†‡])\]\Z")
_NUMBERED_ENTRY = re.compile(
    r"((?:(?:chapter|part|book|volume|section|letter|kapitel|teil|chapitre|cap[íi]tulo|capitolo|глава)[ \t]+)"
    r"(?:\d{1,3}|[ivxlcdm]{1,7}|[a-z]{3,9})|\d{1,3}|[ivxlcdm]{1,7})(?:[ \t]*[.:)—–-]|[ \t]|$)",
    re.IGNORECASE,
)
_NUMBER_ALONE = re.compile(
    r"^[ \t]*(?:(?:chapter|part|book|volume|letter)[ \t]+)?(?:\d{1,3}|[ivxlcdm]{1,7})[.:]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_LINE = re.compile(r"^[^\n]+", re.MULTILINE)
_MAX_LINES = 300
_LONGEST_ENTRY, _MAX_WORDS, _LONGEST_SYNOPSIS = 110, 16, 800
_NEAR = 4
_END_OF_LINE = 60
_MIN_ENTRIES, _MIN_INDEX_ENTRIES = 3, 8
_IN_INDEX = 0.6
_LAST_PART = 0.6
_MAX_FRONT_SHARE = 0.3
"""The greatest share of a text that is taken for front matter."""
_MAX_BEFORE, _MAX_AFTER = 15_000, 30_000
"""The farthest end of a licence notice from the beginning in characters, and the farthest start from the end.

Both notices are shorter; the same phrases elsewhere separate the books of one file.
"""


def recognised(document: Document) -> Document:
    """Return the document with marks on its front and back matter, in addition to those of its file."""
    text = document.text
    around: list[Mark] = []
    start = _START.search(text, 0, _MAX_BEFORE) or _SMALL_PRINT.search(text, 0, _MAX_BEFORE)
    if start:
        at = start.end()
        for paragraph in _PARAGRAPH.finditer(text, at):
            if not CREDIT.match(paragraph[0]):
                break
            at = paragraph.end()
        around.append(Mark(0, at, "gutenberg"))
    if end := _END.search(text, max(start.end() if start else len(text) // 2, len(text) - _MAX_AFTER)):
        around.append(Mark(end.start(), len(text), "gutenberg"))

    inner_end = next((mark.start for mark in around if mark.end == len(text) and mark.start), len(text))
    notes = (Mark(*section.span, "notes") for section in document.sections if _NOTES.match(section.title))
    marks = {*document.marks, *around, *_contents(document), *_index(text, inner_end), *notes}
    if not any(mark.kind in ("page", "time") for mark in document.marks):
        marks.update(times_in(text))
    begin = max((mark.end for mark in around if not mark.start), default=0)
    # What precedes the first of several chapters, if it is short.
    starts = [section.span.start for _, section in chapters(document)]
    is_short = len(starts) > 1 and begin < starts[0] < begin + _MAX_FRONT_SHARE * (len(text) - begin)
    if is_short and not any(mark.kind == "front" for mark in marks):
        marks.add(Mark(begin, starts[0], "front"))
    return replace(document, marks=tuple(sorted(marks)))


def _contents(document: Document) -> Iterator[Mark]:
    """Yield marks on tables of contents: those below such a heading, or without one, the first list of numbered titles
    that recur as separate lines, at the beginning."""
    text, after = document.text, 0
    begins = {section.span.start for section in document.sections}
    headings = list(_CONTENTS.finditer(text))
    alone = {_key(match[0]) for match in _NUMBER_ALONE.finditer(text)} if headings else set()
    for heading in headings:
        if heading.start() >= after and (end := _end_of_contents(text, heading.end(), begins, alone)):
            after = end
            yield Mark(heading.start(), after, "contents")

    start = count = stop = 0
    for line in islice(_LINE.finditer(text, 0, min(len(text) // 2, _MAX_BEFORE)), 0 if after else _MAX_LINES):
        title = _REFERENCE.sub("", line[0][-_END_OF_LINE:]).strip()
        if _NUMBERED_ENTRY.match(line[0].strip()) and text.find(f"\n{title}\n", line.end()) >= 0:
            start, count, stop = start if count else line.start(), count + 1, line.end()
        elif count >= _MIN_ENTRIES and line[0].strip():
            yield Mark(start, stop, "contents")
            return
        elif line[0].strip():
            count = 0


def _end_of_contents(text: str, start: int, begins: set[int], alone: set[str]) -> int:
    """Return where the entries of a table of contents end; zero if there are too few.

    They end where an entry recurs as the title of its chapter, or at a sentence or a Markdown heading.
    """
    entries: set[str] = set()
    ends: list[tuple[int, int]] = []
    recurs = False
    for paragraph in _PARAGRAPH.finditer(text, start):
        lines: list[str] = []
        margin = 0
        for line in paragraph[0].split("\n"):
            indent = len(line) - len(line.lstrip())
            # An indented line continues an entry without a page number.
            if lines and indent > margin and not _has_reference(lines[-1]) and not _NUMBERED_ENTRY.match(line.strip()):
                lines[-1] += f" {line.strip()}"
            else:
                lines.append(line.strip())
                margin = indent
        keys, matches = list(map(_key, lines)), map(_NUMBERED_ENTRY.match, lines)
        numbers = [_key(match[1]) if match else "" for match in matches]

        # An entry that recurs begins its chapter if a sentence follows, and not the rest of a list.
        if not entries.isdisjoint(keys):
            following = islice(_PARAGRAPH.finditer(text, paragraph.end()), _NEAR)
            recurs = not all(_is_short_entry(line) for part in following for line in part[0].split("\n"))
        is_title = lines[0].startswith("#") or _CONTENTS.match(paragraph[0]) is not None
        # An entry is short, or its number also occurs alone as a heading.
        are_entries = all(
            _is_short_entry(line) or (len(line) <= _LONGEST_SYNOPSIS and number in alone)
            for line, number in zip(lines, numbers, strict=True)
        )
        if recurs or is_title or not are_entries:
            break
        entries.update(filter(None, (*keys, *numbers)))
        ends.append(paragraph.span())
    else:
        return 0
    while not recurs and len(ends) > 1 and ends[-1][0] in begins and not _has_reference(text[slice(*ends[-1])]):
        # The title of the first chapter, which the contents omit or word differently.
        ends.pop()
    return ends[-1][1] if len(entries) >= _MIN_ENTRIES and ends else 0


def _is_short_entry(line: str) -> bool:
    if _has_reference(line):
        return len(line) <= 2 * _LONGEST_ENTRY
    words, bare = count_words(line), _NOTE_NUMBER.sub("", line)
    is_sentence = count_words(bare) > 6 and bare[:1].isalpha() and bare != bare.upper() and ends_sentence(bare)
    return len(line) <= _LONGEST_ENTRY and words <= _MAX_WORDS and not is_sentence


def _has_reference(line: str) -> bool:
    """Return whether a line ends with a page number; only its end is examined, however long it is."""
    return bool(_REFERENCE.search(line[-_END_OF_LINE:]))


def _key(line: str) -> str:
    """Return an entry without its page number, to find it again at the beginning of its chapter."""
    return re.sub(r"\W+", " ", _REFERENCE.sub("", line)).strip().casefold() or line


def _index(text: str, end: int) -> Iterator[Mark]:
    for heading in _INDEX.finditer(text, int(_LAST_PART * end), end):
        following = re.search(r"^#{1,6} ", text[heading.end() : end], re.MULTILINE)
        stop = heading.end() + following.start() if following else end
        lines = [line.strip() for line in text[heading.end() : stop].split("\n") if len(line.strip()) > 1]
        references = sum(1 for line in lines if _has_reference(line))
        if len(lines) >= _MIN_INDEX_ENTRIES and references >= _IN_INDEX * len(lines):
            yield Mark(heading.start(), stop, "index")
            return
