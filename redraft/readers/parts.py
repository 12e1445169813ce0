"""Parts of a document: its chapters, the selection to be read, and the parts that are summarized separately."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from redraft.document import Document, DocumentSection, MarkKind, Span, content_id
from redraft.errors import RunCommand, Set, UsageError
from redraft.text.languages import primary
from redraft.text.words import count_words, has_words

_SECTIONS = ("see ", RunCommand("read", more=("FILE",)))
_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth twentieth"
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_IN_WORDS = {word: at for lot in (_WORDS, _ORDINALS) for at, word in enumerate(lot.split(), 1)} | _TENS
_NAMED = re.compile(
    r"(?:chapter|kapitel|chapitre|cap[íi]tulo|capitolo|hoofdstuk|rozdział|kapitola|глава|stave|canto)\s+(?:the\s+)?"
    r"([\w-]+)|第([\d一二三四五六七八九十百]+)[章回]",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(\d{1,3}|[IVXLC]{1,7})(?:[.:)—–-]?\s|[.:)—–-]?\Z)")
_OTHER = re.compile(
    r"(?:(?:table of )?contents|index|notes|endnotes|footnotes|appendix.*|preface|foreword|introduction|prologue"
    r"|epilogue|afterword|acknowledge?ments|dedication|bibliography|references|glossary|copyright|about the author"
    r"|conclusion)\b",
    re.IGNORECASE,
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_KANJI = {sign: at for at, sign in enumerate("一二三四五六七八九十", 1)}


def chapters(document: Document) -> list[tuple[int, DocumentSection]]:
    """Return the chapters in order, each with its number, the printed one or else its position: the sections with
    chapter titles, else those of the outermost level that has several, without prefaces and the like."""
    inner = [section for section in document.sections if section.title != document.title]
    for pattern in (_NAMED, _NUMBERED):
        titles = document.sections if pattern is _NAMED else inner
        matches = [(section, pattern.match(section.title)) for section in titles]
        numbered = [(section, number_of(next(filter(None, match.groups())))) for section, match in matches if match]
        level = Counter(section.level for section, number in numbered if number is not None).most_common(1)
        alike = [
            (number, section) for section, number in numbered if number is not None and section.level == level[0][0]
        ]
        if len(alike) > 1 or (alike and pattern is _NAMED):
            as_printed = len({number for number, _ in alike}) == len(alike)
            return alike if as_printed else [(at, section) for at, (_, section) in enumerate(alike, 1)]
    for depth in sorted({section.level for section in document.sections}):
        sections = [section for section in inner if section.level == depth]
        if len(sections) > 1:
            return list(enumerate((section for section in sections if not _OTHER.match(section.title)), 1))
    return []


def names_document(title: str, others_of_level: int) -> bool:
    """Return whether the first heading of a document is its title, and not that of a chapter or a preface.

    `others_of_level` is the number of other headings of its level: a number alone is a chapter only among others.
    """
    match = _NAMED.match(title)
    if match and number_of(next(filter(None, match.groups()))) is not None:
        return False
    return not (others_of_level and (_NUMBERED.match(title) or _OTHER.fullmatch(title)))


def number_of(text: str) -> int | None:
    """Return the number that a text stands for, in digits, Roman or Chinese numerals or English words; None if it is
    none."""
    plain = text.casefold().strip()
    if plain.isascii() and plain.isdigit():
        return int(plain) if len(plain) < 6 else None
    if plain in _IN_WORDS:
        return _IN_WORDS[plain]
    tens, _, ones = plain.partition("-")
    if tens in _TENS and ones in _IN_WORDS:
        return _TENS[tens] + _IN_WORDS[ones]
    if plain and not set(plain) - _ROMAN.keys():
        values = [_ROMAN[letter] for letter in plain]
        following = [*values[1:], 0]
        return sum(-value if after > value else value for value, after in zip(values, following, strict=True))
    if not plain or set(plain) - _KANJI.keys():
        return None
    tens, mark, ones = plain.partition("十")
    if not mark:
        return _KANJI[plain] if len(plain) == 1 else None
    return 10 * _KANJI.get(tens, 1) + _KANJI.get(ones, 0)


_BETWEEN = "\n\n"


def only(document: Document, stretches: Iterable[Span]) -> Document:
    """Return a document that consists of some spans of this one, with a blank line for what is left out."""
    text = document.text
    pieces: list[Span] = []
    for start, end in sorted(stretches):
        part = text[start:end]
        start, end = start + len(part) - len(part.lstrip()), start + len(part.rstrip())
        if pieces and not text[pieces[-1].end : start].strip():
            pieces[-1] = Span(pieces[-1].start, max(pieces[-1].end, end))
        elif start < end:
            pieces.append(Span(start, end))
    begins = [0, *accumulate(end - start + len(_BETWEEN) for start, end in pieces)]

    def moved(span: Span) -> Span | None:
        """Return the new span of a span, or of what is kept of it; None if nothing is."""
        first = bisect_right(pieces, span.start, key=lambda piece: piece.end)
        last = bisect_right(pieces, span.end - 1, key=lambda piece: piece.start) - 1
        if first > last:
            return None
        start = max(span.start, pieces[first].start) - pieces[first].start + begins[first]
        end = min(span.end, pieces[last].end) - pieces[last].start + begins[last]
        return Span(start, end) if end > start else None

    text = _BETWEEN.join(text[start:end] for start, end in pieces)
    sections = (replace(section, span=span) for section in document.sections if (span := moved(section.span)))
    spans = ((mark, moved(Span(mark.start, mark.end))) for mark in document.marks)
    marks = (mark._replace(start=span.start, end=span.end) for mark, span in spans if span)
    return replace(document, id=content_id(text), text=text, sections=tuple(sections), marks=tuple(marks))


MATTER: dict[MarkKind, str] = {
    "gutenberg": "the notices of Project Gutenberg",
    "front": "the text before its first chapter",
    "contents": "its table of contents",
    "notes": "its notes",
    "index": "its index",
}
"""What may surround a text, in words."""
USUALLY_SKIPPED: tuple[MarkKind, ...] = ("gutenberg", "contents", "index")
"""What is left out by default."""
NOTHING = "none"
_RANGE = re.compile(r"\s*(\w+)\s*(?:([-–:])\s*(\w*))?\s*\Z")
_LAST = 10**9


@dataclass(frozen=True, slots=True)
class Selection:
    """What to read of a document: ranges of chapters and pages as people write them, and what to leave out.

    Also its language, such as `de`, if known beforehand.
    """

    chapters: str = ""
    pages: str = ""
    skip: tuple[MarkKind, ...] = USUALLY_SKIPPED
    language: str = ""
    partial: bool = False
    """Whether a damaged file is read even if more than a tenth of it is missing."""


def read_selection(
    chapters: str = "", pages: str = "", skip: Collection[str] = (), language: str = "", *, partial: bool = False
) -> Selection:
    """Return a selection; `skip` adds to the defaults, and `none` removes them."""
    if language and not primary(language):
        raise UsageError(f"{language!r} is not a language", hint="give a code of ISO 639, such as de, ja or pt-BR")
    kinds = [kind.strip() for part in skip for kind in part.split(",") if kind.strip()]
    if unknown := [kind for kind in kinds if kind not in MATTER and kind != NOTHING]:
        raise UsageError(f"skip: there is no {unknown[0]!r}", hint=f"name some of {', '.join(MATTER)}, or {NOTHING}")
    skipped = kinds if NOTHING in kinds else [*kinds, *USUALLY_SKIPPED]
    return Selection(chapters, pages, tuple(kind for kind in MATTER if kind in skipped), language, partial)


def select(document: Document, selection: Selection) -> Document:
    """Return the wanted part of a document, with notes on what is left out."""
    notes = [*document.notes]
    for what, ranges, spans_of in (("chapter", selection.chapters, _chapters), ("page", selection.pages, _pages)):
        if ranges:
            document = only(document, spans_of(document, ranges))
            several = "s" if any(mark in ranges for mark in ",-") else ""
            notes.append(f"reading {what}{several} {ranges} only")

    spans: list[Span] = []
    words: Counter[MarkKind] = Counter()
    for mark in document.marks:
        kind: MarkKind = "notes" if mark.kind == "note" else mark.kind
        if kind in selection.skip:
            spans.append(Span(mark.start, mark.end))
            words[kind] += count_words(document.text[mark.start : mark.end])
    # What is between the spans, which may overlap, and after them.
    between, at = list[Span](), 0
    for start, end in sorted(spans):
        between.append(Span(at, max(at, start)))
        at = max(at, end)
    rest = only(document, [*between, Span(at, len(document.text))]) if spans else document
    if spans and has_words(rest.text):
        document = rest
        omissions = [f"{MATTER[kind]} ({count:,} words)" for kind, count in words.items() if count]
        notes += [f"left out: {', '.join(omissions)}"] if omissions else []
    return replace(document, notes=tuple(notes))


def _chapters(document: Document, ranges: str) -> list[Span]:
    numbered = chapters(document)
    if not numbered:
        raise UsageError("the document has no chapters", fix=(*_SECTIONS, " for its sections"))
    holds = _ranges("chapters", ranges)
    spans = [section.span for number, section in numbered if holds(number)]
    if not spans:
        first, last = min(number for number, _ in numbered), max(number for number, _ in numbered)
        existing = f"its chapters are {first} to {last}" if first != last else f"its only chapter is {first}"
        raise UsageError(f"chapters {ranges}: {existing}", fix=_SECTIONS)
    return spans


def _pages(document: Document, ranges: str) -> list[Span]:
    marks = [mark for mark in document.marks if mark.kind == "page"]
    if not marks:
        raise UsageError("the document has no pages", fix=("give ", Set("chapters"), ", or ", *_SECTIONS))
    holds = _ranges("pages", ranges)
    in_figures = any(part[:1].isdigit() for part in re.split(r"\W+", ranges) if part)
    spans = [
        Span(mark.start, mark.end)
        for mark in marks
        if mark.label[:1].isdigit() == in_figures and (number := number_of(mark.label)) is not None and holds(number)
    ]
    if not spans:
        raise UsageError(
            f"pages {ranges}: its pages are {marks[0].label} to {marks[-1].label}",
            hint="give them as they are printed",
        )
    return spans


def _ranges(option: str, text: str) -> Callable[[int], bool]:
    """Return a test of whether a number is in the given ranges, such as `3`, `3-12`, `3-` or `1,4-6`."""
    ranges: list[tuple[int, int]] = []
    for part in text.split(","):
        match = _RANGE.match(part)
        first = number_of(match[1]) if match else None
        last = None
        if match:
            last = first if not match[2] else _LAST if not match[3] else number_of(match[3])
        if first is None or last is None or last < first:
            raise UsageError(f"{option}: {part.strip()!r} is not a range", hint="write it as 3-12, or 1,4-6, or 3-")
        ranges.append((first, last))
    return lambda number: any(first <= number <= last for first, last in ranges)


_MIN_WORDS = 40
"""The fewest words of a part; a shorter one, such as a title page, is joined to the next."""
_FRONT, _AFTER = "Before the first chapter", "After {}"


def split_document(document: Document) -> list[DocumentSection]:
    """Return the parts that cover a document in order: the documents it was combined from, else its chapters.

    What surrounds chapters, such as an introduction, is a part as well, and one with hardly any text is joined to the
    next, or at the end to the previous one. Raises if there is only one part.
    """
    numbered = [section for _, section in chapters(document)]
    # Chapters follow, so that their titles count where another section begins at the same place.
    sections = [section for section in document.sections if numbered and section.level == numbered[0].level] + numbered
    titles = {section.span.start: section.title for section in sections}
    ends = {section.span.end for section in sections}
    if document.members:
        titles, ends = {mark.start: mark.label for mark in document.members}, set()
    # A span outside of these sections is before the first one, or after one that ends.
    bounds = sorted({0, len(document.text), *titles, *ends}) if titles else []

    parts: list[DocumentSection] = []
    start, before = 0, ""
    for begin, end in pairwise(bounds):
        within = (section.title for section in document.sections if begin <= section.span.start < end)
        inner = next((title for title in within if title != document.title), "")
        title = titles.get(begin) or inner or (_AFTER.format(before) if before else _FRONT)
        before = titles.get(begin, before)
        if count_words(document.text[begin:end]) >= _MIN_WORDS:
            parts.append(DocumentSection(title, 1, Span(start, end)))
            start = end
    if parts:
        parts[-1] = replace(parts[-1], span=Span(parts[-1].span.start, len(document.text)))
    if len(parts) < 2:
        raise UsageError(
            "no chapters are found in the document",
            fix=(*_SECTIONS, " for its sections; without ", Set("by_chapter"), " it is summarized as a whole"),
        )
    return parts
