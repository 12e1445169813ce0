"""Which language a text is read by.

Of a document that is what the user says it is in, else what its file says, else what its text shows. While a document
is worked on, whatever is in its language is read by that: its chunks, its sentences and the summaries of it, which may
be too short to show any. Where nothing can be told, a text is read as English, as everything was before there was
anything to tell by.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from redraft.domain import Document
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


class _Reading(NamedTuple):
    """The language of the document that is worked on, and what its text is mistaken for."""

    language: str
    mistaken: frozenset[str]

    def holds(self, shown: str) -> bool:
        """Whether a text that shows to be in some language is in that of the document, as far as anybody can tell."""
        return shown in (UNKNOWN, *self.mistaken) or any(_are_alike(shown, one) for one in self.mistaken)


# Sentences are split in forty places, at the end of which stands the built-in model, that is given what a prompt has
# and no more. They all have to read by one language, whoever comes to split one.
_reading: ContextVar[_Reading | None] = ContextVar("redraft_reading", default=None)


@contextmanager
def reading(document: Document) -> Iterator[None]:
    """Whatever is read within is about a document: what is in its language is read by that."""
    language = known_of(document)
    shown = shown_within(document.text)
    token = _reading.set(_Reading(language, frozenset() if language in shown else shown) if language else None)
    try:
        yield
    finally:
        _reading.reset(token)


def known_of(document: Document) -> str:
    """The language of a document, such as `de`; empty where it is mixed, or nothing tells."""
    return primary(document.language) or shown_by(document.text)


def foreign_in(document: Document) -> str:
    """A language other than English that a document, or one of several that are read as one, is in; empty for none."""
    parts = [] if document.language else [mark for mark in document.marks if mark.kind == "document"]
    told = (known_of(document), *(shown_by(document.text[mark.start : mark.end]) for mark in parts))
    return next(filter(is_foreign, told), "")


def language_of(text: str) -> str:
    """The language that a text is read by, such as `de`; empty where nothing tells.

    While a document is worked on that is its language, unless the text shows another than the document's text does.
    """
    shown, about = shown_by(text), _reading.get()
    return about.language if about and about.holds(shown) else shown


def settled(said: str, text: str) -> str:
    """The language of a document that says it is in one: that, unless its text is plainly in another."""
    shown, own = shown_by(text), primary(said)
    return said if own and (_are_alike(own, shown) or shown in (UNKNOWN, own)) else shown


def is_foreign(language: str) -> bool:
    """Whether a language is known to be another than English."""
    return primary(language) not in (UNKNOWN, ENGLISH)


def unshown(document: Document) -> str:
    """The language of a document whose text shows another, or none: what is made of it depends on that."""
    language = known_of(document)
    return "" if language == shown_by(document.text) else language


def _are_alike(one: str, other: str) -> bool:
    return any({one, other} <= group for group in _ALIKE)
