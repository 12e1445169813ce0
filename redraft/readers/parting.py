"""A document in parts that follow each other, each with a summary of its own: its chapters, or several documents."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from redraft.document import Document, Section, Span
from redraft.errors import UsageError
from redraft.readers.chapters import chapters
from redraft.text.words import count_words

_FEWEST_WORDS = 40
"""What has fewer, such as a title page, belongs to what follows it."""
_FRONT, _BETWEEN = "Before the first chapter", "After {}"


class Stretch(NamedTuple):
    """A part of a document, and what it is called."""

    title: str
    span: Span


def parted(document: Document) -> list[Stretch]:
    """The parts of a document in their order, which cover all of it: of several documents these, else the chapters.

    What stands beside chapters, such as an introduction, is a part as well.
    """
    found = _long_enough(document.text, list(_documents(document) or _chapters(document)))
    if len(found) < 2:
        raise UsageError(
            "--by-chapter: no chapters are found in the document",
            hint="`redraft read` shows its sections; without --by-chapter it is summarized as a whole",
        )
    return found


def _documents(document: Document) -> list[Stretch]:
    marks = [mark for mark in document.marks if mark.kind == "document"]
    bounds = [*(mark.start for mark in marks), len(document.text)]
    return [Stretch(mark.label, Span(*its)) for mark, its in zip(marks, pairwise(bounds), strict=True)]


def _chapters(document: Document) -> Iterator[Stretch]:
    known = [one.section for one in chapters(document)]
    if not known:
        return
    named = frozenset(known)
    beside = [one for one in document.sections if one.level == known[0].level and one not in named]
    titles = {one.span.start: one.title for one in (*beside, *known)}
    # A stretch that is none of these sections lies before the first of them, or behind one that ends.
    bounds = sorted({0, len(document.text), *titles, *(one.span.end for one in (*beside, *known))})
    before = ""
    for start, end in pairwise(bounds):
        title = titles.get(start) or _first_within(document, start, end) or (_BETWEEN.format(before) if before else "")
        yield Stretch(title or _FRONT, Span(start, end))
        before = titles.get(start, before)


def _first_within(document: Document, start: int, end: int) -> str:
    """The title of the first section that begins in a stretch; the document's own says nothing."""

    def is_named(one: Section) -> bool:
        return start <= one.span.start < end and one.title != document.title

    return next((one.title for one in document.sections if is_named(one)), "")


def _long_enough(text: str, found: list[Stretch]) -> list[Stretch]:
    """The stretches with what is hardly any text joined to the next of them, or at the end to the one before."""
    kept: list[Stretch] = []
    start: int | None = None
    for title, span in found:
        whole = Span(span.start if start is None else start, span.end)
        if count_words(text[slice(*span)]) >= _FEWEST_WORDS:
            kept.append(Stretch(title, whole))
            start = None
        else:
            start = whole.start
    if start is not None and kept:
        kept[-1] = Stretch(kept[-1].title, Span(kept[-1].span.start, len(text)))
    return kept
