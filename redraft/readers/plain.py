"""Text files: their encoding and what could not be decoded, and the headings and title of plain text and Markdown."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from charset_normalizer import from_bytes

from redraft.document import Document, Mark
from redraft.errors import DocumentError
from redraft.readers.builder import Heading, ReadText
from redraft.readers.parts import chapters, names_document
from redraft.text.sanitizer import clean_with_notes
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


_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The first bytes of files that are not text.
_FOREIGN = {
    b"%PDF": "a PDF file",
    b"PK\x03\x04": "a zip archive (an EPUB or DOCX file is one)",
    b"\x1f\x8b": "a gzip archive",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"{\\rtf": "an RTF file",
    b"\xd0\xcf\x11\xe0": "an old Office file",
}
# Begins other letters in the 7-bit encodings of old Asian e-mails, which are not read. No terminal escape begins so.
_ISO_2022 = re.compile(rb"\x1b\$(?:[@AB]|[()][A-Q])")
_DETECTION_BYTES = 200_000
_WESTERN = "cp1252"
_UNREADABLE = "\ufffd"
_HAS_NUL, _AS_UTF8 = "the text contains NUL characters", "save it as UTF-8 text first"


def decode(data: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the text in the bytes of the file of this name, its original encoding, and notes on decoding it; raise if
    it is not a text file."""
    for magic, what in _FOREIGN.items():
        if data.startswith(magic):
            raise DocumentError(f"this is {what}, not text", place=name, hint="convert it to .txt or .md first")
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError:
                break
            if "\x00" in text:
                raise DocumentError(_HAS_NUL, place=name, hint=_AS_UTF8)
            return text, encoding, ()
    if b"\x00" in data:
        raise DocumentError("the file contains NUL bytes and is not a text file", place=name, hint=_AS_UTF8)
    if data.isascii() and _ISO_2022.search(data):
        raise DocumentError("the file is in an unknown encoding", place=name, hint=_AS_UTF8)
    return _decode_unmarked(data, name)


def _decode_unmarked(data: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the text if it is UTF-8, possibly with a few damaged bytes, or else in a legacy encoding; raise for a
    binary file, which no encoding turns into prose."""
    try:
        return data.decode("utf-8"), "utf-8", ()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    text = data.decode("utf-8", "replace")
    damaged = text.count(_UNREADABLE)
    intact = len(text) - len(text.encode("ascii", "ignore")) - damaged
    if damaged * 20 <= intact:
        lost = damaged - data.count(_UNREADABLE.encode())
        places = "1 place is" if lost == 1 else f"{lost:,} places are"
        return text, "utf-8", (f"the encoding changes: {places} not UTF-8, the first of them in line {line:,}",)

    head = data[:_DETECTION_BYTES]
    encoding = _detect(head)
    if encoding is None and len(data) > _DETECTION_BYTES:
        # The cut may have split a character; a line end is never part of one.
        encoding = _detect(data[: data.rfind(b"\n", 0, _DETECTION_BYTES) + 1])
    controls = sum(1 for byte in head if byte < 0x20 and byte not in b"\t\n\r\f\x1b")
    if encoding is None or controls > 0.02 * len(head):
        raise DocumentError("the file is binary, or in an unknown encoding", place=name, hint=_AS_UTF8)
    text = data.decode(encoding, "replace")
    lost = text.count(_UNREADABLE)
    places = "1 place is" if lost == 1 else f"{lost:,} places are"
    return text, encoding, (f"the text was read as {encoding}, but {places} not",) if lost else ()


def _detect(data: bytes) -> str | None:
    """Return the likeliest encoding; among equally good ones cp1252, which is by far the most common."""
    matches = from_bytes(data)
    best = matches.best()
    if best is None:
        return None
    western = [match for match in matches if _WESTERN in match.could_be_from_charset]
    equal = any(match.chaos <= best.chaos and match.coherence >= best.coherence for match in western)
    return _WESTERN if equal else best.encoding


_NUMBER = (
    r"(?:the[ \t]+)?(?:\d{1,4}|[ivxlcdm]{1,9}|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|first|second|third|fourth"
    r"|fifth|sixth|seventh|eighth|ninth|tenth|last)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)\b"
)
_NUMBERED = r"(?:chapter|book|part|volume|act|scene|section|letter|canto|stave|interlude|appendix)"
_UNNUMBERED = r"(?:prologue|epilogue|introduction|preface|foreword|afterword|appendix|interlude|conclusion)"
# A title may follow on the same line after a punctuation mark, or in capitals, or alone on the next line.
_PLAIN_HEADING = re.compile(
    rf"(?:\A|^[ \t]*\n)[ \t]*((?:\#{{1,6}}[ \t]+)?"
    rf"(?:(?:(?i:{_NUMBERED}[ \t]+{_NUMBER})(?:[ \t]*[.:—–-][^\n]{{0,80}}|[ \t]+[^a-z\n]{{1,80}})?"
    rf"|(?i:{_UNNUMBERED})(?:[ \t]*[:—–-][^\n]{{0,80}}|\.)?)(?:[ \t]*\n[ \t]*[^\W_][^\n]{{0,58}}[^\s.,;:!?\"'”’])?"
    r"|[IVXLCDM]{1,7}\.?|\d{1,3}\.?))[ \t]*(?=\n[ \t]*\n)",
    re.MULTILINE,
)
_OUTER_HEADING = re.compile(r"(?i)(?:book|part|volume|act)\b")

_TITLE_LINE = re.compile(
    r"([^\s\"'“”„‘’«»‹›「『][^\n]{0,78}(?<![.!?,;:。！？\s]))[ \t]*(?:\n[ \t]*by\b[^\n]*)?(?=\n[ \t]*\n|\s*\Z)",
    re.IGNORECASE,
)
"""A line before a blank one, or before its author: no sentence, and no speech."""

_WRAPPED, _FEW = 160, 3
"""Wrapped lines are shorter than this; a text with a few longer lines is not wrapped."""
_HEADER = 5_000
_GUTENBERG_TITLE = re.compile(r"^Title:[ \t]*([^\n]+(?:\n[ \t]+[^\n]+){0,3})", re.MULTILINE)
_ATX_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+([^\n]+)$", re.MULTILINE)
# An underline below a list item, a quotation, a table row or a paragraph of several lines is a rule, not a heading.
_SETEXT_HEADING = re.compile(
    r"(?:\A|(?<=\n\n)) {0,3}(?![-*+>|#] |\d+[.)] )(\S[^\n]{0,200})\n {0,3}(={2,}|-{2,})[ \t]*$", re.MULTILINE
)
# Front matter, and fenced code, which lasts to the end of the text if it is not closed.
_NO_PROSE = re.compile(
    r"\A---\n.*?\n(?:---|\.\.\.)$|^ {0,3}(```+|~~~+)[^\n]*(?:\n(?:.*?^ {0,3}\1[`~]*[ \t]*$)|.*\Z)",
    re.MULTILINE | re.DOTALL,
)


def read_plain(data: bytes, name: str, markdown: bool = True) -> ReadText:
    """Return the content of the text file of this name; headings are those of Markdown, or lines of plain text.

    The title is the first top-level Markdown heading, else that in a Project Gutenberg header, else a short first line
    of its own; empty if there is none. A chapter's heading, or a line that credits the file's makers, is not a title.
    """
    raw, encoding, raw_notes = decode(data, name)
    text, notes = clean_with_notes(raw)
    lines = [] if markdown else text.strip().split("\n")
    # Each line may be a paragraph, as word processors export them.
    has_few_blanks = sum(not line.strip() for line in lines) * 10 <= len(lines)
    if has_few_blanks and sum(len(line) > _WRAPPED for line in lines) >= _FEW:
        text = "\n\n".join(line for line in lines if line.strip())
    headings = tuple(heading for heading in _headings(text, markdown) if heading.title)

    title, header, begin = "", text[:_HEADER], len(text) - len(text.lstrip())
    outer = [heading for heading in headings if heading.level == 1]
    is_headed = bool(headings) and headings[0].at <= begin
    line = None if markdown or is_headed else _TITLE_LINE.match(text, begin)
    if markdown and outer and outer[0] == headings[0] and names_document(outer[0].title, len(outer) - 1):
        title = outer[0].title
    elif "Project Gutenberg" in header and (match := _GUTENBERG_TITLE.search(header)):
        title = match[1]
    elif line and not CREDIT.match(line[1]):
        title = line[1]
    return ReadText("", title, text, headings=headings, notes=(*raw_notes, *notes), encoding=encoding)


def _headings(text: str, markdown: bool) -> Iterator[Heading]:
    """Yield the headings of Markdown that are not in code, or those of plain text."""
    if not markdown:
        for match in _PLAIN_HEADING.finditer(text):
            title = match.group(1).lstrip("# \t").strip()
            yield Heading(match.start(1), 1 if _OUTER_HEADING.match(title) else 2, title)
        return
    headings = [
        Heading(match.start(), 1 if match[2].startswith("=") else 2, match[1].strip())
        for match in _SETEXT_HEADING.finditer(text)
    ]
    for match in _ATX_HEADING.finditer(text):
        title = match[2].rstrip(" \t")
        bare = title.rstrip("#")
        headings.append(Heading(match.start(), len(match[1]), (title if bare[-1:].strip() else bare).strip()))
    code = [match.span() for match in _NO_PROSE.finditer(text)]
    current = 0
    for heading in sorted(headings):
        while current < len(code) and code[current][1] <= heading.at:
            current += 1
        if current == len(code) or heading.at < code[current][0]:
            yield heading


def read_given(document: Document, name: str) -> ReadText:
    """Return the content of a document that was made elsewhere, with its text sanitized.

    The sections are those of the Markdown headings, unless it has sections or marks and its text is as it was.
    """
    if "\x00" in document.text:
        raise DocumentError(_HAS_NUL, place=name, hint=_AS_UTF8)
    content = read_plain(document.text.encode("utf-8", "replace"), name)
    title, notes = document.title.strip() or content.title, (*document.notes, *content.notes)
    if (document.sections or document.marks) and content.text == document.text:
        content = replace(content, sections=document.sections, marks=document.marks)
    return replace(content, title=title, language=document.language, notes=notes)
