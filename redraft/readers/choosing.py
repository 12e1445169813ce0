"""Which part of a document is to be read: some chapters, some pages, and not what surrounds its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from redraft.document import Document, Span
from redraft.errors import UsageError
from redraft.marks import MarkKind
from redraft.readers.chapters import chapters, number_of
from redraft.readers.cutting import only, without
from redraft.text.detection import primary
from redraft.text.words import count_words

MATTER: dict[MarkKind, str] = {
    "gutenberg": "what Project Gutenberg puts around it",
    "front": "what stands before its first chapter",
    "contents": "its contents",
    "notes": "its notes",
    "index": "its index",
}
"""What may surround a text, and how it is called."""
USUALLY_SKIPPED: tuple[MarkKind, ...] = ("gutenberg", "contents", "index")
"""What is left out where nobody asks for it."""
NOTHING = "none"
_RANGE = re.compile(r"\s*(\w+)\s*(?:([-–:])\s*(\w*))?\s*\Z")
_LAST = 10**9


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be read of a document: ranges of chapters and of pages, both as people write them, and what not.

    And in which language, such as `de`, where that is known beforehand.
    """

    chapters: str = ""
    pages: str = ""
    skip: tuple[MarkKind, ...] = USUALLY_SKIPPED
    language: str = ""
    partial: bool = False
    """Whether a damaged file may be read of which more than a tenth is missing."""


def choice(
    chapters: str = "",
    pages: str = "",
    skip: Collection[str] = (),
    language: str = "",
    *,
    partial: bool = False,
) -> Choice:
    """A choice; `skip` is left out besides what usually is, and nothing is for `none`."""
    if language and not primary(language):
        raise UsageError(f"{language!r} names no language", hint="give a code of ISO 639, such as de, ja or pt-BR")
    wanted = [one.strip() for part in skip for one in part.split(",") if one.strip()]
    if unknown := [one for one in wanted if one not in MATTER and one != NOTHING]:
        raise UsageError(
            f"there is no {unknown[0]!r} to be left out", hint=f"name some of {', '.join(MATTER)}, or {NOTHING}"
        )
    if NOTHING in wanted:
        return Choice(chapters, pages, tuple(one for one in MATTER if one in wanted), language, partial)
    skipped = tuple(one for one in MATTER if one in wanted or one in USUALLY_SKIPPED)
    return Choice(chapters, pages, skipped, language, partial)


def chosen(document: Document, wanted: Choice) -> Document:
    """What of a document is to be read, with a note on what is not."""
    notes = [*document.notes]
    if wanted.chapters:
        spans = _chapters(document, wanted.chapters)
        document, notes = only(document, spans), [*notes, f"only chapters {wanted.chapters} are read"]
    if wanted.pages:
        spans = _pages(document, wanted.pages)
        document, notes = only(document, spans), [*notes, f"only pages {wanted.pages} are read"]
    left, told = _skipped(document, wanted.skip)
    return replace(left, notes=(*notes, *told))


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
    left = without(document, spans)
    if not count_words(left.text):
        return document, []
    named = [f"{MATTER[kind]} ({count:,} words)" for kind, count in words.items() if count]
    return left, [f"left out: {', '.join(named)}"] if named else []


def _chapters(document: Document, wanted: str) -> list[Span]:
    known = chapters(document)
    if not known:
        raise UsageError("--chapters: the document has no chapters", hint="see `redraft read` for its sections")
    holds = _ranges("--chapters", wanted)
    found = [one.section.span for one in known if holds(one.number)]
    if not found:
        first, last = min(one.number for one in known), max(one.number for one in known)
        raise UsageError(f"--chapters {wanted}: its chapters are {first} to {last}", hint="see `redraft read`")
    return found


def _pages(document: Document, wanted: str) -> list[Span]:
    known = [mark for mark in document.marks if mark.kind == "page"]
    if not known:
        raise UsageError("--pages: the document has no pages", hint="give --chapters, or see `redraft read`")
    holds = _ranges("--pages", wanted)
    in_figures = any(part[:1].isdigit() for part in re.split(r"\W+", wanted) if part)
    found = [
        Span(mark.start, mark.end)
        for mark in known
        if mark.label[:1].isdigit() == in_figures and (number := number_of(mark.label)) is not None and holds(number)
    ]
    if not found:
        raise UsageError(
            f"--pages {wanted}: its pages are {known[0].label} to {known[-1].label}",
            hint="give them as they are printed",
        )
    return found


def _ranges(option: str, wanted: str) -> Callable[[int], bool]:
    """Whether a number is among some, such as `3`, `3-12`, `3-` or `1,4-6`."""
    ranges: list[tuple[int, int]] = []
    for part in wanted.split(","):
        found = _RANGE.match(part)
        first = number_of(found[1]) if found else None
        last = None
        if found:
            last = first if not found[2] else _LAST if not found[3] else number_of(found[3])
        if first is None or last is None or last < first:
            raise UsageError(f"{option}: {part.strip()!r} is no range", hint="write it as 3-12, or 1,4-6, or 3-")
        ranges.append((first, last))
    return lambda number: any(first <= number <= last for first, last in ranges)
