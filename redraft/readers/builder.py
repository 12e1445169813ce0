"""The result of a reader: a text with its headings and marks, and how much of the file was read."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

from redraft.document import Document, DocumentSection, Mark, MarkKind, Span, content_id
from redraft.errors import DocumentError, Set
from redraft.readers.parts import names_document
from redraft.text.sanitizer import clean, one_line
from redraft.text.words import count_words

TITLE_WIDTH = 120
# Ligatures, and presentation forms of Arabic letters.
_FORMS = re.compile("[\ufb00-\ufb06\ufb50-\ufdff\ufe70-\ufefe]+")
_UNSEEN = re.compile("[\u00ad\u200b\u2060]")
_WIDE_SPACE = re.compile("[\u00a0\u2000-\u200a\u202f]")


MIN_SHARE = 0.9
"""The least share of a file, and of each of its parts, that must be read unless a partial file is accepted."""
_UNNOTICED, _OF_ALL = 10, 0.01
"""Up to this many missing characters, and this share, may be a difference in counting."""
_SMALL = 1_000
"""A part that lacks fewer characters does not cause a file to be rejected if enough of the whole was read."""


class ReadCoverage(NamedTuple):
    """The number of characters of text in a part of a file, and how many of them were read or deliberately omitted."""

    part: str
    held: int
    read: int

    @property
    def missing(self) -> int:
        return max(0, self.held - self.read)

    @property
    def is_short(self) -> bool:
        """Whether some of it was not read."""
        return self.missing > min(_UNNOTICED, _OF_ALL * self.held)

    @property
    def percent(self) -> str:
        """The share that was read in per cent, never rounded up to 100."""
        return f"{min(100 - 100 * self.missing // max(1, self.held), 99 if self.missing else 100)}%"

    def __str__(self) -> str:
        return f"of {self.held:,} characters in {self.part}, {self.held - self.missing:,} were read ({self.percent})"


def check(parts: Sequence[ReadCoverage], name: str) -> None:
    """Raise if too little of a file was read, in total or in a part that is not small."""
    total = sum(coverage.held for coverage in parts)
    file = ReadCoverage(name, total, total - sum(coverage.missing for coverage in parts))
    most = 1 - MIN_SHARE
    lacking = [coverage for coverage in parts if coverage.is_short and coverage.missing > most * coverage.held]
    if not file.is_short or (file.missing <= most * total and all(coverage.missing < _SMALL for coverage in lacking)):
        return
    worst = max(parts, key=lambda part: part.missing)
    more = f"; in all {file.percent} of the file" if len(parts) > 1 else ""
    raise DocumentError(
        f"it is damaged: {worst}{more}",
        place=name,
        fix=(
            "get the file again, or save it again with the program that made it; ",
            *(Set("partial", True), " reads the rest"),
        ),
    )


class Heading(NamedTuple):
    """The offset of a section, its level (1 is the outermost), and its title."""

    at: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class ReadText(Document):
    """What a file says of a document, which has no id yet and may have no title. Its sections are those of its
    headings, unless they are known."""

    headings: tuple[Heading, ...] = ()
    extents: tuple[ReadCoverage, ...] = ()
    """For each part of the file, how much text it has and how much was read."""

    def as_document(self, name: str) -> Document:
        """Return the document of the file of this name, with titles of one line; raise if it has no text.

        Without a title of its own it is called after the file.
        """
        if not self.text.strip():
            raise DocumentError("the document is empty", place=name, hint="give a file that contains text")
        notes = (*self.notes, *(str(coverage) for coverage in self.extents if coverage.is_short))
        # The section of a heading ends at the next one of the same or a higher rank.
        ends, open_at = [len(self.text)] * len(self.headings), list[int]()
        for index, heading in enumerate(self.headings):
            while open_at and self.headings[open_at[-1]].level >= heading.level:
                ends[open_at.pop()] = heading.at
            open_at.append(index)
        sections = self.sections or tuple(
            DocumentSection(one_line(heading.title, TITLE_WIDTH), heading.level, Span(heading.at, end))
            for heading, end in zip(self.headings, ends, strict=True)
            if end > heading.at
        )
        title = one_line(self.title, TITLE_WIDTH) or one_line(PurePath(name).stem, TITLE_WIDTH) or name
        key = content_id(self.text)
        return Document(key, title, self.text, sections, name, self.encoding, notes, self.marks, self.language)


def tidy(text: str) -> str:
    """Return text as people type it: without ligatures, invisible hyphens, and spaces of unusual widths."""
    if text.isascii():
        return text if text.isprintable() else clean(text)
    text = _FORMS.sub(lambda match: unicodedata.normalize("NFKC", match.group()), text)
    return clean(_WIDE_SPACE.sub(" ", _UNSEEN.sub("", text)).replace("\x00", " "))


class Anchor(NamedTuple):
    """The beginning of a page within a paragraph."""

    label: str
    href: str


Run = str | Anchor
BREAK = "\x1e"
"""An intended line break."""


@dataclass(slots=True)
class TextBuilder:
    """Assembles a text paragraph by paragraph, with its headings and marks."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    headings: list[Heading] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    words_left_out: Counter[str] = field(default_factory=Counter)
    oddities: list[str] = field(default_factory=list)
    extents: list[ReadCoverage] = field(default_factory=list)
    pages: list[tuple[int, Anchor]] = field(default_factory=list)
    """Where each page begins."""
    _next_pages: list[Anchor] = field(default_factory=list)

    def add(self, runs: Iterable[Run], between: str = "\n\n", before: str = "") -> Span:
        """Add a paragraph after a blank line, or after `between`, with whitespace collapsed, and return its span, which
        is empty if it has no text."""
        pieces: list[str] = []
        anchors: list[tuple[int, Anchor]] = []
        length, blank = 0, True
        for run in runs:
            if isinstance(run, Anchor):
                anchors.append((length, run))
                continue
            text = "\n" if run == BREAK else tidy(run)
            if not (core := " ".join(text.split())) and (not text or (blank and run != BREAK)):
                continue
            first = "" if blank or not text[0].isspace() else " "
            last = " " if core and text[-1].isspace() else ""
            pieces.append("\n" if run == BREAK else first + core + last)
            blank = pieces[-1][-1].isspace()
            length += len(pieces[-1])
        paragraph = "".join(pieces).rstrip()
        if not paragraph:
            self._next_pages += [anchor for _, anchor in anchors]
            return Span(self.length, self.length)
        start, end = span = self._put(before + paragraph, between)
        self.pages += ((min(start + len(before) + at, end) if at else start, anchor) for at, anchor in anchors)
        return span

    def verbatim(self, text: str) -> Span:
        """Add a paragraph and keep its lines and indentation."""
        lines = [tidy(line.expandtabs(4)).rstrip() for line in clean(text).split("\n")]
        paragraph = re.sub(r"\n{2,}", "\n", "\n".join(lines)).strip("\n")
        return self._put(paragraph, "\n\n") if paragraph.strip() else Span(self.length, self.length)

    def heading(self, level: int, runs: Iterable[Run]) -> None:
        """Add a Markdown heading that begins a section."""
        level = max(1, min(6, level))
        span = self.add(runs, before="#" * level + " ")
        if span.end > span.start:
            title = "".join(self.parts[-1:])[level + 1 :]
            self.headings.append(Heading(span.start, level, one_line(title, TITLE_WIDTH)))

    def table(self, rows: Iterable[Sequence[str]], label: str = "", href: str = "") -> None:
        """Add a table, one line for each row that has text."""
        spans: list[Span] = []
        for cells in rows:
            if any(cells):
                spans.append(self.add([" | ".join(cells)], between="\n" if spans else "\n\n"))
        if spans:
            self.mark("table", Span(spans[0].start, spans[-1].end), label, href)

    @property
    def first_title(self) -> str:
        """The first heading of level 1, unless it is a chapter's."""
        outer = [heading.title for heading in self.headings if heading.level == 1]
        return outer[0] if outer and names_document(outer[0], len(outer) - 1) else ""

    def span_since(self, start: int) -> Span:
        """Return the span added since `start`, without the blank line before it."""
        return Span(start + (2 if start and self.length > start else 0), self.length)

    def mark(self, kind: MarkKind, span: Span, label: str = "", href: str = "") -> None:
        """Mark a span, unless it is empty."""
        if span.end > span.start:
            self.marks.append(Mark(span.start, span.end, kind, one_line(label, TITLE_WIDTH), href))

    def leave_out(self, what: str, count: int = 1, *, text: str = "") -> None:
        """Record that something is omitted from the text: a plural noun, such as `comments`, and the text in it."""
        self.left_out[what] += count
        self.words_left_out[what] += count_words(text)

    def reading(self, title: str = "", language: str = "") -> ReadText:
        """Return what was added, with notes on what was left out."""
        ends = [*(at for at, _ in self.pages[1:]), self.length]
        for (at, anchor), end in zip(self.pages, ends, strict=False):
            self.mark("page", Span(at, end), anchor.label, anchor.href)
        omissions = []
        for what, count in self.left_out.items():
            words = self.words_left_out[what]
            omissions.append(f"{count:,} {what}" + (f" ({words:,} words)" if words else ""))
        notes = [*([f"left out: {', '.join(omissions)}"] if omissions else []), *self.oddities]
        return ReadText(
            "",
            title,
            "".join(self.parts),
            notes=tuple(one_line(note) for note in notes),
            marks=tuple(sorted(self.marks)),
            language=one_line(clean(language), 35),
            headings=tuple(self.headings),
            extents=tuple(self.extents),
        )

    def _put(self, text: str, between: str) -> Span:
        between = between if self.parts else ""
        self.parts += [between, text]
        start = self.length + len(between)
        self.pages += ((start, anchor) for anchor in self._next_pages)
        self._next_pages.clear()
        self.length = start + len(text)
        return Span(start, self.length)
