"""Parts of a document: its chapters, the selection to be read, and the parts that are summarized separately."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import NamedTuple

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


_MAX_FRONT_SHARE = 0.3
"""The greatest share of a text that is taken for front matter."""


class ChapterSection(NamedTuple):
    """A chapter and its number: the printed one, else its position."""

    number: int
    section: DocumentSection


def chapters(document: Document) -> list[ChapterSection]:
    """Return the chapters in order: the sections with chapter titles, else those of the outermost level."""
    for pattern in (_NAMED, _NUMBERED):
        titles = [section for section in document.sections if pattern is _NAMED or section.title != document.title]
        matches = [(section, pattern.match(section.title)) for section in titles]
        numbered = [(section, number_of(next(filter(None, match.groups())))) for section, match in matches if match]
        level = Counter(section.level for section, number in numbered if number is not None).most_common(1)
        alike = [
            (section, number) for section, number in numbered if number is not None and section.level == level[0][0]
        ]
        if len(alike) > 1 or (alike and pattern is _NAMED):
            numbers = [number for _, number in alike]
            as_printed = len(set(numbers)) == len(numbers)
            return [
                ChapterSection(number if as_printed else at, section) for at, (section, number) in enumerate(alike, 1)
            ]
    return [ChapterSection(at, section) for at, section in enumerate(_outermost(document), 1)]


def before_chapters(document: Document, begin: int) -> Span | None:
    """Return what precedes the first chapter after `begin`, if there are several chapters and it is short."""
    starts = [section.section.span.start for section in chapters(document)]
    short = len(starts) > 1 and begin < starts[0] < begin + _MAX_FRONT_SHARE * (len(document.text) - begin)
    return Span(begin, starts[0]) if short else None


def names_document(title: str, others_of_level: int) -> bool:
    """Return whether the first heading of a document is its title, and not that of a chapter or a preface.

    `others_of_level` is the number of other headings of its level: a number alone is a chapter only among others.
    """
    match = _NAMED.match(title)
    if match and number_of(next(filter(None, match.groups()))) is not None:
        return False
    return not (others_of_level and (_NUMBERED.match(title) or _OTHER.fullmatch(title)))


def _outermost(document: Document) -> Sequence[DocumentSection]:
    """Return the sections of the outermost level that has several, without prefaces and the like."""
    for level in sorted({section.level for section in document.sections}):
        sections = [
            section for section in document.sections if section.level == level and section.title != document.title
        ]
        if len(sections) > 1:
            return [section for section in sections if not _OTHER.match(section.title)]
    return []


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
    return _roman(plain) or _kanji(plain)


def _roman(text: str) -> int | None:
    if not text or set(text) - _ROMAN.keys():
        return None
    values = [_ROMAN[letter] for letter in text]
    return sum(
        -value if any(later > value for later in values[at + 1 : at + 2]) else value for at, value in enumerate(values)
    )


def _kanji(text: str) -> int | None:
    if not text or set(text) - _KANJI.keys():
        return None
    tens, mark, ones = text.partition("十")
    if not mark:
        return _KANJI[text] if len(text) == 1 else None
    return 10 * (_KANJI.get(tens, 1)) + _KANJI.get(ones, 0)


_BETWEEN = "\n\n"


def without(document: Document, stretches: Iterable[Span]) -> Document:
    """Return the document without some spans."""
    spans: list[Span] = []
    at = 0
    for start, end in sorted(stretches):
        spans.append(Span(at, max(at, start)))
        at = max(at, end)
    return only(document, [*spans, Span(at, len(document.text))])


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
    if NOTHING in kinds:
        return Selection(chapters, pages, tuple(kind for kind in MATTER if kind in kinds), language, partial)
    skipped = tuple(kind for kind in MATTER if kind in kinds or kind in USUALLY_SKIPPED)
    return Selection(chapters, pages, skipped, language, partial)


def select(document: Document, selection: Selection) -> Document:
    """Return the wanted part of a document, with notes on what is left out."""
    notes = [*document.notes]
    for what, ranges, spans_of in (("chapter", selection.chapters, _chapters), ("page", selection.pages, _pages)):
        if ranges:
            document = only(document, spans_of(document, ranges))
            several = "s" if any(mark in ranges for mark in ",-") else ""
            notes.append(f"reading {what}{several} {ranges} only")
    rest, omissions = _skipped(document, selection.skip)
    return replace(rest, notes=(*notes, *omissions))


def _skipped(document: Document, kinds: Sequence[MarkKind]) -> tuple[Document, list[str]]:
    spans: list[Span] = []
    words: Counter[MarkKind] = Counter()
    for mark in document.marks:
        kind: MarkKind = "notes" if mark.kind == "note" else mark.kind
        if kind in kinds:
            spans.append(Span(mark.start, mark.end))
            words[kind] += count_words(document.text[mark.start : mark.end])
    if not spans:
        return document, []
    rest = without(document, spans)
    if not has_words(rest.text):
        return document, []
    omissions = [f"{MATTER[kind]} ({count:,} words)" for kind, count in words.items() if count]
    return rest, [f"left out: {', '.join(omissions)}"] if omissions else []


def _chapters(document: Document, ranges: str) -> list[Span]:
    sections = chapters(document)
    if not sections:
        raise UsageError("the document has no chapters", fix=(*_SECTIONS, " for its sections"))
    holds = _ranges("chapters", ranges)
    spans = [section.section.span for section in sections if holds(section.number)]
    if not spans:
        first, last = min(section.number for section in sections), max(section.number for section in sections)
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


class NamedPart(NamedTuple):
    """A part of a document and its title."""

    title: str
    span: Span


def split_document(document: Document) -> list[NamedPart]:
    """Return the parts that cover a document in order: the documents it was combined from, else its chapters.

    What surrounds chapters, such as an introduction, is a part as well. Raises if there is only one part.
    """
    bounds = [*(mark.start for mark in document.members), len(document.text)]
    spans = (Span(*bound) for bound in pairwise(bounds))
    members = [NamedPart(mark.label, span) for mark, span in zip(document.members, spans, strict=True)]
    named_parts = _long_enough(document.text, members or list(_chapter_stretches(document)))
    if len(named_parts) < 2:
        raise UsageError(
            "no chapters are found in the document",
            fix=(*_SECTIONS, " for its sections; without ", Set("by_chapter"), " it is summarized as a whole"),
        )
    return named_parts


def _chapter_stretches(document: Document) -> Iterator[NamedPart]:
    chapter_sections = [section.section for section in chapters(document)]
    if not chapter_sections:
        return
    level = chapter_sections[0].level
    # Chapters follow, so that their titles count where another section begins at the same place.
    sections = [*(section for section in document.sections if section.level == level), *chapter_sections]
    titles = {section.span.start: section.title for section in sections}
    # A span outside of these sections is before the first one, or after one that ends.
    bounds = sorted({0, len(document.text), *titles, *(section.span.end for section in sections)})
    before = ""
    for start, end in pairwise(bounds):
        within = (section.title for section in document.sections if start <= section.span.start < end)
        inner = next((title for title in within if title != document.title), "")
        yield NamedPart(titles.get(start) or inner or (_AFTER.format(before) if before else _FRONT), Span(start, end))
        before = titles.get(start, before)


def _long_enough(text: str, parts: list[NamedPart]) -> list[NamedPart]:
    """Return the parts, each one with hardly any text joined to the next, or at the end to the previous one."""
    named_parts: list[NamedPart] = []
    start: int | None = None
    for title, span in parts:
        extent = Span(span.start if start is None else start, span.end)
        if count_words(text[slice(*span)]) >= _MIN_WORDS:
            named_parts.append(NamedPart(title, extent))
            start = None
        else:
            start = extent.start
    if start is not None and named_parts:
        named_parts[-1] = NamedPart(named_parts[-1].title, Span(named_parts[-1].span.start, len(text)))
    return named_parts
