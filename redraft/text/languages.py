"""Which language a text is read by.

Of a document that is what the user says it is in, else what its file says, else what its text shows. While a document
is worked on, whatever is in its language is read by that: its chunks, its sentences and the summaries of it, which may
be too short to show any. Where nothing can be told, a text is read as English, as everything was before there was
anything to tell by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from redraft.document import Document, Span
from redraft.text.detection import UNKNOWN, primary, shown_by, shown_within

ENGLISH = "en"

# What is written so much alike that only a long text tells it apart: there a file knows better.
_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        "no da sv",
        "hr bs sr sh sl mk bg",
        "id ms",
        "es gl ca pt",
        "cs sk",
        "ru uk be bg",
        "hi mr ne",
        "fa ar ur ps",
        "zh yue wuu ja",
        "nl af fy",
        "de lb nds",
    )
)


class Tongue(NamedTuple):
    """A stretch of a text that is read by one language."""

    span: Span
    language: str


class _Reading(NamedTuple):
    """The language of the document that is worked on, and what its text is mistaken for."""

    language: str
    mistaken: frozenset[str]
    text: str = ""
    tongues: tuple[Tongue, ...] = ()
    """Of several documents in several languages their text, and what is read by which; else nothing."""

    def read_by(self, shown: str) -> str:
        """By which language a text is read that shows to be in one, as far as anybody can tell."""
        if self.language and (
            shown in (UNKNOWN, *self.mistaken) or any(_are_alike(shown, one) for one in self.mistaken)
        ):
            return self.language
        spoken = [one.language for one in self.tongues if one.language]
        return shown if shown in spoken else next((one for one in spoken if _are_alike(shown, one)), shown)

    def within(self, text: str) -> tuple[Tongue, ...]:
        """What of the beginning of several documents, or of all, is read by which language; nothing of another text."""
        if not self.tongues or not (text is self.text or self.text.startswith(text)):
            return ()
        end = len(text)
        return tuple(
            Tongue(Span(span.start, min(span.end, end)), language)
            for span, language in self.tongues
            if span.start < end or not span.start
        )


# Sentences are split in forty places, at the end of which stands the built-in model, that is given what a prompt has
# and no more. They all have to read by one language, whoever comes to split one.
_reading: ContextVar[_Reading | None] = ContextVar("redraft_reading", default=None)


@contextmanager
def reading(document: Document) -> Iterator[None]:
    """Whatever is read within is about a document: what is in its language is read by that.

    Of several documents in several languages each is read by its own.
    """
    language, tongues = known_of(document), tongues_of(document)
    shown = shown_within(document.text)
    several = (document.text, tongues) if len(tongues) > 1 else ()
    about = _Reading(language, frozenset() if language in shown else shown, *several)
    token = _reading.set(about if language or several else None)
    try:
        yield
    finally:
        _reading.reset(token)


def known_of(document: Document) -> str:
    """The language of a document, such as `de`; empty where it is mixed, or nothing tells."""
    return primary(document.language) or shown_by(document.text)


def tongues_of(document: Document) -> tuple[Tongue, ...]:
    """What of a document is read by which language, in order: all of it by one, unless it is several documents in
    several, and nobody has said which they are in."""
    known, end = known_of(document), len(document.text)
    parts = [] if primary(document.language) else [mark for mark in document.marks if mark.kind == "document"]
    found: list[Tongue] = []
    for mark, (start, after) in zip(parts, pairwise([*(mark.start for mark in parts), end]), strict=True):
        own = primary(mark.language) or shown_by(document.text[mark.start : mark.end]) or known
        if found and found[-1].language == own:
            found[-1] = Tongue(Span(found[-1].span.start, after), own)
        else:
            found.append(Tongue(Span(start, after), own))
    return tuple(found) if len(found) > 1 else (Tongue(Span(0, end), found[0].language if found else known),)


def foreign_in(document: Document) -> str:
    """A language other than English that a document, or one of several that are read as one, is in; empty for none."""
    told = (known_of(document), *(one.language for one in tongues_of(document)))
    return next(filter(is_foreign, told), "")


def language_of(text: str) -> str:
    """The language that a text is read by, such as `de`; empty where nothing tells.

    While a document is worked on that is its language, unless the text shows another than the document's text does.
    """
    shown, about = shown_by(text), _reading.get()
    return about.read_by(shown) if about else shown


def tongues_in(text: str, language: str | None = None) -> tuple[Tongue, ...]:
    """What of a text is read by which language, in order: all of it by one, unless it is that of several documents in
    several. Another text is read by `language`, or else by its own."""
    about = _reading.get()
    several = about.within(text) if about else ()
    return several or (Tongue(Span(0, len(text)), language_of(text) if language is None else language),)


def tongues_beside(texts: Sequence[str]) -> list[tuple[Tongue, ...]]:
    """The same of texts that belong together, and are read by one language unless several documents are read."""
    about = _reading.get()
    language = None if about and about.tongues else language_of("\n".join(texts))
    return [tongues_in(text, language) for text in texts]


def said_to_be(document: Document, told: str | None) -> Document:
    """The document in the language that somebody says it is in, or that a run has read it by; of several documents
    one language for all, or one for each with commas between them. None says nothing."""
    if told is None:
        return document
    parts, each = [mark for mark in document.marks if mark.kind == "document"], iter(told.split(","))
    marks = document.marks
    if several := len(parts) > 1 and told.count(",") == len(parts) - 1:
        marks = tuple(mark._replace(language=next(each)) if mark.kind == "document" else mark for mark in marks)
    return replace(document, marks=marks, language="" if several else told, own_language=own_language(document))


def own_language(document: Document) -> str:
    """The language of a document by itself, whatever a user says of it."""
    return document.language if document.own_language is None else document.own_language


def told_of(document: Document) -> str:
    """By what it is read, for `said_to_be` to say it again: the language, or that of each of several documents."""
    parts = [mark.language for mark in document.marks if mark.kind == "document"]
    told = parts if parts and not document.language else [document.language]
    return ",".join(one.strip() if primary(one) else UNKNOWN for one in told)


def settled(said: str, text: str) -> str:
    """The language of a document that says it is in one: that, unless its text is plainly in another."""
    shown, own = shown_by(text), primary(said)
    return said if own and (_are_alike(own, shown) or shown in (UNKNOWN, own)) else shown


def is_foreign(language: str) -> bool:
    """Whether a language is known to be another than English."""
    return primary(language) not in (UNKNOWN, ENGLISH)


def unshown(document: Document) -> str:
    """The language of a document whose text shows another, or none: what is made of it depends on that.

    Of several documents those of all, where one of them shows another.
    """
    tongues = tongues_of(document)
    if len(tongues) == 1:
        return "" if tongues[0].language == shown_by(document.text) else tongues[0].language
    shown = all(shown_by(document.text[slice(*one.span)]) == one.language for one in tongues)
    return "" if shown else ", ".join(one.language for one in tongues)


def read_as(document: Document) -> str:
    """What is read: the id of a text, and by which language where that is another than it shows."""
    language = unshown(document)
    return f"{document.id} in {language}" if language else document.id


def _are_alike(one: str, other: str) -> bool:
    return any({one, other} <= group for group in _ALIKE)
